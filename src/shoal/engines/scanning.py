"""What is in a table: what each column probably is, and how identifying combinations of columns are."""

from __future__ import annotations

from dataclasses import dataclass

from narwhals.stable.v2.typing import IntoDataFrame

from shoal.auditing.uniqueness import Combination, uniqueness
from shoal.schema import Column, Schema
from shoal.schema.suggesting import Suggestion, suggest
from shoal.table import Table


@dataclass(frozen=True)
class Scan:
    """What was found in a table.

    Parameters
    ----------
    records
        Number of records.
    suggestions
        What each column probably is, and why.
    schema
        The suggestions as a schema.
    combinations
        How identifying the suggested quasi-identifiers are, alone and together, the worst first; none if
        there are no such columns.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> shoal.scan(hospital(50)).records
    50
    """

    records: int
    suggestions: tuple[Suggestion, ...]
    schema: Schema
    combinations: tuple[Combination, ...]


def scan(frame: IntoDataFrame, *, up_to: int = 3) -> Scan:
    """Look through a table: what each column probably is, and how identifying combinations of columns are.

    Parameters
    ----------
    frame
        The table: any frame that narwhals supports (pandas, Polars, PyArrow, ...).
    up_to
        Maximum number of columns in a combination.

    Returns
    -------
    Scan
        Suggestions to check, and a schema made of them.

    Raises
    ------
    InputError
        If this is not a table, or values of a column cannot be read.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> found = shoal.scan(hospital(200))
    >>> [column.name for column in found.schema.sensitive]
    ['diagnosis']
    >>> found.combinations[0].columns
    ('age', 'admitted', 'occupation')
    """
    suggestions = suggest(frame)
    schema = Schema(tuple(Column(s.name, role=s.role, kind=s.kind) for s in suggestions))
    found: tuple[Combination, ...] = ()
    if schema.quasi:
        found = combinations(Table.encode(frame, schema, times=True), up_to=up_to)
    return Scan(len(frame), suggestions, schema, found)


def combinations(table: Table, *, up_to: int = 3) -> tuple[Combination, ...]:
    """Return how identifying the quasi-identifiers of a table are, alone and together, the worst first."""
    names = [attribute.column.name for attribute in table.attributes]
    return uniqueness(table.codes, names, up_to=up_to)
