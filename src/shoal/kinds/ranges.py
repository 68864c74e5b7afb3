"""Ordered values: numbers, dates and ordered categories. A generalized value is an interval of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import inf, isinf, nan
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.base.ragged import Lists
from shoal.base.wording import with_article
from shoal.errors import InputError, Reason
from shoal.kernels import RANGE, CodeIntervals, Geometry
from shoal.kinds import exact_numbers as exact
from shoal.kinds import notation
from shoal.kinds.domain import Codes, Domain, sum_of_powers
from shoal.kinds.generalized import Generalized, covered, entropies_of_intervals, sizes_of_intervals
from shoal.kinds.hierarchy import MISSING
from shoal.kinds.limits import Band, Bands, ColumnLimit, Place, widest_reach
from shoal.kinds.moments import Moment
from shoal.kinds.moments import read as read_moment

if TYPE_CHECKING:
    from shoal.schema import Column

NARROW = 1e-12
"""Below this share of the domain, no value between the ends of an interval can be distinguished."""


@dataclass(frozen=True, eq=False)
class RangeDomain(Domain):
    """Numbers, dates or ordered categories; a generalized value is an interval of them.

    Parameters
    ----------
    positions
        Where each code lies between the lowest (0) and the highest (1) possible value. The missing value
        lies at 2, farther from every number than any two numbers from each other.
    """

    positions: NDArray[np.float64]

    ordered: ClassVar[bool] = True

    def read_released(self, cells: Sequence[str | None], column: Column) -> Ranges:
        scale = column.kind.scale(self, column)
        low, high = np.empty(len(cells), np.int32), np.empty(len(cells), np.int32)
        for i, cell in enumerate(cells):
            if cell is None:
                low[i], high[i] = 0, -1
            elif cell == notation.SUPPRESSED:
                low[i], high[i] = 0, len(self) - 1
            elif cell == MISSING:
                low[i], high[i] = (self.missing, self.missing) if self.missing is not None else (0, -1)
            else:
                least, most, with_least, with_most = scale.ends(cell, column)
                low[i] = scale.below(least) if with_least else scale.up_to(least)
                high[i] = (scale.up_to(most) if with_most else scale.below(most)) - 1
                if low[i] > high[i]:
                    low[i], high[i] = 0, -1
        return Ranges(self, low, high)

    @property
    def released_type(self) -> pl.DataType:
        """Structs of the lowest and the highest value."""
        return interval_type(self.values.dtype)

    def reads_as_several(self, text: str, is_value: Callable[[str], bool]) -> bool:
        ends = notation.read_interval(text) or (notation.read_foreign_interval(text) or ())[:2]
        return super().reads_as_several(text, is_value) or (bool(ends) and all(map(is_value, ends)))

    def closure(self, codes: Codes, starts: NDArray[np.int64]) -> Ranges:
        """Return the smallest interval around each group.

        Numbers and the missing value have only the whole domain in common.
        """
        low = np.minimum.reduceat(codes, starts[:-1])
        high = np.maximum.reduceat(codes, starts[:-1])
        if self.missing is not None:
            low = np.where((high == self.missing) & (low < high), np.int32(0), low)
        return Ranges(self, low, high)

    def widest(self, column: Column) -> ColumnLimit:
        """Return the limit of intervals; of those of bands, if there are any."""
        if column.widest is None and column.suppressible:
            return ColumnLimit()
        places = column.kind.places(self.values.head(self.known))
        ends = list(places) if self.bands is None else [places[code] for code in self.bands.last]
        starts = ends if self.bands is None else [places[code] for code in self.bands.first]
        reach = np.full(len(ends), len(ends) - 1, dtype=np.int32)
        if column.widest is not None:
            reach = widest_reach(starts, ends, column.kind.width(column))
        covers_all = len(ends) > 1 and self.positions[0] <= 0.0 and self.positions[self.known - 1] >= 1.0
        if not column.suppressible and self.missing is None and covers_all:
            reach[0] = min(reach[0], len(ends) - 2)
        missing = [] if self.missing is None else [len(ends)]
        return ColumnLimit(reach=np.append(reach, missing).astype(np.int32))

    def in_bands(self) -> RangeDomain:
        """Return the bands as a domain of their own, each at its middle."""
        assert self.bands is not None
        first, last = self.bands.first, self.bands.last
        codes = first if self.missing is None else np.append(first, self.missing)
        middles = (self.positions[first] + self.positions[last]) / 2
        return RangeDomain(
            tuple(self.labels[code] for code in codes),
            self.values.gather(codes),
            None if self.missing is None else len(first),
            np.append(middles, [2.0] * (self.missing is not None)),
        )

    def wider(self, cells: Sequence[str | None], values: Generalized, column: Column) -> NDArray[np.bool_]:
        """Return it by what is written, also about values that do not occur."""
        del values
        scale = column.kind.scale(self, column)
        places = column.kind.places(self.values.head(self.known))
        width = Decimal(0) if column.exact else None
        if column.widest is not None:
            width = column.kind.width(column)
        span = 0 if len(self) == 1 else inf if self.missing is not None else places[-1] - places[0]

        def is_wrong(cell: str | None) -> bool:
            if cell is None or cell == MISSING:
                return False
            if cell == notation.SUPPRESSED:
                return width is not None and span > width
            least, most, _, with_most = scale.ends(cell, column)
            low, high = column.kind.place(least), column.kind.place(most)
            if width is not None and high - low > width:
                return True
            return column.bands is not None and self._cuts_a_band(low, high, with_most, column)

        return np.array([is_wrong(cell) for cell in cells], dtype=np.bool_)

    def _cuts_a_band(self, low: Place, high: Place, with_high: bool, column: Column) -> bool:
        """Return whether an interval ends inside a band."""
        whole = not (self.values.dtype.is_float() or self.values.dtype.is_decimal())
        integers = self.values.dtype.is_integer()
        try:
            start, _ = next(column.kind.bands(column, low, low, whole=integers), (None, None))
            begin, end = next(column.kind.bands(column, high, high, whole=integers), (None, None))
        except (ValueError, ArithmeticError):  # outside the bands, or endless
            return True
        return low != start or (high != end and not (high == begin and not (whole and with_high)))

    def geometry(self, weight: float) -> Geometry:
        return Geometry(RANGE, weight, len(self), self.positions)

    def lm_geometry(self, weight: float) -> Geometry:
        """Return costs by how many values an interval contains, wherever these lie."""
        ranks = np.arange(len(self)) / max(len(self) - 1, 1)
        if self.missing is not None:
            ranks[self.missing] = 2.0
        return Geometry(RANGE, weight, len(self), ranks)

    def expected_costs(self, counts: NDArray[np.int64], k: int) -> NDArray[np.float64]:
        # A gap between two values counts when all records lie beyond it.
        gaps, below = np.diff(self.positions), np.cumsum(counts / counts.sum())[:-1]
        from_below = np.append(0.0, np.cumsum(gaps * sum_of_powers(below, k)))
        from_above = np.append(0.0, np.cumsum((gaps * sum_of_powers(1 - below, k))[::-1]))[::-1]
        return np.asarray(from_below + from_above)

    def best_cut(self, counts: NDArray[np.int64], fewest: float) -> tuple[float, NDArray[np.bool_]] | None:
        """Return by how much the mean distance of two records falls at best, and which codes are then low."""
        below = np.cumsum(counts)[:-1]
        total = int(counts.sum())
        allowed = (below >= fewest) & (total - below >= fewest)
        if not allowed.any():
            return None
        left = _distances(counts, self.positions)
        right = _distances(counts[::-1], -self.positions[::-1])[::-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            cost = (left[:-1] / below + right[1:] / (total - below)) / total
        cost[~allowed] = np.inf
        best = int(np.argmin(cost))
        return float(left[-1] / total**2 - cost[best]), np.arange(len(self)) <= best

    def cut_parts_are_apart(self, *, missing: bool) -> bool:
        return not missing  # a number and a missing value have only the whole domain in common

    def as_items(self, steps: int) -> tuple[Lists, int]:
        """Return each value as the steps of a scale up to where it lies."""
        # The missing value, at 2, is farther from every number than any two numbers from each other.
        heights = np.rint(self.positions * steps).astype(np.int64)
        starts = np.cumsum(heights) - heights
        values = np.arange(heights.sum()) - np.repeat(starts, heights)
        return Lists.of_sizes(heights, values.astype(np.int32)), 2 * steps

    def diversity(
        self, codes: Codes, starts: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the span of the values in each group, as a share of the column's."""
        positions = self.positions[codes]
        spread = np.maximum.reduceat(positions, starts[:-1]) - np.minimum.reduceat(positions, starts[:-1])
        known = self.positions[(self.positions <= 1.0) & (counts > 0)]
        column = float(known.max() - known.min()) if len(known) else 0.0
        return np.minimum(spread / column, 1.0) if column > 0 else (spread > 0).astype(np.float64)


