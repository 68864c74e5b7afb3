"""Columns with an order: cells are intervals of a scale."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.base.wording import with_article
from shoal.errors import InputError, Reason
from shoal.kernels.sparse import SparseMatrix
from shoal.kinds import notation
from shoal.kinds.hierarchy import MISSING
from shoal.kinds.hierarchy_rules import Intervals
from shoal.kinds.released_numbers import read_number
from shoal.reading.cells import ALL, Floats, Index, ReadCells
from shoal.reading.codebook import ColumnNotes
from shoal.reading.places import (
    bounds_of,
    declared_ends,
    is_missing,
    place_of,
    places_of,
    reversed_range,
)

MOST_BINS = 256
"""Scales are divided into at most this many bins, unless they have few whole numbers."""
MOST_WHOLE = 1024
"""A scale of up to this many whole numbers has a bin for each."""
GROUPS = 12
"""The number of groups that a long scale is divided into by default."""
EPOCH = datetime.date(1970, 1, 1)


@dataclass(frozen=True)
class AskedRanges:
    """Closed ranges of a scale, ascending and apart, and whether a missing value is asked for."""

    ends: tuple[tuple[float, float], ...]
    texts: tuple[tuple[str, str], ...]
    missing: bool


@dataclass(frozen=True, eq=False)
class OrderedCells(ReadCells[AskedRanges]):
    """Intervals of a scale of numbers, days or ordered categories; a missing value is the last atom.

    Parameters
    ----------
    low, high
        The ends of each cell; not a number for a missing value.
    texts
        The ends as they are written.
    suppressed
        Which cells say nothing; they may be missing, too.
    edges
        Where bins begin, and the end of the last.
    integral
        Whether values are whole numbers.
    """

    low: Floats
    high: Floats
    texts: tuple[tuple[str, str], ...]
    suppressed: NDArray[np.bool_]
    edges: Floats
    integral: bool

    @property
    def atoms(self) -> int:
        """The number of bins, and one for missing values."""
        return len(self.edges)

    @cached_property
    def absent(self) -> NDArray[np.bool_]:
        """Which cells are a missing value."""
        return np.isnan(self.low)

    @cached_property
    def exact(self) -> NDArray[np.bool_]:
        return np.asarray(self.absent | ((self.low == self.high) & ~self.suppressed))

    @property
    def vague(self) -> NDArray[np.bool_]:
        return self.suppressed

    def even(self) -> Floats:
        # Where numbers are so large that their sums overflow, all are made smaller.
        scale = 1.0 if float(np.abs(self.edges).max()) < 1e300 else 1e10
        widths = np.diff(self.edges / scale)
        return np.append(widths / widths.sum(), 0.0)

    def question(self, condition: Any) -> AskedRanges:
        members = condition if isinstance(condition, list | set | frozenset) else [condition]
        missing = any(is_missing(each) for each in members)
        pairs = []
        for each in members:
            if is_missing(each):
                continue
            pairs.append(bounds_of(each, self.notes))
        ends = [(place_of(a, self.notes, False), place_of(b, self.notes, True)) for a, b in pairs]
        order = sorted(range(len(ends)), key=ends.__getitem__)
        apart: list[tuple[float, float]] = []
        named: list[tuple[str, str]] = []
        for place in order:
            (low, high), (low_text, high_text) = ends[place], pairs[place]
            if low > high:
                raise reversed_range(low_text, high_text, self.notes)
            joins = bool(apart) and (low <= apart[-1][1] or (self.integral and low <= apart[-1][1] + 1))
            if joins:
                if high > apart[-1][1]:
                    apart[-1], named[-1] = (apart[-1][0], high), (named[-1][0], high_text)
            else:
                apart.append((low, high))
                named.append((low_text, high_text))
        return AskedRanges(tuple(apart), tuple(named), missing)

    def certain(self, asked: AskedRanges) -> NDArray[np.bool_]:
        inside = self.absent & asked.missing
        for (low, high), texts in zip(asked.ends, asked.texts, strict=True):
            after, before = self.low >= low, self.high <= high
            after &= ~self._ties(self.low == low, 0, texts[0], 1)
            before &= ~self._ties(self.high == high, 1, texts[1], -1)
            inside = inside | (after & before)
        return inside & ~self.suppressed

    def possible(self, asked: AskedRanges) -> NDArray[np.bool_]:
        touching = self.suppressed | (self.absent & asked.missing)
        for low, high in asked.ends:
            touching = touching | ((self.low <= high) & (self.high >= low))
        return touching

    def _ties(self, equal: NDArray[np.bool_], end: int, text: str, sign: int) -> NDArray[np.bool_]:
        """Return which ends that equal a bound as floats lie beyond it if compared exactly."""
        beyond = np.zeros(len(self), dtype=np.bool_)
        bound = read_number(text) if self.notes.kind.numeric else None
        if bound is None:
            return beyond
        for cell in np.flatnonzero(equal):
            number = read_number(self.texts[cell][end])
            beyond[cell] = number is not None and sign * (Decimal(bound) - Decimal(number)) > 0
        return beyond

    @property
    def _half(self) -> float:
        return 0.5 if self.integral else 0.0

    def _spans(self, index: Index) -> tuple[Floats, Floats]:
        """Return where cells begin and end."""
        return self.low[index] - self._half, self.high[index] + self._half

    def _asked_spans(self, asked: AskedRanges) -> list[tuple[float, float]]:
        if not self.integral:
            return list(asked.ends)
        return [(float(np.ceil(low)) - 0.5, float(np.floor(high)) + 0.5) for low, high in asked.ends]

    def _positions(self, places: Floats) -> Floats:
        """Return places on the scale as numbers of bins, with a fraction inside a bin."""
        return np.interp(places, self.edges, np.arange(len(self.edges)))

    def mass(self, weights: Floats, asked: AskedRanges | None = None, index: Index = ALL) -> Floats:
        bins = len(self.edges) - 1
        before = np.concatenate([np.zeros((1, weights.shape[1])), np.cumsum(weights[:bins], axis=0)])
        padded = np.concatenate([weights[:bins], np.zeros((1, weights.shape[1]))])

        def below(positions: Floats) -> Floats:
            whole = np.floor(positions).astype(np.int64)
            return np.asarray(before[whole] + (positions - whole)[:, None] * padded[whole])

        low, high = self._spans(index)
        maybe_missing = self.suppressed[index] | self.absent[index]
        low, high = np.nan_to_num(low, nan=np.inf), np.nan_to_num(high, nan=-np.inf)
        total = np.zeros((len(low), weights.shape[1]))
        for first, last in [(-np.inf, np.inf)] if asked is None else self._asked_spans(asked):
            start, end = np.maximum(low, first), np.minimum(high, last)
            there = end > start
            start, end = self._positions(np.where(there, start, 0)), self._positions(np.where(there, end, 0))
            total += np.where(there[:, None], below(end) - below(start), 0.0)
        if asked is None or asked.missing:
            total[maybe_missing] += weights[bins]
        return total

    def _required_ends(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return for which cells the lower and the upper end is required; of equal ends only the lower."""
        lower = (self.tight & ~self.suppressed) | self.exact
        return lower & ~self.absent, lower & ~self.exact

    def required(self, asked: AskedRanges | None = None, index: Index = ALL) -> Floats:
        lower, upper = self._required_ends()
        absent = self.absent & self.exact
        if asked is not None:
            lower, upper = lower & self._within(self.low, asked), upper & self._within(self.high, asked)
            absent = absent & asked.missing
        return (lower.astype(np.float64) + upper + absent)[index]

    def required_powers(self, power: int, asked: AskedRanges | None, index: Index) -> Floats:
        """Return the sum of a power of the required numbers of some cells, inside a question."""
        total = np.zeros(len(self))
        for ends, there in zip((self.low, self.high), self._required_ends(), strict=True):
            inside = there if asked is None else there & self._within(ends, asked)
            total += np.where(inside, np.nan_to_num(ends) ** power, 0.0)
        return np.asarray(total[index])

    def _within(self, places: Floats, asked: AskedRanges) -> NDArray[np.bool_]:
        found = np.zeros(len(places), dtype=np.bool_)
        for low, high in asked.ends:
            found |= (low <= places) & (places <= high)
        return found

    def _bins(self, places: Floats) -> NDArray[np.int64]:
        bins = np.searchsorted(self.edges, np.nan_to_num(places), side="right") - 1
        return np.clip(bins, 0, len(self.edges) - 2)

    @cached_property
    def _required_atoms(self) -> SparseMatrix:
        """How often each cell requires each atom."""
        lower, upper = self._required_ends()
        cells = [np.flatnonzero(each) for each in (lower, upper, self.absent)]
        atoms = [
            self._bins(self.low)[lower],
            self._bins(self.high)[upper],
            np.full(int(self.absent.sum()), self.atoms - 1),
        ]
        rows, columns = np.concatenate(cells), np.concatenate(atoms)
        return SparseMatrix.of_places(np.ones(len(rows)), rows, columns, (len(self), self.atoms))

    @cached_property
    def _coverage(self) -> SparseMatrix:
        """The share of each atom that each cell contains."""
        bins = len(self.edges) - 1
        known = np.flatnonzero(~self.absent)
        low, high = self._spans(known)
        start, end = self._positions(low), self._positions(high)
        first = np.minimum(np.floor(start).astype(np.int64), bins - 1)
        last = np.clip(np.ceil(end).astype(np.int64) - 1, first, bins - 1)
        sizes = last - first + 1
        owners = np.repeat(np.arange(len(known)), sizes)
        atoms = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes - first, sizes)
        shares = np.minimum(end[owners], atoms + 1) - np.maximum(start[owners], atoms)
        missing = np.flatnonzero(self.suppressed | self.absent)
        rows = np.concatenate([known[owners], missing])
        columns = np.concatenate([atoms, np.full(len(missing), bins)])
        values = np.concatenate([np.maximum(shares, 0.0), np.ones(len(missing))])
        return SparseMatrix.of_places(values, rows, columns, (len(self), self.atoms))

    def required_mass(self, weights: Floats) -> Floats:
        return np.asarray(self._required_atoms @ weights)

    def spread(self, amounts: Floats) -> Floats:
        return np.asarray(self._coverage.spread(amounts))

    def spread_required(self, amounts: Floats) -> Floats:
        return np.asarray(self._required_atoms.spread(amounts))

    def coarsened(self) -> OrderedCells:
        """Return the same with one cell for each atom, for a column without generalized values."""
        atom = np.where(self.absent, self.atoms - 1, self._bins(self.low))
        middles = np.append(self.edges[:-1] / 2 + self.edges[1:] / 2, np.nan)
        count = self.atoms
        return replace(
            self,
            cell=atom[self.cell].astype(np.int32),
            records=np.ones(count, dtype=np.int64),
            tight=np.zeros(count, dtype=np.bool_),
            low=middles,
            high=middles,
            texts=(("", ""),) * count,
            suppressed=np.zeros(count, dtype=np.bool_),
        )

    def drawn(
        self, weights: Floats, rows: NDArray[np.int64], free: Floats, generator: np.random.Generator
    ) -> NDArray[Any]:
        cells = self.cell[rows]
        lower, upper = self._required_ends()
        values = self.low[cells].copy()
        first_end = generator.random(len(rows)) < 0.5
        values = np.where(upper[cells] & ~first_end, self.high[cells], values)
        inner = (generator.random(len(rows)) < free) | ~(lower | self.absent)[cells]
        inner &= ~self.exact[cells]
        chosen = cells[inner]
        bins = len(self.edges) - 1
        before = np.concatenate([[0.0], np.cumsum(weights[:bins, 0])])
        low, high = self._spans(ALL)
        points = np.arange(bins + 1)
        start = np.interp(self._positions(low[chosen]), points, before)
        end = np.interp(self._positions(high[chosen]), points, before)
        aside = np.where(self.suppressed[chosen], weights[bins, 0], 0.0)
        at = start + generator.random(len(chosen)) * (end - start + aside)
        places = np.interp(np.interp(at, before, points), points, self.edges)
        if self.integral:
            places = np.round(places)
        places = np.clip(places, self.low[chosen], self.high[chosen])
        values[inner] = np.where(at > end, np.nan, places)
        return values

    def decoded(self, values: NDArray[Any]) -> pl.Series:
        kind, name = self.notes.kind, self.notes.name
        places = pl.Series(name, values, dtype=pl.Float64).fill_nan(None)
        if not kind.measured and self.notes.domain is not None:
            labels = pl.Series([str(each) for each in self.notes.domain], dtype=pl.String)
            return labels.gather(places.cast(pl.Int64)).rename(name)
        if (values_there := kind.off_the_line(places)) is not None:
            return values_there.rename(name)
        if self.integral:
            places = places.cast(pl.Int64)
        return (
            places.cast(pl.Int32).cast(pl.Date) if kind.unit.strip() == "days" and self.integral else places
        )

    def default_groups(self) -> list[tuple[Any, Any]]:
        if self.absent.all():
            return [(MISSING, None)]
        low, high = float(np.nanmin(self.low)), float(np.nanmax(self.high))
        named = self._named
        if self.integral and high - low < 2 * GROUPS:
            groups = [(named(value), (named(value), named(value))) for value in np.arange(low, high + 1)]
        else:
            # Groups end just before the next one begins. If the gap is a large part of a group, there is one.
            fine = high - low > GROUPS * 1e9 * np.spacing(max(abs(low), abs(high)))
            edges = np.linspace(low, high, GROUPS + 1 if self.integral or fine else 2)
            if self.integral:
                edges = np.unique(np.round(edges))
            starts = edges[:-1] if not self.integral else np.append(edges[0], edges[1:-1] + 1)
            ends = edges[1:] if self.integral else np.append(np.nextafter(edges[1:-1], -np.inf), edges[-1])
            pairs = [(named(a), named(b)) for a, b in zip(starts, ends, strict=True)]
            groups = [(f"{a}{notation.BETWEEN}{b}", (a, b)) for a, b in pairs]
        return [*groups, (MISSING, None)]

    def _named(self, place: float) -> Any:
        """Return a place on the scale as a value that a condition can have."""
        if not self.notes.kind.measured and self.notes.domain is not None:
            return self.notes.domain[int(place)]
        if (there := self.notes.kind.off_the_line(pl.Series([place], dtype=pl.Float64))) is not None:
            return there[0]
        if self.notes.kind.unit.strip() == "days":
            return EPOCH + datetime.timedelta(days=int(place))
        return int(place) if self.integral else float(place)

    def _gathered(self, cells: NDArray[np.int64]) -> Self:
        return replace(
            self,
            low=self.low[cells],
            high=self.high[cells],
            texts=tuple(self.texts[cell] for cell in cells),
            suppressed=self.suppressed[cells],
            tight=self.tight[cells],
        )


