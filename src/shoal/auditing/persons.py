"""Persons with several records: whether each of them, not only each record, is hidden among k."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.base.wording import plural
from shoal.kernels import ROUNDING
from shoal.recoding.coverage import Graph, Matches
from shoal.table import Table


@dataclass(frozen=True, eq=False)
class Persons:
    """How well persons with several records are hidden.

    Parameters
    ----------
    records_of_person
        How many records each person has in the release; where that is not known, in the original.
    persons_of_row
        The records of how many persons each row covers.
    rows_of_person
        How many rows cover any record of each person.
    matched_persons_of_row, matching_rows_of_person
        The same for matches alone.
    covering_share
        For each record, which share of the rows that cover it carry records of its person; NaN where that
        cannot be seen without the key and could be more than the guarantee allows.
    class_share
        For each person, the largest share of a class that consists of her rows. Without the key, only records
        that a single class covers are counted.
    numbers
        What stands for each person in several tables, ascending; None if that is not known.
    missing
        How many records of the original the release does not have, if it is not known whose.
    one_each
        Whether no person has several records; of several tables, whether that is so in any.
    """

    records_of_person: NDArray[np.int64]
    persons_of_row: NDArray[np.int64]
    rows_of_person: NDArray[np.int64]
    matched_persons_of_row: NDArray[np.int64]
    matching_rows_of_person: NDArray[np.int64]
    covering_share: NDArray[np.float64]
    class_share: NDArray[np.float64]
    numbers: NDArray[np.int64] | None = None
    missing: int = 0
    one_each: bool = False

    def known_as(self, numbers: NDArray[np.int64]) -> Persons:
        """Return the same with the numbers of the persons, given those of each record.

        Persons are in the order of their numbers, or, if each has one record, in that of the records.
        """
        if len(self.records_of_person) < len(numbers):
            return replace(self, numbers=np.unique(numbers))
        order = np.argsort(numbers)
        return replace(
            self,
            rows_of_person=self.rows_of_person[order],
            matching_rows_of_person=self.matching_rows_of_person[order],
            numbers=numbers[order],
        )

    @staticmethod
    def merge(parts: Sequence[Persons | None]) -> Persons | None:
        """Return how well persons are hidden in several releases that are published together.

        Rows of one release cover no record of another, or only add to what hides it. Of rows and records
        only the worst of each part is kept.
        """
        known = [part for part in parts if part is not None]
        if len(known) < 2:
            return known[0] if known else None
        numbers = [part.numbers for part in known if part.numbers is not None]
        persons, place = np.unique(np.concatenate(numbers), return_inverse=True)

        def united(name: str) -> NDArray[np.int64]:
            values = np.concatenate([getattr(part, name) for part in known])
            return np.bincount(place, values, len(persons)).astype(np.int64)

        shares = np.zeros(len(persons))
        np.fmax.at(shares, place, np.concatenate([part.class_share for part in known]))
        return Persons(
            united("records_of_person"),
            np.array([part.persons_of_row.min() for part in known]),
            united("rows_of_person"),
            np.array([part.matched_persons_of_row.min() for part in known]),
            united("matching_rows_of_person"),
            np.array([np.nanmax(part.covering_share) for part in known]),
            shares,
            persons,
            sum(part.missing for part in known),
            any(part.one_each for part in known),
        )

    @property
    def count(self) -> int:
        """The number of persons."""
        return len(self.records_of_person)

    @property
    def several(self) -> bool:
        """Whether some person has several records."""
        return int(self.records_of_person.max(initial=0)) > 1

    @property
    def chances(self) -> NDArray[np.float64]:
        """For each person, the chance that a row picked among those that cover any record of hers is hers."""
        return np.minimum(1.0, self.records_of_person / np.maximum(self.rows_of_person, 1))

    def facts(self) -> list[tuple[str, str]]:
        """Return what was found, as pairs of a name and its value in words."""
        figures = self.as_dict()
        facts = [
            (
                "persons",
                f"{self.count:,} with {int(self.records_of_person.sum()):,} records; the most of one are "
                f"{figures['most_records']:,}",
            ),
            ("each row covers records of", f"at least {plural(figures['persons_per_row'], 'person')}"),
            (
                "a row picked among a person's",
                f"is hers with a chance of {figures['highest_chance']:.1%} at most",
            ),
        ]
        if figures["records_not_seen"]:
            facts.append(
                (
                    "not visible without the key",
                    f"for {figures['records_not_seen']:,} records, which rows carry the person's records",
                )
            )
        return facts

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        known = self.covering_share[~np.isnan(self.covering_share)]
        return {
            "persons": self.count,
            "most_records": int(self.records_of_person.max(initial=0)),
            "persons_per_row": int(self.persons_of_row.min(initial=self.count)),
            "highest_chance": float(self.chances.max(initial=0.0)),
            "mean_chance": float(self.chances.mean()) if self.count else 0.0,
            "highest_share": float(known.max()) if len(known) else None,
            "records_not_seen": int(np.isnan(self.covering_share).sum()),
        }


def persons_of(table: Table, graph: Graph, matches: Matches, key: NDArray[np.int64] | None) -> Persons:
    """Return how well persons are hidden in a release of a table in which some have several records.

    Parameters
    ----------
    table
        The original; it has a person column.
    graph, matches
        Which rows cover which records, and which of them are matches.
    key
        For each released row, the record it was made from, if that is known.
    """
    if table.owners is None:
        return _of_one_record_each(table, graph, matches)
    owners = table.owners
    count = int(owners.max()) + 1
    every = matches.matches_of_record.sum() == graph.degrees()[0].sum()  # all covering rows are matches
    counts = graph.count_persons(owners, None if every else matches, key)
    released = owners if key is None else owners[key]
    return Persons(
        np.bincount(released, minlength=count),
        counts.persons_of_row,
        counts.rows_of_person,
        counts.matched_persons_of_row,
        counts.matching_rows_of_person,
        covering_share=_covering_shares(graph, owners, counts.own_rows),
        class_share=_class_shares(graph, owners, key, count),
        missing=max(len(table) - len(graph.row_type), 0) if key is None else 0,
    )


def _of_one_record_each(table: Table, graph: Graph, matches: Matches) -> Persons:
    """Return the same if every record belongs to a different person."""
    rows, records = graph.degrees()
    alone = np.ones(len(table), dtype=np.int64)
    matched = matches.matches_of_row, matches.matches_of_record
    shares = (rows > 0) / np.maximum(rows, 1)
    return Persons(
        alone,
        records,
        rows,
        *matched,
        covering_share=shares,
        class_share=np.zeros(len(table)),
        one_each=True,
    )


def _covering_shares(
    graph: Graph, owners: NDArray[np.int32], own: NDArray[np.int64] | None
) -> NDArray[np.float64]:
    """Return for each record which share of the rows that cover it carry records of its person."""
    rows = graph.degrees()[0]
    if own is not None:
        return own / np.maximum(rows, 1)
    # At most all her records are carried by rows that cover this one.
    most = np.bincount(owners)[owners]
    return np.where(most == 1, rows > 0, np.nan) / np.maximum(rows, 1)


def _class_shares(
    graph: Graph, owners: NDArray[np.int32], key: NDArray[np.int64] | None, count: int
) -> NDArray[np.float64]:
    """Return for each person the largest share of a class of equal rows that is hers."""
    sizes = np.bincount(graph.row_type)
    types: NDArray[np.integer[Any]]
    if key is not None:
        types, whose = graph.row_type, owners[key]
    else:
        # A record that only one class covers is surely in it.
        starts, around = graph.crowds(np.arange(len(graph.records)))
        alone = np.diff(starts) == 1
        class_of = np.full(len(graph.records), -1, dtype=np.int64)
        class_of[alone] = around[starts[:-1][alone]]
        known = class_of[graph.record_type] >= 0
        types, whose = class_of[graph.record_type[known]], owners[known]
    shares = np.zeros(count)
    pairs, often = np.unique(types.astype(np.int64) * count + whose, return_counts=True)
    np.maximum.at(shares, pairs % count, often / sizes[pairs // count])
    return shares


def uncounted(
    persons: Persons, k: int, *, classes: bool, matching: bool, of_rows: bool = True, around: bool = True
) -> Iterator[str]:
    """Yield for whom a guarantee of k persons does not hold.

    Parameters
    ----------
    persons
        What was found.
    k
        The minimum number of persons that cannot be distinguished.
    classes
        Whether the guarantee is about classes of equal rows; otherwise, about rows that cover a record.
    matching
        Whether it is also about matches.
    of_rows
        Whether it is about the records that each row covers.
    around
        Whether it is about the rows that cover each record.
    """
    few = int((persons.persons_of_row < k).sum())
    if of_rows and few:
        yield f"{few:,} released rows cover records of fewer than {k} persons"
    exposed = exposed_persons(persons, persons.rows_of_person, k)
    if around and exposed:
        yield (
            f"{exposed:,} persons: the rows that cover any of their records are fewer than {k} times these "
            "records"
        )
    if matching:
        few = int((persons.matched_persons_of_row < k).sum()) if of_rows else 0
        exposed = exposed_persons(persons, persons.matching_rows_of_person, k) if around else 0
        if few or exposed:
            yield (
                f"{few:,} released rows match records of fewer than {k} persons, and {exposed:,} persons "
                f"have fewer than {k} times as many matches as records"
            )
    if around:
        yield from _outnumbered(persons, k, classes=classes)


def _outnumbered(persons: Persons, k: int, *, classes: bool) -> Iterator[str]:
    """Yield who has more than 1 in k of the rows of a class, or of those that cover a record."""
    allowed = (1 + ROUNDING) / k
    if classes:
        owned = int((persons.class_share > allowed).sum())
        if owned:
            yield f"{owned:,} persons have more than 1 in {k} of the rows of a class"
    else:
        told = int((persons.covering_share > allowed).sum())
        if told:
            yield (
                f"{told:,} records: more than 1 in {k} of the rows that cover them carry records of the same "
                "person"
            )


def exposed_persons(persons: Persons, rows: NDArray[np.int64], k: int) -> int:
    """Return how many persons have fewer than k times as many rows as records.

    Without the key it is not known whose records are missing. If few enough rows are missing that all of
    these persons may have as few records in the release as they need to, none is counted.

    Parameters
    ----------
    persons
        What was found.
    rows
        How many rows each person has.
    k
        How many times as many there must be.
    """
    records = persons.records_of_person
    # A person without a row that covers her is not in the release.
    lacking = np.where(rows > 0, np.maximum(records - rows // k, 0), 0)
    gone = int(records[rows == 0].sum())
    if persons.missing and int(lacking.sum()) <= persons.missing - gone:
        return 0
    return int((lacking > 0).sum())
