"""Links between releases: which rows have equal values in carried columns, and which records are the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal import kernels
from shoal.auditing.carried import NESTED, comparable
from shoal.auditing.released import ReleasedTable
from shoal.errors import InputError, Reason, listing, unknown_column
from shoal.kinds.encoding import factorize, plain_cells
from shoal.schema import Role, Schema


@dataclass(frozen=True, eq=False)
class ReleaseLinks:
    """How the rows and the records of several releases are linked.

    An *identity* is a record in one or more of the originals. A *signature* is a combination of values that
    rows of several releases can have in common.

    Parameters
    ----------
    columns
        The columns of a signature.
    whole_rows
        Whether signatures are whole rows, quasi-identifiers included.
    signatures
        For each release, the signature of each row.
    size
        How many signatures there are.
    identities
        For each original, the identity of each record.
    persons
        The person of each identity; None if no person has several records.
    """

    columns: tuple[str, ...]
    whole_rows: bool
    signatures: tuple[NDArray[np.int64], ...]
    size: int
    identities: tuple[NDArray[np.int64], ...]
    persons: NDArray[np.int64] | None

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """How many rows of each release have each signature."""
        return np.stack([np.bincount(each, minlength=self.size) for each in self.signatures])

    @cached_property
    def records(self) -> NDArray[np.int64]:
        """How many records of each original have each identity."""
        count = 1 + max(int(each.max(initial=-1)) for each in self.identities)
        return np.stack([np.bincount(each, minlength=count) for each in self.identities])

    def in_common(self, one: int, other: int) -> tuple[int, int]:
        """Return how many records and how many rows two releases have in common."""
        records = np.minimum(self.records[one], self.records[other]).sum()
        rows = np.minimum(self.rows[one], self.rows[other]).sum()
        return int(records), int(rows)


@dataclass(frozen=True, eq=False)
class WaysToLink:
    """All ways to link the rows of several releases.

    Parameters
    ----------
    by_columns
        By all carried columns.
    by_rows
        By whole rows; None if rows were not kept.
    changed
        Whether some persons are in several originals with the same carried columns, but not with the same
        quasi-identifiers, so that both ways count if rows were kept.
    partly
        By the columns that stayed the same for some person while others changed, a way for each such set.
    """

    by_columns: ReleaseLinks
    by_rows: ReleaseLinks | None
    changed: bool
    partly: tuple[ReleaseLinks, ...]


def linked(releases: Sequence[ReleasedTable], on: Sequence[str] | None = None) -> WaysToLink:
    """Return the ways to link several releases: by carried columns and, if rows were kept, by whole rows.

    With keys, rows count as kept if each record that two originals have in common has the same row in both
    releases; without, if the releases have at least as many equal rows as their originals equal records.

    Parameters
    ----------
    releases
        The releases, each beside its original.
    on
        Columns to link by; all that every release and original has and that are released unchanged if
        omitted.

    Raises
    ------
    InputError
        If a column to link by is not in every release, or some of the originals have a person column.
    """
    carried = _carried(releases)
    if on is not None:
        for name in on:
            if name not in carried:
                raise unknown_column(name, carried, "the columns that all releases carry unchanged")
        carried = tuple(on)
    quasi = tuple(column.name for column in releases[0].table.schema.quasi)
    person = _person_column(releases)
    several = any(each.table.owners is not None for each in releases)
    frames = [each.frame for each in releases]
    originals = [each.table.frame for each in releases]
    persons = None if person is None else _codes(originals, (person,))
    # A person who has one record in each original is recognized by name. Others are by their records.
    known_by = carried if person is not None and not several else (*quasi, *carried)
    identities = _united(_codes(originals, known_by), persons)
    whose = None
    if several and persons is not None:
        whose = np.zeros(1 + max(int(each.max(initial=-1)) for each in identities), dtype=np.int64)
        for identity, of in zip(identities, persons, strict=True):
            whose[identity] = of
    by_columns = _links(carried, False, _codes(frames, carried), identities, whose)
    written = tuple(name for name in frames[0].columns if all(name in each.columns for each in frames))
    same = _united(_codes(originals, (*quasi, *carried)), persons)
    by_rows = _links(written, True, _codes(frames, written), same, whose if several else None)
    pairs = [(one, other) for one in range(len(releases)) for other in range(one)]
    common = [by_rows.in_common(*pair) for pair in pairs]
    partly: tuple[ReleaseLinks, ...] = ()
    if on is None and persons is not None and not several:
        partly = tuple(
            _links(names, False, _codes(frames, names), _united(_codes(originals, names), persons), None)
            for names in _unchanged(originals, carried, persons, identities)
        )
    kept = any(records for records, _ in common) and _kept(releases, by_rows, common, pairs)
    changed = any(by_columns.in_common(*pair)[0] > by_rows.in_common(*pair)[0] for pair in pairs)
    return WaysToLink(by_columns, by_rows if kept else None, changed, partly)


def _kept(
    releases: Sequence[ReleasedTable],
    links: ReleaseLinks,
    common: Sequence[tuple[int, int]],
    pairs: Sequence[tuple[int, int]],
) -> bool:
    """Return whether the records that two originals have in common have the same rows in both releases."""
    if any(records > rows for records, rows in common):
        return False
    whose = [each.key for each in releases]
    if any(key is None for key in whose):
        return True
    shown = _parted(
        np.column_stack(
            (
                np.concatenate([of[key] for of, key in zip(links.identities, whose, strict=True)]),
                np.concatenate(links.signatures),
            )
        ).astype(np.int32),
        [len(each) for each in links.signatures],
    )
    size = 1 + max(int(each.max(initial=-1)) for each in shown)
    often = np.stack([np.bincount(each, minlength=size) for each in shown])
    return all(
        int(np.minimum(often[one], often[other]).sum()) >= records
        for (one, other), (records, _) in zip(pairs, common, strict=True)
    )


def recognized(
    frames: Sequence[Any], schema: Schema
) -> tuple[tuple[NDArray[np.int64], ...], tuple[NDArray[np.int64], ...]]:
    """Return numbers for the persons and for the records of several originals, equal where these are.

    Parameters
    ----------
    frames
        The originals.
    schema
        Their schema. Records are equal if all columns that are released are. Without a person column, equal
        records are of the same person.
    """
    released = tuple(column.name for column in schema if column.role.released)
    records = _codes(frames, released)
    if schema.person is None:
        return records, records
    persons = _codes(frames, (schema.person.name,))
    return persons, _united(records, persons)


def numbered_copies(codes: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], ...]:
    """Return numbers that differ for the first, second, third ... occurrence of a number in a list."""
    parts = [pl.DataFrame({"code": each, "part": part}) for part, each in enumerate(codes)]
    copies = pl.concat(parts).select("code", pl.int_range(pl.len()).over("code", "part").alias("copy"))
    return _parted(copies.to_numpy().astype(np.int32), [len(each) for each in codes])


def same_values(one: Any, other: Any, names: Sequence[str]) -> NDArray[np.bool_]:
    """Return for each row of two frames of the same length whether it has the same values in both."""
    here, there = _codes((one, other), names)
    return np.asarray(here == there)


def texts_of(frame: Any, names: Sequence[str]) -> list[tuple[str | None, ...]]:
    """Return for each record the values of some columns, as texts that are equal for equal values."""
    return list(zip(*(_text(plain_cells(frame[name])).to_list() for name in names), strict=True))


def _unchanged(
    originals: Sequence[Any],
    carried: Sequence[str],
    persons: Sequence[NDArray[np.int64]],
    identities: Sequence[NDArray[np.int64]],
) -> list[tuple[str, ...]]:
    """Return the sets of columns that did not change for some person while others did, the largest first."""
    pairs = [(one, other) for one in range(len(originals)) for other in range(one)]
    found = set()
    values: list[tuple[NDArray[np.int64], ...]] = []
    for one, other in pairs:
        _, here, there = np.intersect1d(persons[one], persons[other], return_indices=True)
        changed = identities[one][here] != identities[other][there]
        if not changed.any():
            continue
        values = values or [_codes(originals, (name,)) for name in carried]
        here, there = here[changed], there[changed]
        same = np.column_stack([each[one][here] == each[other][there] for each in values])
        found |= {tuple(pattern) for pattern in np.unique(same, axis=0).tolist()}
    sets = [tuple(name for name, same in zip(carried, each, strict=True) if same) for each in found]
    return sorted((each for each in sets if each), key=lambda names: (-len(names), names))


def _links(
    columns: tuple[str, ...],
    whole_rows: bool,
    signatures: tuple[NDArray[np.int64], ...],
    identities: tuple[NDArray[np.int64], ...],
    persons: NDArray[np.int64] | None,
) -> ReleaseLinks:
    size = 1 + max(int(each.max(initial=-1)) for each in signatures)
    return ReleaseLinks(columns, whole_rows, signatures, size, identities, persons)


def _carried(releases: Sequence[ReleasedTable]) -> tuple[str, ...]:
    """Return the columns that are released unchanged, in every release and every original."""
    first = releases[0].table.schema
    names = []
    for column in first:
        everywhere = all(
            column.name in each.frame.columns
            and column.name in each.table.frame.columns
            and each.table.schema[column.name].role in (Role.SENSITIVE, Role.OTHER)
            for each in releases
        )
        if everywhere:
            names.append(column.name)
    return tuple(names)


def _person_column(releases: Sequence[ReleasedTable]) -> str | None:
    """Return the column that says whose record each is, which all originals have or none."""
    columns = [each.table.schema.person for each in releases]
    names = sorted({column.name for column in columns if column is not None})
    if len(names) > 1 or (names and None in columns):
        raise InputError(
            f"either all originals have the same person column or none has; found {listing(names)}",
            reason=Reason.SCHEMA,
        )
    return names[0] if names else None


def _codes(frames: Sequence[Any], names: Sequence[str]) -> tuple[NDArray[np.int64], ...]:
    """Return a number for each row of each frame, equal for rows with equal values in these columns."""
    lengths = [len(frame) for frame in frames]
    columns = [np.zeros(sum(lengths), dtype=np.int32)]
    for name in names:
        texts = [_text(plain_cells(frame[name])) for frame in frames]
        columns.append(factorize(pl.concat(texts))[1].astype(np.int32))
    return _parted(np.column_stack(columns), lengths)


def _united(
    codes: Sequence[NDArray[np.int64]], persons: Sequence[NDArray[np.int64]] | None
) -> tuple[NDArray[np.int64], ...]:
    """Return numbers for pairs of a value and a person."""
    if persons is None:
        return tuple(codes)
    pairs = np.column_stack((np.concatenate(codes), np.concatenate(persons))).astype(np.int32)
    return _parted(pairs, [len(each) for each in codes])


def _parted(codes: NDArray[np.int32], lengths: Sequence[int]) -> tuple[NDArray[np.int64], ...]:
    group, _ = kernels.group_rows(np.ascontiguousarray(codes))
    return tuple(np.split(group.astype(np.int64), np.cumsum(lengths)[:-1]))


def _text(cells: pl.Series) -> pl.Series:
    """Return texts that are equal for equal values, whatever types two files have them in."""
    if isinstance(cells.dtype, NESTED):
        hashed = cells.to_frame().hash_rows(seed=0).cast(pl.String)
        return hashed.set(cells.is_null(), None)
    keys = comparable(cells)
    assert keys is not None
    return keys
