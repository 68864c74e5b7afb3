"""Numbers as spreadsheets of many countries write them, such as 1.234,5, made plain: 1234.5."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import polars as pl

from shoal.errors import InputError, Reason

_SPACES = " \u00a0\u202f"
_MARKS = f".,'\u2019{_SPACES}"
_NUMBER_LIKE = rf"^\s*-?[{_MARKS}]?\d[\d{_MARKS}]*(?:[eE][+-]?\d+)?\s*$"


@dataclass(frozen=True)
class Notation:
    """How the numbers of a text file are written.

    Parameters
    ----------
    decimal
        The mark before the fraction: ``.`` or ``,``.
    thousands
        The mark between groups of three digits, if there is one; a space also stands for spaces that do not
        break.
    """

    decimal: str = "."
    thousands: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise _wrong("decimal", f"the decimal mark {self.decimal!r} must be '.' or ','")
        marks = "', '".join(".,'\u2019 ")
        if self.thousands is not None and (len(self.thousands) != 1 or self.thousands not in _MARKS):
            raise _wrong("thousands", f"the thousands separator {self.thousands!r} must be one of '{marks}'")
        if self.thousands == self.decimal:
            raise _wrong("thousands", f"{self.decimal!r} cannot be both decimal mark and thousands separator")

    @property
    def plain(self) -> bool:
        """Whether numbers are written as Shoal reads them."""
        return self.decimal == "." and self.thousands is None

    @property
    def _between(self) -> str:
        return f"[{_SPACES}]" if self.thousands in (*_SPACES,) else re.escape(self.thousands or "")

    @property
    def pattern(self) -> str:
        """A regular expression for numbers in this notation."""
        whole = r"\d+" if self.thousands is None else rf"(?:\d+|\d{{1,3}}(?:{self._between}\d{{3}})+)"
        return rf"^\s*-?{whole}(?:{re.escape(self.decimal)}\d+)?(?:[eE][+-]?\d+)?\s*$"

    def columns(self, batches: Iterable[pl.DataFrame]) -> list[str]:
        """Return the columns of a table that hold numbers in this notation.

        More than half of their cells look like numbers, and all of those are numbers in this notation. Cells
        with other texts may mean that a value is missing.
        """
        counted: dict[str, list[int]] = {}
        for batch in batches:
            for name in (each for each, dtype in batch.schema.items() if dtype == pl.String):
                cells = batch[name].drop_nulls()
                like, fitting = (
                    int(cells.str.contains(pattern).sum()) for pattern in (_NUMBER_LIKE, self.pattern)
                )
                seen = counted.setdefault(name, [0, 0, 0])
                counted[name] = [
                    old + new for old, new in zip(seen, (len(cells), like, fitting), strict=True)
                ]
        return [name for name, (all_, like, fitting) in counted.items() if all_ < 2 * like == 2 * fitting]

    def made_plain(self, frame: pl.DataFrame, columns: Iterable[str]) -> pl.DataFrame:
        """Return a table in which the numbers of some columns are written as Shoal reads them."""
        return frame.with_columns(self._plain(name) for name in columns)

    def _plain(self, name: str) -> pl.Expr:
        cells = pl.col(name)
        numbers = cells if self.thousands is None else cells.str.replace_all(self._between, "")
        numbers = numbers.str.replace(self.decimal, ".", literal=True)
        return pl.when(cells.str.contains(self.pattern)).then(numbers.str.strip_chars()).otherwise(cells)


def advice_on(texts: pl.Series) -> str | None:
    """Return how to read texts that look like numbers in another notation; None if they do not.

    Parameters
    ----------
    texts
        Values of a column that are not all plain numbers.
    """
    like = texts.filter(texts.str.contains(_NUMBER_LIKE))
    marked = like.filter(like.str.strip_chars().str.contains(rf"[{_MARKS}]"))
    if 2 * len(like) <= len(texts) or not len(marked) or not like.str.contains("[^0-9.eE+-]|[.].*[.]").any():
        return None
    found: list[str] = []
    for decimal, separators in ((",", (None, ".", " ", "'", "\u2019")), (".", (",", " ", "'", "\u2019"))):
        fitting = (each for each in separators if like.str.contains(Notation(decimal, each).pattern).all())
        for thousands in islice(fitting, 1):
            said = [f"decimal {decimal!r}"] if marked.str.contains(decimal, literal=True).any() else []
            said += [] if thousands is None else [f"thousands {thousands!r}"]
            found += [] if " and ".join(said) in found else [" and ".join(said)]
    return " or with ".join(found) or None


def notation_of(decimal: str | None, thousands: str | None) -> Notation | None:
    """Return how numbers are written; None if that is how Shoal reads them.

    Raises
    ------
    InputError
        If a mark is not one that numbers are written with.
    """
    given = Notation("," if decimal is None and thousands == "." else decimal or ".", thousands)
    return None if given.plain else given


def _wrong(parameter: str, message: str) -> InputError:
    return InputError(message, reason=Reason.PARAMETER, parameter=parameter)
