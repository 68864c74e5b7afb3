"""Numbers without rounding: read from cells of any type, ordered, compared and written exactly.

A column of numbers has one of four types, the first that keeps every value: 64-bit integers, 64-bit floats,
decimals of 38 digits, or text. A float stands for the shortest decimal that reads back as the same float: 0.1
is one tenth.
"""

from __future__ import annotations

import math
import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation, localcontext
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

MOST_PLACES = 400
"""No digit may be farther from the decimal point: `1e999999999` would fill the memory."""
SURE_DIGITS = 15
"""Every decimal with as many digits reads back from the nearest 64-bit float."""
WHOLE_FLOATS = 2**53
"""Every whole number up to this is a 64-bit float."""
DECIMAL_DIGITS = 38
"""A decimal of Polars, Arrow and Parquet has no more digits."""
LONGEST_PLAIN = 40
"""Numbers with a first digit farther from the decimal point are written with an exponent."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INT64 = range(-(2**63), 2**63)


def parse(text: str) -> Decimal | None:
    """Return a text as a number; None if it is not a number, or cannot be kept exactly."""
    if not _NUMBER.fullmatch(text) or len(text) > 3 * MOST_PLACES:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:  # the exponent is too large
        return None
    return (number or Decimal(0)) if is_kept(number) else None


def is_kept(number: Decimal) -> bool:
    """Return whether a number is finite and has no digit too far from its decimal point."""
    if not number.is_finite():
        return False
    return not number or (number.adjusted() <= MOST_PLACES and _last_place(number) >= -MOST_PLACES)


def is_written_as_number(text: str) -> bool:
    """Return whether a text has the form of a number, even one that is too long."""
    return _NUMBER.fullmatch(text.strip()) is not None


def exact(value: Any) -> Decimal:
    """Return a whole number, float, decimal or the text of one as an exact number."""
    if isinstance(value, float):
        return Decimal(repr(float(value)))
    return Decimal(int(value)) if isinstance(value, Integral) else Decimal(value)


def write(number: Decimal) -> str:
    """Return the one text for a number, however it was written: ``0.1`` for ``0.10`` and for ``1e-1``."""
    sign, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    if not text:
        return "0"
    point = len(text) + int(exponent)
    text = text.rstrip("0")
    minus = "-" if sign else ""
    if not -LONGEST_PLAIN <= point - 1 < LONGEST_PLAIN:
        return f"{minus}{text[0]}{'.' if len(text) > 1 else ''}{text[1:]}e{point - 1:+03d}"
    if point <= 0:
        return f"{minus}0.{'0' * -point}{text}"
    whole, part = text[:point].ljust(point, "0"), text[point:]
    return f"{minus}{whole}.{part}" if part else f"{minus}{whole}"


def read(cells: pl.Series) -> pl.Series:
    """Return cells of numbers, of true and false, or of text as numbers of the first type that keeps them.

    A cell becomes null if it is not a number, is not finite, or has digits too far from the decimal point.
    """
    if cells.dtype == pl.Boolean:
        return cells.cast(pl.Int64)
    if cells.dtype.is_integer():
        whole = cells.cast(pl.Int64, strict=False)
        return whole if whole.null_count() == cells.null_count() else _of_texts(cells.cast(pl.String))
    if cells.dtype.is_float():
        return whole_if_possible(floats(pl.select(pl.when(cells.is_finite()).then(cells)).to_series()))
    return _of_texts(cells.cast(pl.String))


def floats(cells: pl.Series) -> pl.Series:
    """Return floats of any size as 64-bit floats: 0.1 stays 0.1, not the binary fraction nearest to it."""
    wide = cells.cast(pl.Float64)
    if cells.dtype != pl.Float64:
        near = cells.cast(pl.Float32).cast(pl.String).cast(pl.Float64, strict=False)
        plain = _is_plain_whole(wide) | ~wide.is_finite()
        wide = pl.select(pl.when(plain).then(wide).otherwise(near)).to_series()
    return wide.set((wide == 0).fill_null(value=False), 0.0).rename(cells.name)  # there is no negative zero


def whole_if_possible(numbers: pl.Series) -> pl.Series:
    """Return 64-bit floats as 64-bit integers if all are whole numbers that floats can distinguish."""
    if (_is_plain_whole(numbers) | numbers.is_null()).all():
        return numbers.cast(pl.Int64)
    return numbers


def _is_plain_whole(numbers: pl.Series) -> pl.Series:
    return (numbers.abs() <= WHOLE_FLOATS) & (numbers == numbers.round())


def _of_texts(texts: pl.Series) -> pl.Series:
    texts = texts.str.strip_chars()
    whole = texts.cast(pl.Int64, strict=False)
    if whole.null_count() == texts.null_count():
        return whole
    near = texts.cast(pl.Float64, strict=False)
    short = (texts.str.len_bytes() <= SURE_DIGITS) & ~texts.str.contains("[eE]")
    sure = (short | (near.cast(pl.String) == texts)) & near.is_finite()
    unsure = texts.filter(~sure.fill_null(value=False) & texts.is_not_null()).unique().to_list()
    found = {text: parse(text) for text in unsure}
    if all(each is None or _is_float(each) for each in found.values()):
        wrong = [text for text, each in found.items() if each is None]
        if wrong:
            near = pl.select(pl.when(~texts.is_in(wrong)).then(near)).to_series().rename(texts.name)
        return whole_if_possible(floats(near))
    found = {text: parse(text) for text in texts.drop_nulls().unique().to_list()}
    known = {text: each for text, each in found.items() if each is not None}
    values = _typed(list(known.values()), _type_for(known.values()))
    pairs = pl.DataFrame({"text": pl.Series(list(known), dtype=pl.String), "value": values})
    cells = texts.rename("text").to_frame()
    return cells.join(pairs, on="text", how="left", maintain_order="left")["value"].rename(texts.name)


def _is_float(number: Decimal) -> bool:
    """Return whether a number reads back from the nearest 64-bit float."""
    near = float(number)
    return math.isfinite(near) and Decimal(repr(near)) == number


def _type_for(numbers: Iterable[Decimal]) -> pl.DataType:
    """Return the first type that keeps numbers, apart from floats."""
    places, digits, whole = 0, 0, True
    for number in numbers:
        last = _last_place(number)
        places = max(places, -last)
        digits = max(digits, number.adjusted() + 1)
        whole = whole and last >= 0 and number.adjusted() < 20 and int(number) in _INT64
    if whole:
        return pl.Int64()
    return pl.Decimal(DECIMAL_DIGITS, places) if places + digits <= DECIMAL_DIGITS else pl.String()


def _last_place(number: Decimal) -> int:
    """Return the power of ten of the last digit of a number that is not a zero at its end."""
    _, digits, exponent = number.as_tuple()
    zeros = 0
    while zeros < len(digits) and digits[-1 - zeros] == 0:
        zeros += 1
    return int(exponent) + zeros


def _typed(numbers: Sequence[Decimal], dtype: pl.DataType) -> pl.Series:
    if dtype == pl.String:
        return pl.Series([write(number) for number in numbers], dtype=dtype)
    if dtype.is_integer():
        return pl.Series([int(number) for number in numbers], dtype=dtype)
    if dtype.is_float():
        return pl.Series([float(number) for number in numbers], dtype=dtype)
    return pl.Series([Decimal(write(number)) for number in numbers], dtype=dtype)


def labels(values: pl.Series) -> list[str]:
    """Return the one text for each of some numbers, whatever their type; none is null."""
    texts = values.cast(pl.String)
    if values.dtype.is_float():
        plain = texts.str.strip_suffix(".0").to_list()
        return [write(Decimal(text)) if "e" in text else text for text in plain]
    if values.dtype.is_decimal() and texts.str.contains(".", literal=True).any():
        return texts.str.replace(r"\.?0+$", "").to_list()
    return texts.to_list()


def ascending(values: pl.Series) -> pl.Series:
    """Return the different numbers of a column in ascending order, without null."""
    distinct = (values.drop_nulls() if values.null_count() else values).unique()
    if distinct.dtype != pl.String:
        return distinct.sort()
    return pl.Series(values.name, sorted(distinct.to_list(), key=Decimal), dtype=pl.String)


def retyped(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return numbers, some of them null, as a type that keeps them."""
    # A float stands for its shortest decimal; as a decimal of 38 digits, it would be a binary fraction.
    by_text = dtype == pl.String or (values.dtype.is_float() and dtype.is_decimal())
    if values.dtype == dtype or not by_text:
        return values.cast(dtype)
    texts = iter(labels(values.drop_nulls()))
    written: list[Any] = [None if none else next(texts) for none in values.is_null()]
    if dtype != pl.String:
        written = [None if each is None else Decimal(each) for each in written]
    return pl.Series(values.name, written, dtype=dtype)


