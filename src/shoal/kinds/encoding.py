"""From cells to codes: reading numbers, dates, categories and items, and naming the cell that is wrong."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.base.ragged import Lists, ascending_sets
from shoal.errors import InputError, Reason, listing
from shoal.kinds import exact_numbers as exact
from shoal.kinds import moments, notation
from shoal.kinds.domain import Attribute, Codes, Domain, Sensitive
from shoal.kinds.hierarchy import MISSING
from shoal.kinds.items import ItemsDomain, named_items
from shoal.kinds.kind import Kind
from shoal.kinds.marks import check_marks, without_marks
from shoal.kinds.normalization import normalized, normalized_text
from shoal.kinds.ranges import RangeDomain, TimesDomain
from shoal.kinds.sets import SetDomain
from shoal.kinds.trees import TreeDomain

if TYPE_CHECKING:
    from shoal.schema import Column


def to_polars(series: nw.Series[Any]) -> pl.Series:
    """Return a column of any flavour as a Polars series, null where a value is missing."""
    native = series.to_native()
    if isinstance(native, pl.Series):
        return _of_objects(series) if native.dtype == pl.Object else native
    if series.dtype == nw.Object:
        _refuse_mixed_dates(series)
    try:
        if find_spec("pyarrow") is not None:
            return _of_arrow(series.name, series.to_arrow())
        missing = series.is_null().to_list()
        cells = [None if none else cell for cell, none in zip(series.to_list(), missing, strict=True)]
        return pl.Series(series.name, cells, strict=True)
    # PyArrow's errors derive from these; Polars has a RuntimeError for decimals that are too long.
    except (TypeError, ValueError, RuntimeError, OverflowError, pl.exceptions.PolarsError):
        return _of_objects(series)


def _of_arrow(name: str, cells: Any) -> pl.Series:
    import pyarrow as pa

    if pa.types.is_decimal256(cells.type):  # longer than any decimal of Polars
        return pl.Series(name, [None if cell is None else str(cell) for cell in cells.to_pylist()], pl.String)
    return pl.Series(name, cells)


def _of_objects(series: nw.Series[Any]) -> pl.Series:
    """Return Python's own numbers of several types, or such as no other type holds, as exact texts."""
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
    """Refuse dates that PyArrow would make equal without a word: it cuts times, zones and nanoseconds."""
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


def factorize(series: pl.Series, *, numeric: bool = False) -> tuple[pl.Series, Codes]:
    """Return the distinct values of a series in ascending order and the code of each cell (-1 for null).

    Parameters
    ----------
    series
        The cells.
    numeric
        Whether texts are numbers, as `exact.read` returns them, and ascend as such.
    """
    distinct = exact.ascending(series) if numeric else series.drop_nulls().unique().sort()
    if series.dtype == pl.String:
        ranks = series.cast(pl.Enum(distinct)).to_physical().cast(pl.Int32)
    else:
        ranks = series.rank("dense").cast(pl.Int32) - 1
    return distinct, ranks.fill_null(-1).to_numpy()


def read_cells(series: nw.Series[Any], column: Column) -> pl.Series:
    """Return a quasi-identifier with null wherever a value is missing."""
    if column.kind is Kind.ITEMS:
        return _read_items(series, column)
    cells = _plain(to_polars(series))
    if not (cells.dtype.is_numeric() or cells.dtype in (pl.String, pl.Boolean, pl.Date, pl.Datetime)):
        raise InputError(
            f"column {column.name!r} holds {cells.dtype}, which cannot be a quasi-identifier",
            reason=Reason.BAD_VALUE,
            column=column.name,
        )
    return without_marks(cells, column.missing_marks, column.kind)


def _read_items(series: nw.Series[Any], column: Column) -> pl.Series:
    """Return lists of names, null where a set is missing."""
    cells = _listed(series) if series.dtype == nw.Object else _plain(to_polars(series))
    if cells.dtype == pl.String:
        texts = without_marks(cells, column.missing_marks)
        if column.separator is None:
            return texts.str.extract_all(r"\S+")
        parts = texts.str.split(column.separator).list.eval(pl.element().str.strip_chars())
        return parts.list.eval(pl.element().filter(pl.element() != MISSING))
    inner = cells.dtype.inner if isinstance(cells.dtype, pl.List | pl.Array) else None
    if inner is None or isinstance(inner, pl.List | pl.Array | pl.Struct):
        raise InputError(
            f"column {column.name!r} holds {cells.dtype}, which are no items; give lists, or texts with a "
            "separator",
            reason=Reason.BAD_VALUE,
            column=column.name,
        )
    lists = cells.cast(pl.List(inner))
    if inner.is_float():
        return lists.list.eval(pl.element().cast(pl.String).str.strip_suffix(".0"))
    return lists.cast(pl.List(pl.String))


