"""Classes along a chain: records in an order in which neighbours are similar, cut at the least cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.measures.geometry import geometry
from shoal.methods.feasibility import refuse_diversity, require_feasible
from shoal.methods.method import Circumstances, Effort, keeps
from shoal.methods.persons import person_classes
from shoal.models import KAnonymity
from shoal.recoding import Recoding
from shoal.table import Table

CAUTION = 0.75
"""This share of what a record is expected to cost elsewhere is subtracted from its cost as the next one."""
MOST_SWEEPS = 12
WORTHWHILE = 2e-3
"""Moves end when a sweep saves less than this share of the cost."""
MOST_ROUNDS = 5
CYCLED = 8
"""The number of classes among which a record looks for a cycle of three, with the effort ``best``."""
LITTLE = 2e-4
"""Rounds of cycles, cuts and moves end when a round saves less than this share of the cost."""


@keeps(KAnonymity, persons=True, k_alone="always")
def chain(
    table: Table, model: KAnonymity, circumstances: Circumstances, /, *, effort: Effort = "balanced"
) -> Recoding:
    """Return classes of similar records, most of them with k records or a few more.

    The records are linked to a ring in which any k neighbours cost little together, and the ring is cut into
    classes at the least cost (Hansen and Mukherjee 2003). The result is the same for every order
    of the rows. About O(n log n + k n) if the searches skip most records, O(n) memory.

    Parameters
    ----------
    table, model, circumstances
        As for every method. The method guarantees nothing about sensitive values.
    effort
        ``fast`` (the cuts alone), ``balanced`` (then records move between classes while this reduces the
        loss) or ``best`` (then records also change places in cycles of three; never loses more than
        ``balanced``, and takes up to 20 times as long; the same as ``balanced`` if persons have several
        records).
    """
    require_feasible(table, model)
    refuse_diversity(model, "chain", instead="mondrian")
    order = cheap_order(table, model.k, circumstances)
    found = cheap_classes(table, order, model.k, circumstances, moving=effort != "fast")
    if effort == "best" and table.owners is None:
        found = _cheaper_classes(table, order, found, model.k, circumstances)
    classes = np.empty(len(table), dtype=np.int32)
    classes[order] = found
    return Recoding.of_classes(table, classes)


def cheap_order(table: Table, k: int, circumstances: Circumstances) -> NDArray[np.int64]:
    """Return the records in a cyclic order in which k neighbours cost little together.

    Equal records are together. The order depends on the multiset of records only, not on their order.

    Parameters
    ----------
    table
        The table.
    k
        The number of neighbours, from 2 to the number of records.
    circumstances
        The callback for progress.
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
    """Return classes of at least k records that are near to each other in an order, or moved there.

    Parameters
    ----------
    table
        The table.
    order
        The records in an order in which neighbours are similar.
    k
        Minimum number of records of a class.
    circumstances
        The callback for progress.
    moving
        Whether records move between classes while this reduces the cost.

    Returns
    -------
    NDArray
        The class of each record, in that order; numbered 0, 1, 2, ...
    """
    attributes, codes = geometry(table), table.codes[order]
    owners = None if table.owners is None else table.owners[order]
    numbers = _cut(codes, attributes, k) if owners is None else person_classes(codes, attributes, k, owners)
    if not moving:
        return numbers
    return _moved(kernels.ClassMoves(codes, attributes, numbers, k, owners), circumstances).class_of


def _cheaper_classes(
    table: Table,
    order: NDArray[np.int64],
    numbers: NDArray[np.int32],
    k: int,
    circumstances: Circumstances,
) -> NDArray[np.int32]:
    """Return classes that cost no more than these: by cycles of three, new cuts and moves, in rounds.

    The parameters and the result are those of `cheap_classes`; `numbers` are the classes to start from.
    """
    attributes, codes = geometry(table), table.codes[order]
    anybody = kernels.Closeness.listed(np.zeros((1, 1), np.uint8), 1)  # no value is close to another
    values = np.zeros(len(order), np.int32)
    cost = np.inf
    for _ in range(MOST_ROUNDS):
        allowed = np.full(int(numbers.max()) + 1, len(order))
        coloring = kernels.Coloring(codes, attributes, numbers, anybody, values, allowed)
        improve(ClassExchanges(coloring, CYCLED, True), "exchanging records in cycles", circumstances)
        # The classes as they are cut the records in this order, so the best cuts cost no more.
        by_class = np.argsort(coloring.class_of, kind="stable")
        numbers[by_class] = _cut(codes[by_class], attributes, k)
        classes = _moved(kernels.ClassMoves(codes, attributes, numbers, k), circumstances)
        numbers, before, cost = classes.class_of, cost, classes.cost
        if before - cost < LITTLE * cost:
            break
    return numbers


def _cut(codes: NDArray[np.int32], attributes: list[kernels.Geometry], k: int) -> NDArray[np.int32]:
    """Return the class of each record, if records in this order are cut into classes at the least cost."""
    starts = kernels.cut(codes, attributes, k)
    return np.repeat(np.arange(len(starts), dtype=np.int32), np.diff(np.append(starts, len(codes))))


def _moved(classes: kernels.ClassMoves, circumstances: Circumstances) -> kernels.ClassMoves:
    improve(classes, "moving records between classes", circumstances)
    return classes


class Improvable(Protocol):
    """Something that sweeps make cheaper."""

    @property
    def cost(self) -> float: ...

    def sweep(self) -> int: ...


@dataclass(frozen=True)
class ClassExchanges:
    """Exchanges between classes that reduce the cost, with their options.

    Parameters
    ----------
    coloring
        The classes.
    few
        The number of classes, those that suit a record best, in which it looks for a partner.
    cycles
        Whether to look for cycles of three records, too.
    """

    coloring: kernels.Coloring
    few: int
    cycles: bool

    @property
    def cost(self) -> float:
        return self.coloring.cost

    def sweep(self) -> int:
        return self.coloring.sweep(self.few, cycles=self.cycles)


def improve(improvable: Improvable, stage: str, circumstances: Circumstances) -> None:
    """Sweep while each sweep reduces the cost by a worthwhile share."""
    for sweep in range(MOST_SWEEPS):
        circumstances.progress(stage, sweep / MOST_SWEEPS)
        before = improvable.cost
        if improvable.sweep() == 0 or before - improvable.cost < WORTHWHILE * before:
            break
    circumstances.progress(stage, 1.0)
