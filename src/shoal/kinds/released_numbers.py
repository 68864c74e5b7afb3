"""Released numbers as an attacker reads them: exactly, and independently of how they are written."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import polars as pl

from shoal.kinds.ranges import Scale

_WHITE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, (*range(0x2000, 0x200B), 0x2028, 0x2029)))
_WHITE += "\u202f\u205f\u3000"
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_ENDLESS = re.compile(r"([+-]?)(?:inf|infinity|∞)", re.IGNORECASE)
_SHORT = 16
"""Whole numbers of fewer digits are floats, too."""
_PLAIN = range(-40, 40)
"""Powers of ten of first digits that floats are written with, without an exponent."""


def read_number(text: str) -> Decimal | int | None:
    """Return a text as an exact number; None if it is no finite number."""
    text = text.strip(_WHITE)
    if len(text) < _SHORT and text.isascii() and text.isdigit():
        return int(text)
    if _NUMBER.fullmatch(text) is None:
        return None
    try:
        return Decimal(text)
    except InvalidOperation:  # the exponent is too large
        return None


def read_end(text: str, *, lower: bool) -> Decimal | int | None:
    """Return the end of an interval: a number, or infinity on the side where the interval may be endless."""
    endless = _ENDLESS.fullmatch(text.strip(_WHITE))
    if endless is None:
        return read_number(text)
    if (endless[1] == "-") is not lower:
        return None
    return Decimal("-Infinity" if lower else "Infinity")


class NumberScale(Scale):
    """The numbers of a domain in ascending order.

    Parameters
    ----------
    values
        The numbers: integers, floats, decimals or texts. A float stands for the shortest decimal that reads
        back as the same float.
    """

    def __init__(self, values: pl.Series) -> None:
        super().__init__((), read_number)
        self._floats = values.dtype.is_float()
        self._numbers: Sequence[int | float | Decimal]
        self._numbers = (
            [Decimal(text) for text in values.to_list()] if values.dtype == pl.String else values.to_list()
        )

    def read_end(self, text: str, *, lower: bool) -> tuple[Any, Any] | None:
        """Return the end of an interval, which may be endless."""
        number = read_end(text, lower=lower)
        return None if number is None else (number, number)

    def below(self, number: Decimal | int) -> int:
        """Return how many are less than a number."""
        if not self._floats:
            return bisect_left(self._numbers, number)
        near, side = _nearest(number)
        return bisect_right(self._numbers, near) if side > 0 else bisect_left(self._numbers, near)

    def up_to(self, number: Decimal | int) -> int:
        """Return how many are not greater than a number."""
        if not self._floats:
            return bisect_right(self._numbers, number)
        near, side = _nearest(number)
        return bisect_left(self._numbers, near) if side < 0 else bisect_right(self._numbers, near)


def _nearest(number: Decimal | int) -> tuple[float, int]:
    """Return the nearest float, and whether a number is less than it (-1), equal (0) or greater (1).

    Rounding keeps the order, so that no other float lies between the two.
    """
    near = float(number)
    if isinstance(number, int):  # a short one
        return near, 0
    written = Decimal(repr(near))
    return near, (number > written) - (number < written)


def float_texts(series: pl.Series) -> pl.Series:
    """Return a column of floats as text, null where they are null or not a number."""
    single = series.dtype != pl.Float64
    texts = [None if each is None or each != each else _float_text(each, single) for each in series.to_list()]
    return pl.Series(series.name, texts, dtype=pl.String)


def _float_text(value: float, single: bool) -> str:
    if abs(value) <= 2**53 and value.is_integer():
        return str(int(value))
    text = str(np.float32(value)) if single else repr(value)
    if "e" in text and Decimal(text).adjusted() in _PLAIN:
        return f"{Decimal(text):f}"
    return text