def _listed(series: nw.Series[Any]) -> pl.Series:
    """Return a column of Python's own sets as lists; anything else as it is read elsewhere."""
    nulls = series.is_null().to_list()
    cells = [None if none else cell for cell, none in zip(series.to_list(), nulls, strict=True)]
    if not any(isinstance(cell, set | frozenset) for cell in cells):
        return _plain(to_polars(series))
    with suppress(TypeError):
        lists = [None if cell is None else sorted(map(str, cell)) for cell in cells]
        return pl.Series(series.name, lists, dtype=pl.List(pl.String))
    raise InputError(
        f"column {series.name!r} mixes sets with other values; convert it to lists",
        reason=Reason.BAD_VALUE,
        column=series.name,
    )


def _plain(cells: pl.Series) -> pl.Series:
    """Return cells of a dictionary type, and cells of no type at all, as text."""
    if isinstance(cells.dtype, pl.Categorical | pl.Enum) or cells.dtype == pl.Null:
        return cells.cast(pl.String)
    return cells


def attribute(
    cells: pl.Series,
    column: Column,
    rows: NDArray[np.int64],
    known: Domain | None = None,
    *,
    times: bool = False,
) -> Attribute:
    """Return a quasi-identifier as codes into its domain.

    Parameters
    ----------
    cells
        Its values, null where missing.
    column
        What it is.
    rows
        The position of each cell in the input, for error messages.
    known
        The domain of the same column in a larger table that these cells are a part of; without it, the
        domain is that of the cells.
    times
        Whether different times of a day are different values, if the column has any. Methods generalize to
        days, which their releases say; an auditor must see times that are shown.

    Raises
    ------
    InputError
        If a value does not fit the column; the message names the first row where one does not.
    """
    if column.kind is Kind.ITEMS:
        return _items_attribute(cells, column, rows)
    _refuse_years(cells, column, rows)
    if (
        times
        and column.kind is Kind.DATE
        and column.hierarchy is None
        and moments.has_time(column.date_format)
    ):
        timed = _times_attribute(cells, column, rows)
        if timed is not None:
            return timed
    read = _READERS[column.kind](cells, column, rows)
    values, codes = factorize(read, numeric=column.kind is Kind.NUMERIC)
    if known is not None:
        return Attribute(column, known, _codes_in(known, values, column, codes, rows))
    found = _found_attribute(column, values, codes, rows)
    check_marks(column, found.domain, _is_date)
    return found


def _found_attribute(column: Column, values: pl.Series, codes: Codes, rows: NDArray[np.int64]) -> Attribute:
    """Return a quasi-identifier over the domain of the values that occur."""
    labels = written_texts(values, column)
    if column.domain is not None and column.kind in (Kind.CATEGORICAL, Kind.ORDINAL):
        values, labels, codes = _declared(column, values, labels, codes, rows)
    if column.hierarchy is not None:
        return _tree_attribute(column, values, labels, codes)
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


def _codes_in(
    domain: Domain, values: pl.Series, column: Column, codes: Codes, rows: NDArray[np.int64]
) -> Codes:
    """Return codes into a given domain instead of into the values that occur."""
    places = [domain.code_of.get(label, -2) for label in written_texts(values, column)]
    renumbered = np.array([*places, -2 if domain.missing is None else domain.missing], dtype=np.int32)[codes]
    if (renumbered == -2).any():
        first = int(rows[int((renumbered == -2).argmax())]) + 1
        raise InputError(
            f"column {column.name!r}, row {first}: the value is not among those found before; did the table "
            "change meanwhile?",
            reason=Reason.OUT_OF_DOMAIN,
            column=column.name,
        )
    return renumbered


def _refuse(
    wrong: pl.Series,
    cells: pl.Series,
    column: Column,
    rows: NDArray[np.int64],
    problem: str,
    reason: Reason = Reason.BAD_VALUE,
) -> None:
    """Raise an error that names the first wrong cell, if there is one."""
    if wrong.any():
        first = int(wrong.arg_true()[0])
        cell = repr(cells[first]) if cells.dtype == pl.String else str(cells[first])
        raise InputError(
            f"column {column.name!r}, row {int(rows[first]) + 1}: {cell} {problem}",
            reason=reason,
            column=column.name,
        )