def united(parts: Sequence[pl.Series]) -> pl.Series:
    """Return the different numbers of several columns in ascending order, as a type that keeps all of them.

    The type also keeps every number that lies between those of a column and has its type: the lowest and the
    highest number of a long column are enough.
    """
    return ascending(pl.concat([retyped(part, _common_type(parts)) for part in parts]))


def _common_type(parts: Sequence[pl.Series]) -> pl.DataType:
    types = {part.dtype for part in parts}
    if len(types) == 1:
        return parts[0].dtype
    integers = [part for part in parts if part.dtype.is_integer()]
    largest = max((abs(end) for part in integers for end in _ends(part)), default=0)
    if len(integers) == len(parts) and largest in _INT64:
        return pl.Int64()
    if all(dtype.is_integer() or dtype == pl.Float64 for dtype in types) and largest <= WHOLE_FLOATS:
        return pl.Float64()
    if all(dtype.is_integer() or dtype.is_decimal() for dtype in types):
        places = max((dtype.scale for dtype in types if isinstance(dtype, pl.Decimal)), default=0)
        digits = max(end.adjusted() + 1 for part in parts for end in map(exact, _ends(part)))
        if places + digits <= DECIMAL_DIGITS:
            return pl.Decimal(DECIMAL_DIGITS, places)
    return pl.String()


