"""Columns beside the quasi-identifiers that could identify records: unique values, copies, dependencies."""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal import kernels
from shoal.auditing.reading import ReleasedColumn
from shoal.kinds import moments
from shoal.kinds.domain import Attribute
from shoal.kinds.encoding import factorize, plain_cells
from shoal.kinds.normalization import normalized
from shoal.schema.suggesting import identifier_by_looks
from shoal.table import Table

NEARLY_UNIQUE = 0.5
"""A column could identify if at least this share of the rows have a value that no other row has."""
FEW_ROWS = 10
"""With fewer rows, only a column that is not sensitive and different in every row could identify."""
COPIED = 0.9
"""A column repeats another if it is equal to it in at least this share of the records."""
STILL_THERE = 0.5
"""A column of the release is that of the original if it has at least this share of its values."""
GIVEN_AWAY = 0.9
"""A column gives another away if guesses with it are wrong less often by at least this share than without."""
ENOUGH = 5
"""The minimum number of records needed to exclude chance."""
SAMPLE = 20_000
"""In larger tables, a sample is looked at first, which usually shows that a column reveals nothing."""
FEW = SAMPLE // 20
"""The number of records that are compared before all are."""
SPARSE = 5
"""A part of the sample, one record in this number, is looked at before."""
SAMPLED_ERRORS = 200
"""The minimum number of records in a sample that must show that a column does not give another away."""
NESTED = pl.List | pl.Array | pl.Struct | pl.Binary
"""Types whose values are only equal or not."""


@dataclass(frozen=True)
class Carried:
    """A column of a release that could identify records although the quasi-identifiers do not.

    Parameters
    ----------
    column
        Its name.
    own_values
        The share of the rows that have a value that no other row has, if that is too large; otherwise None.
    repeats
        The identifiers and quasi-identifiers of the original whose values it repeats.
    gives_away
        The identifiers and quasi-identifiers of the original whose value follows from its value.
    looks
        Why its name or the form of its values suggests an identifier; None if they do not.
    """

    column: str
    own_values: float | None = None
    repeats: tuple[str, ...] = ()
    gives_away: tuple[str, ...] = ()
    looks: str | None = None

    @property
    def warning(self) -> str:
        """What it could reveal, in plain words and without any value."""
        reasons = [] if self.looks is None else [self.looks]
        if self.repeats:
            reasons.append(f"it repeats the {' and the '.join(self.repeats)}")
        if self.gives_away:
            reasons.append(f"it gives away the {' and the '.join(self.gives_away)}")
        if self.own_values == 1:
            reasons.append("every row has a value of its own")
        elif self.own_values is not None:
            reasons.append(f"{math.floor(100 * self.own_values)}% of the rows have a value of their own")
        return f"column {self.column!r} could identify records: {', and '.join(reasons)}"

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "column": self.column,
            "own_values": self.own_values,
            "repeats": list(self.repeats),
            "gives_away": list(self.gives_away),
            **({} if self.looks is None else {"looks": self.looks}),
        }


def carried_along(
    frame: nw.DataFrame[Any], table: Table, columns: Sequence[ReleasedColumn]
) -> tuple[Carried, ...]:
    """Return the columns of a release, beside the quasi-identifiers, that could identify records.

    These are columns in which most rows have a value of their own, columns that repeat an identifier or a
    quasi-identifier of the original, columns from which one follows, and columns, other than sensitive ones,
    that look like identifiers by their name or the form of their values. What the release shows exactly
    cannot be given away. Time is O(n log n) for each such column, and for each of them with each identifier
    and quasi-identifier.

    Parameters
    ----------
    frame
        The release.
    table
        The original.
    columns
        The quasi-identifiers of the release, as an outsider reads them.
    """
    generalized = {
        name
        for attribute in table.attributes
        for name in attribute.column.kind.released_columns(attribute.column.name)
    }
    identifiers = {column.name for column in table.schema if not column.role.released}
    sensitive = {column.name for column in table.schema.sensitive}
    hidden = [
        (attribute, column)
        for attribute, column in zip(table.attributes, columns, strict=True)
        if (column.values.sizes()[column.cell] > 1).any()
    ]
    # A table that a release refers to has none of them any more.
    known = [name for name in table.frame.columns if name in identifiers]
    original = _Original(table, known)
    found = []
    for name in frame.columns:
        if name in generalized or name in identifiers:
            continue
        cells = plain_cells(frame[name])
        share = _share_of_own(cells, name in sensitive)
        if name in table.frame.columns and _same_values(cells, original.cells(name)):
            repeats = tuple(original.repeated(name, hidden))
            gives_away = tuple(original.given_away(name, hidden, repeats))
        else:
            repeats, gives_away = tuple(original.found_in(cells, hidden)), ()
        looks = None if name in sensitive else identifier_by_looks(name, cells)
        if share is not None or repeats or gives_away or looks:
            found.append(Carried(name, share, repeats, gives_away, looks))
    return tuple(found)


