"""For those who decide: what is released to whom, who decided, what it looks like, how certain values are."""

from __future__ import annotations

import datetime
from collections import Counter
from contextlib import suppress
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.base.statements import ABOUT
from shoal.kinds import notation
from shoal.report.panel import Content, Grid, Material, number, plural, report_panel
from shoal.schema import Role

COMMON = 0.1
"""The share of rows that show a value, from which on it is shown as an example."""


@report_panel("decision", "For those who decide", place=5)
def decision(material: Material) -> Content:
    """Return the panel on what a data protection officer asks first."""
    made, found = material.certificate, material.audit
    stated = made.get("about", {})
    certain = found.nearly_certain()
    return Content(
        facts=(
            *((name.replace("_", " "), stated.get(name, "not stated")) for name in ABOUT),
            ("guaranteed", made["model"]["promise"]),
            *(
                (
                    f"{column} certain, or nearly so",
                    f"for {records:,} of {plural(found.records, 'record')}: more than 90% of the rows that "
                    "could be theirs have the same value",
                )
                for column, records in certain.items()
            ),
        ),
        grids=(_example(material),) if material.detail is not None else (),
        data={"nearly_certain": certain},
    )


def _example(material: Material) -> Grid:
    """Return a record and its row, made up from cells that many rows have, not from any record."""
    recoding, rows = material.held.recoding, material.held.rows
    boxes = recoding.box[rows]
    shown: dict[str, str | None] = {}
    for attribute, values in zip(recoding.table.attributes, recoding.values, strict=True):
        written, which = values.shared_columns(attribute.column.name, typed=False)[0]
        texts = _common(_most_frequent(written, boxes if which is None else which[boxes]))
        wider = (text for text in texts if _made_up(text) != text)
        shown[attribute.column.name] = next(wider, texts[0] if texts else None)
    lines = []
    for column in material.certificate["columns"]:
        name, role = column["name"], Role(column["role"])
        cell = shown.get(name)
        if cell is not None:
            lines.append([name, _made_up(cell), cell])
        elif role is Role.QUASI:
            lines.append([name, "a value", "a range or a set around it, or the same value"])
        elif role is Role.WEIGHT:
            lines.append([name, "a number", "the mean of a group, or the same number"])
        elif role.released:
            lines.append([name, "a value", "the same value"])
        else:
            lines.append([name, "a value", "left out"])
    return Grid(
        "A made-up record, and what a row shows of it (frequent cells of the release, not a record)",
        ("column", "before", "after"),
        lines,
    )


def _most_frequent(written: pl.Series, rows: NDArray[np.integer[Any]]) -> dict[str, int]:
    """Return the cells of rows as texts, and how often each occurs; the most frequent first, then the first.

    Parameters
    ----------
    written
        The different cells.
    rows
        Which of them each row shows.
    """
    first = np.full(len(written), len(rows))
    first[rows[::-1]] = np.arange(len(rows))[::-1]
    cells = pl.DataFrame(
        {
            "text": written.cast(pl.String).fill_null(""),
            "often": np.bincount(rows, minlength=len(written)),
            "first": first,
        }
    ).filter(pl.col("often") > 0)
    together = cells.group_by("text").agg(pl.col("often").sum(), pl.col("first").min())
    ordered = together.sort("often", "first", descending=[True, False])
    return dict(zip(ordered["text"].to_list(), ordered["often"].to_list(), strict=True))


def _common(often: dict[str, int]) -> list[str]:
    """Return the cells that say nothing of a record that stands out, in the same order.

    An interval must not begin with the least value of the column or end with the greatest, and each value of
    a set, or a single one, must be in the cells of at least a share of the rows.
    """
    intervals = {text: both for text in often if (both := notation.read_interval(text)) is not None}
    ends = sorted({_order(end) for pair in intervals.values() for end in pair})
    enough = COMMON * sum(often.values())
    shown: Counter[str] = Counter()
    for text, rows in often.items():
        if text not in intervals:
            shown.update(dict.fromkeys(notation.read_set(text), rows))

    def is_common(text: str) -> bool:
        if text in intervals:
            return _order(intervals[text][0]) > ends[0] and _order(intervals[text][1]) < ends[-1]
        return text == notation.SUPPRESSED or all(shown[each] >= enough for each in notation.read_set(text))

    return [text for text in often if is_common(text)]


def _order(end: str) -> tuple[float, str]:
    """Return what orders the ends of intervals: numbers as such, anything else as text."""
    with suppress(ValueError):
        return float(end), ""
    return 0.0, end


def _made_up(cell: str) -> str:
    """Return an exact value that a cell could stand for; the cell itself if it is exact."""
    if cell == notation.SUPPRESSED:
        return "any value"
    ends = notation.read_interval(cell)
    if ends is not None:
        with suppress(ValueError):
            low, high = (float(end) for end in ends)
            middle = (low + high) / 2
            whole = low.is_integer() and high.is_integer()
            return str(int(middle)) if whole else number(middle)
        with suppress(ValueError):
            first, last = (datetime.date.fromisoformat(end) for end in ends)
            return str(first + (last - first) / 2)
        return ends[0]
    members = notation.read_set(cell)
    return members[0] if len(members) > 1 else cell
