"""From the cells of a column to codes: reading numbers, dates and categories, and saying which cell is wrong."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.domain import Attribute, Codes, Domain, RangeDomain, Sensitive, SetDomain, TreeDomain
from shoal.errors import InputError, Reason, listing
from shoal.hierarchy import MISSING
from shoal.schema import Column, Kind


def to_polars(series: nw.Series[Any]) -> pl.Series:
    """Return a column of any flavour as a Polars series."""
    native = series.to_native()
    if isinstance(native, pl.Series):
        return native
    if series.dtype.is_numeric() and not series.is_null().any():
        return pl.Series(series.name, series.to_numpy())
    try:
        return pl.Series(series.name, series.to_list(), strict=True)
    except (TypeError, pl.exceptions.PolarsError):
        types = sorted({type(value).__name__ for value in series.to_list() if value is not None})
        raise InputError(
            f"column {series.name!r} mixes values of several types ({', '.join(types)}); convert it to one",
            reason=Reason.BAD_VALUE,
        ) from None


def same_flavour(columns: Sequence[pl.Series], like: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Return Polars columns as a frame of the same flavour as `like`, with a fresh index where it has one."""
    if like.implementation.is_polars():
        return nw.from_native(pl.DataFrame(columns), eager_only=True)
    data = {column.name: column.to_list() for column in columns}
    return nw.from_dict(data, backend=like.implementation)


def factorize(series: pl.Series) -> tuple[pl.Series, Codes]:
    """Return the distinct values of a series in ascending order and the code of each cell (-1 for null)."""
    distinct = series.drop_nulls().unique().sort()
    if series.dtype == pl.String:
        ranks = series.cast(pl.Enum(distinct)).to_physical()
    else:
        ranks = distinct.search_sorted(series.fill_null(distinct[0])) if len(distinct) else series.cast(pl.Int32)
        ranks = pl.select(pl.when(series.is_not_null()).then(ranks)).to_series()
    return distinct, ranks.cast(pl.Int32).fill_null(-1).to_numpy()


def read_cells(series: nw.Series[Any], column: Column) -> pl.Series:
    """Return a quasi-identifier with null wherever a value is missing."""
    if column.kind is Kind.SET_VALUED:
        raise InputError(
            f"column {column.name!r} is set-valued; this version cannot generalize sets of items: make it "
            "'other' or 'identifier'",
            reason=Reason.SCHEMA,
        )
    cells = to_polars(series)
    if isinstance(cells.dtype, pl.Categorical | pl.Enum) or cells.dtype == pl.Null:
        cells = cells.cast(pl.String)
    if cells.dtype.is_nested() or cells.dtype in (pl.Object, pl.Binary, pl.Duration, pl.Time):
        raise InputError(
            f"column {column.name!r} holds {cells.dtype}, which cannot be a quasi-identifier",
            reason=Reason.BAD_VALUE,
        )
    if cells.dtype.is_float():
        return cells.fill_nan(None)
    if cells.dtype == pl.String:
        marks = pl.Series(["", *column.missing_marks], dtype=pl.String)
        return pl.select(pl.when(~cells.is_in(marks.implode())).then(cells)).to_series().rename(column.name)
    return cells


def attribute(cells: pl.Series, column: Column, rows: NDArray[np.int64]) -> Attribute:
    """Return a quasi-identifier as codes into its domain.

    Parameters
    ----------
    cells
        Its values, null where missing.
    column
        What it is.
    rows
        The position of each cell in the input, for error messages.

    Raises
    ------
    InputError
        If a value does not fit the column; the message names the row.
    """
    distinct, codes = factorize(cells)
    values = _READERS[column.kind](distinct, column, _Place(column.name, codes, rows))
    if values.n_unique() < len(values) or not values.is_sorted():
        distinct_values, renumber = factorize(values)
        codes = np.append(renumber, np.int32(-1))[codes]  # several spellings of one value become one code
        values = distinct_values
    labels = _texts(values, column)
    if column.hierarchy is not None:
        return _tree_attribute(column, values, labels, codes)
    if column.domain is not None and column.kind in (Kind.CATEGORICAL, Kind.ORDINAL):
        values, labels, codes = _declared(column, labels, codes, rows)
    missing = len(labels) if (codes < 0).any() else None
    if missing is not None:
        codes = np.where(codes < 0, np.int32(missing), codes)
        labels = (*labels, MISSING)
        values = pl.concat([values, pl.Series([None], dtype=values.dtype)])
    domain: Domain
    if column.kind is Kind.CATEGORICAL:
        domain = SetDomain(labels, values, missing)
    else:
        domain = RangeDomain(labels, values, missing, _positions(values, column, missing))
    return Attribute(column, domain, codes)


