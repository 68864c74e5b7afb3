"""Baselines for sets of items: the plain Gray order, CAHD, and the diversity of Xue et al. as printed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.base.ragged import Subsets
from shoal.base.randomness import Randomness
from shoal.errors import InfeasibleError, InputError, Reason
from shoal.kernels import baselines
from shoal.methods.baselines.walks import closed_walk_assignment
from shoal.methods.method import Circumstances, keeps
from shoal.methods.setdiversity import Diverse, require_eligible
from shoal.methods.setgraphs import ring_along
from shoal.methods.setorder import gray_order, short_order
from shoal.methods.sets import labelled, records_of
from shoal.models import SetAnonymity, SetDiversity
from shoal.recoding import Recoding
from shoal.recoding.assignment import random_assignment
from shoal.table import Table

REACH = 3
"""CAHD looks at this many times l candidates on either side (its parameter alpha)."""
PAPER = "it follows a paper to the letter, where each record is a person"
"""Why these methods do not count persons."""
PATIENCE = 2_000
"""The maximum number of steps of walks for each record in the literal procedure."""


@keeps(SetAnonymity, name="gray", persons=PAPER)
def set_gray(table: Table, model: SetAnonymity, circumstances: Circumstances, /) -> Recoding:
    """Return rows that cover k neighbours each, on one ring in the plain Gray order; a baseline.

    The order of Xue et al. (2012, Section 4.1) before it is improved. O(n log n) comparisons, O(k n) memory.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    """
    return Recoding.of_graph(table, gray_ring(records_of(table, model, circumstances), model.k))


@keeps(SetDiversity, name="cahd", persons=PAPER)
def diverse_cahd(table: Table, model: SetDiversity, circumstances: Circumstances, /) -> Recoding:
    """Return classes as CAHD makes them, for one sensitive column; a baseline.

    Ghinita, Kalnis and Tao (2011), along the Gray order. O(l n) comparisons of sets.

    Parameters
    ----------
    table, model, circumstances
        As for every method.

    Raises
    ------
    InputError
        If there are several sensitive columns.
    """
    sets, labels = _one_label(table, "cahd", circumstances)
    return Recoding.of_classes(table, cahd(sets, labels, model.l))


@keeps(SetDiversity, persons=PAPER)
def printed_diversity(table: Table, model: SetDiversity, circumstances: Circumstances, /) -> Recoding:
    """Return what the procedure of Xue et al. (2012, Section 4.4) makes, if it keeps the guarantee.

    Greedy assignment extraction (Algorithms 1 and 2) along the Gray-TSP order, then closed walks as printed.
    The own labels of the rows of a record differ, but the published ones are those of the records that were
    drawn, and often do not. O(n^2) at worst; in plain Python where it walks.

    Parameters
    ----------
    table, model, circumstances
        As for every method.

    Raises
    ------
    InputError
        If there are several sensitive columns.
    InfeasibleError
        If the published labels of the rows of some record are not all different, or a walk cannot continue.
    """
    sets, labels = _one_label(table, "printed_diversity", circumstances)
    found = literal(sets, labels, model.l, circumstances.randomness, draw=closed_walk_assignment)
    if found is None:
        raise InfeasibleError(
            f"the procedure as printed found no rows with l = {model.l} different labels for every record; "
            "method 'freeform' does"
        )
    count = int(broken(found, labels).sum())
    if count:
        raise InfeasibleError(
            f"the procedure as printed breaks its guarantee for {count:,} of {len(labels):,} records "
            f"({count / len(labels):.1%}): two of the l = {model.l} rows of each carry the same label; "
            "method 'freeform' keeps it"
        )
    return Recoding.of_graph(table, found.graph, assignment=found.assignment)


def _one_label(table: Table, method: str, circumstances: Circumstances) -> tuple[Subsets, NDArray[np.int32]]:
    """Return sets and labels of a table with one sensitive column."""
    if len(table.sensitive) > 1:
        raise InputError(
            f"method {method!r} knows one sensitive column only; method 'groups' knows several",
            reason=Reason.PARAMETER,
        )
    return labelled(table, circumstances), table.sensitive[0].codes


def gray_ring(sets: Subsets, k: int) -> NDArray[np.int32]:
    """Return the graph in which each row covers k neighbours in the Gray order."""
    return ring_along(gray_order(sets), k)


def cahd(sets: Subsets, labels: NDArray[np.integer[Any]], different: int) -> NDArray[np.int32]:
    """Return the group of each record as CAHD makes them, in the Gray order.

    Parameters
    ----------
    sets
        The items of each record.
    labels
        The label of each, numbered from 0.
    different
        The value of l: no label has a share above 1 / l in any group.

    Raises
    ------
    InfeasibleError
        If some label is more frequent than 1 / l.
    """
    require_eligible(labels, different)
    return baselines.cahd(sets, gray_order(sets), labels, different, REACH * different)


def literal(
    sets: Subsets,
    labels: NDArray[np.integer[Any]],
    different: int,
    randomness: Randomness,
    *,
    draw: Callable[[NDArray[np.int32], Randomness], NDArray[np.int32]] = random_assignment,
) -> Diverse | None:
    """Return what the procedure of Xue et al. (2012, Section 4.4) makes; it may break its guarantee.

    Greedy assignment extraction (Algorithm 2) along the short order, then a random assignment of the graph.
    The own labels of the rows around a record differ; the published ones need not.

    Parameters
    ----------
    sets, labels, different
        As for `cahd`; each record is in l rows.
    randomness
        The source of random choices.
    draw
        Draws one of l disjoint assignments of the graph.

    Returns
    -------
    Diverse or None
        None if a walk could not continue, or took too many steps.

    Raises
    ------
    InfeasibleError
        If some label is more frequent than 1 / l.
    """
    require_eligible(labels, different)
    n = len(labels)
    starts = [randomness.permutation(n) for _ in range(different)]
    graph = baselines.greedy_extraction(sets, short_order(sets), labels, starts, PATIENCE * n)
    return None if graph is None else Diverse(graph, draw(graph, randomness))


def broken(found: Diverse, labels: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Return for each record whether two of the rows that cover it are published with the same label.

    Parameters
    ----------
    found
        The graph and the assignment.
    labels
        The label of each record.
    """
    rows, each = found.graph.shape
    covering = np.argsort(found.graph.ravel(), kind="stable").reshape(rows, each) // each
    around = np.sort(labels[found.assignment][covering], axis=1)
    return np.asarray((around[:, 1:] == around[:, :-1]).any(axis=1))
