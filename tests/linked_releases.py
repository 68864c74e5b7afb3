"""What several releases tell together, by comparing every row with every record: definitions, not speed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, product

from few_records import matches_of

Signature = tuple[object, ...]


@dataclass(frozen=True)
class OneRecord:
    """A record: whose it is, its quasi-identifier and what is carried."""

    person: int
    age: int
    carried: tuple[str, ...]


@dataclass(frozen=True)
class OneRow:
    """A released row: an interval of ages and what it carries."""

    low: int
    high: int
    carried: tuple[str, ...]

    def covers(self, record: OneRecord) -> bool:
        """Return whether the record's age is in the interval."""
        return self.low <= record.age <= self.high


@dataclass(frozen=True)
class Published:
    """An original and its release."""

    records: tuple[OneRecord, ...]
    rows: tuple[OneRow, ...]


class Linkage:
    """All that an attacker concludes from some releases, linked by carried values or by whole rows.

    `places` says which of the carried values count; all if omitted.
    """

    def __init__(
        self,
        releases: Sequence[Published],
        *,
        whole: bool,
        persons: bool,
        several: bool,
        matching: bool,
        places: Sequence[int] | None = None,
    ) -> None:
        self.releases, self.whole, self.persons, self.several = releases, whole, persons, several
        self.places = places
        self.covers = [self._covers(each, matching) for each in releases]
        self.shown = [Counter(map(self.signature, each.rows)) for each in releases]
        self.most_missing = cache(self._most_missing)
        self.tuples = cache(self._tuples)
        self.boxes_of = cache(self._boxes_of)
        self.there = [Counter(map(self.identity, each.records)) for each in releases]

    @staticmethod
    def _covers(published: Published, matching: bool) -> list[list[int]]:
        table = [[row.covers(record) for row in published.rows] for record in published.records]
        if matching:
            return matches_of(table)
        return [[j for j, covered in enumerate(covering) if covered] for covering in table]

    def signature(self, row: OneRow) -> Signature:
        """Return what rows of several releases have in common."""
        return (row.low, row.high, *row.carried) if self.whole else self._some(row.carried)

    def identity(self, record: OneRecord) -> Signature:
        """Return what tells that a record is the same in several originals."""
        if not self.persons:
            return (record.age, *record.carried)
        if self.several or self.whole:
            return (record.person, record.age, *record.carried)
        return (record.person, *self._some(record.carried))

    def _some(self, carried: tuple[str, ...]) -> tuple[str, ...]:
        return carried if self.places is None else tuple(carried[place] for place in self.places)

    @property
    def kept(self) -> bool:
        """Whether equal records of two originals can have equal rows in their releases."""
        pairs = [(i, j) for i in range(len(self.releases)) for j in range(i)]
        records = [(self.there[i] & self.there[j]).total() for i, j in pairs]
        rows = [(self.shown[i] & self.shown[j]).total() for i, j in pairs]
        if not any(records) or any(r > s for r, s in zip(records, rows, strict=True)):
            return False
        often = Counter(who for there in self.there for who in there)
        return self.several or all(self.tuples(who) for who, number in often.items() if number > 1)

    def common(self) -> list[int]:
        """Return how many records each two originals have in common."""
        count = len(self.releases)
        return [(self.there[i] & self.there[j]).total() for i in range(count) for j in range(i)]

    def _most_missing(self, i: int, j: int, signature: Signature) -> int:
        """Return how many records of the i-th original that the j-th has not can have this signature.

        Tries every way in which the missing records can be distributed over signatures.
        """
        gone = (self.there[i] - self.there[j]).total()
        kinds = sorted({*self.shown[i], *self.shown[j]}, key=repr)
        most = 0
        for drawn in combinations_with_replacement(kinds, gone):
            missing = Counter(drawn)
            new = {s: missing[s] - (self.shown[i][s] - self.shown[j][s]) for s in kinds}
            if min(new.values()) >= 0:
                most = max(most, missing[signature])
        return most

    def most_with(self, i: int, who: Signature, signature: Signature) -> int:
        """Return how many rows of the i-th release can be of records in the same releases as this one."""
        return min(
            self.shown[j][signature] if who in self.there[j] else self.most_missing(i, j, signature)
            for j in range(len(self.releases))
        )

    def possible(self, i: int, x: int) -> list[int]:
        """Return the rows of the i-th release that could be its x-th record's, if it looks at no other one.

        Only who is in which release counts, not what the rows of other releases cover.
        """
        who = self.identity(self.releases[i].records[x])
        elsewhere = [j for j in range(len(self.releases)) if who not in self.there[j]]
        rows = self.releases[i].rows
        return [
            r
            for r in self.covers[i][x]
            if all(self.most_missing(i, j, self.signature(rows[r])) for j in elsewhere)
        ]

    def _tuples(self, who: Signature) -> list[tuple[int, ...]]:
        """Return the tuples of linked rows that an identity can have; -1 for a release without it."""
        choices: list[list[int]] = []
        for i, published in enumerate(self.releases):
            places = [x for x, record in enumerate(published.records) if self.identity(record) == who]
            choices.append(self.possible(i, places[0]) if places else [-1])
        return [
            each
            for each in product(*choices)
            if len({self.signature(self.releases[i].rows[r]) for i, r in enumerate(each) if r >= 0}) == 1
        ]

    def survivors(self, who: Signature, i: int) -> set[int]:
        """Return the rows of the i-th release that survive for an identity."""
        return {each[i] for each in self.tuples(who) if each[i] >= 0}

    def crowd(self, who: Signature, i: int) -> Counter[Signature]:
        """Return how often each signature counts among the rows that survive for an identity."""
        left = Counter(self.signature(self.releases[i].rows[r]) for r in self.survivors(who, i))
        if self.whole:
            return Counter({s: min(n, self.most_with(i, who, s)) for s, n in left.items()})
        return left

    def identities(self) -> list[Signature]:
        """Return all identities."""
        return sorted({who for each in self.there for who in each}, key=repr)

    def persons_of_row(self, i: int, row: int) -> int:
        """Return how many persons a row could belong to."""
        found = [who for who in self.identities() if row in self.survivors(who, i)]
        if self.several:
            return len({who[0] for who in found})
        return sum(self.there[i][who] for who in found)

    def persons_of_tuple(self, rows: tuple[int, ...]) -> int:
        """Return how many persons could have rows with the same intervals as these."""
        boxes = self._boxes(rows)
        found = [who for who in self.identities() if boxes in self.boxes_of(who)]
        if self.several:
            return len({who[0] for who in found})
        return sum(max(there[who] for there in self.there) for who in found)

    def _boxes_of(self, who: Signature) -> set[Signature]:
        return {self._boxes(each) for each in self.tuples(who)}

    def _boxes(self, rows: tuple[int, ...]) -> Signature:
        shown = [each.rows for each in self.releases]
        return tuple(None if r < 0 else (shown[i][r].low, shown[i][r].high) for i, r in enumerate(rows))


def unchanged_places(releases: Sequence[Published]) -> set[tuple[int, ...]]:
    """Return which carried values stayed the same for a person while others changed, over all persons."""
    found = set()
    for i, j in product(range(len(releases)), repeat=2):
        for one, other in product(releases[i].records, releases[j].records):
            if i < j and one.person == other.person and one.carried != other.carried:
                pairs = zip(one.carried, other.carried, strict=True)
                found.add(tuple(place for place, (a, b) in enumerate(pairs) if a == b))
    return found - {()}
