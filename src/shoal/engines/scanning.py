"""What is in a table: what each column probably is, and how identifying combinations of columns are."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from narwhals.stable.v2.typing import IntoDataFrame

from shoal.auditing.uniqueness import Combination, uniqueness
from shoal.base.wording import plural
from shoal.files.databases import Keys
from shoal.schema import Column, Role, Schema, as_frame
from shoal.schema.suggesting import Suggestion, suggest, unique_together
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

    others
        The columns without a suggested role, if there are several.
    others_unique
        Share of the records that are unique in these together.

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
    others: tuple[str, ...] = ()
    others_unique: float = 0.0

    def __repr__(self) -> str:
        lines = (f"  {s.name}: {s.role.value}, {s.kind.value}: {s.reason}" for s in self.suggestions)
        return "\n".join((f"Scan of {plural(self.records, 'record')}", *lines))


def scan(frame: IntoDataFrame, *, up_to: int = 3, keys: Keys | None = None) -> Scan:
    """Look through a table: what each column probably is, and how identifying combinations of columns are.

    Parameters
    ----------
    frame
        The table: any frame that narwhals supports (pandas, Polars, PyArrow, ...).
    up_to
        Maximum number of columns in a combination.
    keys
        The keys of the table, if a database knows them.

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
    table = as_frame(frame).to_native()
    suggestions = suggest(table)
    if keys is not None:
        suggestions = _with_keys(suggestions, keys, len(table))
    schema = Schema(
        tuple(
            Column(s.name, role=s.role, kind=s.kind, date_format=s.date_format, domain=s.domain)
            for s in suggestions
        )
    )
    found: tuple[Combination, ...] = ()
    if schema.quasi:
        found = combinations(Table.encode(table, schema, times=True), up_to=up_to)
    others = tuple(column.name for column in schema.having(Role.OTHER))
    if len(others) < 2:
        return Scan(len(table), suggestions, schema, found)
    return Scan(len(table), suggestions, schema, found, others, unique_together(table, others))


def _with_keys(found: tuple[Suggestion, ...], keys: Keys, records: int) -> tuple[Suggestion, ...]:
    """Return suggestions that follow the keys of a database: numbers of records, and of persons."""
    people = [name for name, table in keys.foreign if _names_persons(table)]
    named = any(each.role is Role.PERSON for each in found)
    new = []
    for each in found:
        if keys.primary == (each.name,):
            each = replace(each, role=Role.IDENTIFIER, reason="it is the primary key of the table")
        elif people[:1] == [each.name] and not named:
            table = dict(keys.foreign)[each.name]
            repeats = each.distinct < records - each.missing
            role = Role.PERSON if repeats and not each.missing else Role.IDENTIFIER
            each = replace(each, role=role, reason=f"it refers to the table {table!r} of persons")
        new.append(each)
    return tuple(new)


def _names_persons(table: str) -> bool:
    """Return whether the name of a table says that its rows are persons."""
    return any(word.rstrip("s") in _PERSONS for word in re.split(r"[^a-z]+", table.lower()))


_PERSONS = frozenset(
    [
        "person",
        "people",
        "patient",
        "customer",
        "client",
        "user",
        "member",
        "citizen",
        "student",
        "pupil",
        "employee",
        "household",
        "subject",
        "insured",
        "resident",
        "respondent",
        "participant",
        "donor",
        "tenant",
    ]
)


def combinations(table: Table, *, up_to: int = 3) -> tuple[Combination, ...]:
    """Return how identifying the quasi-identifiers of a table are, alone and together, the worst first."""
    names = [attribute.column.name for attribute in table.attributes]
    return uniqueness(table.codes, names, up_to=up_to, owners=table.owners)
