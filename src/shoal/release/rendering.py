"""The frame to publish: rows in their new order, generalized values as text or typed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.base import fresh_columns
from shoal.kinds import notation
from shoal.kinds.encoding import to_polars
from shoal.kinds.hierarchy import MISSING
from shoal.recoding import Recoding
from shoal.schema import Role


def published(
    recoding: Recoding, rows: NDArray[np.int64], order: NDArray[np.int64], *, typed: bool = False
) -> Any:
    """Return the frame to publish: rows in a new order, identifiers gone, quasi-identifiers generalized.

    Parameters
    ----------
    recoding
        The generalized values.
    rows
        The row of the recoding that each released row shows.
    order
        The record whose other columns each released row carries.
    typed
        Whether generalized values are typed (structs, lists) instead of text. Items that were given as lists
        or sets are lists in any case.
    """
    table = recoding.table
    generalized = {
        attribute.column.name: values
        for attribute, values in zip(table.attributes, recoding.values, strict=True)
    }
    boxes = recoding.box[rows]
    columns: dict[str, Any] = {}
    for column in table.schema:
        if column.role is Role.QUASI:
            given = table.frame[column.name].dtype
            lists = column.kind.several and given not in (nw.String, nw.Categorical)
            # One column at a time: those of all boxes together take as much memory as the release.
            values = generalized[column.name]
            for written, shown in values.shared_columns(column.name, typed=typed or lists):
                if written.dtype == pl.String and not column.kind.several:
                    written = written.set(written == MISSING, None)  # the missing value of the flavour
                chosen = boxes if shown is None else shown[boxes]
                columns[written.name] = fresh_columns.in_flavour(written, table.frame, chosen)
        elif column.role.released:
            columns[column.name] = fresh_columns.gathered(table.frame[column.name], order)
    return fresh_columns.frame_of(columns, table.frame)


def for_file(frame: Any, *, nested: bool, items: Collection[str] = (), fresh: bool = False) -> pl.DataFrame:
    """Return a frame of any library as a file contains it.

    Parameters
    ----------
    frame
        The frame to publish.
    nested
        Whether the file can hold lists; otherwise their members are joined by spaces.
    items
        The columns of generalized items, whose names are escaped where they contain a space.
    fresh
        Whether `published` has made the frame, so that a frame of Polars has nothing but its values.
    """
    if fresh and isinstance(frame, pl.DataFrame):
        table = frame
    else:
        columns = nw.from_native(frame, eager_only=True).iter_columns()
        table = pl.DataFrame([fresh_columns.rebuilt(to_polars(column)) for column in columns])
    if nested:
        return table
    lists = [name for name, dtype in table.schema.items() if isinstance(dtype, pl.List)]
    return table.with_columns(
        (_escaped(table[name]) if name in items else table[name].cast(pl.List(pl.String))).list.join(" ")
        for name in lists
    )


def _escaped(lists: pl.Series) -> pl.Series:
    """Return lists of items with their names as they are written in a text."""
    lists = lists.cast(pl.List(pl.String))
    names = lists.explode().drop_nulls().unique()
    written = names.map_elements(lambda name: notation.write_items([name]), return_dtype=pl.String)
    if (written == names).all():
        return lists
    return lists.list.eval(pl.element().replace_strict(names, written, return_dtype=pl.String))
