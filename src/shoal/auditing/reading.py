"""Reading a released table as an outsider does: which original values could each written cell stand for?"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.auditing.item_reading import read_items
from shoal.auditing.number_reading import Ranked, float_texts, read_end, read_number
from shoal.errors import InputError, Reason, listing, unknown_column
from shoal.kinds import moments, notation
from shoal.kinds.domain import Attribute, Domain
from shoal.kinds.encoding import factorize, to_polars
from shoal.kinds.generalized import Generalized
from shoal.kinds.hierarchy import MISSING
from shoal.kinds.items import ItemsDomain
from shoal.kinds.ranges import RangeDomain, Ranges, TimesDomain
from shoal.kinds.sets import SetDomain, Sets
from shoal.kinds.trees import Nodes, TreeDomain
from shoal.schema import Column, Kind
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
    """

    name: str
    values: Generalized
    cell: NDArray[np.int32]
    strangers: tuple[str, ...]
    days: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(1, dtype=np.bool_))


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
    if isinstance(attribute.domain, ItemsDomain):
        worlds, shown = read_items(frame, name, attribute.domain)
        return ReleasedColumn(name, worlds, shown, _strangers(worlds.texts(), worlds))
    series = to_polars(frame[name])
    texts, codes = factorize(_as_text(series, attribute).fill_null(MISSING))
    marks = set(attribute.column.missing_marks)
    if isinstance(attribute.domain, RangeDomain):
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
    values = _READERS[type(attribute.domain)](read, attribute)
    days = np.zeros(len(cells), dtype=np.bool_)
    if isinstance(attribute.domain, TimesDomain):
        days = np.array([_is_day(cell, attribute.column) for cell in cells]) & (values.sizes() > 0)
    return ReleasedColumn(name, values, codes, _strangers(cells, values), days)


def _strangers(cells: Sequence[str], values: Generalized) -> tuple[str, ...]:
    """Return the cells that stand for nothing."""
    return tuple(cell for cell, none in zip(cells, values.sizes() <= 0, strict=True) if none)


def _is_day(cell: str, column: Column) -> bool:
    span = moments.read(cell, column.date_format)
    return span is not None and span[0] < span[1]


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
        texts = [
            None if members is None else _typed_set(members)
            for members in series.cast(pl.List(pl.String)).to_list()
        ]
        return pl.Series(series.name, texts, dtype=pl.String)
    if not _is_plain(dtype):
        raise _unreadable(series.name, f"holds {dtype}, which is not understood")
    if dtype.is_float():
        return float_texts(series)
    if isinstance(dtype, pl.Date | pl.Datetime):
        return _date_texts(series, attribute)
    return series.cast(pl.String)


def _is_plain(dtype: Any) -> bool:
    """Return whether cells of a type are single numbers, texts or dates."""
    plain = (pl.String, pl.Boolean, pl.Date, pl.Datetime, pl.Null)
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
    if column.kind is not Kind.DATE and series.dtype == pl.Datetime:
        texts = distinct.cast(pl.String).to_list()
    elif column.kind is Kind.DATE and series.dtype == pl.Datetime:
        found = [moments.Moment(*row) for row in moments.parts(distinct).iter_rows()]
        texts = [moment.text() for moment in found]
        if isinstance(attribute.domain, TreeDomain):  # leaves are days
            days = column.kind.texts(distinct.dt.date(), column)
            whole = [moment == moments.Moment(moment.day) for moment in found]
            texts = [day if at else text for day, text, at in zip(days, texts, whole, strict=True)]
    elif column.kind is Kind.DATE and not isinstance(attribute.domain, TreeDomain):
        texts = distinct.cast(pl.String).to_list()
    else:
        texts = list(column.kind.texts(distinct, column))
    return pl.Series(series.name, [*texts, None], dtype=pl.String).gather(
        np.where(codes < 0, len(texts), codes)
    )


_ODD = "\\{"


def _interval_texts(series: pl.Series, attribute: Attribute) -> pl.Series:
    """Return structs of low and high as text; only one without both says nothing."""
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
    ordered = isinstance(attribute.domain, RangeDomain)
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


def _typed_set(members: Sequence[str | None]) -> str:
    if not members:
        return f"{_ODD}}}"
    labels = [MISSING if member is None else member for member in members]
    return notation.write_single(labels[0]) if len(labels) == 1 else notation.write_set(labels)


def _read_ranges(cells: Sequence[str | None], attribute: Attribute) -> Ranges:
    domain = attribute.domain
    assert isinstance(domain, RangeDomain)
    below, up_to = _places(attribute.column, domain)
    datum = _datum_reader(attribute.column, domain)
    low, high = np.empty(len(cells), np.int32), np.empty(len(cells), np.int32)
    for i, cell in enumerate(cells):
        if cell is None:
            low[i], high[i] = 0, -1
        elif cell == notation.SUPPRESSED:
            low[i], high[i] = 0, len(domain) - 1
        elif cell == MISSING:
            low[i], high[i] = (domain.missing, domain.missing) if domain.missing is not None else (0, -1)
        else:
            least, most, with_least, with_most = _ends(cell, datum, attribute.column)
            low[i] = below(least) if with_least else up_to(least)
            high[i] = (up_to(most) if with_most else below(most)) - 1
            if low[i] > high[i]:
                low[i], high[i] = 0, -1
    return Ranges(domain, low, high)


