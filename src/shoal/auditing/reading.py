"""Reading a released table as an outsider does: which original values could each written cell stand for?"""

from __future__ import annotations

import datetime
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.auditing.item_reading import read_items
from shoal.errors import InputError, Reason, unknown_column
from shoal.kinds import notation
from shoal.kinds.domain import Attribute, Domain, ItemsDomain, RangeDomain, SetDomain, TreeDomain
from shoal.kinds.encoding import factorize, to_polars
from shoal.kinds.hierarchy import MISSING
from shoal.recoding import Generalized, Nodes, Ranges, Sets
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
    """

    name: str
    values: Generalized
    cell: NDArray[np.int32]
    strangers: tuple[str, ...]


def read_release(frame: nw.DataFrame[Any], table: Table) -> tuple[ReleasedColumn, ...]:
    """Read the quasi-identifiers of a release.

    Cells may be written as Shoal writes them, as ARX does (``[20, 40[``, labels of a hierarchy, ``*``), or be
    typed (structs of low and high, lists). Items take three columns; without the other two, they are exact.

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
    texts, codes = factorize(_as_text(to_polars(frame[name]), attribute.column).fill_null(MISSING))
    cells = [MISSING if text in attribute.column.missing_marks else text for text in texts.to_list()]
    values = _READERS[type(attribute.domain)](cells, attribute)
    return ReleasedColumn(name, values, codes, _strangers(cells, values))


def _strangers(cells: Sequence[str], values: Generalized) -> tuple[str, ...]:
    """Return the cells that stand for nothing."""
    return tuple(cell for cell, none in zip(cells, values.sizes() <= 0, strict=True) if none)


def _as_text(series: pl.Series, column: Column) -> pl.Series:
    """Return a released column as text; typed intervals and sets as they would be written."""
    if isinstance(series.dtype, pl.Struct):
        bounds = series.struct.unnest().select(
            _as_text(series.struct.field(end), column) for end in ("low", "high")
        )
        texts = [
            None if whole is None else _typed_interval(low, high)
            for whole, (low, high) in zip(series.to_list(), bounds.iter_rows(), strict=True)
        ]
        return pl.Series(series.name, texts, dtype=pl.String)
    if isinstance(series.dtype, pl.List):
        texts = [
            None if members is None else _typed_set(members)
            for members in series.cast(pl.List(pl.String)).to_list()
        ]
        return pl.Series(series.name, texts, dtype=pl.String)
    if series.dtype.is_float():
        numbers = [
            None if v is None or v != v else f"{v:.0f}" if v == int(v) else repr(v) for v in series.to_list()
        ]
        return pl.Series(series.name, numbers, dtype=pl.String)
    if series.dtype in (pl.Date, pl.Datetime):
        return series.dt.strftime(column.date_format or "%Y-%m-%d")
    return series.cast(pl.String)


def _typed_interval(low: str | None, high: str | None) -> str:
    if low is None or high is None:
        return notation.SUPPRESSED
    return notation.write_single(low) if low == high else notation.write_interval(low, high)


def _typed_set(members: Sequence[str | None]) -> str:
    labels = [MISSING if member is None else member for member in members]
    return notation.write_single(labels[0]) if len(labels) == 1 else notation.write_set(labels)


def _read_ranges(cells: Sequence[str], attribute: Attribute) -> Ranges:
    domain = attribute.domain
    assert isinstance(domain, RangeDomain)
    known = len(domain) - (domain.missing is not None)
    ranked = (
        list(range(known)) if attribute.column.kind is Kind.ORDINAL else domain.values.head(known).to_list()
    )
    datum = _datum_reader(attribute.column, domain)
    low, high = np.empty(len(cells), np.int32), np.empty(len(cells), np.int32)
    for i, cell in enumerate(cells):
        if cell == notation.SUPPRESSED:
            low[i], high[i] = 0, len(domain) - 1
        elif cell == MISSING:
            low[i], high[i] = (domain.missing, domain.missing) if domain.missing is not None else (0, -1)
        else:
            least, most, with_least, with_most = _ends(cell, datum, attribute.column)
            low[i] = bisect_left(ranked, least) if with_least else bisect_right(ranked, least)
            high[i] = (bisect_right(ranked, most) if with_most else bisect_left(ranked, most)) - 1
            if low[i] > high[i]:
                low[i], high[i] = 0, -1
    return Ranges(domain, low, high)


def _ends(cell: str, datum: Callable[[str], Any], column: Column) -> tuple[Any, Any, bool, bool]:
    """Return the two ends of a written interval and whether they belong to it."""
    if (pair := notation.read_interval(cell)) is not None:
        low, high = datum(pair[0]), datum(pair[1])
        if low is not None and high is not None:
            return low, high, True, True
    members = notation.read_set(cell)
    single = datum(members[0]) if len(members) == 1 else None  # a set of numbers is no interval
    if single is not None:
        return single, single, True, True
    if (foreign := notation.read_foreign_interval(cell)) is not None:
        low, high = datum(foreign[0]), datum(foreign[1])
        if low is not None and high is not None:
            return low, high, foreign[2], foreign[3]
    raise InputError(
        f"column {column.name!r} of the release: {cell!r} is neither a {column.kind.value} value nor an "
        "interval such as 20..40 or [20, 40[",
        reason=Reason.RELEASE_UNREADABLE,
    )


def _datum_reader(column: Column, domain: Domain) -> Callable[[str], Any]:
    """Return a function that reads one value of a column, or None where the text is not one."""

    def number(text: str) -> int | float | None:
        try:
            return int(text)
        except ValueError:
            try:
                return float(text)
            except ValueError:
                return None

    def day(text: str) -> datetime.date | None:
        try:
            if column.date_format is not None:
                return datetime.datetime.strptime(text, column.date_format).date()
            return datetime.datetime.fromisoformat(text).date()
        except ValueError:
            return None

    match column.kind:
        case Kind.NUMERIC:
            return number
        case Kind.DATE:
            return day
        case _:
            return domain.code_of.get


def _read_sets(cells: Sequence[str], attribute: Attribute) -> Sets:
    domain = attribute.domain
    assert isinstance(domain, SetDomain)
    everything = np.arange(len(domain), dtype=np.int32)
    sets = [
        everything if cell == notation.SUPPRESSED else np.array(_members(cell, domain), dtype=np.int32)
        for cell in cells
    ]
    starts = np.concatenate(([0], np.cumsum([len(members) for members in sets], dtype=np.int64)))
    return Sets(domain, starts, np.concatenate(sets))


def _members(cell: str, domain: Domain) -> list[int]:
    """Return the codes of the members of a written set; members that the original never has are left out."""
    codes = [domain.code_of.get(label) for label in notation.read_set(cell)]
    if None in codes:
        if cell in domain.code_of:  # another tool does not escape its values
            codes = [domain.code_of[cell]]
        elif cell.startswith("{") and cell.endswith("}"):
            codes = [domain.code_of.get(label.strip()) for label in cell[1:-1].split(",")]
    return sorted({code for code in codes if code is not None})


def _read_nodes(cells: Sequence[str], attribute: Attribute) -> Nodes:
    domain = attribute.domain
    assert isinstance(domain, TreeDomain)
    nodes = []
    for cell in cells:
        node = 0 if cell == notation.SUPPRESSED else domain.hierarchy.node_of(notation.read_node(cell))
        nodes.append(-1 if node is None else node)
    return Nodes(domain, np.array(nodes, dtype=np.int32))


_READERS: dict[type[Domain], Callable[[Sequence[str], Attribute], Generalized]] = {
    RangeDomain: _read_ranges,
    SetDomain: _read_sets,
    TreeDomain: _read_nodes,
}
