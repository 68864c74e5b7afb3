"""Random tables of every kind of column and flavour of frame, for property tests."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

from shoal.kinds.hierarchy import Hierarchy, HierarchySource
from shoal.kinds.hierarchy_rules import Intervals, Prefixes
from shoal.schema import Column, Kind, Role, Schema

FLAVOURS = ("pandas", "polars", "pyarrow")

KINDS = (
    "integer",
    "float",
    "numeric text",
    "date",
    "datetime",
    "date text",
    "categorical",
    "boolean",
    "integer category",
    "ordinal",
    "tree",
    "prefixes",
    "intervals",
)
"""Kinds of column, by how their cells are stored."""

WITH_TIMES = (*KINDS, "time", "time text", "hour", "hour text")
"""The same with times of day, for tests that can tell what a time is."""

MARK = "?"
"""The text that means "missing" in columns of text."""

AWKWARD = (
    "a",
    "b",
    "a|b",
    "|",
    "\\",
    "\\*",
    "*",
    ".",
    "..",
    "a..b",
    "1..2",
    "a.",
    ".a",
    "b..a|\\",
    "é",
    "日本",
    " ",
)
"""Labels that are easily mistaken for something else when they are written."""

labels = st.sampled_from(AWKWARD) | st.text('abB01.|\\*,;-\n" é日😀', min_size=1, max_size=4)
"""Texts that are not missing."""

days = st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 12, 31))

moments = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 12, 31))

floats = st.floats(-1e9, 1e9).map(lambda number: round(number, 3)) | st.floats(
    allow_nan=False, allow_infinity=False
)

integers = st.integers(-5, 5) | st.integers(-(2**53), 2**53)


def distinct(values: st.SearchStrategy[Any], most: int) -> st.SearchStrategy[list[Any]]:
    """Draw the few values that a column is made of, so that it has duplicates, or is constant."""
    return st.lists(values, min_size=1, max_size=most, unique=True)


@st.composite
def hierarchies(draw: st.DrawFn, leaves: Sequence[str]) -> Hierarchy:
    """Draw a tree of up to three levels over `leaves` and some values that no record has."""
    spare = [f"spare {i}" for i in range(draw(st.integers(0, 2)))]
    rows = []
    for leaf in draw(st.permutations([*leaves, *spare])):
        group = draw(st.integers(0, 4))
        names = [f"group {group}", f"family {group // 2}"][: draw(st.integers(0, 1)) * 2 if group == 4 else 2]
        rows.append([leaf, *names, "everything"])
    return Hierarchy.from_levels(rows)


KIND_OF = {
    **dict.fromkeys(("integer", "float", "numeric text", "intervals"), Kind.NUMERIC),
    **dict.fromkeys(("date", "datetime", "date text"), Kind.DATE),
    **dict.fromkeys(("time", "time text"), Kind.TIME),
    **dict.fromkeys(("hour", "hour text"), Kind.HOUR),
    "ordinal": Kind.ORDINAL,
}
"""The kind of a column for each kind of cells that is not categorical."""


@st.composite
def columns(
    draw: st.DrawFn, name: str, kind: str, rows: int, *, missing: bool, values: int
) -> tuple[Column, list[Any]]:
    """Draw one quasi-identifier and its cells, None (or in text also empty or `MARK`) where missing."""
    pools: dict[str, st.SearchStrategy[Any]] = {
        "integer": integers,
        "float": floats,
        "numeric text": integers.map(str) | floats.map(repr) | integers.map(lambda number: f" {number}.0"),
        "date": days,
        "datetime": moments,
        "date text": days.map(str) | days.map(lambda day: f"{day}T12:30:00"),
        "time": st.times(),
        "time text": st.times().map(lambda time: f"{time:%H:%M}") | st.times().map(str),
        "hour": moments,
        "hour text": moments.map(datetime.datetime.isoformat)
        | moments.map(lambda time: f"{time:%Y-%m-%d %H:%M}Z"),
        "boolean": st.booleans(),
        "integer category": integers,
        "prefixes": st.text("01*", min_size=1, max_size=4),
        "intervals": st.integers(-30, 30) | st.floats(-30, 30).map(lambda number: round(number, 2)),
    }
    pool = draw(distinct(pools.get(kind, labels), values))
    properties: dict[str, Any] = {}
    hierarchy: HierarchySource | None = None
    match kind:
        case "ordinal":
            properties["domain"] = tuple(pool)
            pool = draw(st.lists(st.sampled_from(pool), min_size=1))
        case "categorical" | "integer category" if draw(st.booleans()):
            properties["domain"] = tuple(draw(st.permutations(pool)))
        case "integer" | "float" if draw(st.booleans()):
            properties["domain"] = (min(pool) - draw(st.integers(0, 9)), max(pool) + draw(st.integers(0, 9)))
        case "tree":
            hierarchy = draw(hierarchies(pool))
        case "prefixes":
            hierarchy = Prefixes(draw(st.sampled_from([(1,), (2, 1), (3,)])))
        case "intervals":
            hierarchy = Intervals(draw(st.sampled_from([(5.0,), (5.0, 10.0, 40.0), (0.5, 7.0)])))
    is_text = isinstance(pool[0], str)
    nothing = [None, "", MARK] if is_text else [None]
    cells = draw(
        st.lists(
            st.sampled_from(pool) | st.sampled_from(nothing) if missing else st.sampled_from(pool),
            min_size=rows,
            max_size=rows,
        )
    )
    column = Column(
        name,
        role=Role.QUASI,
        kind=KIND_OF.get(kind, Kind.CATEGORICAL),
        weight=draw(st.sampled_from([1.0, 1.0, 0.5, 3.0])),
        hierarchy=hierarchy,
        missing_marks=(MARK,) if is_text else (),
        **properties,
    )
    return column, cells


@st.composite
def tables(
    draw: st.DrawFn,
    *,
    flavours: Sequence[str] = FLAVOURS,
    kinds: Sequence[str] = KINDS,
    min_rows: int = 1,
    max_rows: int = 12,
    max_columns: int = 4,
    max_values: int = 5,
    missing: bool = True,
    sensitive: bool = False,
) -> tuple[Any, Schema]:
    """Draw a frame and its schema: small, with duplicates, constant columns and missing values.

    Parameters
    ----------
    flavours
        What the frame may be; pandas frames have an index that is not 0, 1, 2, ...
    kinds
        Of `KINDS`, which the quasi-identifiers may be.
    min_rows, max_rows, max_columns, max_values
        Bounds on rows, quasi-identifiers, and different values of each.
    missing
        Whether values may be missing.
    sensitive
        Whether the last column is a sensitive one, ``secret``, with up to four values.
    """
    rows = draw(st.integers(min_rows, max_rows))
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=max_columns))
    drawn = [
        draw(columns(f"{kind} {i}", kind, rows, missing=missing and draw(st.booleans()), values=max_values))
        for i, kind in enumerate(chosen)
    ]
    if sensitive:
        secrets = st.lists(st.sampled_from("stuv"), min_size=rows, max_size=rows)
        drawn.append((Column("secret", role=Role.SENSITIVE), draw(secrets)))
    data = {column.name: cells for column, cells in drawn}
    return as_frame(data, draw(st.sampled_from(flavours))), Schema(tuple(column for column, _ in drawn))


def as_frame(data: dict[str, list[Any]], flavour: str) -> Any:
    """Return columns as a frame of a flavour."""
    if flavour == "pandas":
        rows = len(next(iter(data.values())))
        return pd.DataFrame(data, index=pd.RangeIndex(100, 100 + 7 * rows, 7))
    frame = pl.DataFrame([pl.Series(name, cells, strict=False) for name, cells in data.items()])
    return pa.table(frame) if flavour == "pyarrow" else frame
