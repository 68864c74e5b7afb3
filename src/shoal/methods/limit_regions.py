"""Regions: parts of a table in which records can hide within the limits of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.kinds.domain import Attribute
from shoal.kinds.items import ItemsDomain
from shoal.methods.items import as_items
from shoal.methods.setorder import short_order
from shoal.table import Table

STRANDED = -1
"""The region of a record that cannot be hidden within the limits."""


@dataclass(frozen=True, eq=False)
class LimitedTable:
    """A table as methods are given it: bands instead of values, and limits.

    Parameters
    ----------
    table
        The table, with bands instead of values.
    original
        The table with values.
    strata
        The stratum of each record.
    """

    table: Table
    original: Table
    strata: NDArray[np.int32]

    @classmethod
    def of(cls, table: Table) -> LimitedTable:
        """Return a table with its limits."""
        attributes = tuple(attribute.within_limits() for attribute in table.attributes)
        keys = [
            a.limit.parts[a.codes] for a in attributes if a.limit is not None and a.limit.parts is not None
        ]
        strata = np.zeros(len(table), dtype=np.int32)
        if keys:
            strata, _ = kernels.group_rows(np.ascontiguousarray(np.column_stack(keys), dtype=np.int32))
        return cls(replace(table, attributes=attributes), table, strata)

    @property
    def bounded(self) -> list[Attribute]:
        """The attributes whose intervals or sets have a limit within a stratum."""
        return [a for a in self.table.attributes if _is_bounded(a)]

    def regions(self, k: int) -> NDArray[np.int64]:
        """Return for each record the region it can hide in: at least k records, within all limits.

        A region lies in one stratum. A record that does not fit into any is `STRANDED`.
        """
        regions = np.full(len(self.table), STRANDED, dtype=np.int64)
        bounded, count = self.bounded, 0
        by_stratum = np.argsort(self.strata, kind="stable")
        for records in np.split(by_stratum, np.cumsum(np.bincount(self.strata))[:-1]):
            if len(records) < k:
                continue
            found = np.zeros(len(records), dtype=np.int64)
            if bounded:
                order = None
                if self.table.schema.has_items:
                    order = short_order(as_items(self.table.only(records)), kicks=0)
                found = _regions(bounded, np.column_stack([a.codes[records] for a in bounded]), k, order)
            regions[records] = np.where(found == STRANDED, STRANDED, found + count)
            count += int(found.max()) + 1
        return regions


def _is_bounded(attribute: Attribute) -> bool:
    limit = attribute.limit
    return limit is not None and any(each is not None for each in (limit.reach, limit.most, limit.uncertain))


def _regions(
    bounded: Sequence[Attribute],
    codes: NDArray[np.int32],
    k: int,
    order: NDArray[np.integer[Any]] | None = None,
) -> NDArray[np.int64]:
    """Return the regions of one stratum, given only the columns with a limit; numbered from 0.

    Parameters
    ----------
    bounded, codes
        The columns with a limit, and the records in them.
    k
        The minimum number of records in a region.
    order
        An order of similar records, for tables with items, along which regions are cut.
    """
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    boxes: list[_Box] = []
    members: list[NDArray[np.int64]] = []
    for kept in _classes_that_fit(bounded, codes, k) if order is None else _cut(bounded, codes, k, order):
        box = _Box.around(bounded, codes[kept])
        # Neighbours along an order, or along the only column with a limit, become one region where they fit.
        along = order is not None or len(bounded) == 1
        if along and boxes and (both := boxes[-1].with_box(box)).fits(bounded):
            boxes[-1], members[-1] = both, np.concatenate([members[-1], kept])
        else:
            boxes.append(box)
            members.append(kept)
    regions = np.full(len(codes), STRANDED, dtype=np.int64)
    for number, records in enumerate(members):
        regions[records] = number
    _let_join(bounded, codes, regions, boxes)
    return regions


def _classes_that_fit(
    bounded: Sequence[Attribute], codes: NDArray[np.int32], k: int
) -> Iterator[NDArray[np.int64]]:
    """Yield classes of at least k records, without the records that do not fit within the limits."""
    classes = _narrow_classes(bounded, codes, k)
    order = np.argsort(classes, kind="stable")
    for records in np.split(order, np.cumsum(np.bincount(classes))[:-1]):
        kept = _fitting(bounded, codes, records)
        if len(kept) >= k:
            yield kept


def _cut(
    bounded: Sequence[Attribute], codes: NDArray[np.int32], k: int, order: NDArray[np.integer[Any]]
) -> Iterator[NDArray[np.int64]]:
    """Yield stretches of an order, of k to 2k - 1 records within the limits, that leave out the fewest."""
    single = [_Box.around(bounded, codes[record][None, :]) for record in order.tolist()]
    fewest = np.zeros(len(order) + 1, dtype=np.int64)  # how many of the records before a place are left out
    length = np.zeros(len(order) + 1, dtype=np.int64)  # of the stretch that ends there; 0 if none does
    for end in range(1, len(order) + 1):
        fewest[end] = fewest[end - 1] + 1
        box = single[end - 1]
        for begin in range(end - 1, max(end - 2 * k, -1), -1):
            box = box if begin == end - 1 else box.with_box(single[begin])
            if not box.fits(bounded):
                break
            if end - begin >= k and fewest[begin] < fewest[end]:
                fewest[end], length[end] = fewest[begin], end - begin
    stretches, end = [], len(order)
    while end > 0:
        if length[end]:
            stretches.append(order[end - length[end] : end].astype(np.int64))
        end -= max(int(length[end]), 1)
    yield from reversed(stretches)


def _narrow_classes(bounded: Sequence[Attribute], codes: NDArray[np.int32], k: int) -> NDArray[np.int32]:
    """Return classes of at least k records of one stratum, beyond the limits as little as possible."""
    attributes = [a.geometry(1.0) for a in bounded]
    if len(bounded) > 1 or bounded[0].limit is None or bounded[0].limit.reach is None:
        return kernels.mondrian(codes, attributes, [], k=k, relaxed=True)
    order = np.argsort(codes[:, 0], kind="stable")
    starts = kernels.cut(np.ascontiguousarray(codes[order]), attributes, k)
    classes = np.empty(len(codes), dtype=np.int32)
    classes[order] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(codes))))
    return classes


class _Range(NamedTuple):
    low: int
    high: int

    def united(self, other: _Range) -> _Range:
        return _Range(min(self.low, other.low), max(self.high, other.high))

    def fits(self, attribute: Attribute) -> bool:
        reach = None if attribute.limit is None else attribute.limit.reach
        return reach is None or self.high <= int(reach[self.low])


class _Members(NamedTuple):
    members: frozenset[int]

    def united(self, other: _Members) -> _Members:
        return _Members(self.members | other.members)

    def fits(self, attribute: Attribute) -> bool:
        most = None if attribute.limit is None else attribute.limit.most
        return most is None or len(self.members) <= most


class _ItemSets(NamedTuple):
    some: frozenset[int]  # the items that any of the sets has
    every: frozenset[int]  # the items that all of them have

    def united(self, other: _ItemSets) -> _ItemSets:
        return _ItemSets(self.some | other.some, self.every & other.every)

    def fits(self, attribute: Attribute) -> bool:
        most = None if attribute.limit is None else attribute.limit.uncertain
        return most is None or len(self.some) - len(self.every) <= most


_Span = _Range | _Members | _ItemSets


def _span(attribute: Attribute, codes: NDArray[np.int32]) -> _Span:
    """Return what a cell that covers some codes of a column would contain."""
    limit, domain = attribute.limit, attribute.domain
    assert limit is not None
    if limit.uncertain is not None:
        assert isinstance(domain, ItemsDomain)
        sets = [frozenset(domain.sets[code].tolist()) for code in np.unique(codes).tolist()]
        return _ItemSets(frozenset.union(*sets), frozenset.intersection(*sets))
    if limit.most is not None:
        return _Members(frozenset(codes.tolist()))
    return _Range(int(codes.min()), int(codes.max()))


@dataclass(frozen=True, eq=False)
class _Box:
    """What cells around some records would contain, in the columns with a limit."""

    spans: tuple[_Span, ...]

    @classmethod
    def around(cls, bounded: Sequence[Attribute], codes: NDArray[np.int32]) -> _Box:
        return cls(tuple(_span(a, column) for a, column in zip(bounded, codes.T, strict=True)))

    def with_box(self, other: _Box) -> _Box:
        both: Any = zip(self.spans, other.spans, strict=True)  # of the same columns, so of the same types
        return _Box(tuple(mine.united(its) for mine, its in both))

    def fits(self, bounded: Sequence[Attribute]) -> bool:
        return all(span.fits(a) for a, span in zip(bounded, self.spans, strict=True))


def _fitting(
    bounded: Sequence[Attribute], codes: NDArray[np.int32], records: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return as many of some records as fit within the limits, one column after the other."""
    for column, attribute in enumerate(bounded):
        limit = attribute.limit
        assert limit is not None
        values, counts = np.unique(codes[records, column], return_counts=True)
        if limit.most is not None:
            chosen = values[np.argsort(-counts, kind="stable")[: limit.most]]
        else:
            assert limit.reach is not None
            before = np.append(0, np.cumsum(counts))
            ends = np.searchsorted(values, limit.reach[values], side="right")
            best = int(np.argmax(before[ends] - before[:-1]))
            chosen = values[best : ends[best]]
        records = records[np.isin(codes[records, column], chosen)]
    return records


def _let_join(
    bounded: Sequence[Attribute], codes: NDArray[np.int32], regions: NDArray[np.int64], boxes: list[_Box]
) -> None:
    """Let records without a region join one that stays narrow enough; equal ones stay together."""
    lost = np.flatnonzero(regions == STRANDED)
    if not len(lost) or not boxes:
        return
    group, first = kernels.group_rows(np.ascontiguousarray(codes[lost]))
    for number, each in enumerate(first):
        own = _Box.around(bounded, codes[lost[each]][None, :])
        for region, box in enumerate(boxes):
            if (both := box.with_box(own)).fits(bounded):
                boxes[region] = both
                regions[lost[group == number]] = region
                break