@dataclass(frozen=True, eq=False)
class TimesDomain(RangeDomain):
    """Dates, some with a time of day, as the auditor distinguishes them.

    Parameters
    ----------
    moments
        The moment that each code but the missing one stands for, ascending; `values` has their days.
    """

    moments: tuple[Moment, ...]

    def are_whole_days(self, cells: Sequence[str], column: Column) -> NDArray[np.bool_]:
        spans = [read_moment(cell, column.date_format) for cell in cells]
        return np.array([span is not None and span[0] < span[1] for span in spans], dtype=np.bool_)


class Scale:
    """The values of an ordered domain, for an auditor who looks for the ends of intervals among them.

    Parameters
    ----------
    ranked
        The values without the missing one, ascending.
    read
        Reads a text: one value, the least and the greatest value that it stands for, or None if it is none.
    """

    def __init__(self, ranked: Sequence[Any], read: Callable[[str], Any]) -> None:
        self._ranked, self._read = ranked, read

    def read(self, text: str) -> tuple[Any, Any] | None:
        """Return the least and the greatest value that a text stands for; None if it is no value."""
        found = self._read(text)
        return found if found is None or isinstance(found, tuple) else (found, found)

    def read_end(self, text: str, *, lower: bool) -> tuple[Any, Any] | None:
        """Return what the end of an interval stands for, as `read`; `lower` says which of the two it is."""
        del lower
        return self.read(text)

    def below(self, value: Any) -> int:
        """Return how many values are less than one."""
        return bisect_left(self._ranked, value)

    def up_to(self, value: Any) -> int:
        """Return how many values are not greater than one."""
        return bisect_right(self._ranked, value)

    def ends(self, cell: str, column: Column) -> tuple[Any, Any, bool, bool]:
        """Return the two ends of a written interval or value, and whether they belong to it.

        Raises
        ------
        InputError
            If the cell is neither.
        """
        if (pair := notation.read_interval(cell)) is not None:
            low, high = self.read_end(pair[0], lower=True), self.read_end(pair[1], lower=False)
            if low is not None and high is not None:
                return low[0], high[1], True, True
        members = notation.read_set(cell)
        single = self.read(members[0]) if len(members) == 1 else None  # a set of numbers is no interval
        if single is not None:
            return *single, True, True
        if (foreign := notation.read_foreign_interval(cell)) is not None:
            low, high = self.read_end(foreign[0], lower=True), self.read_end(foreign[1], lower=False)
            if low is not None and high is not None:
                return low[not foreign[2]], high[foreign[3]], foreign[2], foreign[3]
        sets = "; if the release shows sets, make the column categorical" if len(members) > 1 else ""
        kind = with_article(column.kind.value)
        raise InputError(
            f"column {column.name!r} of the release: {cell!r} is neither {kind} value "
            f"nor an interval such as 20..40 or [20, 40[{sets}",
            reason=Reason.RELEASE_UNREADABLE,
            column=column.name,
        )


