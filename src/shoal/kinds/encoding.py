"""Columns of any library as Polars series and as codes; sensitive columns as codes."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.base.fresh_columns import plain_type, rebuilt
from shoal.errors import InputError, Reason
from shoal.kinds import exact_numbers as exact
from shoal.kinds.domain import Codes, Sensitive
from shoal.kinds.hierarchy import MISSING
from shoal.kinds.marks import FEW, without_marks
from shoal.kinds.normalization import normalized, normalized_text

if TYPE_CHECKING:
    from shoal.schema import Column


def to_polars(series: nw.Series[Any]) -> pl.Series:
    """Return a column of any library as a Polars series, null where a value is missing."""
    native = series.to_native()
    if isinstance(native, pl.Series):
        return _of_objects(series) if native.dtype == pl.Object else native
    if series.dtype == nw.Object:
        _refuse_mixed_dates(series)
    if hasattr(getattr(getattr(native, "dtype", None), "categories", None), "closed"):  # by pandas.cut
        cells = [None if none else str(cell) for cell, none in zip(native, native.isna(), strict=True)]
        return pl.Series(series.name, cells, dtype=pl.String)
    try:
        if find_spec("pyarrow") is not None:
            return _of_arrow(series.name, series.to_arrow())
        missing = series.is_null().to_list()
        cells = [None if none else cell for cell, none in zip(series.to_list(), missing, strict=True)]
        return pl.Series(series.name, cells, strict=True)
    # PyArrow's errors derive from these; Polars has a RuntimeError for decimals that are too long.
    except (TypeError, ValueError, RuntimeError, OverflowError, pl.exceptions.PolarsError):
        return _of_objects(series)


def plain_cells(series: nw.Series[Any]) -> pl.Series:
    """Return a column with null wherever a value is missing; values of several types as texts."""
    try:
        cells = to_polars(series)
    except InputError:
        cells = pl.Series(dtype=pl.Object)
    if cells.dtype == pl.Object:
        pairs = zip(series.to_list(), series.is_null().to_list(), strict=True)
        cells = pl.Series([None if null else str(value) for value, null in pairs], dtype=pl.String)
    if plain_type(cells.dtype) != cells.dtype:
        cells = rebuilt(cells)  # of an extension type, the values that it is stored as
    if isinstance(cells.dtype, pl.Categorical | pl.Enum) or cells.dtype == pl.Null:
        cells = cells.cast(pl.String)
    if cells.dtype == pl.String:
        empty = cells == ""
        return cells.set(empty, None) if empty.any() else cells  # a copy of a large table takes much memory
    return cells.fill_nan(None) if cells.dtype.is_float() else cells


def _of_arrow(name: str, cells: Any) -> pl.Series:
    import pyarrow as pa

    if pa.types.is_decimal256(cells.type):  # longer than any decimal of Polars
        return pl.Series(name, [None if cell is None else str(cell) for cell in cells.to_pylist()], pl.String)
    return pl.Series(name, cells)


def _of_objects(series: nw.Series[Any]) -> pl.Series:
    """Return Python numbers of several types, or of types that Polars lacks, as exact texts."""
    nulls = series.is_null().to_list()
    cells = [None if none else cell for cell, none in zip(series.to_list(), nulls, strict=True)]
    with suppress(ValueError):
        texts = exact.texts_of_objects(cells)
        if texts is not None:
            return pl.Series(series.name, texts, dtype=pl.String)
    types = sorted({type(cell).__name__ for cell in cells if cell is not None})
    problem = (
        f"mixes values of several types ({', '.join(types)}); convert it to one"
        if len(types) > 1
        else f"holds values that cannot be read ({''.join(types)}); convert them to text or numbers"
    )
    raise InputError(f"column {series.name!r} {problem}", reason=Reason.BAD_VALUE, column=series.name)


def _refuse_mixed_dates(series: nw.Series[Any]) -> None:
    """Refuse dates that PyArrow would silently make equal by cutting times, zones and nanoseconds."""
    dates = [cell for cell in series.drop_nulls().to_list() if isinstance(cell, datetime.date)]
    times = [cell for cell in dates if isinstance(cell, datetime.datetime)]
    problem = None
    if 0 < len(times) < len(dates):
        problem = "mixes days and times"
    elif len({time.tzinfo is None for time in times}) > 1:
        problem = "mixes times with and without a time zone"
    elif any(getattr(time, "nanosecond", 0) for time in times):
        problem = "has times to the nanosecond as objects"
    if problem is not None:
        raise InputError(
            f"column {series.name!r} {problem}; convert it to one type, such as datetime64",
            reason=Reason.BAD_VALUE,
            column=series.name,
        )


def same_flavour(columns: Sequence[pl.Series], like: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Return Polars columns as a frame of the same flavour as `like`, with a fresh index where it has one."""
    if like.implementation.is_polars():
        return nw.from_native(pl.DataFrame(columns), eager_only=True)
    data = {column.name: column.to_list() for column in columns}
    return nw.from_dict(data, backend=like.implementation)


