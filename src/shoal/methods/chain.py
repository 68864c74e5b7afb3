"""Classes along a chain: records in an order in which neighbours are alike, cut where that costs least."""

from __future__ import annotations

from typing import Annotated, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.errors import InputError, Reason
from shoal.kinds.domain import Attribute, RangeDomain, SetDomain, TreeDomain
from shoal.measures.geometry import geometry
from shoal.methods.feasibility import require_feasible
from shoal.methods.method import Circumstances, Option, keeps
from shoal.models import KAnonymity
from shoal.recoding import Nodes, Recoding
from shoal.table import Table

CAUTION = 0.75
"""Which share of its expected cost elsewhere a record may cost more than another and still be taken first."""
MOST_SWEEPS = 12
WORTHWHILE = 2e-3
"""Moves end when a sweep saves less than this share."""


@keeps(KAnonymity)
def chain(
    table: Table,
    model: KAnonymity,
    circumstances: Circumstances,
    /,
    *,
    effort: Annotated[
        Literal["fast", "balanced"], Option("How long to search for less information loss.")
    ] = "balanced",
) -> Recoding:
    """Return classes of records that are much alike, most of them of little more than k.

    The records are linked to a ring in which any k neighbours cost little together, and the ring is cut into
    classes in the best way (Hansen and Mukherjee 2003). Unless `effort` is ``fast``, records then move
    between classes as long as that pays. The same for every order of the rows. About O(n log n + k n) as long
    as searches can leave out most records, O(n) memory.

    Parameters
    ----------
    table, model, circumstances
        As for every method. Nothing can be promised about sensitive values.
    effort
        ``fast`` or ``balanced``.
    """
    require_feasible(table, model)
    if model.diversity is not None:
        raise InputError(
            "method 'chain' promises nothing about sensitive values; leave out l, p and entropy_l, or choose "
            "'mondrian'",
            reason=Reason.PARAMETER,
        )
    order = cheap_order(table, model.k, circumstances)
    classes = np.empty(len(table), dtype=np.int32)
    classes[order] = cheap_classes(table, order, model.k, circumstances, moving=effort != "fast")
    return Recoding.of_classes(table, classes)


def cheap_order(table: Table, k: int, circumstances: Circumstances) -> NDArray[np.int64]:
    """Return the records in a cyclic order in which k neighbours cost little together.

    Equal records stand together, and nothing but the multiset of records decides the order of the others.

    Parameters
    ----------
    table
        The table.
    k
        How many neighbours there are; at least 2, and at most as many as records.
    circumstances
        Whom to tell how far the work is.
    """
    attributes = geometry(table)
    circumstances.progress("linking records", 0.0)
    group, first = kernels.group_rows(table.codes)
    first = first[np.lexsort(table.codes[first].T)]  # so that the order of the rows does not matter
    codes, copies = table.codes[first], np.bincount(group)[group[first]]
    elsewhere = np.zeros(len(first))
    for attribute, weight, column in zip(table.attributes, table.weights, codes.T, strict=True):
        elsewhere += CAUTION * weight * expected_cost(attribute, k)[column]
    linked = kernels.chain(codes, copies, elsewhere, attributes, k)
    ring = kernels.Ring(codes[linked], copies[linked], attributes, k)
    improve(ring, "moving records along the ring", circumstances)
    place = np.empty(len(first), dtype=np.int64)
    place[group[first[linked[ring.order]]]] = np.arange(len(first))
    return np.argsort(place[group], kind="stable")


def cheap_classes(
    table: Table, order: NDArray[np.int64], k: int, circumstances: Circumstances, *, moving: bool
) -> NDArray[np.int32]:
    """Return classes of at least k records that are near to each other in an order, or were moved there.

    Parameters
    ----------
    table
        The table.
    order
        The records in an order in which neighbours are alike.
    k
        How many records a class has at least.
    circumstances
        Whom to tell how far the work is.
    moving
        Whether records move between classes as long as that pays.

    Returns
    -------
    NDArray
        The class of each record, as they stand in the order; numbered 0, 1, 2, ...
    """
    attributes, codes = geometry(table), table.codes[order]
    starts = kernels.cut(codes, attributes, k)
    sizes = np.diff(np.append(starts, len(order)))
    numbers = np.repeat(np.arange(len(starts), dtype=np.int32), sizes)
    if not moving:
        return numbers
    classes = kernels.Classes(codes, attributes, numbers, k)
    improve(classes, "moving records between classes", circumstances)
    return classes.class_of


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


class Improvable(Protocol):
    """What sweeps make cheaper."""

    @property
    def cost(self) -> float: ...

    def sweep(self) -> int: ...


def improve(improvable: Improvable, stage: str, circumstances: Circumstances) -> None:
    """Let records move as long as that pays."""
    for sweep in range(MOST_SWEEPS):
        circumstances.progress(stage, sweep / MOST_SWEEPS)
        before = improvable.cost
        if improvable.sweep() == 0 or before - improvable.cost < WORTHWHILE * before:
            break
    circumstances.progress(stage, 1.0)
