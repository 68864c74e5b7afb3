"""Random releases that no method made: rows that may fit many records, few or none, in any number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoal.auditing.reading import ReleasedColumn, read_release
from shoal.schema import Schema, as_frame
from shoal.table import Table

JOBS = "abcd"


@dataclass(frozen=True, eq=False)
class LooseRelease:
    """An original of ages and jobs, a release of it, and which of its rows fit which records."""

    original: pl.DataFrame
    released: pl.DataFrame
    schema: Schema
    fits: NDArray[np.bool_]
    """For each record, row and quasi-identifier."""

    @property
    def table(self) -> Table:
        return Table.encode(self.original, self.schema)

    @property
    def columns(self) -> tuple[ReleasedColumn, ...]:
        return read_release(as_frame(self.released), self.table)


@st.composite
def loose_releases(draw: st.DrawFn, most: int = 12) -> LooseRelease:
    """Draw a numeric and a categorical quasi-identifier with missing values, and rows around anything."""
    ages = draw(st.lists(st.none() | st.integers(0, 6), min_size=1, max_size=most))
    jobs = draw(st.lists(st.none() | st.sampled_from(JOBS), min_size=len(ages), max_size=len(ages)))
    rows = draw(st.integers(1, most))
    fits = np.zeros((len(ages), rows, 2), dtype=np.bool_)
    cells: list[tuple[str | None, str | None]] = []
    for row in range(rows):
        span = sorted(draw(st.lists(st.integers(0, 6), min_size=2, max_size=2)))
        members = draw(st.sets(st.sampled_from(JOBS), min_size=1))
        kinds = draw(st.lists(st.sampled_from(["some", "some", "all", "missing"]), min_size=2, max_size=2))
        fits[:, row, 0] = [
            _fits(kinds[0], age, age is not None and span[0] <= age <= span[1]) for age in ages
        ]
        fits[:, row, 1] = [_fits(kinds[1], job, job in members) for job in jobs]
        cells.append(
            (
                _cell(kinds[0], f"{span[0]}..{span[1]}"),
                _cell(kinds[1], "|".join(sorted(members))),
            )
        )
    original = pl.DataFrame({"age": ages, "job": jobs}, schema={"age": pl.Int64, "job": pl.String})
    released = pl.DataFrame(
        {"age": [age for age, _ in cells], "job": [job for _, job in cells]},
        schema={"age": pl.String, "job": pl.String},
    )
    schema = Schema.infer(original, quasi=["age", "job"], kinds={"age": "numeric", "job": "categorical"})
    return LooseRelease(original, released, schema, fits)


def _fits(kind: str, value: object, inside: bool) -> bool:
    return kind == "all" or (value is None if kind == "missing" else inside)


def _cell(kind: str, text: str) -> str | None:
    return {"all": "*", "missing": None}.get(kind, text)
