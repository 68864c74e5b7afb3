"""Identifiers that repeat: signs that persons have several records."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw

from shoal.schema.column import Role
from shoal.schema.frames import is_index
from shoal.schema.schema import Schema

REPEATED = 0.95
"""An identifier repeats if it has fewer different values than this share of the records with a value."""


def repeats(distinct: int, present: int) -> bool:
    """Return whether a number of different values, in a number of records, means that values repeat."""
    return 1 < distinct < REPEATED * present


def repeated_identifiers(frame: nw.DataFrame[Any], schema: Schema) -> list[str]:
    """Return a note if records seem to be several of one person and nothing says whose they are.

    That is so if identifiers are left out, all of them repeat, and there is no person column. The column with
    most values is named.

    Parameters
    ----------
    frame
        The table.
    schema
        The roles of its columns.
    """
    names = [
        column.name
        for column in schema.having(Role.IDENTIFIER)
        if column.name in frame.columns and not is_index(column.name)
    ]
    if schema.person is not None or not names:
        return []
    counts = {}
    for name in names:
        cells = frame[name].drop_nulls()
        counts[name] = cells.n_unique()
        if not repeats(counts[name], len(cells)):
            return []
    name = max(counts, key=counts.__getitem__)
    return [
        f"Column {name!r} was left out, and its {counts[name]:,} values repeat in {len(frame):,} records. If "
        "it says whose record each is, name it as the person column: the guarantee counts records, and "
        "several records of one person do not hide her."
    ]