def ordered_cells(
    notes: ColumnNotes, texts: Sequence[str], cell: NDArray[np.int32], most_bins: int = MOST_BINS
) -> OrderedCells:
    """Return the cells of a column with an order.

    Parameters
    ----------
    notes
        What is known about the column.
    texts
        The different cells as they are written; without any notation if it is no quasi-identifier.
    cell
        For each row, the number of its cell.
    most_bins
        The maximum number of bins.

    Raises
    ------
    InputError
        If a cell cannot be read.
    """
    pairs = [_ends(text, notes) for text in texts]
    known = [pair for pair in pairs if pair is not None]
    flat = places_of([end for pair in known for end in pair[:2]], notes)
    low, high = np.full(len(texts), np.nan), np.full(len(texts), np.nan)
    there = np.array([pair is not None for pair in pairs], dtype=np.bool_)
    low[there], high[there] = flat[0::2], flat[1::2]
    if notes.kind.unit.strip() == "days" and notes.quasi:
        low, high = np.floor(low), np.floor(high)
    suppressed = np.array([text == notation.SUPPRESSED and notes.quasi for text in texts], dtype=np.bool_)
    odd = there & ~(low <= high)  # also if an end is no value
    if odd.any():
        raise InputError(
            f"column {notes.name!r} of the release: {texts[int(odd.argmax())]!r} is neither "
            f"{with_article(notes.kind.value)} value nor an interval such as 20..40",
            reason=Reason.RELEASE_UNREADABLE,
            column=notes.name,
        )
    ends = np.concatenate([low[there], high[there], declared_ends(notes)])
    ends = ends if len(ends) else np.zeros(1)
    integral = bool((ends == np.round(ends)).all()) and float(np.abs(ends).max()) < 2**52
    half_open = np.array([pair is not None and pair[2] for pair in pairs], dtype=np.bool_)
    if integral:
        high = np.where(half_open, np.maximum(high - 1, low), high)
    low, high = np.where(suppressed, ends.min(), low), np.where(suppressed, ends.max(), high)
    named = tuple(("", "") if pair is None else pair[:2] for pair in pairs)
    ones = np.ones(len(texts), dtype=np.int64)
    tight = np.full(len(texts), notes.quasi) & ~suppressed & (not isinstance(notes.hierarchy, Intervals))
    edges = _edges(ends, integral, most_bins)
    return OrderedCells(notes, cell, ones, tight, low, high, named, suppressed, edges, integral)


