"""What is in a table: what each column probably is, and how identifying combinations of columns are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.audit.uniqueness import Combination, uniqueness
from shoal.schema import Column, Schema
from shoal.suggestion import Suggestion, suggest
from shoal.table import Table


@dataclass(frozen=True)
class Scan:
    """What was found in a table.

    Parameters
    ----------
    records
        How many it has.
    suggestions
        What each column probably is.
    schema
        The same as a schema.
    combinations
        How identifying the suggested quasi-identifiers are; none if there are no such columns.
    """

    records: int
    suggestions: tuple[Suggestion, ...]
    schema: Schema
    combinations: tuple[Combination, ...]


def scan(frame: Any, *, up_to: int = 3) -> Scan:
    """Look through a table; combinations have at most `up_to` columns. Complexity as of its parts."""
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
