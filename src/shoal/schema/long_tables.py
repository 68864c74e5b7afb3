"""Long tables, with a row for each item of a record, as tables with a row for each record."""

from __future__ import annotations

import narwhals.stable.v2 as nw
import polars as pl
from narwhals.stable.v2.typing import IntoDataFrameT

from shoal.errors import InputError, Reason, unknown_column
from shoal.kinds.encoding import same_flavour, to_polars
from shoal.schema import as_frame


def collect_items(frame: IntoDataFrameT, record: str, item: str) -> IntoDataFrameT:
    """Return a table with one row for each record, from one with a row for each of its items.

    Parameters
    ----------
    frame
        The long table: any frame that narwhals supports.
    record
        The column that names the record of a row. It is not part of the result.
    item
        The column of items, which becomes a column of lists. A row without an item adds none.

    Returns
    -------
    frame
        A frame of the same library, with the records in the order of their first row. All other columns must
        be the same in all rows of a record, and are kept.

    Raises
    ------
    InputError
        If a column does not exist, a row has no record, or a column is not the same in all rows of a record.

    Examples
    --------
    >>> import polars as pl
    >>> long = pl.DataFrame({"visit": [1, 1, 2], "drug": ["a", "b", "a"]})
    >>> shoal.collect_items(long, "visit", "drug").height
    2
    """
    data = as_frame(frame)
    for name in (record, item):
        if name not in data.columns:
            raise unknown_column(name, data.columns)
    if record == item:
        raise InputError(
            f"{record!r} cannot be both record and item; name two columns",
            reason=Reason.PARAMETER,
        )
    columns = {f"column {place}": to_polars(data[name]) for place, name in enumerate(data.columns)}
    names = {place: cells.name for place, cells in columns.items()}  # names such as * mean something else
    table = pl.DataFrame(columns)
    records, items = (f"column {data.columns.index(name)}" for name in (record, item))
    _refuse_missing(columns[records])
    others = [place for place in names if place not in (records, items)]
    grouped = table.group_by(records, maintain_order=True)
    for place in others:
        name = names[place]
        if (grouped.agg(pl.col(place).n_unique())[place] > 1).any():
            raise InputError(
                f"column {name!r} differs between the rows of one record; leave it out of the long table",
                reason=Reason.BAD_VALUE,
                column=name,
            )
    wide = grouped.agg(*(pl.col(place).first() for place in others), pl.col(items).drop_nulls())
    collected = wide.select(place for place in names if place != records).rename(names, strict=False)
    result: IntoDataFrameT = same_flavour(
        collected.get_columns(), nw.from_native(frame, eager_only=True)
    ).to_native()
    return result


def _refuse_missing(records: pl.Series) -> None:
    """Refuse a row that does not say to which record it belongs."""
    if records.null_count():
        row = int(records.is_null().arg_true()[0]) + 1
        raise InputError(
            f"column {records.name!r}, row {row}: the record of this item is missing; fill it in",
            reason=Reason.MISSING_VALUE,
            column=records.name,
        )
