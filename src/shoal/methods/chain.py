"""Classes along a chain: records in an order in which neighbours are alike, cut where that costs least."""

from __future__ import annotations

from typing import Annotated, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.errors import InputError, Reason
from shoal.measures.geometry import geometry
from shoal.methods.feasibility import require_feasible
from shoal.methods.method import Circumstances, Option, keeps
from shoal.models import KAnonymity
from shoal.recoding import Recoding
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
        elsewhere += CAUTION * weight * attribute.domain.expected_costs(attribute.counts, k)[column]
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
