"""The kind of dates. A generalized value is an interval of days, without times of day."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, Reason
from shoal.kinds import limits, moments
from shoal.kinds.domain import Attribute, Domain
from shoal.kinds.groups import round_starts, span_labels
from shoal.kinds.hierarchy import MISSING
from shoal.kinds.kind import refuse, refuse_years
from shoal.kinds.ranges import RangeDomain, Scale, TimesDomain, positions_between
from shoal.kinds.trees import TreeDomain
from shoal.kinds.value_kind import ValueKind

if TYPE_CHECKING:
    from shoal.schema import Column

_ISO_DATE = (
    r"^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
    r"(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?)?$"
)

_DAY = datetime.timedelta(days=1)
_EPOCH = datetime.date(1970, 1, 1)


class Dates(ValueKind, name="date"):
    """Days; the auditor also distinguishes times of day."""

    __slots__ = ()

    ordered: ClassVar[bool] = True
    measured: ClassVar[bool] = True
    unit: ClassVar[str] = " days"
    settings: ClassVar[frozenset[str]] = frozenset({"hierarchy", "date_format"})
    often_known: ClassVar[str] = "the day of an event"
    known_if_sensitive: ClassVar[bool] = True

    def fits(self, series: nw.Series[Any], texts: nw.Series[Any] | None) -> bool:
        if texts is not None:
            return bool(texts.str.contains(_ISO_DATE).all())
        return series.dtype in (nw.Date, nw.Datetime)

    def checked_domain(self, column: Column) -> tuple[Any, ...] | None:
        if column.domain is None:
            return None
        bounds = []
        for bound in column.domain:
            with suppress(ValueError, TypeError):
                bounds.append(datetime.date.fromisoformat(str(bound)[:10]))
        if len(column.domain) != 2 or len(bounds) != 2 or bounds[0] > bounds[1]:
            raise ValueError(
                f"domain {list(column.domain)!r} must be two dates (YYYY-MM-DD), the lowest and the highest"
            )
        return tuple(bounds)

    def attribute(
        self,
        cells: pl.Series,
        column: Column,
        rows: NDArray[np.int64],
        known: Domain | None = None,
        *,
        times: bool = False,
    ) -> Attribute:
        if times and column.hierarchy is None and moments.has_time(column.date_format):
            refuse_years(cells, column, rows)
            timed = _times_attribute(cells, column, rows)
            if timed is not None:
                return timed
        return super().attribute(cells, column, rows, known)

    def values(self, cells: pl.Series, column: Column, rows: NDArray[np.int64]) -> pl.Series:
        return _moments(cells, column, rows)["day"].cast(pl.Int32).cast(pl.Date).rename(column.name)

    def domain(
        self, labels: tuple[str, ...], values: pl.Series, missing: int | None, column: Column
    ) -> RangeDomain:
        known = values.head(len(values) - (missing is not None))
        places: Any = []
        if len(known):
            ends = [known[0], known[-1]] if column.domain is None else list(column.domain)
            days = pl.Series(ends, dtype=pl.Date).to_physical().to_list()
            places = positions_between(known.to_physical(), *days)
        positions = np.append(places, [2.0] * (missing is not None))
        return RangeDomain(labels, values, missing, positions)

    def is_value(self, column: Column, domain: Domain) -> Callable[[str], bool]:
        del domain
        unbounded = replace(column, domain=None)

        def is_date(text: str) -> bool:
            with suppress(InputError):
                self.values(pl.Series([text]), unbounded, np.zeros(1, dtype=np.int64))
                return True
            return False

        return is_date

    def parsed(self, text: str, column: Column) -> datetime.date | None:
        span = moments.read(text, column.date_format)
        return None if span is None else datetime.date(1970, 1, 1) + datetime.timedelta(days=span[0].day)

    def scale(self, domain: Domain, column: Column) -> Scale:
        """Return moments in their order; a day without a time spans all its times."""
        if isinstance(domain, TimesDomain):
            ranked: Sequence[moments.Moment] = domain.moments
        else:
            ranked = [moments.Moment(day) for day in domain.values.head(domain.known).to_physical().to_list()]
        return Scale(ranked, lambda text: moments.read(text, column.date_format))

    def width(self, column: Column) -> Decimal:
        return limits.days(column.widest)

    def bands(
        self, column: Column, low: limits.Place | None, high: limits.Place | None, *, whole: bool
    ) -> Iterator[limits.Band]:
        del whole
        days = [None if place is None else int(place) for place in (low, high)]
        bounds = self.places(pl.Series(column.domain or (), dtype=pl.Date))
        yield from limits.clipped(limits.bands_of_days(column.bands, *days), bounds)

    def places(self, values: pl.Series) -> Sequence[limits.Place]:
        days: list[int] = values.to_physical().to_list()
        return days

    def place(self, end: Any) -> limits.Place:
        day: int = end.day
        return day

    def at_places(self, places: Sequence[limits.Place], column: Column) -> pl.Series:
        del column
        return pl.Series([int(place) for place in places], dtype=pl.Int32).cast(pl.Date)

    def typed_dates(self, days: pl.Series, domain: Domain, column: Column) -> list[str]:
        """Return dates and times to the nanosecond; leaves of a hierarchy are written days."""
        leaves = isinstance(domain, TreeDomain)
        if days.dtype != pl.Datetime:
            return [*self.texts(days, column)] if leaves else days.cast(pl.String).to_list()
        found = [moments.Moment(*row) for row in moments.parts(days).iter_rows()]
        texts = [moment.text() for moment in found]
        if not leaves:
            return texts
        whole = [moment == moments.Moment(moment.day) for moment in found]
        written = self.texts(days.dt.date(), column)
        return [day if at else text for day, text, at in zip(written, texts, whole, strict=True)]

    def on_a_line(self, values: pl.Series, column: Column) -> pl.Series:
        """Return dates in days, with a fraction for the time of day; times with an offset in UTC."""
        found = moments.parts(values, column.date_format)
        offset = pl.when(pl.col("offset") == moments.NO_OFFSET).then(0).otherwise("offset")
        seconds = pl.col("clock") / 10**9 - offset
        return found.select(pl.col("day") + seconds / 86_400).to_series()

    def group_starts(
        self, domain: Domain, counts: NDArray[np.int64], least: int, most: int
    ) -> Iterator[tuple[int, str]]:
        """Yield first days of years, months or weeks."""
        days = domain.values.head(domain.known).cast(pl.Date).to_physical().to_numpy().astype(np.float64)
        yield from round_starts(days, counts, least, lambda low, high: _round_dates(low, high, most))

    def group_labels(self, domain: Domain, starts: Sequence[int], names: Sequence[str]) -> list[str]:
        """Return spans of dates; the first has no beginning, and the last no end."""
        del domain, starts
        return span_labels(names, _last_before, "before {}", "{} and later")


def _round_dates(low: float, high: float, most: int) -> Iterator[tuple[float, str]]:
    """Yield first days of decades, years, quarters, months or weeks, as fine as there may be groups."""
    first, last = (_EPOCH + _DAY * int(end) for end in (low, high))
    months = 1
    for months in (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200):
        if (high - low) / (30.4 * months) <= most:
            break
    if (high - low) / 30.4 < 4:
        step = max(1, int(np.ceil((high - low) / (7 * most)))) * 7
        for number in range(int(low) // step * step + step, int(high) + 1, step):
            yield float(number), (_EPOCH + _DAY * number).isoformat()
        return
    turn = (first.year * 12 + first.month - 1) // months
    while True:
        turn += 1
        year, month = divmod(turn * months, 12)
        if year > 9999 or (day := datetime.date(year, month + 1, 1)) > last:
            return
        yield float((day - _EPOCH).days), f"{day.year}" if months % 12 == 0 else day.strftime("%Y-%m")


def _last_before(name: str) -> str:
    """Return the end of a group: the year, month or day before the start of the next group."""
    if name.isdigit():
        return str(int(name) - 1)
    day = datetime.date.fromisoformat(name if name.count("-") == 2 else f"{name}-01") - _DAY
    return day.isoformat()[: len(name)]


def _moments(cells: pl.Series, column: Column, rows: NDArray[np.int64]) -> pl.DataFrame:
    """Return day, clock and offset of each cell, null where missing."""
    found = moments.parts(cells, column.date_format)
    refuse(
        found["day"].is_null() & cells.is_not_null(),
        cells,
        column,
        rows,
        f"is not a date written as {column.date_format or 'YYYY-MM-DD'}; correct it or set the column's "
        "date_format",
    )
    if column.domain is not None:
        low, high = column.domain
        days = found["day"].cast(pl.Int32).cast(pl.Date)
        problem = f"is outside the declared domain {low}..{high}"
        refuse((days < low) | (days > high), cells, column, rows, problem, Reason.OUT_OF_DOMAIN)
    return found


def _times_attribute(cells: pl.Series, column: Column, rows: NDArray[np.int64]) -> Attribute | None:
    """Return dates with different times of day as different values; None if the column has no times."""
    found = _moments(cells, column, rows)
    if not ((found["clock"] != 0) | (found["offset"] != moments.NO_OFFSET)).any():
        return None
    distinct = found.drop_nulls("day").unique().sort("day", "clock", "offset")
    known = tuple(moments.Moment(*row) for row in distinct.iter_rows())
    ranks = found.join(distinct.with_row_index("code"), on=found.columns, how="left", maintain_order="left")
    missing = len(known) if found["day"].null_count() else None
    codes = ranks["code"].cast(pl.Int32).fill_null(len(known)).to_numpy()
    places = distinct["day"].to_numpy() + distinct["clock"].to_numpy() / (86_400 * 10**9)
    ends = places[[0, -1]]
    if column.domain is not None:
        low, high = pl.Series(column.domain, dtype=pl.Date).to_physical().to_list()
        ends = np.array([low, high + 1])
    positions = (places - ends[0]) / max(ends[1] - ends[0], np.finfo(np.float64).tiny)
    nothing = () if missing is None else (None,)
    domain = TimesDomain(
        (*(moment.text() for moment in known), *(MISSING for _ in nothing)),
        pl.Series(column.name, [*distinct["day"], *nothing], dtype=pl.Int32).cast(pl.Date),
        missing,
        np.append(positions, [2.0] * len(nothing)),
        known,
    )
    return Attribute(column, domain, codes)