@dataclass(frozen=True)
class _Place:
    """Where a value stands, for error messages."""

    column: str
    codes: Codes
    rows: NDArray[np.int64]

    def of(self, code: int) -> str:
        return f"column {self.column!r}, row {int(self.rows[int((self.codes == code).argmax())]) + 1}"


def _read_numbers(distinct: pl.Series, column: Column, place: _Place) -> pl.Series:
    if distinct.dtype == pl.String:
        texts = distinct.str.strip_chars()
        numbers: pl.Series = texts.cast(pl.Int64, strict=False)
        if numbers.null_count():
            numbers = texts.cast(pl.Float64, strict=False)
    elif distinct.dtype.is_numeric() or distinct.dtype == pl.Boolean:
        numbers = distinct if distinct.dtype.is_float() else distinct.cast(pl.Int64, strict=False)
        numbers = numbers.cast(pl.Float64) if numbers.dtype.is_float() or numbers.null_count() else numbers
    else:
        numbers = pl.Series([None] * len(distinct), dtype=pl.Float64)
    wrong = numbers.is_null()
    if wrong.any():
        code = int(wrong.arg_max() or 0)
        raise InputError(
            f"{place.of(code)}: {distinct[code]!r} is not a number; correct it, declare it as a missing mark, "
            "or make the column categorical",
            reason=Reason.BAD_VALUE,
        )
    if numbers.dtype.is_float():
        infinite = ~numbers.is_finite()
        if infinite.any():
            code = int(infinite.arg_max() or 0)
            raise InputError(
                f"{place.of(code)}: {distinct[code]!r} is not a finite number; correct it or leave it empty",
                reason=Reason.NOT_FINITE,
            )
        whole = numbers.cast(pl.Int64, strict=False)
        if whole.null_count() == 0 and (whole.cast(pl.Float64) == numbers).all():
            numbers = whole
    _check_bounds(numbers, column, place)
    return numbers.rename(column.name)


def _read_dates(distinct: pl.Series, column: Column, place: _Place) -> pl.Series:
    if distinct.dtype == pl.String:
        texts = distinct.str.strip_chars()
        if column.date_format is None:
            days = texts.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
        else:
            days = texts.str.to_date(column.date_format, strict=False)
    elif isinstance(distinct.dtype, pl.Datetime | pl.Date):
        days = distinct.cast(pl.Date)
    else:
        days = pl.Series([None] * len(distinct), dtype=pl.Date)
    wrong = days.is_null()
    if wrong.any():
        code = int(wrong.arg_max() or 0)
        form = column.date_format or "YYYY-MM-DD"
        raise InputError(
            f"{place.of(code)}: {distinct[code]!r} is not a date written as {form}; correct it or set the "
            "column's date_format",
            reason=Reason.BAD_VALUE,
        )
    _check_bounds(days, column, place)
    return days.rename(column.name)


def _read_categories(distinct: pl.Series, column: Column, place: _Place) -> pl.Series:
    del column, place  # every value is a category
    return distinct


_READERS = {
    Kind.NUMERIC: _read_numbers,
    Kind.DATE: _read_dates,
    Kind.CATEGORICAL: _read_categories,
    Kind.ORDINAL: _read_categories,
}


def _bounds(column: Column) -> tuple[Any, Any]:
    low, high = column.domain or (None, None)
    if column.kind is Kind.DATE:
        low, high = (
            datetime.date.fromisoformat(bound) if isinstance(bound, str) else bound for bound in (low, high)
        )
    return low, high


def _check_bounds(values: pl.Series, column: Column, place: _Place) -> None:
    if column.domain is None:
        return
    low, high = _bounds(column)
    outside = (values < low) | (values > high)
    if outside.any():
        code = int(outside.arg_max() or 0)
        raise InputError(
            f"{place.of(code)}: {values[code]} is outside the declared domain {low}..{high}",
            reason=Reason.OUT_OF_DOMAIN,
        )


