"""Rings (Wong, Mamoulis and Cheung 2010): each row covers k neighbours in a cyclic order of the records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.domain import Attribute, RangeDomain, SetDomain, TreeDomain
from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.methods.contract import Circumstances
from shoal.methods.feasibility import require_feasible
from shoal.methods.freeform import refined
from shoal.methods.geometry import geometry
from shoal.models import Freeform
from shoal.recoding import Nodes, Recoding
from shoal.table import Table

EFFORTS = ("fast", "balanced")
CAUTION = 0.75
"""Which share of its expected cost elsewhere a record may cost more than another and still be taken first."""
MOST_SWEEPS = 12
WORTHWHILE = 2e-3
"""Moves end when a sweep saves less than this share."""


def ring(
    table: Table,
    model: Freeform,
    circumstances: Circumstances,
    /,
    *,
    effort: str = "balanced",
    whole: bool = False,
) -> Recoding:
    """Return rows that cover k neighbours each, on rings through records that are much alike.

    The records are put into a cyclic order in which any k neighbours cost little together, and the ring is
    cut into many small ones of k to 2 k - 1 records where that costs least. Without exchanges the result is
    the same for every order of the rows. About O(n log n + k n), O(n) memory besides the graph.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    effort
        ``fast`` (the rings) or ``balanced`` (rows then exchange records as long as that pays).
    whole
        Whether to leave the ring whole, as in the paper (default: no). It loses more.
    """
    if effort not in EFFORTS:
        raise InputError(
            f"effort {effort!r} is unknown{did_you_mean(effort, EFFORTS)}; it is one of {listing(EFFORTS)}",
            reason=Reason.PARAMETER,
        )
    require_feasible(table, model)
    order = ring_order(table, model.k, circumstances)
    starts = np.zeros(1, np.int32) if whole else kernels.cut(table.codes[order], geometry(table), model.k)
    graph = ring_graph(order, starts, model.k)
    if effort == "balanced":
        graph = refined(table, graph, circumstances)
    return Recoding.of_graph(table, graph)


def ring_order(table: Table, k: int, circumstances: Circumstances) -> NDArray[np.int64]:
    """Return the records in a cyclic order in which k neighbours cost little together.

    Equal records stand together, and nothing but the multiset of records decides the order of the others.

    Parameters
    ----------
    table
        The table.
    k
        How many neighbours a row covers; there are at least as many records.
    circumstances
        Whom to tell how far the work is.
    """
    attributes = geometry(table)
    circumstances.progress("putting records in order", 0.0)
    group, first = kernels.group_rows(table.codes)
    first = first[np.lexsort(table.codes[first].T)]  # so that the order of the rows does not matter
    codes, copies = table.codes[first], np.bincount(group)[group[first]]
    elsewhere = np.zeros(len(first))
    for attribute, weight, column in zip(table.attributes, table.weights, codes.T, strict=True):
        elsewhere += CAUTION * weight * expected_cost(attribute, k)[column]
    linked = kernels.chain(codes, copies, elsewhere, attributes, k)
    ring = kernels.Ring(codes[linked], copies[linked], attributes, k)
    for sweep in range(MOST_SWEEPS):
        circumstances.progress("moving records", sweep / MOST_SWEEPS)
        before = ring.cost
        if ring.sweep() == 0 or before - ring.cost < WORTHWHILE * before:
            break
    circumstances.progress("moving records", 1.0)
    place = np.empty(len(first), dtype=np.int64)
    place[group[first[linked[ring.order]]]] = np.arange(len(first))
    return np.argsort(place[group], kind="stable")


def ring_graph(order: NDArray[np.int64], starts: NDArray[np.int32], k: int) -> NDArray[np.int32]:
    """Return the graph in which each row covers its own record and the k - 1 next ones on its ring.

    Parameters
    ----------
    order
        The records, one ring after the other.
    starts
        Where each ring begins; all have at least k records.
    k
        How many records a row covers.
    """
    n = len(order)
    sizes = np.diff(np.append(starts, n))
    start, size = np.repeat(starts, sizes), np.repeat(sizes, sizes)
    graph = np.empty((n, k), dtype=np.int32)
    for step in range(k):
        graph[order, step] = order[start + (np.arange(n) - start + step) % size]
    return graph


def expected_cost(attribute: Attribute, k: int) -> NDArray[np.float64]:
    """Return what each code is expected to add to the cost of one, two, ..., k - 1 random records, summed.

    Up to a constant for the attribute, and only about right where values are missing.
    """
    shares = attribute.counts / attribute.counts.sum()
    match attribute.domain:
        case SetDomain() as domain:
            return np.asarray(_sum_of_powers(1 - shares, k) / max(domain.cardinality - 1, 1))
        case RangeDomain() as domain:
            # A gap between two values counts when all records lie beyond it.
            gaps, below = np.diff(domain.positions), np.cumsum(shares)[:-1]
            from_below = np.append(0.0, np.cumsum(gaps * _sum_of_powers(below, k)))
            from_above = np.append(0.0, np.cumsum((gaps * _sum_of_powers(1 - below, k))[::-1]))[::-1]
            return np.asarray(from_below + from_above)
        case TreeDomain() as domain:
            # A step up from a node counts when not all records lie below it.
            tree = domain.hierarchy
            nodes = np.arange(len(tree.labels), dtype=np.int32)
            costs, before = Nodes(domain, nodes).ncp(), np.append(0.0, np.cumsum(shares))
            inside = before[tree.last + 1] - before[tree.first]
            expected = (costs[tree.parent] - costs) * (k - 1 - _sum_of_powers(inside, k))
            expected[0] = 0.0
            for depth in range(1, int(tree.depth.max()) + 1):
                level = tree.depth == depth
                expected[level] += expected[tree.parent[level]]
            return np.asarray(expected[tree.leaf_node])
    raise TypeError(f"unknown domain {type(attribute.domain).__name__}")


def _sum_of_powers(x: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return x + x^2 + ... + x^(k-1) for numbers from 0 to 1."""
    x = np.clip(x, 0.0, 1.0)
    certain = x > 1 - 1e-9
    return np.where(certain, k - 1.0, (x - x**k) / np.where(certain, 1.0, 1 - x))