def _edges(ends: Floats, integral: bool, most: int) -> Floats:
    low, high = float(ends.min()), float(ends.max())
    if integral and high - low < min(MOST_WHOLE, 4 * most):
        return np.arange(low - 0.5, high + 1.0)
    scale = 1.0 if math.isfinite(high - low) else 2.0
    inner = np.quantile(ends / scale, np.linspace(0, 1, most + 1)) * scale
    if integral:
        return np.unique(np.concatenate([[low - 0.5], np.floor(inner) + 0.5, [high + 0.5]]))
    return np.unique(inner) if high > low else np.array([low, np.nextafter(low, np.inf)])


def _ends(text: str, notes: ColumnNotes) -> tuple[str, str, bool] | None:
    """Return the two ends of a written cell, and whether the upper one is left out; None if it has none."""
    if not notes.quasi:
        return None if text == MISSING or text in notes.missing_marks else (text, text, False)
    if text in (MISSING, notation.SUPPRESSED):
        return None
    if (pair := notation.read_interval(text)) is not None:
        return (*pair, False)
    foreign = notation.read_foreign_interval(text)
    if foreign is not None and np.isnan(places_of([text], notes)[0]):
        return foreign[0], foreign[1], not foreign[3]
    members = notation.read_set(text)
    return (members[0], members[0], False) if len(members) == 1 else (text, text, False)
