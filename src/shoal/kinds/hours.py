"""The kind of hours of time stamps. A generalized value is an interval of them."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.kinds import limits, moments
from shoal.kinds.domain import Domain
from shoal.kinds.kind import refuse
from shoal.kinds.ranges import RangeDomain, Scale, positions_between
from shoal.kinds.value_kind import ValueKind

if TYPE_CHECKING:
    from shoal.schema import Column

_HOUR = r"^\s*(\d{4}-\d{2}-\d{2})[T ]([01]\d|2[0-3])\s*$"
_NANOSECONDS = 3600 * 10**9
_EPOCH = datetime.datetime(1970, 1, 1)


class Hours(ValueKind, name="hour"):
    """Hours of time stamps, by the clock that is written; an hour stands for all times in it.

    No column is inferred to be of this kind: by default, time stamps are generalized to days.
    """

    __slots__ = ()

    ordered: ClassVar[bool] = True
    unit: ClassVar[str] = " hours"
    settings: ClassVar[frozenset[str]] = frozenset({"date_format"})
    often_known: ClassVar[str] = "the time of an event"
    known_if_sensitive: ClassVar[bool] = True

    def checked_domain(self, column: Column) -> None:
        if column.domain is not None:
            raise ValueError("a column of kind hour has no domain; it is that of its values")
        if column.hierarchy is not None:
            raise ValueError("a column of kind hour has no hierarchy, only intervals")

    def values(self, cells: pl.Series, column: Column, rows: NDArray[np.int64]) -> pl.Series:
        """Return hours as texts such as 2025-03-01T08, which ascend as the hours do."""
        hours = _parts(cells, column.date_format)["hour"]
        wrong = hours.is_null() & cells.is_not_null()
        form = column.date_format or "YYYY-MM-DDTHH:MM"
        refuse(
            wrong, cells, column, rows, f"is not a time written as {form}; correct it or set the date_format"
        )
        return _written(hours).rename(column.name)

    def domain(
        self, labels: tuple[str, ...], values: pl.Series, missing: int | None, column: Column
    ) -> RangeDomain:
        del column
        hours = _hours(values.head(len(values) - (missing is not None)))
        places = positions_between(hours, hours[0], hours[-1]) if len(hours) else np.empty(0)
        return RangeDomain(labels, values, missing, np.append(places, [2.0] * (missing is not None)))

    def scale(self, domain: Domain, column: Column) -> Scale:
        """Return hours in their order; a day without an hour spans all its hours."""
        del column
        return Scale(self.places(domain.values.head(domain.known)), _read)

    def is_value(self, column: Column, domain: Domain) -> Callable[[str], bool]:
        del column, domain
        return lambda text: _read(text) is not None

    def width(self, column: Column) -> Decimal:
        widest = column.widest
        return limits.days(widest) * 24 if isinstance(widest, str) else limits.number(widest)

    def places(self, values: pl.Series) -> Sequence[limits.Place]:
        hours: list[int] = _hours(values).to_list()
        return hours

    def typed_dates(self, days: pl.Series, domain: Domain, column: Column) -> list[str]:
        """Return typed dates and times as they are read: times with minutes are no hours."""
        del domain, column
        return days.cast(pl.String).to_list()

    def on_a_line(self, values: pl.Series, column: Column) -> pl.Series:
        """Return times in hours, with a fraction for minutes; times with an offset in UTC."""
        found = _parts(values, column.date_format)
        return found.select(pl.col("hour") + pl.col("rest") - pl.col("ahead")).to_series()

    def off_the_line(self, places: pl.Series) -> pl.Series:
        return _written(places.round().cast(pl.Int64))


def _hours(labels: pl.Series) -> pl.Series:
    """Return texts such as 2025-03-01T08 as hours since 1970, null for other texts."""
    day = labels.str.extract(_HOUR, 1).str.to_date(moments.ISO_DAY, strict=False).cast(pl.Int64)
    return day * 24 + labels.str.extract(_HOUR, 2).cast(pl.Int64)


def _parts(cells: pl.Series, form: str | None) -> pl.DataFrame:
    """Return the hours since 1970, the rest of each as a fraction, and how many hours it is ahead of UTC.

    All are null where a cell is no time.
    """
    ahead = pl.when(pl.col("offset") != moments.NO_OFFSET).then(pl.col("offset") / 3600).otherwise(0.0)
    found = moments.parts(cells, form).select(
        hour=pl.col("day") * 24 + pl.col("clock") // _NANOSECONDS,
        rest=(pl.col("clock") % _NANOSECONDS) / _NANOSECONDS,
        ahead=pl.when(pl.col("day").is_not_null()).then(ahead),
    )
    if cells.dtype != pl.String:
        return found
    zero = pl.when(pl.col("written").is_not_null()).then(0.0)
    return found.with_columns(pl.Series("written", _hours(cells))).select(
        hour=pl.coalesce("hour", "written"), rest=pl.coalesce("rest", zero), ahead=pl.coalesce("ahead", zero)
    )


def _read(text: str) -> int | tuple[int, int] | None:
    """Return the hour, or the first and last hour of the day, that a released text stands for."""
    hour: int | None = _hours(pl.Series([text], dtype=pl.String))[0]
    if hour is not None:
        return hour
    try:
        day = (datetime.datetime.strptime(text.strip(), moments.ISO_DAY) - _EPOCH).days
    except ValueError:
        return None
    return day * 24, day * 24 + 23


def _written(hours: pl.Series) -> pl.Series:
    day = (hours // 24).cast(pl.Int32).cast(pl.Date).cast(pl.String)
    return day + "T" + (hours % 24).cast(pl.String).str.zfill(2)
