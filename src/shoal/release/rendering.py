"""The frame to publish: rows in their new order, generalized values as text or typed."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.base import fresh_columns
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
        Whether generalized values are typed (structs, lists) instead of text.
    """
    table = recoding.table
    generalized = {
        attribute.column.name: values.columns(attribute.column.name, typed=typed)
        for attribute, values in zip(table.attributes, recoding.values, strict=True)
    }
    boxes = recoding.box[rows]
    columns: dict[str, Any] = {}
    for column in table.schema:
        if column.role is Role.QUASI:
            for written in generalized[column.name]:
                if written.dtype == pl.String and not column.kind.several:
                    written = written.set(written == MISSING, None)  # the missing value of the flavour
                columns[written.name] = fresh_columns.in_flavour(written.gather(boxes), table.frame)
        elif column.role.released:
            columns[column.name] = fresh_columns.gathered(table.frame[column.name], order)
    return fresh_columns.frame_of(columns, table.frame)


def for_file(frame: Any, *, nested: bool) -> pl.DataFrame:
    """Return a frame of any library as a file contains it.

    Parameters
    ----------
    frame
        The frame to publish.
    nested
        Whether the file can hold lists; otherwise their members are joined by spaces.
    """
    columns = nw.from_native(frame, eager_only=True).iter_columns()
    table = pl.DataFrame([fresh_columns.rebuilt(to_polars(column)) for column in columns])
    if nested:
        return table
    return table.with_columns(
        table[name].cast(pl.List(pl.String)).list.join(" ")
        for name, dtype in table.schema.items()
        if isinstance(dtype, pl.List)
    )