def values_of_their_own(cells: pl.Series) -> int:
    """Return how many rows have a value that no other row has; a missing value is none."""
    known = cells.drop_nulls()
    if isinstance(known.dtype, NESTED):
        known = known.to_frame().hash_rows(seed=0)
    return int(known.is_unique().sum())


def _share_of_own(cells: pl.Series, sensitive: bool) -> float | None:
    """Return the share of the rows that have a value of their own, if that could identify."""
    if len(cells) > SAMPLE:
        # What no other row has, no other row of the sample has either.
        few = values_of_their_own(cells.gather(_places(len(cells), SAMPLE)[::SPARSE]))
        if few < 0.8 * NEARLY_UNIQUE * SAMPLE / SPARSE:
            return None
    own = values_of_their_own(cells)
    return own / len(cells) if identifying(own, len(cells), sensitive) else None


def identifying(own: int, rows: int, sensitive: bool) -> bool:
    """Return whether this number of unique values could identify.

    Parameters
    ----------
    own
        How many rows have a value that no other row has.
    rows
        How many rows there are.
    sensitive
        Whether the column is sensitive.
    """
    if rows < FEW_ROWS:
        return 1 < rows == own and not sensitive
    return own >= NEARLY_UNIQUE * rows


class _Original:
    """The columns of the original, each read once and only if it is asked for.

    Parameters
    ----------
    table
        The original.
    identifiers
        The names of its identifiers.
    """

    def __init__(self, table: Table, identifiers: Sequence[str]) -> None:
        self._table, self._identifiers = table, identifiers
        self._read: dict[str, pl.Series] = {}
        self._sampled: dict[str, _Few | None] = {}
        self._coded: dict[str, NDArray[np.int32]] = {}
        self._coded_few: dict[tuple[str, int], NDArray[np.int32]] = {}
        self._places = _places(len(table), SAMPLE)

    def cells(self, name: str) -> pl.Series:
        """Return a column."""
        if name not in self._read:
            self._read[name] = plain_cells(self._table.frame[name])
        return self._read[name]

    def _codes(self, name: str) -> NDArray[np.int32]:
        if name not in self._coded:
            self._coded[name] = _coded(self.cells(name))
        return self._coded[name]

    def _few_codes(self, name: str, step: int, codes: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        """Return codes of the records of the sample, or a part of it; those of all records may be others."""
        if (name, step) not in self._coded_few:
            few = self._places[::step]
            self._coded_few[name, step] = (
                _coded(self.cells(name).gather(few)) if codes is None else codes[few]
            )
        return self._coded_few[name, step]

    def _others(self, hidden: Sequence[tuple[Attribute, ReleasedColumn]]) -> Iterator[tuple[str, str]]:
        """Yield the name of each column that must stay hidden, and what to call it."""
        for name in self._identifiers:
            yield name, f"identifier {name!r}"
        for attribute, _ in hidden:
            if not attribute.column.kind.several:
                yield attribute.column.name, f"quasi-identifier {attribute.column.name!r}"

    def repeated(self, name: str, hidden: Sequence[tuple[Attribute, ReleasedColumn]]) -> Iterator[str]:
        """Yield what a column of the original repeats, record by record."""
        everything = len(self._table) <= FEW
        for other, words in self._others(hidden):
            # A few records show most often that it repeats nothing; in a small table, they are all there are.
            alike = _alike(self._few(name), self._few(other))
            if alike is False or (everything and alike is None):
                continue
            if everything or _equal(comparable(self.cells(name)), comparable(self.cells(other))):
                yield words

    def _few(self, name: str) -> _Few | None:
        """Return some values of a column, as `comparable` writes them."""
        if name not in self._sampled:
            places = _places(len(self._table), FEW)
            keys = comparable(self.cells(name).gather(places))
            self._sampled[name] = None if keys is None else _Few.of(keys.to_list())
        return self._sampled[name]

    def given_away(
        self, name: str, hidden: Sequence[tuple[Attribute, ReleasedColumn]], repeats: Sequence[str]
    ) -> Iterator[str]:
        """Yield what follows from a column of the original and is not already repeated by it."""
        for other in self._identifiers:
            words = f"identifier {other!r}"
            if words in repeats or self._surely_free(name, other):
                continue
            if follows(self._codes(name), self._codes(other)):
                yield words
        for attribute, _ in hidden:
            words = f"quasi-identifier {attribute.column.name!r}"
            if words in repeats or self._surely_free(name, attribute.column.name, attribute.codes):
                continue
            if follows(self._codes(name), attribute.codes):
                yield words

    def _surely_free(self, name: str, other: str, codes: NDArray[np.int32] | None = None) -> bool:
        """Return whether a sample shows that another column, which may have codes, does not follow.

        The best guesses are wrong at least as often in all records as in some, and what a value that is
        rare in the sample tells about the other column counts as right. So if they are wrong in clearly more
        than the share of the records that `follows` tolerates, it would say the same.
        """
        if len(self._table) <= SAMPLE:
            return False
        return any(
            _unexplained(self._few_codes(name, step), self._few_codes(other, step, codes))
            for step in (SPARSE, 1)
        )

    def found_in(self, cells: pl.Series, hidden: Sequence[tuple[Attribute, ReleasedColumn]]) -> Iterator[str]:
        """Yield what a column repeats that only the release has, so that its values have no known records.

        All values of a column must be there, each as often. A quasi-identifier must be covered, too.
        """
        keys = comparable(cells)
        if keys is None or keys.null_count() == len(keys):
            return
        shown = {column.name: (attribute, column) for attribute, column in hidden}
        for other, words in self._others(hidden):
            theirs = comparable(self.cells(other))
            if theirs is None or theirs.n_unique() < ENOUGH or _common(keys, theirs) < COPIED * len(keys):
                continue
            if other not in shown or _covered(keys, *shown[other]):
                yield words


@dataclass(frozen=True, eq=False)
class _Few:
    """Some values of a column as texts, None where missing, and which of them count in a comparison."""

    keys: NDArray[np.object_]
    judged: NDArray[np.bool_]

    @classmethod
    def of(cls, keys: list[str | None]) -> _Few:
        """Judge by values that are neither missing nor the most frequent one."""
        often = ((count, key) for key, count in Counter(keys).items() if key is not None)
        usual = max(often, default=(0, None))[1]
        texts = np.array(keys, dtype=np.object_)
        return cls(texts, (texts != None) & (texts != usual))  # noqa: E711 - for each of them


def _alike(mine: _Few | None, theirs: _Few | None) -> bool | None:
    """Return whether a column repeats another in a few records; None if too few of them count."""
    if mine is None or theirs is None:
        return False
    judged = theirs.judged
    count = int(judged.sum())
    if count < ENOUGH:
        return None
    return int((mine.keys[judged] == theirs.keys[judged]).sum()) >= COPIED * count


def _unexplained(by: NDArray[np.int32], codes: NDArray[np.int32]) -> bool:
    """Return whether the best guesses of one column from another are wrong too often in a sample."""
    known = by >= 0
    of = codes - codes.min(initial=0)
    wrong = int(known.sum()) - int(_highest(by[known].astype(np.int64), of[known]).sum())
    others = len(of) - int(np.bincount(of, minlength=1).max())
    return wrong >= SAMPLED_ERRORS and wrong > 1.5 * (1 - GIVEN_AWAY) * others


def follows(by: NDArray[np.int32], of: NDArray[np.int32]) -> bool:
    """Return whether the value of one column follows from that of another, with hardly any exception.

    Only values that occur more than once can show that. The first record of each is left out, and the most
    frequent value of the other column, which is easy to guess, does not count.

    Parameters
    ----------
    by, of
        The codes of both columns, negative where a value is missing in the first.
    """
    if len(by) > SAMPLE:
        # All records of some values, drawn by a hash of these.
        share = 2**32 * SAMPLE // len(by)
        few = (by.astype(np.uint64) * np.uint64(2_654_435_761)) % np.uint64(2**32) < share
        if _explained(by[few], of[few]) not in (None, True):
            return False
    return _explained(by, of) is True


def _explained(by: NDArray[np.int32], of: NDArray[np.int32]) -> bool | None:
    """Return whether a column follows from another; None if too few records could show it."""
    known = by >= 0
    often = np.bincount(by[known], minlength=1)
    known[known] = often[by[known]] > 1
    by, of = by[known].astype(np.int64), of[known] - of.min(initial=0)
    most = int(np.bincount(of, minlength=1).max())
    if len(of) - most < ENOUGH:
        return None
    highest = _highest(by, of)
    right = int((highest - 1).sum()) / (len(by) - len(highest))
    chance = most / len(by)
    return right - chance >= GIVEN_AWAY * (1 - chance)


def _highest(by: NDArray[np.integer[Any]], of: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return for each value that occurs in one column how often its most frequent value of another does."""
    if not len(by):
        return np.empty(0, dtype=np.int64)
    values = int(of.max()) + 1
    width = (int(by.max()) + 1) * values
    if width <= 8 * len(by):
        highest = np.bincount(by * values + of, minlength=width).reshape(-1, values).max(axis=1)
        return np.asarray(highest[highest > 0], dtype=np.int64)
    pairs, counts = np.unique(by * values + of, return_counts=True)
    first = np.flatnonzero(np.diff(pairs // values, prepend=-1))
    return np.asarray(np.maximum.reduceat(counts, first), dtype=np.int64)


def _coded(cells: pl.Series) -> NDArray[np.int32]:
    """Return a number for each value, negative where it is missing."""
    if isinstance(cells.dtype, NESTED):
        cells = cells.to_frame().hash_rows(seed=0)
    elif cells.dtype == pl.Boolean or cells.dtype.is_temporal():
        cells = cells.to_physical().cast(pl.Int64)
    if cells.dtype not in (pl.Int64, pl.Float64, pl.UInt64):
        return factorize(cells, in_order=False)[1]
    # Equal numbers have equal bits; nothing depends on the order of codes, so none is sorted.
    bits = (cells + 0 if cells.dtype == pl.Float64 else cells).fill_null(0).to_numpy()
    codes, _ = kernels.group_rows(np.ascontiguousarray(bits).view(np.int32).reshape(-1, 2))
    return np.where(cells.is_null().to_numpy(), np.int32(-1), codes)


@lru_cache(maxsize=8)
def _places(size: int, most: int) -> NDArray[np.int64]:
    """Return the places of a sample of `most` records, ascending; always the same ones for a size."""
    if size <= most:
        return np.arange(size)
    return np.sort(np.random.default_rng(size).choice(size, most, replace=False))


def _equal(mine: pl.Series | None, theirs: pl.Series | None) -> bool | None:
    """Return whether two columns are the same, not counting the most frequent value of the second.

    None if too few records have another value.
    """
    if mine is None or theirs is None:
        return False
    known = theirs.drop_nulls()
    judged = theirs.is_not_null()
    if len(known):
        judged &= (theirs != known.mode()[0]).fill_null(value=False)
    count = int(judged.sum())
    if count < ENOUGH:
        return None
    return int((mine.filter(judged) == theirs.filter(judged)).sum()) >= COPIED * count


def _same_values(released: pl.Series, original: pl.Series) -> bool:
    """Return whether a column of a release still has the values of the original."""
    if released.dtype != original.dtype:
        ours, theirs = comparable(released), comparable(original)
        if ours is None or theirs is None:
            return True
        released, original = ours, theirs
    if isinstance(released.dtype, NESTED) or _same_fingerprint(released, original):
        return True
    return _common(released, original) >= STILL_THERE * (len(released) - released.null_count())


def _same_fingerprint(one: pl.Series, other: pl.Series) -> bool:
    """Return whether two columns of one type have the same values, each as often, judged by sums of hashes.

    The seed is random, so that no values can be chosen whose sums are equal.
    """
    if len(one) != len(other):
        return False
    seed = secrets.randbits(63)
    mine, theirs = (int(each.hash(seed).to_numpy().sum()) for each in (one, other))
    return mine == theirs


def _common(one: pl.Series, other: pl.Series) -> int:
    """Return how many values two columns have in common, each as often as it is in both."""
    mine, theirs = (
        pl.LazyFrame({"value": each}).drop_nulls().group_by("value").agg(pl.len()) for each in (one, other)
    )
    both = mine.join(theirs, on="value").select(pl.min_horizontal("len", "len_right").sum())
    return int(both.collect().item())


def _covered(keys: pl.Series, attribute: Attribute, column: ReleasedColumn) -> bool:
    """Return whether nearly each value lies in what its row shows of a quasi-identifier."""
    labels = comparable(attribute.domain.values)
    assert labels is not None
    code_of = {label: code for code, label in enumerate(labels) if label is not None}
    codes = np.array([code_of.get(key, -1) for key in keys], dtype=np.int32)
    known = codes >= 0
    covered = column.values.covers(column.cell[known], codes[known])
    return int(covered.sum()) >= COPIED * len(keys)


def comparable(cells: pl.Series) -> pl.Series | None:
    """Return texts that are equal where values are the same but for spelling; None for nested values."""
    if isinstance(cells.dtype, NESTED):
        return None
    temporal = cells.dtype.is_temporal()
    if cells.dtype == pl.Duration or (temporal and moments.beyond(cells).any()):  # which no text can hold
        cells = cells.to_physical()
    if cells.dtype.is_temporal():
        return cells.cast(pl.String).str.replace(r"[ T]00:00:00(\.0+)?$", "")
    if cells.dtype != pl.String:
        return cells.cast(pl.Float64, strict=False).cast(pl.String)
    few = len(cells) <= FEW
    texts = cells if few else cells.unique()
    keys = normalized(texts)
    numbers = keys.cast(pl.Float64, strict=False).cast(pl.String)
    keys = pl.select(pl.coalesce(numbers, keys)).to_series()
    return keys if few else cells.replace_strict(texts, keys, return_dtype=pl.String)
