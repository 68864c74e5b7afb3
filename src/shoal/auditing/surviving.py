"""Surviving rows: those that could be a person's in every release that has her, if rows are linked.

A row of one release survives for a person if it covers her record there and, in every other release that has
the same record of hers, a row with the same signature covers it. If a release does not have her record, rows
are left out whose signature is as frequent there, unless that can be a coincidence: unless there are more
such records than rows that show by their number that they are missing. If rows were kept, and so are linked
as a whole, equal ones count only as often as there can be persons with such a row in exactly these releases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.auditing.classes import Diversity
from shoal.auditing.crowds import Histograms, stretches
from shoal.auditing.linking import ReleaseLinks
from shoal.auditing.released import ReleasedTable

MOST_TUPLES = 1 << 24
"""The maximum number of tuples of linked rows for which persons are counted."""

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Difference:
    """What a release shows about persons whom another one does not have.

    Parameters
    ----------
    release, other
        The two releases, numbered from 0, the newest first.
    records, persons
        How many records the original of the first has that are not in that of the second, and how many
        persons have one of these.
    rows
        How many rows of the first show by the number of their signature that they are not in the second.
    highest
        For each sensitive column, the largest share of these records that surely has the same value.
    """

    release: int
    other: int
    records: int
    persons: int
    rows: int
    highest: dict[str, float]

    @property
    def unseen(self) -> int:
        """How many of these records do not show, as the second release has a new row with their signature."""
        return max(self.records - self.rows, 0)


@dataclass(frozen=True, eq=False)
class Surviving:
    """What is left of the crowds if the rows of several releases are linked.

    Parameters
    ----------
    links
        How rows and records are linked.
    unit_of_identity
        The unit of each identity: those with the same crowds, or one person's.
    people
        How many records of each original each unit has.
    alone, rows
        How many rows of each release cover the unit's records, and how many of them survive; for persons
        with several records, for each of them.
    tuples
        How many tuples of linked rows survive, one row of each release that has the unit.
    persons_of_row
        For each release, how many persons each row could belong to.
    persons_of_tuple
        The least number of persons that a surviving tuple of each unit could belong to; None if there are too
        many tuples to count, 0 if the unit is in one release only.
    diversity
        For each release, how varied each sensitive column is among the surviving rows of units that it has.
    differences
        What each release shows about persons whom another one does not have.
    """

    links: ReleaseLinks
    unit_of_identity: Integers
    people: Integers
    alone: Integers
    rows: Integers
    tuples: NDArray[np.float64]
    persons_of_row: tuple[Integers, ...]
    persons_of_tuple: Integers | None
    diversity: tuple[tuple[Diversity, ...], ...]
    differences: tuple[Difference, ...]


def surviving(releases: Sequence[ReleasedTable], links: ReleaseLinks, *, matching: bool) -> Surviving:
    """Find the rows of each person that survive, in batches.

    Time is in proportion to the pairs of a record and a row that covers it, equal ones counted once.

    Parameters
    ----------
    releases
        The releases, each beside its original.
    links
        How their rows and records are linked.
    matching
        Whether only matches count, and not all rows that cover a record.
    """
    crowds = [
        _KindsOfRows.of(release, of, matching) for release, of in zip(releases, links.signatures, strict=True)
    ]
    units = _Units.of(releases, links)
    differences = tuple(_differences(releases, links))
    search = _SearchOfRows(crowds, units, links, differences)
    for begin, end in units.batches(crowds):
        search.look_at(begin, end)
    return search.outcome()


@dataclass(frozen=True, eq=False)
class _KindsOfRows:
    """The rows of a release by type, signature and sensitive values; each such kind of row is a *place*."""

    release: ReleasedTable
    begins: Integers  # of the places of each type of row
    count: Integers  # rows at each place
    signature: Integers
    sensitive: dict[str, Integers]
    place_of_row: Integers
    component_of_record: NDArray[np.int32] | None
    component_of_box: NDArray[np.int32] | None

    @classmethod
    def of(cls, release: ReleasedTable, signature: Integers, matching: bool) -> _KindsOfRows:
        graph, shown = release.graph, release.sensitive
        columns: list[NDArray[Any]] = [graph.row_type, signature, *(each.codes for each in shown.values())]
        place, first = kernels.group_rows(np.ascontiguousarray(np.column_stack(columns), dtype=np.int32))
        order = np.argsort(graph.row_type[first], kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        first = first[order]
        of_record = of_box = None
        if matching and release.matches.components > 1:
            of_record = np.empty(len(graph.records), dtype=np.int32)
            of_record[graph.record_type] = release.matches.component_of_record
            of_box = np.empty(len(graph.boxes), dtype=np.int32)
            of_box[graph.row_type] = release.matches.component_of_row
        return cls(
            release,
            np.searchsorted(graph.row_type[first], np.arange(len(graph.boxes) + 1)),
            np.bincount(place)[order],
            signature[first],
            {name: each.codes[first].astype(np.int64) for name, each in shown.items()},
            rank[place],
            of_record,
            of_box,
        )

    def around(self, types: Integers) -> tuple[Integers, Integers]:
        """Return pairs of a number of one of some types of record and a place whose rows could be its own."""
        starts, boxes = self.release.graph.crowds(types)
        which = np.repeat(np.arange(len(types)), np.diff(starts))
        if self.component_of_record is not None and self.component_of_box is not None:
            same = self.component_of_record[types[which]] == self.component_of_box[boxes]
            which, boxes = which[same], boxes[same]
        many = self.begins[boxes + 1] - self.begins[boxes]
        place = np.arange(many.sum()) + np.repeat(self.begins[boxes] - (np.cumsum(many) - many), many)
        return np.repeat(which, many), place


@dataclass(frozen=True, eq=False)
class _Units:
    """Identities with the same crowds, or, if persons have several records, each for itself."""

    types: NDArray[np.int32]  # of record, for each release and identity class; -1 if it has none
    people: Integers  # records, for each release and identity class
    unit: Integers  # the unit of each identity class, ascending
    count: int
    unit_of_identity: Integers
    persons: bool

    @classmethod
    def of(cls, releases: Sequence[ReleasedTable], links: ReleaseLinks) -> _Units:
        types = np.full(links.records.shape, -1, dtype=np.int32)
        for number, (release, identity) in enumerate(zip(releases, links.identities, strict=True)):
            types[number, identity] = release.graph.record_type
        if links.persons is None:
            unit, first = kernels.group_rows(np.ascontiguousarray(types.T))
            people = np.stack([np.bincount(unit, each, len(first)) for each in links.records])
            whose = np.arange(len(first))
            return cls(
                types[:, first], people.astype(np.int64), whose, len(first), unit.astype(np.int64), False
            )
        _, person = np.unique(links.persons, return_inverse=True)
        order = np.argsort(person, kind="stable")
        count = int(person.max()) + 1
        return cls(types[:, order], links.records[:, order], person[order], count, person, True)

    def batches(self, crowds: Sequence[_KindsOfRows]) -> Iterator[tuple[int, int]]:
        """Yield the ends of stretches of identity classes, each with all of a unit."""
        sizes = np.zeros(self.types.shape[1], dtype=np.int64)
        for types, each in zip(self.types, crowds, strict=True):
            graph = each.release.graph
            degree = np.zeros(len(graph.records), dtype=np.int64)
            degree[graph.record_type] = graph.degrees()[0]
            sizes += np.where(types >= 0, degree[types], 0)
        of_unit = np.bincount(self.unit, sizes, self.count).astype(np.int64)
        ends = np.searchsorted(self.unit, np.arange(self.count), side="right")
        for begin, end in stretches(of_unit):
            yield int(ends[begin - 1]) if begin else 0, int(ends[end - 1])


@dataclass(eq=False)
class _SearchOfRows:
    """Adds up what is found in each batch."""

    crowds: list[_KindsOfRows]
    units: _Units
    links: ReleaseLinks
    differences: tuple[Difference, ...]
    alone: Integers = field(init=False)
    rows: Integers = field(init=False)
    tuples: NDArray[np.float64] = field(init=False)
    persons: list[Integers] = field(init=False)
    diversity: list[dict[str, list[Diversity]]] = field(init=False)
    linked: list[tuple[Integers, NDArray[np.int32]]] | None = field(init=False)

    def __post_init__(self) -> None:
        count, releases = self.units.count, len(self.crowds)
        self.alone = np.zeros((releases, count), dtype=np.int64)
        self.rows = np.zeros((releases, count), dtype=np.int64)
        self.tuples = np.zeros(count)
        self.persons = [np.zeros(len(each.count), dtype=np.int64) for each in self.crowds]
        self.diversity = [{name: [] for name in each.sensitive} for each in self.crowds]
        self.linked = []
        there = self.units.types >= 0
        self.mask, _ = kernels.group_rows(np.ascontiguousarray(there.T.astype(np.int32)))
        _, first = np.unique(self.mask, return_index=True)
        self.masks = there.T[first]
        self.limit = [self._limit(number) for number in range(releases)]

    def _limit(self, release: int) -> Integers:
        """Return how many rows of each signature can be of records in certain releases and no others."""
        rows = self.links.rows
        limit = np.repeat(rows[release][None], len(self.masks), axis=0)
        for other in range(len(rows)):
            both = self.masks[:, release] & self.masks[:, other]
            limit[both] = np.minimum(limit[both], rows[other])
        for each in self.differences:
            if each.release == release:
                most = np.maximum(rows[release] - rows[each.other], 0) + each.unseen
                without = self.masks[:, release] & ~self.masks[:, each.other]
                limit[without] = np.minimum(limit[without], most)
        return limit

    def look_at(self, begin: int, end: int) -> None:
        """Find the surviving rows of some identity classes, which have all that belongs to their units."""
        here = [self._pairs(number, begin, end) for number in range(len(self.crowds))]
        alive = _common(
            [keys for _, _, keys in here], self.masks.sum(axis=1)[self.mask[begin:end]], self.links
        )
        product = np.ones(len(alive))
        kept = []
        for number, (which, place, keys) in enumerate(here):
            at = np.searchsorted(alive, keys)
            good = np.append(alive, -1)[at] == keys
            kept.append((which[good], place[good], at[good]))
            rows = np.bincount(at[good], self.crowds[number].count[place[good]], len(alive))
            product *= np.where(self.units.types[number, begin + alive // self.links.size] >= 0, rows, 1)
            self._count(number, (begin, end), which[good], place[good])
        unit = self.units.unit[begin + alive // self.links.size]
        self.tuples += np.bincount(unit, product, self.units.count)
        self._link(begin, alive, kept)

    def _pairs(self, number: int, begin: int, end: int) -> tuple[Integers, Integers, Integers]:
        """Return classes (from `begin`), places that could be theirs, and keys of class and signature."""
        crowds, units = self.crowds[number], self.units
        there = np.flatnonzero(units.types[number, begin:end] >= 0)
        which, place = crowds.around(units.types[number, begin + there].astype(np.int64))
        which = there[which]
        self.alone[number] += _distinct_rows(units, units.unit[begin + which], place, crowds.count[place])
        signature = crowds.signature[place]
        possible = self.limit[number][self.mask[begin + which], signature] > 0
        which, place, signature = which[possible], place[possible], signature[possible]
        return which, place, which * self.links.size + signature

    def _count(self, number: int, batch: tuple[int, int], which: Integers, place: Integers) -> None:
        """Count the surviving rows of units, the persons of rows, and the sensitive values around units."""
        crowds, units = self.crowds[number], self.units
        begin, end = batch
        unit, count = units.unit[begin + which], crowds.count[place]
        if self.links.whole_rows:
            count = np.minimum(count, self.limit[number][self.mask[begin + which], crowds.signature[place]])
        self.rows[number] += _distinct_rows(units, unit, place, count)
        if units.persons:
            pairs = np.unique(unit * len(crowds.count) + place)
            self.persons[number] += np.bincount(pairs % len(crowds.count), minlength=len(crowds.count))
        else:
            people = units.people[number, begin + which]
            counted = np.bincount(place, people, len(crowds.count))
            self.persons[number] += counted.astype(np.int64)
        for name, values in crowds.sensitive.items():
            around = Histograms.of(end - begin, which, values[place], count)
            weights = units.people[number, begin:end]
            if len(around.crowd):
                self.diversity[number][name].append(_varied(name, around, weights))

    def _link(self, begin: int, alive: Integers, kept: list[tuple[Integers, Integers, Integers]]) -> None:
        """Remember the different tuples of types of row that survive for each unit in several releases."""
        if self.linked is None:
            return
        several = self.masks.sum(axis=1)[self.mask[begin + alive // self.links.size]] > 1
        key, boxes = np.flatnonzero(several), np.empty((int(several.sum()), 0), dtype=np.int32)
        known = sum(len(unit) for unit, _ in self.linked)
        for number, (_, place, at) in enumerate(kept):
            crowds = self.crowds[number]
            box = (np.searchsorted(crowds.begins, place, side="right") - 1).astype(np.int64)
            pairs = np.unique(at * len(crowds.begins) + box)
            at, box = pairs // len(crowds.begins), pairs % len(crowds.begins)
            begins, ends = np.searchsorted(at, key), np.searchsorted(at, key, side="right")
            many = np.maximum(ends - begins, 1)
            if known + int(many.sum()) > MOST_TUPLES:
                self.linked = None
                return
            turn = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
            found = np.append(box, -1)[
                np.where(np.repeat(ends > begins, many), np.repeat(begins, many) + turn, -1)
            ]
            key, boxes = np.repeat(key, many), np.column_stack((np.repeat(boxes, many, axis=0), found))
        unit = self.units.unit[begin + alive[key] // self.links.size]
        rows = np.ascontiguousarray(np.column_stack((unit, boxes)), dtype=np.int32)
        _, first = kernels.group_rows(rows)
        self.linked.append((unit[first], rows[first, 1:]))

    def outcome(self) -> Surviving:
        """Return what was found in all batches."""
        units = self.units
        people = np.stack([np.bincount(units.unit, each, units.count) for each in units.people])
        return Surviving(
            self.links,
            units.unit_of_identity,
            people.astype(np.int64),
            self.alone,
            self.rows,
            self.tuples,
            tuple(found[each.place_of_row] for found, each in zip(self.persons, self.crowds, strict=True)),
            self._persons_of_tuples(),
            tuple(
                tuple(Diversity.joined(parts) for parts in each.values() if parts) for each in self.diversity
            ),
            self.differences,
        )

    def _persons_of_tuples(self) -> Integers | None:
        """Return the least number of persons that a surviving tuple of each unit could belong to."""
        if self.linked is None:
            return None
        least = np.zeros(self.units.count, dtype=np.int64)
        if not self.linked:
            return least
        unit = np.concatenate([each for each, _ in self.linked])
        group, _ = kernels.group_rows(np.concatenate([boxes for _, boxes in self.linked]))
        people: NDArray[Any] = np.ones(self.units.count)
        if not self.units.persons:
            people = np.bincount(self.units.unit_of_identity, self.links.records.max(axis=0))
        persons = np.bincount(group, people[unit]).astype(np.int64)
        least[unit] = np.iinfo(np.int64).max
        np.minimum.at(least, unit, persons[group])
        return least


def _distinct_rows(units: _Units, unit: Integers, place: Integers, count: Integers) -> Integers:
    """Return how many rows each unit has at some places; of a person, each row once."""
    if units.persons:
        _, first = np.unique(unit * (int(place.max(initial=0)) + 1) + place, return_index=True)
        unit, count = unit[first], count[first]
    return np.bincount(unit, count, units.count).astype(np.int64)


def _common(keys: Sequence[Integers], releases: Integers, links: ReleaseLinks) -> Integers:
    """Return the keys that occur in as many releases as the identity class of the key is in, ascending."""
    everywhere, often = np.unique(np.concatenate([np.unique(each) for each in keys]), return_counts=True)
    return np.asarray(everywhere[often == releases[everywhere // links.size]], dtype=np.int64)


def _varied(name: str, around: Histograms, people: Integers) -> Diversity:
    """Return how varied values are in crowds; empty ones are passed over."""
    begins = np.flatnonzero(np.diff(around.crowd, prepend=-1))
    crowd = around.crowd[begins]
    shares = around.count / around.sizes[around.crowd]
    return Diversity(
        name,
        np.diff(np.append(begins, len(shares))),
        np.maximum.reduceat(shares, begins),
        np.maximum(-np.add.reduceat(shares * np.log(shares), begins), 0.0),
        people[crowd],
    )


def _differences(releases: Sequence[ReleasedTable], links: ReleaseLinks) -> Iterator[Difference]:
    """Yield what each release shows about records that another one does not have."""
    for one, release in enumerate(releases):
        for other in range(len(releases)):
            gone = np.maximum(links.records[one] - links.records[other], 0)
            records = persons = int(gone.sum())
            if one == other or records == 0:
                continue
            if links.persons is not None:
                persons = len(np.unique(links.persons[gone > 0]))
            more = np.maximum(links.rows[one] - links.rows[other], 0)
            highest = {}
            for name, shown in release.sensitive.items():
                if name in links.columns:
                    value = np.zeros(links.size, dtype=np.int64)
                    value[links.signatures[one]] = shown.codes
                    highest[name] = min(1.0, float(np.bincount(value, more).max()) / records)
            yield Difference(one, other, records, persons, int(more.sum()), highest)