def _texts(values: pl.Series, column: Column) -> tuple[str, ...]:
    if values.dtype == pl.Date:
        return tuple(values.dt.strftime(column.date_format or "%Y-%m-%d").to_list())
    if values.dtype.is_float():
        return tuple(repr(value) for value in values.to_list())
    return tuple(values.cast(pl.String).to_list())


def _positions(values: pl.Series, column: Column, missing: int | None) -> NDArray[np.float64]:
    if column.kind is Kind.ORDINAL:
        places = np.arange(len(values), dtype=np.float64)
        low, high = 0.0, float(len(values) - 1 - (missing is not None))
    else:
        places = values.to_physical().fill_null(0).to_numpy().astype(np.float64)
        numbers = places[: len(places) - (missing is not None)]
        ends = pl.Series(_bounds(column), dtype=values.dtype if column.kind is Kind.DATE else pl.Float64)
        declared = column.domain is not None
        low, high = ends.to_physical().to_list() if declared else _ends(numbers)
    positions = (places - low) / (high - low) if high > low else np.zeros(len(places))
    if missing is not None:
        positions[missing] = 2.0
    return positions


def _ends(numbers: NDArray[np.float64]) -> tuple[float, float]:
    return (float(numbers[0]), float(numbers[-1])) if len(numbers) else (0.0, 0.0)


def _declared(
    column: Column, labels: tuple[str, ...], codes: Codes, rows: NDArray[np.int64]
) -> tuple[pl.Series, tuple[str, ...], Codes]:
    """Renumber categories by the declared domain."""
    declared = tuple(str(value) for value in column.domain or ())
    place_of = {label: code for code, label in enumerate(declared)}
    unknown = [label for label in labels if label not in place_of]
    if unknown:
        place = _Place(column.name, codes, rows).of(labels.index(unknown[0]))
        raise InputError(
            f"{place}: {unknown[0]!r} is not in the declared domain {listing(declared)}",
            reason=Reason.OUT_OF_DOMAIN,
        )
    renumber = np.array([*(place_of[label] for label in labels), -1], dtype=np.int32)
    return pl.Series(column.name, declared, dtype=pl.String), declared, renumber[codes]


def _tree_attribute(column: Column, values: pl.Series, labels: tuple[str, ...], codes: Codes) -> Attribute:
    assert column.hierarchy is not None
    has_missing = bool((codes < 0).any())
    hierarchy = column.hierarchy.over([*labels, MISSING] if has_missing else list(labels))
    leaf_of = np.array(
        [hierarchy.leaf_index[label] for label in labels] + [hierarchy.leaf_index.get(MISSING, -1)], dtype=np.int32
    )
    possible = np.zeros(len(hierarchy.leaves), dtype=np.bool_)
    possible[leaf_of[: len(labels) + has_missing]] = True
    if column.domain is not None and column.kind in (Kind.CATEGORICAL, Kind.ORDINAL):
        declared = [str(value) for value in column.domain]
        possible[[hierarchy.over(declared).leaf_index[label] for label in declared]] = True
    typed = np.full(len(hierarchy.leaves), len(labels))
    typed[leaf_of[: len(labels)]] = np.arange(len(labels))
    padded = pl.concat([values, pl.Series([None], dtype=values.dtype)])
    missing = hierarchy.leaf_index[MISSING] if has_missing else None
    domain = TreeDomain(hierarchy.leaves, padded.gather(typed), missing, hierarchy, possible)
    return Attribute(column, domain, leaf_of[codes])


def sensitive(series: nw.Series[Any]) -> Sensitive:
    """Return a sensitive column as codes."""
    cells = to_polars(series)
    if cells.dtype.is_nested() or cells.dtype == pl.Object:
        raise InputError(
            f"column {series.name!r} holds {cells.dtype}, which cannot be sensitive in this version",
            reason=Reason.BAD_VALUE,
        )
    if not cells.dtype.is_numeric() and not cells.dtype.is_temporal():
        cells = cells.cast(pl.String)
    distinct, codes = factorize(cells.fill_nan(None) if cells.dtype.is_float() else cells)
    if (codes < 0).any():
        codes = np.where(codes < 0, np.int32(len(distinct)), codes)
        distinct = pl.concat([distinct, pl.Series([None], dtype=distinct.dtype)])
    return Sensitive(series.name, distinct, codes)