def _places(column: Column, domain: RangeDomain) -> tuple[Callable[[Any], int], Callable[[Any], int]]:
    """Return two functions: how many values of a domain are less than one, and how many are not greater."""
    values = domain.values.head(len(domain) - (domain.missing is not None))
    ranked: Sequence[Any]
    if column.kind is Kind.NUMERIC:
        numbers = Ranked(values)
        return numbers.below, numbers.up_to
    if column.kind is Kind.ORDINAL:
        ranked = range(len(values))
    elif isinstance(domain, TimesDomain):
        ranked = domain.moments
    else:
        ranked = [moments.Moment(day) for day in values.to_physical().to_list()]
    return partial(bisect_left, ranked), partial(bisect_right, ranked)


def _span(datum: Any) -> tuple[Any, Any]:
    """Return the least and the greatest value that a datum stands for: a day has many times."""
    return datum if isinstance(datum, tuple) else (datum, datum)


def _ends(cell: str, datum: Callable[[str], Any], column: Column) -> tuple[Any, Any, bool, bool]:
    """Return the two ends of a written interval and whether they belong to it."""
    first, last = datum, datum
    if column.kind is Kind.NUMERIC:
        first, last = partial(read_end, lower=True), partial(read_end, lower=False)
    if (pair := notation.read_interval(cell)) is not None:
        low, high = first(pair[0]), last(pair[1])
        if low is not None and high is not None:
            return _span(low)[0], _span(high)[1], True, True
    members = notation.read_set(cell)
    single = datum(members[0]) if len(members) == 1 else None  # a set of numbers is no interval
    if single is not None:
        return *_span(single), True, True
    if (foreign := notation.read_foreign_interval(cell)) is not None:
        low, high = first(foreign[0]), last(foreign[1])
        if low is not None and high is not None:
            least, most = _span(low)[not foreign[2]], _span(high)[foreign[3]]
            return least, most, foreign[2], foreign[3]
    raise InputError(
        f"column {column.name!r} of the release: {cell!r} is neither a {column.kind.value} value nor an "
        "interval such as 20..40 or [20, 40[",
        reason=Reason.RELEASE_UNREADABLE,
        column=column.name,
    )


def _datum_reader(column: Column, domain: Domain) -> Callable[[str], Any]:
    """Return a function that reads one value of a column, or None where the text is not one."""

    def moment(text: str) -> tuple[moments.Moment, moments.Moment] | None:
        return moments.read(text, column.date_format)

    match column.kind:
        case Kind.NUMERIC:
            return read_number
        case Kind.DATE:
            return moment
        case _:
            return domain.code_of.get


def _read_sets(cells: Sequence[str | None], attribute: Attribute) -> Sets:
    domain = attribute.domain
    assert isinstance(domain, SetDomain)
    everything = np.arange(len(domain), dtype=np.int32)
    sets = [
        everything if cell == notation.SUPPRESSED else np.array(_members(cell, domain), dtype=np.int32)
        for cell in cells
    ]
    starts = np.concatenate(([0], np.cumsum([len(members) for members in sets], dtype=np.int64)))
    return Sets(domain, starts, np.concatenate(sets))


def _members(cell: str | None, domain: Domain) -> list[int]:
    """Return the codes of the members of a written set; members that the original never has are left out."""
    if cell is None:
        return []
    codes = [domain.code_of.get(label) for label in notation.read_set(cell)]
    if None in codes:
        if cell in domain.code_of:  # another tool does not escape its values
            codes = [domain.code_of[cell]]
        elif cell.startswith("{") and cell.endswith("}"):
            codes = [domain.code_of.get(label.strip()) for label in cell[1:-1].split(",")]
    return sorted({code for code in codes if code is not None})


def _read_nodes(cells: Sequence[str | None], attribute: Attribute) -> Nodes:
    domain = attribute.domain
    assert isinstance(domain, TreeDomain)
    nodes = []
    for cell in cells:
        node = None
        if cell is not None:
            node = 0 if cell == notation.SUPPRESSED else domain.hierarchy.node_of(notation.read_node(cell))
        nodes.append(-1 if node is None else node)
    return Nodes(domain, np.array(nodes, dtype=np.int32))


_READERS: dict[type[Domain], Callable[[Sequence[str | None], Attribute], Generalized]] = {
    RangeDomain: _read_ranges,
    TimesDomain: _read_ranges,
    SetDomain: _read_sets,
    TreeDomain: _read_nodes,
}
