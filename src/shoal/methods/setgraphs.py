"""Regular graphs over set-valued records: rings along an order, and graphs that lose less."""

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
"""Number of near records that are listed for each record."""
ROUNDS = 4
"""Number of rounds in which each record looks at the neighbours of its neighbours to find nearer ones."""


@dataclass(frozen=True)
class Rounds:
    """How long to search for a graph that loses less.

    Parameters
    ----------
    rounds
        Number of rounds in which all rows give away a record and these are reassigned, in addition to two for
        each record of a row.
    heated
        Number of further rounds, with random noise in costs that decreases to 0.
    """

    rounds: int
    heated: int


EXCHANGES = {"fast": Rounds(0, 0), "balanced": Rounds(0, 24), "best": Rounds(40, 300)}
HEAT = 0.02
"""Random noise in costs at first, as a share of the cost of a row."""
PER_CUT = 5
"""Number of reassignments before the rows are cut into other parts."""


def pure_ring(sets: Subsets, k: int) -> NDArray[np.int32]:
    """Return the graph in which each row covers k neighbours in the Gray-TSP order by itself."""
    return ring_along(short_order(sets), k)


def ring(sets: Subsets, k: int) -> NDArray[np.int32]:
    """Return the graph in which each row covers k neighbours in an order that was improved for it.

    The Gray order (Xue et al. 2012, Section 4.1), and within each segment the shorter path, unless the rows
    that begin there have more errors along it. So the graph never has more errors than along the Gray order.
    O(n log n) comparisons.

    Parameters
    ----------
    sets
        The items of each record.
    k
        Number of records that a row covers, at most all.
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
    """Return a regular graph whose rows have no more errors than those of the ring.

    Starts from the ring. In each round all rows give away one record, and these are reassigned at the least
    total cost; a row considers records near to those it has. The cost of a row is the number of wrong items
    of each of its records, relative to the number of items of that record: the error rate, averaged over all
    assignments. About O(k n) for each round.

    Parameters
    ----------
    sets, k
        As for `ring`.
    circumstances
        The source of random choices, and the callback for progress.
    effort
        ``fast``, ``balanced`` or ``best``.
    """
    chosen = EXCHANGES[effort]
    graph = ring(sets, k)
    if not 1 < k < len(graph):
        return graph
    free = _refined(sets, graph, chosen, circumstances)
    # The search rounds weights and ignores items that exactly half of a row's records have.
    return free if error_rate(sets, free) < error_rate(sets, graph) else graph


def near_records(sets: Subsets, most: int = NEIGHBOURS) -> NDArray[np.int32]:
    """Return records near each record, at most this many, nearest first; there are at least two records."""
    count = min(most, len(sets.starts) - 2)
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
        progress("reassigning records", done / (cold + effort.heated))
        if search.reassign(1) == 0:
            break
    least, best = search.cost, search.graph
    heat = HEAT * least / len(graph)
    for done in range(0, effort.heated, PER_CUT):
        progress("reassigning records", (cold + done) / (cold + effort.heated))
        search.reassign(PER_CUT, heat * max(0.0, 1 - 1.25 * done / effort.heated))
    progress("reassigning records", 1.0)
    return search.graph if search.cost < least else best


def error_rate(
    sets: Subsets, graph: NDArray[np.int32], assignment: NDArray[np.integer[Any]] | None = None
) -> float:
    """Return the error rate (ER): wrong items of a record relative to the items it has, on average.

    Parameters
    ----------
    sets
        The items of each record; one without items counts as if it had one.
    graph
        The records of each row.
    assignment
        The record of each row. If omitted, the average is over all records of a row, equally likely.
    """
    rates = _rates(sets, graph)
    if assignment is not None:
        rates = rates[graph == assignment[:, None]]
    return float(rates.mean())


def ring_along(order: NDArray[np.integer[Any]], k: int) -> NDArray[np.int32]:
    """Return the graph in which each row covers k neighbours in an order."""
    return ring_graph(order.astype(np.int64), np.zeros(len(order), np.int32), k)


def _errors_along(sets: Subsets, order: NDArray[np.int32], k: int) -> NDArray[np.float64]:
    """Return the errors of the rows of a ring, relative to the sizes of records, in the given order."""
    return np.asarray(_rates(sets, ring_along(order, k)[order]).sum(axis=1))


def _rates(sets: Subsets, graph: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return in how many items each record of a row differs from its base, relative to the record's size."""
    rows, k = graph.shape
    voted = itemsets.vote(sets, np.arange(0, rows * k + 1, k), graph.ravel())
    sizes = np.maximum(np.diff(sets.starts), 1)
    return np.asarray(voted.distances.reshape(graph.shape) / sizes[graph])
