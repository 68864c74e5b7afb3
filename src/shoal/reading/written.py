"""Cells of a released column as texts: the different ones, and which of them each row shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, Reason
from shoal.kinds import notation
from shoal.kinds.hierarchy import MISSING
from shoal.kinds.released_numbers import float_texts


def distinct_cells(series: pl.Series) -> tuple[list[str], NDArray[np.int32]]:
    """Return the different cells of a column as they would be written, and the number of each row's cell.

    Parameters
    ----------
    series
        Texts, numbers or dates; structs of low and high, or lists. A null is a missing value.

    Raises
    ------
    InputError
        If the column has cells of another type.
    """
    texts = _as_texts(series).fill_null(MISSING)
    distinct = texts.unique().sort()
    codes = texts.cast(pl.Enum(distinct)).to_physical().cast(pl.Int32).to_numpy()
    return distinct.to_list(), codes


def plain_texts(series: pl.Series) -> pl.Series:
    """Return single values as texts, null where missing; whole numbers without a fraction."""
    if series.dtype.is_float():
        return float_texts(series)
    return series.cast(pl.String)


def _as_texts(series: pl.Series) -> pl.Series:
    dtype = series.dtype
    if isinstance(dtype, pl.Struct):
        return _intervals(series)
    if isinstance(dtype, pl.List | pl.Array):
        return _sets(series.cast(pl.List(pl.String)))
    if dtype == pl.Object or dtype == pl.Binary:
        raise InputError(
            f"column {series.name!r} of the release holds {dtype}, which cannot be read",
            reason=Reason.RELEASE_UNREADABLE,
            column=series.name,
        )
    return plain_texts(series)


def _intervals(series: pl.Series) -> pl.Series:
    """Return structs of low and high as text; a struct without bounds is a suppressed cell."""
    fields = series.struct.unnest()
    if not {"low", "high"} <= set(fields.columns):
        raise InputError(
            f"column {series.name!r} of the release has structs without the fields low and high",
            reason=Reason.RELEASE_UNREADABLE,
            column=series.name,
        )
    ends = pl.DataFrame({end: plain_texts(fields[end]) for end in ("low", "high")})
    pairs = ends.with_columns(absent=series.is_null()).unique()
    written = [_interval(low, high, absent) for low, high, absent in pairs.iter_rows()]
    known = pairs.with_columns(text=pl.Series(written, dtype=pl.String))
    joined = ends.with_columns(absent=series.is_null()).join(
        known, on=["low", "high", "absent"], how="left", nulls_equal=True, maintain_order="left"
    )
    return joined["text"].rename(series.name)


def _interval(low: str | None, high: str | None, absent: bool) -> str | None:
    if absent:
        return None
    if low is None or high is None:
        return notation.SUPPRESSED
    return notation.write_point(low) if low == high else notation.write_interval(low, high)


def _sets(lists: pl.Series) -> pl.Series:
    """Return lists of members as text; a null among them is a missing value."""
    element = pl.element().fill_null(MISSING)
    escaped = lists.list.eval(
        element.str.replace_all("\\", "\\\\", literal=True).str.replace_all("|", "\\|", literal=True)
    )
    star = lists.list.eval(pl.element() == notation.SUPPRESSED).list.any() & (lists.list.len() == 1)
    joined = escaped.list.join("|")
    chosen: Any = pl.when(star.fill_null(False)).then(pl.lit("\\*")).otherwise(joined)
    return pl.select(chosen).to_series().rename(lists.name)
