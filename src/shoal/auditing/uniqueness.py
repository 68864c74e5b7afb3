"""How identifying combinations of columns are in a table: how many records are unique in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, Reason, listing
from shoal.kernels import refine


@dataclass(frozen=True)
class Combination:
    """Some columns, and how far they single out records.

    Parameters
    ----------
    columns
        Their names, in the table's order.
    unique
        Number of records that no other record equals in these columns; if persons have several records, that
        no record of another person equals.
    smallest
        Size of the smallest group of equal records, in persons if these have several; 0 only in a table
        without records.
    groups
        Number of groups of equal records.
    share
        `unique` as a share of all records; 0 in a table without records.
    """

    columns: tuple[str, ...]
    unique: int
    smallest: int
    groups: int
    share: float

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {**asdict(self), "columns": list(self.columns)}


def uniqueness(
    codes: NDArray[np.int32],
    names: Sequence[str],
    *,
    up_to: int = 3,
    most: int | None = None,
    owners: NDArray[np.int32] | None = None,
) -> tuple[Combination, ...]:
    """Return how identifying each combination of a few columns is, and that of all columns together.

    Parameters
    ----------
    codes
        One row for each record, one column for each name; a missing value is a code like any other.
    names
        The names of the columns.
    up_to
        The largest number of columns to combine.
    most
        The maximum number of combinations to return; None returns all.
    owners
        The person of each record, if persons have several.

    Returns
    -------
    tuple of Combination
        By falling share; among equals those with fewer columns first, then by names. O(combinations x
        records) time at worst, less where few columns single out many; O(up_to x records) memory.

    Raises
    ------
    InputError
        If the names do not match the columns, or `up_to` or `most` is less than 1.
    """
    _check(codes, names, up_to, most)
    columns = np.ascontiguousarray(codes.T, dtype=np.int32)  # each column in one piece
    columns = columns - columns.min(axis=1, initial=0, keepdims=True)
    found = list(_refinements(_together(len(codes), owners), columns, names, up_to))
    if len(names) > up_to:
        found.append(_all_columns(columns, names, owners))
    found.sort(key=lambda each: (-each.unique, len(each.columns), each.columns))
    return tuple(found[:most])


@dataclass(frozen=True, eq=False)
class _Sharing:
    """Records that equal records of other persons in some columns; the others never do in more columns."""

    owners: NDArray[np.int32]  # of all records
    sharing: NDArray[np.int32]  # these records
    group: NDArray[np.int32]  # the group of each of them
    shared: int  # groups that these records have
    smallest: int  # the fewest persons of a group, of all records

    def refined(self, codes: NDArray[np.int32]) -> _Sharing:
        if not len(self.sharing):
            return self
        finer = refine(self.sharing, self.group, self.shared, codes, int(codes.max()) + 1)
        owner = self.owners[finer.records]
        one = np.zeros(finer.shared, dtype=owner.dtype)
        one[finer.group] = owner  # any of them
        several = np.zeros(finer.shared, dtype=np.bool_)
        several[finer.group[owner != one[finer.group]]] = True
        kept = several[finer.group]
        sharing = finer.records[kept]
        group = (np.cumsum(several) - 1)[finer.group[kept]].astype(np.int32)
        smallest = 1
        if len(sharing) == len(self.owners):
            count = int(self.owners.max()) + 1
            smallest = int(np.bincount(np.unique(group.astype(np.int64) * count + owner) // count).min())
        return _Sharing(self.owners, sharing, group, int(several.sum()), smallest)


@dataclass(frozen=True, eq=False)
class _Grouping:
    """Records grouped by some columns.

    Records that are already unique remain so whatever column is added: only the others are kept.
    """

    records: int
    columns: tuple[int, ...]
    sharing: NDArray[np.int32]  # records that are not unique
    group: NDArray[np.int32]  # the group of each of these
    shared: int  # groups that these records have
    smallest: int
    groups: int  # of all records
    persons: _Sharing | None  # if they have several records

    def named(self, names: Sequence[str]) -> Combination:
        counted = self.persons or self
        unique = self.records - len(counted.sharing)
        share = unique / self.records if self.records else 0.0
        return Combination(
            tuple(names[c] for c in self.columns), unique, counted.smallest, self.groups, share
        )


def _check(codes: NDArray[np.int32], names: Sequence[str], up_to: int, most: int | None) -> None:
    if codes.ndim != 2 or codes.shape[1] != len(names):
        raise InputError(
            f"codes of shape {codes.shape} do not match the {len(names)} names {listing(names)}; "
            "give one row for each record and one column for each name",
            reason=Reason.PARAMETER,
        )
    for option, value in (("up_to", up_to), ("most", most)):
        if value is not None and value < 1:
            raise InputError(f"{option} is {value}; give 1 or more", reason=Reason.PARAMETER)


def _together(records: int, owners: NDArray[np.int32] | None) -> _Grouping:
    """Return the grouping by no column: a single group, of which even a single record is kept."""
    everyone, group = np.arange(records, dtype=np.int32), np.zeros(records, np.int32)
    persons = None
    if owners is not None:
        persons = _Sharing(owners, everyone, group, 1, len(np.unique(owners)))
    return _Grouping(records, (), everyone, group, 1, records, min(records, 1), persons)


def _refinements(
    grouping: _Grouping, columns: NDArray[np.int32], names: Sequence[str], depth: int
) -> Iterator[Combination]:
    """Yield each combination that adds up to `depth` later columns to those of a grouping."""
    for column in range(max(grouping.columns, default=-1) + 1, len(columns)):
        finer = _refined(grouping, columns, column)
        yield finer.named(names)
        if depth > 1:
            yield from _refinements(finer, columns, names, depth - 1)


def _all_columns(
    columns: NDArray[np.int32], names: Sequence[str], owners: NDArray[np.int32] | None
) -> Combination:
    grouping = _together(columns.shape[1], owners)
    for column in range(len(columns)):
        grouping = _refined(grouping, columns, column)
    return grouping.named(names)


def _refined(grouping: _Grouping, columns: NDArray[np.int32], column: int) -> _Grouping:
    rows = grouping.sharing
    combined = (*grouping.columns, column)
    settled = grouping.records - len(rows)  # unique before: each is a group of its own
    codes = columns[column]
    persons = None if grouping.persons is None else grouping.persons.refined(codes)
    if not len(rows):
        return _Grouping(
            grouping.records, combined, rows, grouping.group, 0, grouping.smallest, settled, persons
        )
    finer = refine(rows, grouping.group, grouping.shared, codes, int(codes.max()) + 1)
    smallest = 1 if settled else finer.smallest
    groups = settled + finer.groups
    return _Grouping(
        grouping.records, combined, finer.records, finer.group, finer.shared, smallest, groups, persons
    )
