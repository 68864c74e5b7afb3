"""Rows of a table beside rows of its release, for the eyes of the owner: the work of a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.auditing.released import ReleasedTable
from shoal.errors import InputError, Reason
from shoal.files.reading import read_table
from shoal.methods import Progress
from shoal.recoding.coverage import Graph
from shoal.schema import Schema
from shoal.table import Table

if TYPE_CHECKING:
    from shoal.web.tasks import Source

ON_PAGE = 25
"""Number of rows that are shown at once."""
SHADES = 4
"""Number of shades of loss, besides none."""
_LONGEST = 60


def rows(
    source: Source,
    schema: Schema,
    release: Path,
    column: str,
    text: str,
    sort: str,
    page: int,
    record: int | None,
    progress: Progress,
) -> dict[str, Any]:
    """Return some records and some rows of a release; of one record, the rows that cover it.

    Parameters
    ----------
    source, schema
        The table and its columns.
    release
        The file of the release.
    column, text
        Only records and rows with this text in this column are shown; in any column if it is empty.
    sort
        The column by which both are sorted; empty for the order of the files.
    page
        Which `ON_PAGE` rows are shown: 1 for the first ones.
    record
        The number of a record in the file, from 1 on: only the rows that cover it are shown.
    """
    progress("reading the table", 0.0)
    original = source.read()
    progress("reading the release", 0.3)
    released = read_table(release)
    table = Table.encode(original, schema)
    read = ReleasedTable(released, table)
    shown = np.arange(len(released))
    crowd = None
    if record is not None:
        progress("finding the crowd", 0.7)
        shown = _crowd(read, table, record)
        crowd = {"record": record, "rows": len(shown)}
        places = np.array([record - 1])
    else:
        places = _found(original, np.arange(len(original)), column, text, sort)
        shown = _found(released, shown, column, text, sort)
    losses = {each.name: each.values.ncp()[each.cell] for each in read.columns}
    first = (page - 1) * ON_PAGE
    return {
        "crowd": crowd,
        "original": _page(original, places[first if record is None else 0 :][:ON_PAGE], len(places), {}),
        "release": _page(released, shown[first:][:ON_PAGE], len(shown), losses),
    }


def _crowd(read: ReleasedTable, table: Table, record: int) -> NDArray[np.int64]:
    """Return the rows that cover a record, which has a number in the file from 1 on."""
    place = np.flatnonzero(table.rows == record - 1)
    if len(place) == 0:
        raise InputError(
            f"There is no record {record:,} in the release: the file has fewer, or it was left out.",
            reason=Reason.PARAMETER,
            parameter="rows_record",
        )
    cells = np.column_stack([column.cell for column in read.columns])
    graph = Graph.of(table.codes[place], cells, [column.values for column in read.columns])
    return np.flatnonzero(graph.degrees()[1])


def _found(
    frame: pl.DataFrame, places: NDArray[np.int64], column: str, text: str, sort: str
) -> NDArray[np.int64]:
    """Return the rows with a text, in an order."""
    if text:
        kept = np.zeros(len(frame), dtype=bool)
        for name in frame.columns:
            if column in ("", name):
                has = _texts(frame[name]).str.contains(text, literal=True)
                kept |= has.fill_null(value=False).to_numpy()
        places = places[kept]
    if sort in frame.columns:
        cells = frame[sort]
        order = (_texts(cells) if cells.dtype.is_nested() else cells).gather(places).arg_sort(nulls_last=True)
        places = places[order.to_numpy()]
    return places


def _texts(cells: pl.Series) -> pl.Series:
    """Return cells as they are shown."""
    if cells.dtype.is_nested():
        return pl.Series([_shown(cell) for cell in cells.to_list()], dtype=pl.String)
    return cells.cast(pl.String)


def _page(
    frame: pl.DataFrame, places: NDArray[np.int64], total: int, losses: dict[str, NDArray[np.float64]]
) -> dict[str, Any]:
    """Return rows as texts, each cell with its shade, and their numbers."""
    shades = {name: np.ceil(loss[places] * SHADES).astype(int) for name, loss in losses.items()}
    cells = [
        [(_shown(cell), int(shades[name][at]) if name in shades else 0) for name, cell in row.items()]
        for at, row in enumerate(frame[places].iter_rows(named=True))
    ]
    return {
        "head": frame.columns,
        "numbers": [int(place) + 1 for place in places],
        "rows": cells,
        "total": total,
    }


def _shown(cell: Any) -> str:
    match cell:
        case None:
            text = ""
        case {"low": low, "high": high}:
            text = str(low) if low == high else f"{low}..{high}"
        case list():
            text = "|".join(map(str, cell))
        case _:
            text = str(cell)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