@dataclass(frozen=True, eq=False)
class Ranges(Generalized):
    """Intervals of codes, both ends included; an empty interval has low > high."""

    domain: RangeDomain
    low: Codes
    high: Codes

    noun: ClassVar[str] = "intervals"

    def __len__(self) -> int:
        return len(self.low)

    def covers(self, index: NDArray[np.integer[Any]], codes: Codes) -> NDArray[np.bool_]:
        return np.asarray((self.low[index] <= codes) & (codes <= self.high[index]))

    def ncp(self) -> NDArray[np.float64]:
        positions = self.domain.positions
        spans = np.minimum(positions[self.high] - positions[self.low], 1.0)
        return np.where(self.low <= self.high, spans, 0.0)

    def sizes(self) -> NDArray[np.int64]:
        return (self.high - self.low + 1).astype(np.int64)

    def entropies(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        return entropies_of_intervals(counts, self.low, self.high)

    def keys(self) -> list[NDArray[np.int32]]:
        return [self.low, self.high]

    def texts(self) -> list[str]:
        # All numbers of a column with missing values still say that the value is not missing.
        whole = (self.low == 0) & (self.high == len(self.domain.labels) - 1) & (self.low < self.high)
        return self._written(whole & (self.ncp() >= 1.0))

    def named(self) -> list[str]:
        return self._written(self._mixed)

    @property
    def _mixed(self) -> NDArray[np.bool_]:
        """Which contain the missing value beside others, so that they say nothing."""
        return np.asarray((self.high == self.domain.missing) & (self.low < self.high))

    def _written(self, suppressed: NDArray[np.bool_]) -> list[str]:
        labels = self.domain.labels
        lows, highs = self.low.tolist(), self.high.tolist()
        ends = {code: notation.write_end(labels[code]) for code in {*lows, *highs}}  # each in many intervals
        return [
            notation.SUPPRESSED
            if everything
            else notation.write_point(labels[low])
            if low == high
            else notation.join_ends(ends[low], ends[high])
            for low, high, everything in zip(lows, highs, suppressed.tolist(), strict=True)
        ]

    def typed(self) -> pl.Series:
        """Return structs of low and high: null for the missing value, no bounds where nothing is said."""
        mixed = pl.Series(self._mixed)
        values = self.domain.values
        bounds = pl.select(
            low=pl.when(~mixed).then(values.gather(self.low)),
            high=pl.when(~mixed).then(values.gather(self.high)),
        ).to_struct(values.name)
        missing = pl.Series((self.low == self.domain.missing) & (self.low == self.high))
        return pl.select(pl.when(~missing).then(bounds)).to_series().rename(values.name)

    def different(self) -> tuple[Ranges, NDArray[np.int64]]:
        keys = self.low.astype(np.int64) * (len(self.domain) + 1) + self.high
        _, first, shown = np.unique(keys, return_index=True, return_inverse=True)
        return Ranges(self.domain, self.low[first], self.high[first]), shown

    def joined(self, others: Sequence[Generalized]) -> Ranges:
        each: list[Any] = [self, *others]
        low, high = (np.concatenate([getattr(part, end) for part in each]) for end in ("low", "high"))
        return Ranges(self.domain, low, high)

    def between_bands(self, domain: Domain) -> Ranges:
        assert isinstance(domain, RangeDomain)
        assert domain.bands is not None
        bands, missing = domain.bands, [] if domain.missing is None else [domain.missing]
        first, last = np.append(bands.first, missing), np.append(bands.last, missing)
        return Ranges(domain, first[self.low].astype(np.int32), last[self.high].astype(np.int32))

    def for_kernel(self) -> CodeIntervals:
        return CodeIntervals(len(self.domain), self.low, self.high)

    def sizes_within(self, first: int, last: int) -> NDArray[np.int64]:
        possible = np.ones(len(self.domain), np.bool_)
        return sizes_of_intervals(self.low, self.high, possible, first, last)

    def is_exact(self) -> NDArray[np.bool_]:
        return np.asarray(self.low == self.high)

    def is_everything(self, size: int) -> NDArray[np.bool_]:
        return np.asarray(self.high - self.low == size - 1)

    def expected(self, often: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how many rows have each code if values are equally likely along their interval.

        What lies between two codes is shared by them.
        """
        domain, low, high = self.domain, self.low, self.high
        expected = np.zeros(len(domain))
        if domain.missing is not None:
            # A cell that may be missing may also be anything else: missing is one of its values.
            mixed = (high == domain.missing) & (low < high)
            expected[domain.missing] = often[mixed].sum() / len(domain)
            often = np.where(mixed, often * (1 - 1 / len(domain)), often)
            high = np.where(mixed, high - 1, high)
        single = low == high
        np.add.at(expected, low[single], often[single])
        positions = domain.positions
        length = positions[high] - positions[low]
        # If the ends are too close to distinguish values between them, each gets half.
        narrow = ~single & (length < NARROW)
        np.add.at(expected, low[narrow], often[narrow] / 2)
        np.add.at(expected, high[narrow], often[narrow] / 2)
        wide = ~(single | narrow)
        density = np.divide(often, length, out=np.zeros(len(often)), where=wide)
        between = covered(density, low, high, len(domain) - 1) * np.diff(positions)
        expected[:-1] += between / 2
        expected[1:] += between / 2
        return expected

    def mean_width(self, shown: NDArray[np.integer[Any]]) -> float:
        """Return the mean width of intervals of numbers or, in days, of dates; not a number without any."""
        known = self.domain.known
        numbers = np.zeros(len(self.domain))
        values = self.domain.values[:known]
        numbers[:known] = exact.near(values.to_physical() if values.dtype.is_temporal() else values)
        within = (self.high < known) & (self.low <= self.high)
        rows = shown[within[shown]]
        if not len(rows):
            return nan
        # Halves and shares first: neither a difference nor a sum of floats is too large then.
        halves = numbers[self.high[rows]] / 2 - numbers[self.low[rows]] / 2
        return 2 * float((halves / len(rows)).sum())


def with_bands(domain: Domain, bands: Sequence[Band], places: Sequence[Place]) -> Domain:
    """Return a domain with bands, the ends of which are among its values.

    Parameters
    ----------
    domain
        The domain; its missing value is in no band.
    bands
        The two ends of each band, ascending.
    places
        Where the values of the domain lie.
    """
    first = np.array([bisect_left(places, start) for start, _ in bands], dtype=np.int32)
    last = np.array([bisect_left(places, end) for _, end in bands], dtype=np.int32)
    of_code = np.searchsorted(first, np.arange(len(places)), side="right") - 1
    missing = [] if domain.missing is None else [len(bands)]
    return replace(domain, bands=Bands(first, last, np.append(of_code, missing).astype(np.int32)))


def interval_type(each: pl.DataType) -> pl.Struct:
    """Return the data type of released intervals of values with a type."""
    return pl.Struct({"low": each, "high": each})


def positions_between(values: pl.Series, *ends: Any) -> NDArray[np.float64]:
    """Return where ascending numbers lie between the lowest (0) and the highest (1) possible one."""
    fitting = [end for end in map(exact.fitting, ends, [values.dtype] * 2) if end is not None]
    if len(fitting) < 2:
        return exact.shares(values, *ends)
    low, high = fitting
    places: NDArray[Any] = values.to_numpy()
    if values.dtype.is_integer():
        # Integers near each other but far from zero differ by less than a float can express: subtract first.
        first = int(places[0])
        places = (places.astype(np.int64) - first).view(np.uint64).astype(np.float64)
        low, high = low - first, high - first
    if isinf(high - low):
        places, low, high = places / 2, low / 2, high / 2
    return (places - low) / (high - low) if high > low else np.zeros(len(places))


def _distances(counts: NDArray[np.int64], positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of the distances of all pairs, both ways, of records up to each code."""
    before = np.cumsum(counts) - counts
    places = np.cumsum(counts * positions) - counts * positions
    return np.asarray(2 * np.cumsum(counts * (positions * before - places)))
