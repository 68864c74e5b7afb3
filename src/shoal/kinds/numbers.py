"""The kind of numbers. A generalized value is an interval of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import Reason
from shoal.kinds import exact_numbers as exact
from shoal.kinds import limits
from shoal.kinds.domain import Domain, released_members
from shoal.kinds.groups import round_starts, span_labels
from shoal.kinds.kind import refuse
from shoal.kinds.ranges import RangeDomain, positions_between
from shoal.kinds.released_numbers import NumberScale
from shoal.kinds.value_kind import ValueKind

if TYPE_CHECKING:
    from shoal.schema import Column

# Texts with more digits or larger exponents do not fit machine numbers and stay texts.
_NUMBER = r"^\s*-?(?:0|[1-9]\d{0,17})(?:\.\d+)?(?:[eE][+-]?\d{1,2})?\s*$"

_FINEST = 1e-300
_MOST_DIGITS = 15


class Numbers(ValueKind, name="numeric"):
    """Numbers of any type, read and written exactly."""

    __slots__ = ()

    numeric: ClassVar[bool] = True
    ordered: ClassVar[bool] = True
    measured: ClassVar[bool] = True

    def fits(self, series: nw.Series[Any], texts: nw.Series[Any] | None) -> bool:
        """Return whether all values are numbers; text only if reading it as numbers loses nothing.

        Codes with leading zeros, such as ZIP codes, stay categories.
        """
        if texts is not None:
            return bool(texts.str.contains(_NUMBER).all())
        return series.dtype.is_numeric() or (series.dtype == nw.Object and _holds_numbers(series))

    def checked_domain(self, column: Column) -> tuple[Any, ...] | None:
        if column.domain is None:
            return None
        bounds = [number for bound in column.domain if (number := _bound(bound)) is not None]
        if len(column.domain) != 2 or len(bounds) != 2 or exact.exact(bounds[0]) > exact.exact(bounds[1]):
            raise ValueError(
                f"domain {list(column.domain)!r} must be two numbers, the lowest and the highest"
            )
        return tuple(bounds)

    def values(self, cells: pl.Series, column: Column, rows: NDArray[np.int64]) -> pl.Series:
        readable = cells.dtype.is_numeric() or cells.dtype in (pl.String, pl.Boolean)
        numbers = exact.read(cells) if readable else pl.Series([None] * len(cells), dtype=pl.Float64)
        wrong = numbers.is_null() & cells.is_not_null()
        if wrong.any():
            problem, reason = _no_number(str(cells[int(wrong.arg_true()[0])]).strip())
            refuse(wrong, cells, column, rows, problem, reason)
        if column.domain is not None:
            low, high = column.domain
            problem = f"is outside the declared domain {low}..{high}"
            refuse(exact.outside(numbers, low, high), cells, column, rows, problem, Reason.OUT_OF_DOMAIN)
        return numbers.rename(column.name)

    def domain(
        self, labels: tuple[str, ...], values: pl.Series, missing: int | None, column: Column
    ) -> RangeDomain:
        known = values.head(len(values) - (missing is not None))
        places: Any = []
        if len(known):
            places = positions_between(known, *(column.domain or (known[0], known[-1])))
        positions = np.append(places, [2.0] * (missing is not None))
        return RangeDomain(labels, values, missing, positions)

    def is_value(self, column: Column, domain: Domain) -> Callable[[str], bool]:
        del column, domain
        return lambda text: exact.parse(text.strip()) is not None

    def scale(self, domain: Domain, column: Column) -> NumberScale:
        del column
        return NumberScale(domain.values.head(domain.known))

    def width(self, column: Column) -> Decimal:
        return limits.number(column.widest)

    def bands(
        self, column: Column, low: limits.Place | None, high: limits.Place | None, *, whole: bool
    ) -> Iterator[limits.Band]:
        bands = limits.bands_of_numbers(column.bands, low, high, whole=whole)
        yield from limits.clipped(bands, [exact.exact(bound) for bound in column.domain or ()])

    def places(self, values: pl.Series) -> Sequence[limits.Place]:
        return [exact.exact(value) for value in values.to_list()]

    def at_places(self, places: Sequence[limits.Place], column: Column) -> pl.Series:
        del column
        return exact.read(pl.Series([exact.write(exact.exact(place)) for place in places], dtype=pl.String))

    def within_bounds(self, cells: pl.Series, column: Column) -> bool:
        members = [each for each in released_members(cells, intervals=True) if each != ""]
        numbers = [exact.parse(each) if isinstance(each, str) else exact.exact(each) for each in members]
        if column.domain is None:
            return not numbers
        low, high = map(exact.exact, column.domain)
        return all(number is not None and low <= number <= high for number in numbers)

    def parsed(self, text: str, column: Column) -> int | float:
        del column
        with suppress(ValueError):
            return int(text)
        return float(text)

    def up_to(self, values: pl.Series, bound: Any) -> int:
        return exact.up_to(values, bound)

    def on_a_line(self, values: pl.Series, column: Column) -> pl.Series:
        del column
        return exact.read(values)

    def group_starts(
        self, domain: Domain, counts: NDArray[np.int64], least: int, most: int
    ) -> Iterator[tuple[int, str]]:
        """Yield round numbers."""
        values = domain.values.head(domain.known)
        finest = 1.0 if values.dtype.is_integer() else _FINEST
        yield from round_starts(
            exact.near(values), counts, least, lambda low, high: _round_numbers(low, high, most, finest)
        )

    def group_labels(self, domain: Domain, starts: Sequence[int], names: Sequence[str]) -> list[str]:
        """Return spans of numbers; the first has no lower end, and the last no upper one."""
        del starts
        whole = domain.values.dtype.is_integer()

        def last_before(name: str) -> str:
            return str(int(name) - 1) if whole and name.lstrip("-").isdigit() else name

        return span_labels(names, last_before, "below {}", "{} and up")


def _round_numbers(low: float, high: float, most: int, finest: float) -> Iterator[tuple[float, str]]:
    """Yield round numbers from low to high, about as many as there may be groups."""
    raw = max(high / most - low / most, finest)
    power = 10.0 ** np.floor(np.log10(raw))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9))
    digits = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    for turn in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1):
        mark = turn * step
        plain = digits < _MOST_DIGITS and abs(mark) < 10.0**_MOST_DIGITS
        yield mark, f"{mark:.{digits}f}" if plain else exact.write(exact.exact(float(mark)))


def _no_number(text: str) -> tuple[str, Reason]:
    """Return what is wrong with a cell that is not read as a number."""
    near = pl.Series([text]).cast(pl.Float64, strict=False)
    if near.is_infinite().any() or near.is_nan().any():
        return "is not a finite number; correct it or leave it empty", Reason.NOT_FINITE
    if exact.is_written_as_number(text):
        problem = f"has digits more than {exact.MOST_PLACES} decimal places; round it, or make"
        return f"{problem} the column categorical", Reason.BAD_VALUE
    problem = "is not a number; correct it, declare it as a missing mark, or make the column categorical"
    return problem, Reason.BAD_VALUE


def _bound(bound: Any) -> int | float | Decimal | None:
    """Return a bound as an exact number; None if it is no number."""
    number: int | float | Decimal
    if isinstance(bound, Integral):
        number = int(bound)
    elif isinstance(bound, Decimal):
        near = exact.fitting(bound, pl.Float64()) if exact.is_kept(bound) else None
        number = bound if near is None else near
    elif isinstance(bound, Real):
        number = float(bound)
    else:
        return None
    return number if exact.is_kept(exact.exact(number)) else None


def _holds_numbers(series: nw.Series[Any]) -> bool:
    """Return whether a column of Python objects has only numbers, such as decimals in pandas."""
    with suppress(ValueError):
        texts = exact.texts_of_objects(series.drop_nulls().to_list())
        return texts is not None and any(text is not None for text in texts)
    return False
