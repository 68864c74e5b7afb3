"""The kind of times of day. A generalized value is an interval of them, such as 08:00..09:30."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.kinds.domain import Domain
from shoal.kinds.encoding import to_polars
from shoal.kinds.kind import refuse
from shoal.kinds.marks import without_marks
from shoal.kinds.ranges import RangeDomain, Scale
from shoal.kinds.value_kind import ValueKind

if TYPE_CHECKING:
    from shoal.schema import Column

_TIME = r"^\s*([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:[.,](\d{1,9}))?)?\s*$"
_SECOND = 10**9
_DAY = 86_400 * _SECOND


class Times(ValueKind, name="time"):
    """Times of day without a date, to the nanosecond; the day is the unit of widths."""

    __slots__ = ()

    ordered: ClassVar[bool] = True
    often_known: ClassVar[str] = "the time of an event"

    def fits(self, series: nw.Series[Any], texts: nw.Series[Any] | None) -> bool:
        if texts is not None:
            return bool(texts.str.contains(re.sub(r"\((?!\?)", "(?:", _TIME)).all())
        return series.dtype == nw.Time

    def checked_domain(self, column: Column) -> None:
        if column.domain is not None:
            raise ValueError("a column of kind time has no domain; all times of a day are possible")

    def read_cells(self, series: nw.Series[Any], column: Column) -> pl.Series:
        cells = to_polars(series)
        if cells.dtype != pl.Time:
            return super().read_cells(series, column)
        return without_marks(_written(cells.to_physical()).rename(cells.name), column.missing_marks)

    def values(self, cells: pl.Series, column: Column, rows: NDArray[np.int64]) -> pl.Series:
        """Return times as texts with two digits for each part, which ascend as the times do."""
        found = _nanoseconds(cells.cast(pl.String))
        wrong = found.is_null() & cells.is_not_null()
        refuse(wrong, cells, column, rows, "is not a time of day written as HH:MM or HH:MM:SS; correct it")
        return _written(found).rename(column.name)

    def domain(
        self, labels: tuple[str, ...], values: pl.Series, missing: int | None, column: Column
    ) -> RangeDomain:
        del column
        positions = (_nanoseconds(values) / _DAY).fill_null(2.0).to_numpy()
        return RangeDomain(labels, values, missing, positions)

    def scale(self, domain: Domain, column: Column) -> Scale:
        del column
        return Scale(_nanoseconds(domain.values.head(domain.known)).to_list(), _nanosecond)

    def is_value(self, column: Column, domain: Domain) -> Callable[[str], bool]:
        del column, domain
        return lambda text: _nanosecond(text) is not None

    def on_a_line(self, values: pl.Series, column: Column) -> pl.Series:
        """Return times in seconds since midnight."""
        del column
        found = _nanoseconds(values)
        # Polars divides by multiplying with an inverse: whole seconds are kept apart to stay whole.
        return found // _SECOND + (found % _SECOND) / _SECOND

    def off_the_line(self, places: pl.Series) -> pl.Series:
        nanoseconds = (places * _SECOND).round().clip(0, _DAY - 1)
        return nanoseconds.cast(pl.Int64).cast(pl.Time)


def _nanoseconds(times: pl.Series) -> pl.Series:
    """Return times as nanoseconds since midnight, null for texts that are no times."""
    if times.dtype == pl.Time:
        return times.to_physical()
    if times.dtype != pl.String:
        return pl.Series([None] * len(times), dtype=pl.Int64)
    hour, minute, second, fraction = (times.str.extract(_TIME, part) for part in (1, 2, 3, 4))
    seconds = hour.cast(pl.Int64) * 3600 + minute.cast(pl.Int64) * 60 + second.cast(pl.Int64).fill_null(0)
    return seconds * _SECOND + fraction.str.pad_end(9, "0").cast(pl.Int64).fill_null(0)


def _nanosecond(text: str) -> int | None:
    found: int | None = _nanoseconds(pl.Series([text], dtype=pl.String))[0]
    return found


def _written(nanoseconds: pl.Series) -> pl.Series:
    """Return times as HH:MM, with seconds and their fraction where there are any."""
    at = pl.col("at")
    second, fraction = (
        at // _SECOND % 60,
        (at % _SECOND).cast(pl.String).str.zfill(9).str.strip_chars_end("0"),
    )
    parts = [at // (3600 * _SECOND), at // (60 * _SECOND) % 60]
    texts = [part.cast(pl.String).str.zfill(2) for part in (*parts, second)]
    whole = texts[0] + ":" + texts[1]
    with_seconds = whole + ":" + texts[2]
    written = (
        pl.when(at % (60 * _SECOND) == 0)
        .then(whole)
        .when(at % _SECOND == 0)
        .then(with_seconds)
        .otherwise(with_seconds + "." + fraction)
    )
    return nanoseconds.to_frame("at").select(written.alias("text"))["text"]
