"""Where values lie on the scale of a column with an order, and the ends of ranges that questions ask for."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from shoal.base.wording import with_article
from shoal.errors import InputError, Reason
from shoal.kinds import notation
from shoal.kinds.hierarchy import MISSING
from shoal.kinds.kind import Kind
from shoal.kinds.moments import day_form
from shoal.kinds.moments import read as read_moment
from shoal.kinds.released_numbers import read_number
from shoal.reading.cells import Floats
from shoal.reading.codebook import ColumnNotes

LOWEST, HIGHEST = "-inf", "inf"
"""The ends of a range that is open."""


def bounds_of(condition: Any, notes: ColumnNotes) -> tuple[str, str]:
    """Return the two ends of a range, as texts.

    Parameters
    ----------
    condition
        A pair of ends, None for no end; a value, which is both ends; or text with one end, as ``60..``.
    notes
        What is known about the column.
    """
    if isinstance(condition, tuple):
        low, high = condition
        return LOWEST if low is None else _text(low), HIGHEST if high is None else _text(high)
    text = _text(condition)
    open_end = text.startswith(notation.BETWEEN) != text.endswith(notation.BETWEEN)
    if not isinstance(condition, str) or not open_end or not np.isnan(places_of([text], notes)[0]):
        return text, text
    low, high = text.split(notation.BETWEEN, 1)
    return low.strip() or LOWEST, high.strip() or HIGHEST


def reversed_range(low: str, high: str, notes: ColumnNotes) -> InputError:
    """Return the error for a range that ends before it begins."""
    return InputError(
        f"column {notes.name!r}: {low}{notation.BETWEEN}{high} ends before it begins",
        reason=Reason.BAD_VALUE,
        column=notes.name,
    )


def places_of(texts: Sequence[str], notes: ColumnNotes) -> Floats:
    """Return where written values lie on the scale; not a number for what is no value."""
    if not texts:
        return np.empty(0)
    kind = notes.kind if notes.kind.ordered else Kind.NUMERIC
    column: Any = notes
    if kind.numeric:
        numbers = [read_number(text) for text in texts]
        # Larger ones are infinite as floats, and differences of very large ones are.
        most = sys.float_info.max / 2
        return np.clip([np.nan if number is None else float(number) for number in numbers], -most, most)
    found = kind.on_a_line(pl.Series(list(texts), dtype=pl.String), column)
    # Released days lack the time that their format may have, and typed dates are written as ISO dates.
    days = None if notes.date_format is None else day_form(notes.date_format)
    for form in (days, None):
        if found is not None and not found.null_count():
            break
        column = replace(notes, date_format=form)
        again = kind.on_a_line(pl.Series(list(texts), dtype=pl.String), column)
        found = again if found is None or again is None else pl.select(pl.coalesce(found, again)).to_series()
    return np.full(len(texts), np.nan) if found is None else _floats(found)


def _floats(series: pl.Series) -> Floats:
    return series.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy().astype(np.float64)


def declared_ends(notes: ColumnNotes) -> Floats:
    """Return the declared domain on the scale; empty if none was declared."""
    if notes.domain is None or notes.hierarchy is not None:
        return np.empty(0)
    places = places_of([_text(each) for each in notes.domain], notes)
    return places[~np.isnan(places)]


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def is_missing(value: Any) -> bool:
    """Return whether a condition asks for missing values."""
    return value is None or (isinstance(value, str) and value == MISSING)


def place_of(text: str, notes: ColumnNotes, upper: bool) -> float:
    """Return where a bound of a question lies; a day without a time ends with its last moment."""
    infinite = {HIGHEST: np.inf, LOWEST: -np.inf}
    if text in infinite:
        return infinite[text]
    place = float(places_of([text], notes)[0])
    if np.isnan(place):
        foreign = notation.read_foreign_interval(text)
        hint = "" if foreign is None else f"; a range is written {foreign[0]}{notation.BETWEEN}{foreign[1]}"
        raise InputError(
            f"column {notes.name!r}: {text!r} is not {with_article(notes.kind.value)} value{hint}",
            reason=Reason.BAD_VALUE,
            column=notes.name,
        )
    unit = notes.kind.unit.strip()
    if notes.quasi and unit in ("days", "hours"):
        span = read_moment(text, notes.date_format) if upper and unit == "hours" else None
        return float(np.floor(place)) + (23 if span is not None and span[0] < span[1] else 0)
    if unit == "days" and upper and place == np.floor(place):
        return place + 1 - 1e-9
    return place