def _read_numbers(cells: pl.Series, column: Column, rows: NDArray[np.int64]) -> pl.Series:
    readable = cells.dtype.is_numeric() or cells.dtype in (pl.String, pl.Boolean)
    numbers = exact.read(cells) if readable else pl.Series([None] * len(cells), dtype=pl.Float64)
    wrong = numbers.is_null() & cells.is_not_null()
    if wrong.any():
        problem, reason = _no_number(str(cells[int(wrong.arg_true()[0])]).strip())
        _refuse(wrong, cells, column, rows, problem, reason)
    if column.domain is not None:
        low, high = column.domain
        problem = f"is outside the declared domain {low}..{high}"
        _refuse(exact.outside(numbers, low, high), cells, column, rows, problem, Reason.OUT_OF_DOMAIN)
    return numbers.rename(column.name)


def _no_number(text: str) -> tuple[str, Reason]:
    """Return what is wrong with a cell that is not read as a number."""
    near = pl.Series([text]).cast(pl.Float64, strict=False)
    if near.is_infinite().any() or near.is_nan().any():
        return "is not a finite number; correct it or leave it empty", Reason.NOT_FINITE
    if exact.is_written_as_number(text):
        problem = f"has digits more than {exact.MOST_PLACES} places behind the point; round it, or make"
        return f"{problem} the column categorical", Reason.BAD_VALUE
    problem = "is not a number; correct it, declare it as a missing mark, or make the column categorical"
    return problem, Reason.BAD_VALUE


def _read_dates(cells: pl.Series, column: Column, rows: NDArray[np.int64]) -> pl.Series:
    return _read_moments(cells, column, rows)["day"].cast(pl.Int32).cast(pl.Date).rename(column.name)


def _read_moments(cells: pl.Series, column: Column, rows: NDArray[np.int64]) -> pl.DataFrame:
    """Return day, clock and offset of each cell, null where missing."""
    found = moments.parts(cells, column.date_format)
    _refuse(
        found["day"].is_null() & cells.is_not_null(),
        cells,
        column,
        rows,
        f"is not a date written as {column.date_format or 'YYYY-MM-DD'}; correct it or set the column's "
        "date_format",
    )
    _check_bounds(found["day"].cast(pl.Int32).cast(pl.Date), cells, column, rows)
    return found


def _refuse_years(cells: pl.Series, column: Column, rows: NDArray[np.int64]) -> None:
    """Refuse typed dates that are beyond what calendars have."""
    if (far := moments.beyond(cells)).any():
        row = int(rows[int(far.arg_true()[0])]) + 1
        raise InputError(
            f"column {column.name!r}, row {row}: the date is before the year 1 or after the year 9999; "
            "correct it or leave it empty",
            reason=Reason.BAD_VALUE,
            column=column.name,
        )


def _times_attribute(cells: pl.Series, column: Column, rows: NDArray[np.int64]) -> Attribute | None:
    """Return dates with every time of day as a value of its own; None if the column has no times."""
    if not moments.has_time(column.date_format):
        return None
    found = _read_moments(cells, column, rows)
    if not ((found["clock"] != 0) | (found["offset"] != moments.NO_OFFSET)).any():
        return None
    distinct = found.drop_nulls("day").unique().sort("day", "clock", "offset")
    known = tuple(moments.Moment(*row) for row in distinct.iter_rows())
    ranks = found.join(distinct.with_row_index("code"), on=found.columns, how="left", maintain_order="left")
    missing = len(known) if found["day"].null_count() else None
    codes = ranks["code"].cast(pl.Int32).fill_null(len(known)).to_numpy()
    places = distinct["day"].to_numpy() + distinct["clock"].to_numpy() / (86_400 * 10**9)
    ends = places[[0, -1]]
    if column.domain is not None:
        low, high = pl.Series(column.domain, dtype=pl.Date).to_physical().to_list()
        ends = np.array([low, high + 1])
    positions = (places - ends[0]) / max(ends[1] - ends[0], np.finfo(np.float64).tiny)
    nothing = () if missing is None else (None,)
    domain = TimesDomain(
        (*(moment.text() for moment in known), *(MISSING for _ in nothing)),
        pl.Series(column.name, [*distinct["day"], *nothing], dtype=pl.Int32).cast(pl.Date),
        missing,
        np.append(positions, [2.0] * len(nothing)),
        known,
    )
    return Attribute(column, domain, codes)