def factorize(series: pl.Series, *, numeric: bool = False, in_order: bool = True) -> tuple[pl.Series, Codes]:
    """Return the distinct values of a series in ascending order and the code of each cell (-1 for null).

    Parameters
    ----------
    series
        The cells.
    numeric
        Whether texts are numbers, as `exact.read` returns them, and ascend as such.
    in_order
        Whether the values of texts ascend; otherwise their order is unspecified, which takes less time.
    """
    few = series.dtype == pl.String and len(series) <= FEW
    if few and not numeric:
        texts = set(series.to_list()) - {None}
        distinct = pl.Series(series.name, sorted(texts), dtype=pl.String)
    else:
        known = series.drop_nulls() if series.null_count() else series
        distinct = exact.ascending(known) if numeric else known.unique()
        if not numeric and (in_order or series.dtype != pl.String):
            distinct = distinct.sort()
    if few:
        code_of = {text: code for code, text in enumerate(distinct.to_list())}
        return distinct, np.array([code_of.get(text, -1) for text in series.to_list()], dtype=np.int32)
    if series.dtype == pl.String:
        ranks = series.cast(pl.Enum(distinct)).to_physical().cast(pl.Int32)
    else:
        ranks = series.rank("dense").cast(pl.Int32) - 1
    return distinct, (ranks.fill_null(-1) if series.null_count() else ranks).to_numpy()


def plain(cells: pl.Series) -> pl.Series:
    """Return cells of a dictionary type, and cells of no type at all, as text."""
    if isinstance(cells.dtype, pl.Categorical | pl.Enum) or cells.dtype == pl.Null:
        return cells.cast(pl.String)
    return cells


def sensitive(series: nw.Series[Any], column: Column) -> Sensitive:
    """Return a sensitive column as codes; empty cells and the marks are missing values.

    Unless the column says otherwise, texts that look the same have the same code (see `normalized`). Of
    several spellings, the first in alphabetical order stands for all.
    """
    cells, keys = _sensitive_cells(series, column)
    distinct, codes = factorize(cells)
    if keys is not None and len(distinct):
        number: dict[str, int] = {}
        place = np.array([number.setdefault(keys[text], len(number)) for text in distinct], dtype=np.int32)
        distinct = distinct.gather(np.unique(place, return_index=True)[1])
        codes = np.append(place, np.int32(-1))[codes]
    if (codes < 0).any():
        codes = np.where(codes < 0, np.int32(len(distinct)), codes)
        distinct = pl.concat([distinct, pl.Series([None], dtype=distinct.dtype)])
    return Sensitive(series.name, distinct, codes)


def missing_in(series: nw.Series[Any], column: Column) -> NDArray[np.bool_]:
    """Return which values of a sensitive column are missing."""
    return _sensitive_cells(series, column)[0].is_null().to_numpy()


def _sensitive_cells(series: nw.Series[Any], column: Column) -> tuple[pl.Series, dict[str, str] | None]:
    """Return a sensitive column, null where missing, and for texts what each of them is compared by."""
    cells = plain(to_polars(series))
    if cells.dtype == pl.Boolean:
        cells = cells.cast(pl.String)
    if not (cells.dtype.is_numeric() or cells.dtype.is_temporal() or cells.dtype == pl.String):
        raise InputError(
            f"column {series.name!r} holds {cells.dtype}, which cannot be {column.role.value} in this "
            "version",
            reason=Reason.BAD_VALUE,
            column=series.name,
        )
    cells = without_marks(cells, column.missing_marks, numeric=column.kind.numeric)
    if not column.normalize or cells.dtype != pl.String:
        return cells, None
    texts = cells.drop_nulls().unique()
    keys = dict(zip(texts, comparable(texts, column), strict=True))
    marks = {normalized_text(mark) for mark in (MISSING, *column.missing_marks)}
    unknown = [text for text, key in keys.items() if key in marks]
    return (without_marks(cells, unknown) if unknown else cells), keys


def comparable(texts: pl.Series, column: Column) -> pl.Series:
    """Return what different texts of a sensitive column are compared by: numbers by their value."""
    if not column.normalize:
        return texts
    keys = normalized(texts)
    if not column.kind.numeric:
        return keys
    return pl.select(pl.coalesce(exact.retyped(exact.read(keys), pl.String()), keys)).to_series()
