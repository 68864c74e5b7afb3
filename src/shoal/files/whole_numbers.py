"""Whole numbers in files whose numbers are all floating-point numbers."""

from __future__ import annotations

import polars as pl

_LARGEST = 2**53  # above it, a floating-point number is not every whole number


def as_whole(series: pl.Series) -> pl.Series:
    """Return a column of floating-point numbers as integers, if all of them are whole; NaN becomes null."""
    if not series.dtype.is_float():
        return series
    series = series.fill_nan(None)
    present = series.drop_nulls()
    is_whole = len(present) > 0 and bool(((present == present.floor()) & (present.abs() < _LARGEST)).all())
    return series.cast(pl.Int64) if is_whole else series
