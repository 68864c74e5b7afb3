"""Who hides among whom, for set-valued records: rings over an order, and graphs that lose less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.base.ragged import Subsets
from shoal.kernels import itemsets
from shoal.methods.method import Circumstances, Effort
from shoal.methods.ring import ring_graph
from shoal.methods.setorder import error_weights, gray_order, segments_of, short_order, shortened

NEIGHBOURS = 16
"""How many near records each record knows."""
ROUNDS = 4
"""How often each looks at the neighbours of its neighbours to find nearer ones."""


@dataclass(frozen=True)
class Rounds:
    """How hard to look for a graph that loses less.

    Parameters
    ----------
    rounds
        How often all rows give away a record and these are assigned anew, besides twice for each record of a
        row.
    heated
        How many of them more, in which costs are blurred at first and less and less.
    """

    rounds: int
    heated: int


EXCHANGES = {"fast": Rounds(0, 0), "balanced": Rounds(0, 24), "best": Rounds(40, 300)}
HEAT = 0.02
"""How much costs are blurred at first, as a share of what a row costs."""
PER_CUT = 5
"""The number of reassignments before the rows are cut into other parts."""


def ring(sets: Subsets, k: int) -> NDArray[np.int32]:
    """Return the graph in which each row covers k neighbours in an order that was improved for it.

    The Gray order, and within each segment the shorter way, unless the rows that begin there err more along
    it. So the graph never errs more than along the Gray order.

    Parameters
    ----------
    sets
        The items of each record.
    k
        How many records a row covers; at most as many as there are.
    """
    order = gray_order(sets)
    starts = segments_of(sets, order)
    shorter = shortened(sets, order, starts)
    gray, short = (_errors_along(sets, way, k) for way in (order, shorter))
    better = np.add.reduceat(short, starts) < np.add.reduceat(gray, starts)
    chosen = np.where(np.repeat(better, np.diff(np.append(starts, len(order)))), shorter, order)
    candidates = (chosen, shorter, order)
    errors = [_errors_along(sets, way, k).sum() for way in candidates]
    return ring_along(candidates[int(np.argmin(errors))], k)


def freeform(
    sets: Subsets, k: int, circumstances: Circumstances, *, effort: Effort = "balanced"
) -> NDArray[np.int32]:
    """Return a regular graph whose rows err less than those of the ring, or at least not more.

    Starts from the ring. All rows give away one record and these are assigned anew at the least cost, again
    and again; a row looks at records near to those it has. The cost of a row is what its published items get
    wrong of each of its records, relative to how many items that has: the error rate, but for the draw of who
    gets which row.

    Parameters
    ----------
    sets, k
        As for `ring`.
    circumstances
        The source of random choices, and whom to tell how far the work is.
    effort
        ``fast``, ``balanced`` or ``best``.
    """
    chosen = EXCHANGES[effort]
    graph = ring(sets, k)
    if not 1 < k < len(graph):
        return graph
    free = _refined(sets, graph, chosen, circumstances)
    # The search rounds weights and leaves out what half of a row's records have.
    return free if error_rate(sets, free) < error_rate(sets, graph) else graph


def near_records(sets: Subsets) -> NDArray[np.int32]:
    """Return records near each record, nearest first; at least one other record must be there."""
    count = min(NEIGHBOURS, len(sets.starts) - 2)
    return itemsets.near_sets(
        sets, error_weights(sets), [short_order(sets, kicks=0), gray_order(sets)], count, ROUNDS
    )


def _refined(
    sets: Subsets, graph: NDArray[np.int32], effort: Rounds, circumstances: Circumstances
) -> NDArray[np.int32]:
    """Return a regular graph that costs the search no more than another."""
    search = itemsets.SetGraph(
        sets, error_weights(sets), graph, near_records(sets), circumstances.randomness.words(4)
    )
    progress = circumstances.progress
    cold = effort.rounds + 2 * graph.shape[1]
    for done in range(cold):
        progress("assigning records anew", done / (cold + effort.heated))
        if search.reassign(1) == 0:
            break
    least, best = search.cost, search.graph
    heat = HEAT * least / len(graph)
    for done in range(0, effort.heated, PER_CUT):
        progress("assigning records anew", (cold + done) / (cold + effort.heated))
        search.reassign(PER_CUT, heat * max(0.0, 1 - 1.25 * done / effort.heated))
    progress("assigning records anew", 1.0)
    return search.graph if search.cost < least else best


def error_rate(
    sets: Subsets, graph: NDArray[np.int32], assignment: NDArray[np.integer[Any]] | None = None
) -> float:
    """Return how many items are published wrongly of a record for each that it has, on average (ER).

    Parameters
    ----------
    sets
        The items of each record; one without items counts as if it had one.
    graph
        The records of each row.
    assignment
        The record of each row. Without it the average is over all that can be drawn, each record of a row
        being equally likely.
    """
    rates = _rates(sets, graph)
    if assignment is not None:
        rates = rates[graph == assignment[:, None]]
    return float(rates.mean())


def ring_along(order: NDArray[np.integer[Any]], k: int) -> NDArray[np.int32]:
    """Return the graph in which each row covers k neighbours in an order."""
    return ring_graph(order.astype(np.int64), np.zeros(len(order), np.int32), k)


def _errors_along(sets: Subsets, order: NDArray[np.int32], k: int) -> NDArray[np.float64]:
    """Return what the rows of a ring err, relative to the sizes of records, as they stand in the order."""
    return np.asarray(_rates(sets, ring_along(order, k)[order]).sum(axis=1))


def _rates(sets: Subsets, graph: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return in how many items each record of a row differs from its base, for each that it has."""
    rows, k = graph.shape
    voted = itemsets.vote(sets, np.arange(0, rows * k + 1, k), graph.ravel())
    sizes = np.maximum(np.diff(sets.starts), 1)
    return np.asarray(voted.distances.reshape(graph.shape) / sizes[graph])
