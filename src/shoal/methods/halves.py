"""Rows for a large k, made from rows for half of it: similar records are paired, and one stands for both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import BoxTree
from shoal.measures.geometry import geometry
from shoal.methods.chain import cheap_order
from shoal.methods.growth import GROWING, Round, grow_refined
from shoal.methods.method import Circumstances, Progress
from shoal.methods.refinement import Exchanges, Refiner, order_of_records
from shoal.table import Table

PAIR = 2


def grow_from_halves(
    table: Table, k: int, effort: Exchanges, circumstances: Circumstances, match: Round
) -> NDArray[np.int32]:
    """Return a regular graph of rows with k records, from one of rows with half as many.

    The records are linked along a chain and paired with their neighbours. One record of each pair stands for
    both in a graph of half the records and half of k, which is found in the same way, or by rows that grow
    once k is small. Then every row has both records of each of its pairs, and stands twice. Each
    record was in k / 2 rows and is in k. Rows exchange records afterwards, on each level: most of the work is
    done where there are few records.

    Parameters
    ----------
    table
        The table; no person has several records.
    k
        Number of records that a row covers.
    effort
        The exchanges; `Exchanges.halved` says for which k rows grow.
    circumstances
        The source of random choices, and the callback for progress.
    match
        The rounds in which rows grow.
    """
    return _grown(table, k, effort, circumstances, match, last=True)


def _grown(
    table: Table, k: int, effort: Exchanges, circumstances: Circumstances, match: Round, *, last: bool
) -> NDArray[np.int32]:
    """Return the graph; `last` if it will not become part of a larger one."""
    if k <= effort.halved:
        return grow_refined(table, k, replace(effort, pieces=True), circumstances, match)
    order = cheap_order(table, PAIR, Circumstances()).astype(np.int32)
    pairs = order[: len(order) // PAIR * PAIR].reshape(-1, PAIR)
    share = (k // PAIR) / k
    smaller = replace(circumstances, progress=_part_of(circumstances, share))
    half = _grown(table.only(pairs[:, 0].astype(np.int64)), k // PAIR, effort, smaller, match, last=False)
    graph = both_of_each(half, pairs)
    if len(order) > pairs.size:
        graph = with_another(graph, order[-1], order[-PAIR])
    circumstances.progress(GROWING, share)
    attributes = geometry(table)
    tree = BoxTree(table.codes, attributes, k)
    order, place = order_of_records(tree)
    graph = place[graph]
    if graph.shape[1] < k:
        tree.set_members(graph)
        tree.add(match(tree, (np.empty(0, np.int64), np.empty(0, np.int64))).box_of, np.arange(len(table)))
        graph = tree.members()
    refiner = Refiner(np.ascontiguousarray(table.codes[order]), attributes, effort, circumstances)
    return order[refiner.at_last(graph) if last else refiner.between(graph)]


def _part_of(circumstances: Circumstances, share: float) -> Progress:
    """Return a callback for several stages that together are a first part of the growth."""
    most = 0.0

    def progress(_stage: str, done: float) -> None:
        nonlocal most
        most = max(most, share * done)
        circumstances.progress(GROWING, most)

    return progress


def both_of_each(half: NDArray[np.int32], pairs: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return rows with both records of each pair that a row of `half` has, every row twice.

    Example: the pairs 0, 1 and 2, 3 and the rows (0, 1) and (1, 0) of pairs give four rows of all records.

    Parameters
    ----------
    half
        Rows of pairs: a regular and simple graph, as is the result.
    pairs
        The two records of each pair.
    """
    return np.repeat(pairs[half].reshape(len(half), -1), PAIR, axis=0)


def with_another(graph: NDArray[np.int32], record: int, near: int) -> NDArray[np.int32]:
    """Return a graph with one more record and one more row; it stays regular and simple.

    All k rows that have a near record give one of theirs to the new row, k different ones, and take the new
    record instead. A row has k records, and fewer than k are given already when it is its turn.

    Parameters
    ----------
    graph
        The records of each row.
    record
        The record that no row has.
    near
        One that some rows have.
    """
    graph = graph.copy()
    given: list[int] = []
    for row in np.flatnonzero((graph == near).any(axis=1)):
        slot = int(np.flatnonzero(~np.isin(graph[row], given))[0])
        given.append(int(graph[row, slot]))
        graph[row, slot] = record
    return np.vstack([graph, np.array([given], dtype=graph.dtype)])
