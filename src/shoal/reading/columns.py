"""The columns of a release, read with the help of its codebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.errors import InputError, unknown_column
from shoal.kinds.encoding import to_polars
from shoal.kinds.hierarchy import MISSING, Hierarchy
from shoal.kinds.hierarchy_rules import Intervals
from shoal.kinds.kind import Kind
from shoal.reading.cells import ReadCells
from shoal.reading.codebook import Codebook, ColumnNotes, Tightness
from shoal.reading.item_cells import ItemCells, item_cells
from shoal.reading.ordered_cells import ordered_cells
from shoal.reading.set_cells import set_cells
from shoal.reading.written import distinct_cells

CARRIED_BINS = 32
"""Scales of columns that are not generalized are divided into at most this many bins."""
FINE = 16
"""Sizes of classes from twice this number on are rounded, to this number of steps for each doubling."""


def read_columns(
    frame: nw.DataFrame[Any], codebook: Codebook, tightness: Tightness
) -> tuple[dict[str, ReadCells[Any]], dict[str, ItemCells]]:
    """Return the columns of a release by name, and apart from them its columns of items.

    Parameters
    ----------
    frame
        The released table.
    codebook
        What is known about it.
    tightness
        How tight cells are taken to be.

    Raises
    ------
    InputError
        If a quasi-identifier is not there, or a cell cannot be read.
    """
    columns: dict[str, ReadCells[Any]] = {}
    items: dict[str, ItemCells] = {}
    for notes in _all_notes(frame, codebook):
        if notes.name not in frame.columns:
            if notes.quasi:
                raise unknown_column(notes.name, frame.columns, "the release")
        elif notes.kind.several:
            if notes.quasi:
                there = [name for name in notes.kind.released_columns(notes.name) if name in frame.columns]
                items[notes.name] = item_cells(notes, [to_polars(frame[n]) for n in there], tightness.records)
        else:
            columns[notes.name] = _read_column(frame, notes, tightness)
    records = _records(columns, items, tightness, len(frame))
    return {name: _around(column, records, tightness) for name, column in columns.items()}, items


def _all_notes(frame: nw.DataFrame[Any], codebook: Codebook) -> list[ColumnNotes]:
    """Return the notes on all columns, also those that the codebook does not know."""
    known = {
        name
        for notes in codebook.columns
        for name in (notes.kind.released_columns(notes.name) if notes.quasi else (notes.name,))
    }
    others = [name for name in frame.columns if name not in known]
    numeric = {name: frame[name].dtype.is_numeric() for name in others}
    added = [ColumnNotes(name, kind=Kind.NUMERIC if numeric[name] else Kind.CATEGORICAL) for name in others]
    return [*codebook.columns, *added]


def _read_column(frame: nw.DataFrame[Any], notes: ColumnNotes, tightness: Tightness) -> ReadCells[Any]:
    texts, cell = distinct_cells(to_polars(frame[notes.name]))
    if not notes.quasi:
        if notes.kind.ordered:
            try:
                return ordered_cells(notes, texts, cell, CARRIED_BINS)
            except InputError:  # carried columns may hold anything
                pass
        return set_cells(notes, texts, cell, tight_stars=False)
    texts = [MISSING if text in notes.missing_marks else text for text in texts]
    nodes = isinstance(notes.hierarchy, Hierarchy)
    if isinstance(notes.hierarchy, Intervals) or (notes.kind.ordered and not nodes):
        return ordered_cells(notes, texts, cell)
    return set_cells(notes, texts, cell, tight_stars=tightness.around != "nothing")


def class_sizes(
    columns: Mapping[str, ReadCells[Any]], items: Mapping[str, ItemCells], rows: int
) -> NDArray[np.int64]:
    """Return for each row how many rows have the same quasi-identifiers."""
    cells = [column.cell for column in columns.values() if column.notes.quasi]
    cells += [each.cell for each in items.values()]
    if not cells:
        return np.ones(rows, dtype=np.int64)
    classes, _ = kernels.group_rows(np.column_stack(cells).astype(np.int32))
    return np.asarray(np.bincount(classes)[classes], dtype=np.int64)


def rounded(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return sizes of classes, large ones rounded, so that there are few different ones."""
    steps = 2 ** np.maximum(np.floor(np.log2(sizes / FINE)), 0).astype(np.int64)
    return np.asarray(sizes // steps * steps)


def _records(
    columns: dict[str, ReadCells[Any]], items: dict[str, ItemCells], tightness: Tightness, rows: int
) -> NDArray[np.int64]:
    """Return the number of records that each row was made for."""
    if tightness.around != "classes":
        return np.full(rows, tightness.records if tightness.around == "rows" else 1, dtype=np.int64)
    return rounded(class_sizes(columns, items, rows))


def _around(column: ReadCells[Any], records: NDArray[np.int64], tightness: Tightness) -> ReadCells[Any]:
    if not column.notes.quasi:
        return column
    found = column.around(records)
    if tightness.around == "nothing":
        found.tight[:] = False
    return found
