"""Missing marks: which cells they stand for, and which marks have another meaning in a release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import polars as pl

from shoal.errors import InputError, Reason
from shoal.kinds import exact_numbers as exact
from shoal.kinds import notation
from shoal.kinds.hierarchy import MISSING

if TYPE_CHECKING:
    from shoal.kinds.domain import Domain
    from shoal.schema import Column

FEW = 200
"""Python looks at so few texts in less time than a call of Polars takes."""


def without_marks(cells: pl.Series, missing_marks: Sequence[str], *, numeric: bool = False) -> pl.Series:
    """Return cells with null also where they are empty, not a number, or one of the marks.

    Parameters
    ----------
    cells
        The cells. Where they are not texts, what they would be written as is compared with the marks.
    missing_marks
        The marks. A mark that is a number stands for this number, however it is written.
    numeric
        Whether the column holds numbers, also where they are texts.
    """
    if cells.dtype.is_float():
        cells = cells.fill_nan(None)
    numeric = numeric or cells.dtype.is_numeric()
    numbers = {exact.parse(mark.strip()) for mark in missing_marks} - {None} if numeric else set()
    if cells.dtype == pl.String:
        marks = {MISSING, *missing_marks}
        if len(cells) <= FEW and not numbers and marks.isdisjoint(cells.to_list()):
            return cells
        marked = pl.Series(list(marks), dtype=pl.String)
        if numbers:
            texts = cells.drop_nulls().unique()
            marked = pl.concat([marked, texts.filter([exact.parse(t.strip()) in numbers for t in texts])])
    elif missing_marks and (cells.dtype.is_numeric() or cells.dtype in (pl.Boolean, pl.Date, pl.Datetime)):
        values = cells.drop_nulls().unique()
        texts = pl.Series(exact.labels(exact.floats(values) if values.dtype.is_float() else values))
        marked = values.filter([text in missing_marks or exact.parse(text) in numbers for text in texts])
    else:
        return cells
    found = cells.is_in(marked.implode())
    return pl.select(pl.when(~found).then(cells)).to_series().rename(cells.name) if found.any() else cells


def check_marks(column: Column, domain: Domain | None = None, is_value: Callable[[str], bool] = bool) -> None:
    """Refuse a missing mark that has another meaning in a release.

    Parameters
    ----------
    column
        The quasi-identifier.
    domain
        Its values; None for a column of items.
    is_value
        Whether a text is a value of the column, as the end of an interval.

    Raises
    ------
    InputError
        If a mark is a star, or reads like an interval, a set, an escaped value or a group of a hierarchy.
    """
    for mark in column.missing_marks:
        if mark == notation.SUPPRESSED or (domain is not None and domain.reads_as_several(mark, is_value)):
            what = "a suppressed value" if mark == notation.SUPPRESSED else "several values"
            raise InputError(
                f"column {column.name!r}: the missing mark {mark!r} also means {what} in a release; empty "
                "the cells that have it, or write another mark into them",
                reason=Reason.SCHEMA,
                column=column.name,
            )
