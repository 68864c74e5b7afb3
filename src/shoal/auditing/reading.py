"""Reading a released table as an outsider does: which original values could each written cell stand for?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal import kernels
from shoal.errors import InputError, Reason, listing, unknown_column
from shoal.kinds import moments, notation
from shoal.kinds.domain import Attribute
from shoal.kinds.encoding import factorize, to_polars
from shoal.kinds.generalized import Generalized
from shoal.kinds.hierarchy import MISSING
from shoal.kinds.limits import is_limited
from shoal.kinds.released_numbers import float_texts
from shoal.table import Table


@dataclass(frozen=True, eq=False)
class ReleasedColumn:
    """A quasi-identifier of a release, read over the domain of the original.

    Parameters
    ----------
    name
        The column.
    values
        What each different cell can stand for.
    cell
        Which of them each row shows.
    strangers
        Cells, as written, that stand for no value of the original.
    days
        Which of the different cells are a day without a time, in a column of the original that has times: a
        single value as written, though it stands for several.
    exceeding
        Which of the different cells break a limit of the column; None if it has none.
    """

    name: str
    values: Generalized
    cell: NDArray[np.int32]
    strangers: tuple[str, ...]
    days: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(1, dtype=np.bool_))
    exceeding: NDArray[np.bool_] | None = None


def read_release(frame: nw.DataFrame[Any], table: Table) -> tuple[ReleasedColumn, ...]:
    """Read the quasi-identifiers of a release.

    Cells may be written as Shoal writes them, as ARX does (``[20, 40[``, labels of a hierarchy, ``*``), or be
    typed (structs of low and high, lists). A struct with one bound only, with other fields that are not null,
    or in a column without an order stands for no value, and so does an empty list. Items take three columns;
    without the other two, they are exact.

    Parameters
    ----------
    frame
        The released table.
    table
        The original.

    Raises
    ------
    InputError
        If a quasi-identifier is not in the release, or a cell cannot be read.
    """
    if len(frame) == 0:
        raise InputError("the release has no rows", reason=Reason.NO_ROWS)
    return tuple(_read_column(frame, attribute) for attribute in table.attributes)


def _read_column(frame: nw.DataFrame[Any], attribute: Attribute) -> ReleasedColumn:
    name = attribute.column.name
    if name not in frame.columns:
        raise unknown_column(name, frame.columns, "the release")
    if (several := attribute.column.kind.read_released(frame, attribute)) is not None:
        values, shown = several
        bases = values.texts()
        exceeding = None
        if is_limited(attribute.column):
            exceeding = attribute.domain.exceeding(bases, values, attribute.column)
        return ReleasedColumn(name, values, shown, _strangers(bases, values), exceeding=exceeding)
    series = to_polars(frame[name])
    texts, codes = factorize(_as_text(series, attribute).fill_null(MISSING))
    marks = set(attribute.column.missing_marks)
    if attribute.domain.ordered:
        marks.difference_update(attribute.domain.labels)  # a date of the original that a mark is one form of
    cells = [MISSING if text in marks else text for text in texts.to_list()]
    if _has_moments(series.dtype):
        attribute = replace(attribute, column=replace(attribute.column, date_format=None))
    if isinstance(series.dtype, pl.Struct | pl.List | pl.Array):
        read = [None if cell.startswith(_ODD) else cell for cell in cells]
        cells = [
            cell.removeprefix("\\") if none is None else cell for cell, none in zip(cells, read, strict=True)
        ]
    else:
        read = list(cells)
    values = attribute.domain.read_released(read, attribute.column)
    days = attribute.domain.are_whole_days(cells, attribute.column) & (values.sizes() > 0)
    exceeding = None
    if is_limited(attribute.column):
        exceeding = attribute.domain.exceeding(read, values, attribute.column)
    return ReleasedColumn(name, values, codes, _strangers(cells, values), days, exceeding)


def _strangers(cells: Sequence[str], values: Generalized) -> tuple[str, ...]:
    """Return the cells that stand for nothing."""
    return tuple(cell for cell, none in zip(cells, values.sizes() <= 0, strict=True) if none)


def _as_text(series: pl.Series, attribute: Attribute) -> pl.Series:
    """Return a released column as text; typed intervals and sets as they would be written.

    What is not understood begins with a backslash and a brace, which is never written otherwise.
    """
    dtype = series.dtype
    if isinstance(dtype, pl.Struct):
        return _interval_texts(series, attribute)
    if isinstance(dtype, pl.List | pl.Array):
        if not _is_plain(dtype.inner):
            raise _unreadable(series.name, f"holds {dtype}, which is not understood")
        return _set_texts(series.cast(pl.List(pl.String)))
    if not _is_plain(dtype):
        raise _unreadable(series.name, f"holds {dtype}, which is not understood")
    if dtype.is_float():
        return float_texts(series)
    if isinstance(dtype, pl.Date | pl.Datetime):
        return _date_texts(series, attribute)
    return series.cast(pl.String)


def _is_plain(dtype: Any) -> bool:
    """Return whether cells of a type are single numbers, texts, dates or times."""
    plain = (pl.String, pl.Boolean, pl.Date, pl.Datetime, pl.Time, pl.Null)
    return dtype.is_numeric() or dtype in plain or isinstance(dtype, pl.Categorical | pl.Enum)


def _has_moments(dtype: Any) -> bool:
    """Return whether a type holds dates, which are then read as ISO dates."""
    if isinstance(dtype, pl.Struct):
        return any(isinstance(each.dtype, pl.Date | pl.Datetime) for each in dtype.fields)
    return isinstance(dtype, pl.Date | pl.Datetime)


def _unreadable(name: str, problem: str) -> InputError:
    return InputError(
        f"column {name!r} of the release {problem}", reason=Reason.RELEASE_UNREADABLE, column=name
    )


def _date_texts(series: pl.Series, attribute: Attribute) -> pl.Series:
    """Return typed dates as text: in a column of dates to the nanosecond, elsewhere as the original's are."""
    if moments.beyond(series).any():
        raise _unreadable(series.name, "has a date before the year 1 or after the year 9999")
    column = attribute.column
    distinct, codes = factorize(series)
    texts = column.kind.typed_dates(distinct, attribute.domain, column)
    return pl.Series(series.name, [*texts, None], dtype=pl.String).gather(
        np.where(codes < 0, len(texts), codes)
    )


_ODD = "\\{"


def _interval_texts(series: pl.Series, attribute: Attribute) -> pl.Series:
    """Return structs of low and high as text, each different one written once."""
    fields = [series.is_null().cast(pl.Int64), *series.struct.unnest().get_columns()]
    if not all(_is_plain(each.dtype) for each in fields):
        return _written_intervals(series, attribute)
    codes = np.column_stack([each.rank("dense").fill_null(0).to_numpy().astype(np.int32) for each in fields])
    shown, first = kernels.group_rows(codes)
    return _written_intervals(series.gather(first), attribute).gather(shown)


def _written_intervals(series: pl.Series, attribute: Attribute) -> pl.Series:
    """Return structs of low and high as text; a struct without both shows nothing."""
    fields = series.struct.unnest()
    if not {"low", "high"}.issubset(fields.columns):
        raise _unreadable(
            series.name, f"has structs of {listing(fields.columns)}; they must have the fields low and high"
        )
    for end in ("low", "high"):
        if not _is_plain(fields[end].dtype):
            raise _unreadable(series.name, f"has structs with {fields[end].dtype}, which is not understood")
    low, high = (_as_text(fields[end], attribute).to_list() for end in ("low", "high"))
    nothing = (fields["low"].is_null() & fields["high"].is_null()).to_list()
    others = fields.drop("low", "high")
    known = others.select(pl.any_horizontal(pl.all().is_not_null())).to_series() if others.width else None
    extra = [False] * len(series) if known is None else known.to_list()
    ordered = attribute.domain.ordered
    texts: list[str | None] = []
    for row, absent in enumerate(series.is_null().to_list()):
        if absent:
            texts.append(None)
        elif ordered and nothing[row] and not extra[row]:
            texts.append(notation.SUPPRESSED)
        elif ordered and low[row] and high[row] and not extra[row]:
            texts.append(_typed_interval(low[row], high[row]))
        else:
            rest = "".join(f", {name}: {_shown(others[name], row)}" for name in others.columns)
            texts.append(f"{_ODD}low: {low[row]!r}, high: {high[row]!r}{rest}}}")
    return pl.Series(series.name, texts, dtype=pl.String)


def _shown(cells: pl.Series, row: int) -> str:
    """Return a cell that is not understood, so that different ones look different."""
    if cells.dtype.is_numeric() or cells.dtype in (pl.String, pl.Boolean):
        return repr(cells[row])
    return f"{cells.dtype} {cells.slice(row, 1).hash()[0]:x}"


def _typed_interval(low: str, high: str) -> str:
    return notation.write_point(low) if low == high else notation.write_interval(low, high)


def _set_texts(lists: pl.Series) -> pl.Series:
    """Return lists as sets are written; an empty one is not understood."""
    members = lists.explode().unique()
    labels = members.fill_null(MISSING).to_list()
    escaped = pl.Series([notation.write_set([label]) for label in labels], dtype=pl.String)
    written = lists.list.eval(pl.element().replace_strict(members, escaped, return_dtype=pl.String))
    single = (lists.list.len() == 1) & (lists.list.first() == notation.SUPPRESSED)
    return pl.select(
        pl.when(single)
        .then(pl.lit(notation.write_single(notation.SUPPRESSED)))
        .when(lists.list.len() == 0)
        .then(pl.lit(f"{_ODD}}}"))
        .otherwise(written.list.join("|"))
        .alias(lists.name)
    ).to_series()