def _is_date(text: str, column: Column) -> bool:
    with suppress(InputError):
        _read_dates(pl.Series([text]), replace(column, domain=None), np.zeros(1, dtype=np.int64))
        return True
    return False


def _read_categories(cells: pl.Series, column: Column, rows: NDArray[np.int64]) -> pl.Series:
    del column, rows  # every value is a category
    return exact.whole_if_possible(exact.floats(cells)) if cells.dtype.is_float() else cells


_READERS = {
    Kind.NUMERIC: _read_numbers,
    Kind.DATE: _read_dates,
    Kind.CATEGORICAL: _read_categories,
    Kind.ORDINAL: _read_categories,
}


def _check_bounds(values: pl.Series, cells: pl.Series, column: Column, rows: NDArray[np.int64]) -> None:
    if column.domain is not None:
        low, high = column.domain
        outside = (values < low) | (values > high)
        problem = f"is outside the declared domain {low}..{high}"
        _refuse(outside, cells, column, rows, problem, Reason.OUT_OF_DOMAIN)


def written_texts(values: pl.Series, column: Column) -> tuple[str, ...]:
    """Return how each value is written; whole numbers without a fraction, whatever their type."""
    if values.dtype == pl.Date and column.date_format is not None:
        return _formatted(values, column.name, column.date_format)
    if values.dtype.is_float() or column.kind is Kind.NUMERIC:
        return tuple(exact.labels(values))
    return tuple(values.cast(pl.String).to_list())


def _formatted(days: pl.Series, name: str, form: str) -> tuple[str, ...]:
    """Return how days are written, if they can be read back."""
    texts = moments.write_days(days, form)
    if texts is None:
        raise InputError(
            f"column {name!r}: days written as {form} cannot be read back; choose a date_format with year, "
            "month and day",
            reason=Reason.SCHEMA,
            column=name,
        )
    return tuple(texts)


def _positions(values: pl.Series, column: Column, missing: int | None) -> NDArray[np.float64]:
    known = len(values) - (missing is not None)
    positions = np.full(len(values), 2.0)
    if column.kind is Kind.ORDINAL:
        positions[:known] = np.arange(known) / max(known - 1, 1)
    elif known:
        positions[:known] = _shares(values.head(known), column)
    return positions


def _shares(values: pl.Series, column: Column) -> NDArray[np.float64]:
    """Return where ascending numbers or days lie between the lowest and the highest possible value."""
    ends = [values[0], values[-1]] if column.domain is None else list(column.domain)
    if column.kind is Kind.DATE:
        values, ends = values.to_physical(), pl.Series(ends, dtype=pl.Date).to_physical().to_list()
    fitting = [end for end in map(exact.fitting, ends, [values.dtype] * 2) if end is not None]
    if len(fitting) < 2:
        return exact.shares(values, *ends)
    low, high = fitting
    places: NDArray[Any] = values.to_numpy()
    if values.dtype.is_integer():
        # Integers near each other but far from zero differ by less than a float can tell: subtract first.
        first = int(places[0])
        places = (places.astype(np.int64) - first).view(np.uint64).astype(np.float64)
        low, high = low - first, high - first
    if math.isinf(high - low):
        places, low, high = places / 2, low / 2, high / 2
    return (places - low) / (high - low) if high > low else np.zeros(len(places))


def _declared(
    column: Column, values: pl.Series, labels: tuple[str, ...], codes: Codes, rows: NDArray[np.int64]
) -> tuple[pl.Series, tuple[str, ...], Codes]:
    """Renumber categories by the declared domain."""
    declared = {
        value if isinstance(value, str) else written_texts(pl.Series([value]), column)[0]: value
        for value in column.domain or ()
        if value not in (None, MISSING, *column.missing_marks)
    }
    place_of = {label: code for code, label in enumerate(declared)}
    renumber = np.array([*(place_of.get(label, -2) for label in labels), -1], dtype=np.int32)
    renumbered = renumber[codes]
    if (renumbered == -2).any():
        first = int((renumbered == -2).argmax())
        raise InputError(
            f"column {column.name!r}, row {int(rows[first]) + 1}: {labels[codes[first]]!r} is not in the "
            f"declared domain {listing(declared)}",
            reason=Reason.OUT_OF_DOMAIN,
            column=column.name,
        )
    return _typed(column.name, declared, values.dtype), tuple(declared), renumbered


