"""Cutting a table into classes, top down, where a requirement unknown to kernels decides on each cut."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import SET
from shoal.measures.geometry import geometry
from shoal.methods.method import Circumstances
from shoal.table import Table

MOST_PLACES = 32
"""The maximum number of places at which an attribute of a node may be cut."""

Records = NDArray[np.int64]
"""The numbers of some records."""


class Sides(ABC):
    """What both sides of a cut must keep."""

    def allowed(self, records: Records, part: NDArray[np.int64], parts: int) -> NDArray[np.bool_]:
        """Return which cuts of a node both sides of which may be kept, before the cheapest is chosen.

        Parameters
        ----------
        records
            The records of the node.
        part
            In which part, from 0, each of them is. A cut after part i has the parts up to i on one side.
        parts
            The number of parts; none is empty. There is one cut less.
        """
        del records, part
        return np.ones(parts - 1, dtype=np.bool_)

    def halves(self, records: Records, rank: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Return which records of a node go left if the cut may divide values, or None if it never may.

        Parameters
        ----------
        records
            The records of the node.
        rank
            The rank of each of them in the attribute that is cut.
        """
        del records, rank
        return None

    @abstractmethod
    def accepts(self, left: Records, right: Records) -> bool:
        """Return whether two sides that were found to be the cheapest may be kept."""


@dataclass(frozen=True)
class _TwoSides:
    left: Records
    right: Records
    loss: float

    @classmethod
    def of(cls, table: Table, records: Records, first: NDArray[np.bool_]) -> _TwoSides:
        """Return the cut that has some of the records on its left side."""
        left, right = records[first], records[~first]
        return cls(left, right, _loss(table, left) + _loss(table, right))


def cut_into_classes(table: Table, k: int, sides: Sides, circumstances: Circumstances) -> NDArray[np.int32]:
    """Return the class of each record after recursive cuts (LeFevre, DeWitt and Ramakrishnan 2006).

    Of the cheapest and the most even cut of each attribute, a node takes the one that loses least in all
    attributes together. Each side has at least k records and keeps what is asked of sides. Deterministic.
    A node with m records takes about O(attributes x places x (m + values)).

    Parameters
    ----------
    table
        The table; as one class, it keeps what is asked.
    k
        Minimum number of records of a class.
    sides
        What each side must keep.
    circumstances
        The callback for progress.
    """
    is_set = [attribute.kind == SET for attribute in geometry(table)]
    classes = np.zeros(len(table), dtype=np.int32)
    pending, found, done = [np.arange(len(table))], 0, 0
    while pending:
        records = pending.pop()
        cuts = [
            cut
            for a in range(len(is_set))
            for cut in _proposed(table, records, a, k, sides, by_frequency=is_set[a])
        ]
        cuts.sort(key=lambda cut: cut.loss)
        best = next((cut for cut in cuts if sides.accepts(cut.left, cut.right)), None)
        if best is not None:
            pending += [best.right, best.left]
            continue
        classes[records] = found
        found += 1
        done += len(records)
        circumstances.progress("cutting the table", done / len(table))
    return classes


def _proposed(
    table: Table, records: Records, attribute: int, k: int, sides: Sides, *, by_frequency: bool
) -> Iterator[_TwoSides]:
    """Yield the cheapest and the most even cut of one attribute, of those that are allowed."""
    if len(records) < 2 * k:
        return
    domain = table.attributes[attribute].domain
    codes, place, often = np.unique(table.codes[records, attribute], return_inverse=True, return_counts=True)
    # Of all ways to divide a set, the cheapest has the most frequent values on one side.
    order = np.lexsort((codes, -often)) if by_frequency else np.arange(len(codes))
    ranks = np.empty(len(codes), dtype=np.int64)
    ranks[order] = np.arange(len(codes))
    rank = ranks[place.reshape(-1)]
    first = sides.halves(records, rank) if len(codes) > 1 else None
    if first is not None and k <= first.sum() <= len(records) - k:
        yield _TwoSides.of(table, records, first)
    ends = _ends(np.cumsum(often[order]), len(records), k)
    if not len(ends):
        return
    part = np.searchsorted(ends, rank, side="right")
    sizes = np.cumsum(np.bincount(part))[:-1]
    fine = np.flatnonzero(sides.allowed(records, part, len(ends) + 1))
    if not len(fine):
        return
    ordered = codes[order].astype(np.int32)
    halves = [half for i in fine for half in (ordered[: ends[i]], ordered[ends[i] :])]
    starts = np.concatenate(([0], np.cumsum([len(half) for half in halves])))
    cost = domain.closure(np.concatenate(halves), starts).ncp().reshape(-1, 2)
    left = sizes[fine]
    loss = left * cost[:, 0] + (len(records) - left) * cost[:, 1]
    for chosen in dict.fromkeys((int(loss.argmin()), int(np.abs(2 * left - len(records)).argmin()))):
        yield _TwoSides.of(table, records, part <= fine[chosen])


def _ends(up_to: NDArray[np.int64], size: int, k: int) -> NDArray[np.int64]:
    """Return before which values, in order, to cut: at `MOST_PLACES` at most, each side has k records.

    Parameters
    ----------
    up_to
        How many records have each value or one before it.
    size
        How many records there are.
    k
        Minimum number of records of a side.
    """
    places = np.flatnonzero((up_to >= k) & (size - up_to >= k)) + 1
    if len(places) <= MOST_PLACES:
        return places
    wanted = np.linspace(0, size, MOST_PLACES + 2)[1:-1]
    return np.unique(places[np.minimum(np.searchsorted(up_to[places - 1], wanted), len(places) - 1)])


def _loss(table: Table, records: Records) -> float:
    """Return what these records lose as one class, by NCP."""
    starts = np.array([0, len(records)])
    cost = sum(
        float(weight * attribute.domain.closure(attribute.codes[records], starts).ncp()[0])
        for attribute, weight in zip(table.attributes, table.weights, strict=True)
    )
    return cost * len(records)
