"""Missing marks: which cells they stand for, and which marks a release would give another meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import polars as pl

from shoal.errors import InputError, Reason
from shoal.kinds import exact_numbers as exact
from shoal.kinds import notation
from shoal.kinds.domain import Domain
from shoal.kinds.hierarchy import MISSING
from shoal.kinds.kind import Kind
from shoal.kinds.sets import SetDomain
from shoal.kinds.trees import TreeDomain

if TYPE_CHECKING:
    from shoal.schema import Column


def without_marks(cells: pl.Series, missing_marks: Sequence[str], kind: Kind = Kind.CATEGORICAL) -> pl.Series:
    """Return cells with null also where they are empty, not a number, or one of the marks.

    Parameters
    ----------
    cells
        The cells. Where they are not texts, what they would be written as is compared with the marks.
    missing_marks
        The marks. A mark that is a number stands for this number, however it is written.
    kind
        What the column holds.
    """
    if cells.dtype.is_float():
        cells = cells.fill_nan(None)
    numeric = kind is Kind.NUMERIC or cells.dtype.is_numeric()
    numbers = {exact.parse(mark.strip()) for mark in missing_marks} - {None} if numeric else set()
    if cells.dtype == pl.String:
        marked = pl.Series([MISSING, *missing_marks], dtype=pl.String)
        if numbers:
            texts = cells.drop_nulls().unique()
            marked = pl.concat([marked, texts.filter([exact.parse(t.strip()) in numbers for t in texts])])
    elif missing_marks and (cells.dtype.is_numeric() or cells.dtype in (pl.Boolean, pl.Date, pl.Datetime)):
        values = cells.drop_nulls().unique()
        texts = pl.Series(exact.labels(exact.floats(values) if values.dtype.is_float() else values))
        marked = values.filter([text in missing_marks or exact.parse(text) in numbers for text in texts])
    else:
        return cells
    return pl.select(pl.when(~cells.is_in(marked.implode())).then(cells)).to_series().rename(cells.name)


def check_marks(
    column: Column,
    domain: Domain | None,
    is_date: Callable[[str, Column], bool],
) -> None:
    """Refuse a missing mark that a release uses for something else: a reader could not tell the two apart.

    Parameters
    ----------
    column
        The quasi-identifier.
    domain
        Its values; None for a column of items.
    is_date
        Whether a text is a date of a column.

    Raises
    ------
    InputError
        If a mark is a star, or reads like an interval, a set, an escaped value or a group of a hierarchy.
    """
    for mark in column.missing_marks:
        if mark == notation.SUPPRESSED or (
            domain is not None and _looks_generalized(mark, column, domain, is_date)
        ):
            what = "a suppressed value" if mark == notation.SUPPRESSED else "several values"
            raise InputError(
                f"column {column.name!r}: the missing mark {mark!r} also means {what} in a release; empty "
                "the cells that have it, or write another mark into them",
                reason=Reason.SCHEMA,
                column=column.name,
            )


def _looks_generalized(
    mark: str, column: Column, domain: Domain, is_date: Callable[[str, Column], bool]
) -> bool:
    """Return whether a text could be a generalized or an escaped value of a column."""
    if isinstance(domain, TreeDomain):
        label = notation.read_node(mark)
        return domain.hierarchy.node_of(label) is not None and mark not in domain.hierarchy.leaf_index
    members = notation.read_set(mark)
    if isinstance(domain, SetDomain) and mark.startswith("{") and mark.endswith("}"):
        members = [member.strip() for member in mark[1:-1].split(",")]
    if members != [mark] and all(member in domain.code_of for member in members):
        return True
    ends = notation.read_interval(mark) or (notation.read_foreign_interval(mark) or ())[:2]
    if isinstance(domain, SetDomain) or not ends:
        return False
    if column.kind is Kind.ORDINAL:
        return all(end in domain.code_of for end in ends)
    if column.kind is Kind.NUMERIC:
        return all(exact.parse(end.strip()) is not None for end in ends)
    return all(is_date(end, column) for end in ends)