def _typed(name: str, declared: Mapping[str, Any], dtype: pl.DataType) -> pl.Series:
    """Return declared categories with the type that the column has, or as text where they cannot have it."""
    labels = pl.Series(name, list(declared), dtype=pl.String)
    with suppress(TypeError, pl.exceptions.PolarsError):
        if dtype.is_numeric():
            return labels.cast(dtype)
        return pl.Series(name, list(declared.values()), dtype=dtype, strict=True)
    return labels


def _tree_attribute(column: Column, values: pl.Series, labels: tuple[str, ...], codes: Codes) -> Attribute:
    assert column.hierarchy is not None
    has_missing = bool((codes < 0).any())
    try:
        hierarchy = column.hierarchy.over([*labels, MISSING] if has_missing else list(labels))
    except InputError as error:
        raise InputError(
            f"column {column.name!r}: {error}", reason=error.reason, column=column.name
        ) from None
    leaf_of = np.array(
        [hierarchy.leaf_index[label] for label in labels] + [hierarchy.leaf_index.get(MISSING, -1)],
        dtype=np.int32,
    )
    possible = np.zeros(len(hierarchy.leaves), dtype=np.bool_)
    possible[leaf_of[: len(labels) + has_missing]] = True
    typed = np.full(len(hierarchy.leaves), len(labels))
    typed[leaf_of[: len(labels)]] = np.arange(len(labels))
    padded = pl.concat([values, pl.Series([None], dtype=values.dtype)])
    missing = hierarchy.leaf_index[MISSING] if has_missing else None
    domain = TreeDomain(hierarchy.leaves, padded.gather(typed), missing, hierarchy, possible)
    return Attribute(column, domain, leaf_of[codes])


def _items_attribute(cells: pl.Series, column: Column, rows: NDArray[np.int64]) -> Attribute:
    check_marks(column, None, _is_date)
    lists = cells.fill_null([])  # nobody can tell a missing set from an empty one in a text file
    nameless = lists.list.eval(pl.element().is_null() | (pl.element() == MISSING)).list.any()
    texts = lists.list.join(" ", ignore_nulls=True) if nameless.any() else lists
    _refuse(nameless, texts, column, rows, "has an item without a name; leave it out")
    flat = lists.filter(lists.list.len() > 0).explode()
    names = in_order(flat.unique())
    items = flat.cast(pl.Enum(names)).to_physical().cast(pl.Int32).to_numpy()
    owners = np.repeat(np.arange(len(lists)), lists.list.len().to_numpy())
    sets = ascending_sets(owners, items, len(lists))
    codes = sets.numbers()
    distinct = sets.gather(np.unique(codes, return_index=True)[1])
    return Attribute(column, _items_domain(column.name, tuple(names.to_list()), distinct), codes)


def in_order(names: pl.Series) -> pl.Series:
    """Return names in ascending order: by number, if all are whole numbers, else as texts."""
    numbers = names.cast(pl.Int64, strict=False)
    if numbers.cast(pl.String).eq_missing(names).all():
        return numbers.sort().cast(pl.String)
    return names.sort()


def _items_domain(column: str, names: tuple[str, ...], sets: Lists) -> ItemsDomain:
    escaped = [notation.write_items([name]) for name in names]
    labels = tuple(named_items(sets, escaped).list.join(" ").to_list())
    return ItemsDomain(labels, named_items(sets, names).rename(column), None, names, sets)


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
    cells = _plain(to_polars(series))
    if cells.dtype == pl.Boolean:
        cells = cells.cast(pl.String)
    if not (cells.dtype.is_numeric() or cells.dtype.is_temporal() or cells.dtype == pl.String):
        raise InputError(
            f"column {series.name!r} holds {cells.dtype}, which cannot be sensitive in this version",
            reason=Reason.BAD_VALUE,
            column=series.name,
        )
    cells = without_marks(cells, column.missing_marks)
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
    if column.kind is not Kind.NUMERIC:
        return keys
    numbers = keys.cast(pl.Float64, strict=False).cast(pl.String)
    return pl.select(pl.coalesce(numbers, keys)).to_series()