def _ends(values: pl.Series) -> tuple[Any, Any]:
    known = ascending(values)
    return known[0], known[-1]


def up_to(values: pl.Series, bound: Any) -> int:
    """Return how many of some ascending numbers are not above a bound."""
    return bisect_right(values, exact(bound), key=exact)


def outside(values: pl.Series, low: Any, high: Any) -> pl.Series:
    """Return which numbers lie below `low` or above `high`."""
    nothing = pl.repeat(False, len(values), dtype=pl.Boolean, eager=True)
    if values.null_count() == len(values):
        return nothing
    least, most = exact(low), exact(high)
    if values.dtype != pl.String and least <= exact(values.min()) and exact(values.max()) <= most:
        return nothing
    return pl.Series([each is not None and not least <= exact(each) <= most for each in values])


def fitting(number: Any, dtype: pl.DataType) -> int | float | None:
    """Return a number as a 64-bit integer or float; None if it cannot be one."""
    value = exact(number)
    if dtype.is_integer():
        return int(value) if _type_for([value]) == pl.Int64 else None
    return float(value) if dtype.is_float() and _is_float(value) else None


def shares(values: pl.Series, low: Any, high: Any) -> NDArray[np.float64]:
    """Return where numbers lie between two others, 0 at `low` and 1 at `high`."""
    first, last = Fraction(exact(low)), Fraction(exact(high))
    if first == last:
        return np.zeros(len(values))
    return np.array([float((Fraction(exact(each)) - first) / (last - first)) for each in values])


def near(values: pl.Series) -> NDArray[np.float64]:
    """Return the floats nearest to numbers, for distances and charts, none of them larger than `as_float`."""
    if values.dtype.is_integer():
        return values.cast(pl.Float64).to_numpy()
    if values.dtype.is_float():
        return np.asarray(np.clip(values.to_numpy(), -sys.float_info.max / 2, sys.float_info.max / 2))
    return np.array([as_float(Fraction(exact(each))) for each in values], dtype=np.float64)


def as_float(number: Fraction) -> float:
    """Return the nearest float, and no larger one than half of the largest: differences stay finite."""
    most = sys.float_info.max / 2
    return float(min(max(number, Fraction(-most)), Fraction(most)))


def scaled(values: Iterable[Any]) -> tuple[list[int | None], Fraction]:
    """Return numbers as whole multiples of a unit, None where missing, and the unit, which is at most 1."""
    if isinstance(values, pl.Series) and values.dtype.is_integer():
        return values.to_list(), Fraction(1)
    known = [None if each is None else exact(each) for each in values]
    places = max((-int(each.as_tuple().exponent) for each in known if each is not None), default=0)
    places = max(places, 0)
    with localcontext(prec=4 * MOST_PLACES):
        return [None if each is None else int(each.scaleb(places)) for each in known], Fraction(1, 10**places)


def texts_of_objects(cells: Iterable[Any]) -> list[str | None] | None:
    """Return Python's and NumPy's own numbers as exact texts, None where missing.

    Returns None instead of the list if something else is among them.

    Raises
    ------
    ValueError
        If a number has too many digits.
    """
    texts: list[str | None] = []
    for cell in cells:
        if cell is None or _is_nan(cell):
            texts.append(None)
        elif _is_whole(cell):
            texts.append(str(int(cell)))
        elif isinstance(cell, float | np.floating | Decimal):
            texts.append(str(cell))
        else:
            return None
    return texts


def _is_whole(cell: Any) -> bool:
    """Return whether an object is a whole number that is known to be exact."""
    if isinstance(cell, float | np.floating):
        size: Any = abs(cell)
        return bool(size <= WHOLE_FLOATS and cell == int(cell))
    return isinstance(cell, Integral) and not isinstance(cell, bool)


def _is_nan(cell: Any) -> bool:
    if isinstance(cell, Decimal):
        return cell.is_nan()
    return isinstance(cell, float | np.floating) and bool(cell != cell)
