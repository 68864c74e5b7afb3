"""Varied sensitive values in freeform releases: who gets which row is changed, and rows grow, until they are.

What counts are the labels that are published: those of the records that rows were assigned. That the records
whose rows somebody fits have varied labels (Xue et al. 2012, Section 4.4) says nothing about these. So the
assignment is drawn first, and what would be published is mended.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.assignment import random_assignment
from shoal.kernels import BoxTree, Diversification
from shoal.measures.geometry import geometry
from shoal.methods.contract import Circumstances
from shoal.models import Freeform
from shoal.recoding import Recoding
from shoal.table import Table

WORTHWHILE = 0.01
"""Rows grow only when a sweep of swaps found fewer than this share of the violated records."""

WIDEST = 8
"""No row grows beyond so many times k records, unless nothing else helps.

The cheapest way to vary what everybody sees would be a few rows that everybody fits. But a row that fits
thousands is hardly anybody's, and whoever weighs rows by that sees through them.
"""


def recoded(
    table: Table, model: Freeform, graph: NDArray[np.int32], circumstances: Circumstances
) -> Recoding:
    """Return the recoding of a regular graph that keeps the promise about sensitive values, if there is one.

    An assignment is drawn. Where the rows that a record fits are not varied enough, pairs of rows that cover
    both their records swap these as long as that mends something, which costs nothing. Then rows grow, the
    cheapest first, around records that lack their labels. As rows only grow, everybody stays covered by k of
    them; and if all of them covered everybody, they would be as varied as the table.

    Parameters
    ----------
    table, model, circumstances
        As for every method; the promise is feasible.
    graph
        The records of each row; every record is in as many rows as rows have records.
    """
    if not model.diverse:
        return Recoding.of_graph(table, graph)
    graph = _in_order(table, graph)
    assignment = random_assignment(graph, circumstances.randomness)
    diversification = diversification_of(table, model, graph, assignment)
    first = diversification.violated
    while diversification.violated:
        left = diversification.violated
        circumstances.progress("making sensitive values varied", 1 - left / first)
        if diversification.swap() < WORTHWHILE * left and diversification.widen() == 0:
            break  # every row covers whoever is left: all that can be had, up to rounding
    circumstances.progress("making sensitive values varied", 1.0)
    return Recoding.of_graph(table, graph, grown=diversification.grown, assignment=diversification.assignment)


def diversification_of(
    table: Table, model: Freeform, graph: NDArray[np.int32], assignment: NDArray[np.int32]
) -> Diversification:
    """Return rows that are made along a graph and carry the labels of an assignment."""
    return Diversification(
        table.codes,
        geometry(table),
        graph,
        [(column.codes, len(column)) for column in table.sensitive],
        assignment,
        frequency_l=model.l or 0.0,
        distinct=model.p or 0,
        entropy=math.log(model.entropy_l) if model.entropy_l else 0.0,
        widest=WIDEST * model.k,
    )


def _in_order(table: Table, graph: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows in the order of a tree over the records, so that near rows stand together."""
    order = BoxTree(table.codes, geometry(table), 1).order
    place = np.empty_like(order)
    place[order] = np.arange(len(order), dtype=order.dtype)
    middle = graph.shape[1] // 2
    return graph[np.argsort(np.partition(place[graph], middle, axis=1)[:, middle], kind="stable")]
