"""Tables of a few records in plain terms: which values a written cell covers, which rows are matches."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from shoal import Kind
from shoal.schema import Column, Missing, Role

Row = Mapping[str, str]
"""A released row: the text of each cell."""
Record = Mapping[str, Any]
"""A record of the original: plain values, None where one is missing, sets of items as frozen sets."""


@dataclass(frozen=True)
class Original:
    """A table of a few records, in the terms of the definitions.

    Parameters
    ----------
    columns
        What the columns are.
    records
        All records.
    levels
        For columns with a hierarchy, the value and the groups above it, for each value.
    """

    columns: tuple[Column, ...]
    records: tuple[Record, ...]
    levels: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)

    @property
    def kept(self) -> tuple[int, ...]:
        """The records that are not left out for a missing value."""
        strict = [c.name for c in self.having(Role.QUASI, Role.SENSITIVE) if c.missing is Missing.SUPPRESS]
        return tuple(i for i, r in enumerate(self.records) if all(r[name] is not None for name in strict))

    @property
    def refused(self) -> bool:
        """Whether a value is missing where none may be, or no record is left."""
        strict = [c.name for c in self.having(Role.QUASI, Role.SENSITIVE) if c.missing is Missing.ERROR]
        return not self.kept or any(record[name] is None for record in self.records for name in strict)

    def having(self, *roles: Role) -> list[Column]:
        """Return the columns with these roles."""
        return [column for column in self.columns if column.role in roles]

    def nodes(self, name: str) -> dict[str, frozenset[str]]:
        """Return the values below each label of a hierarchy."""
        found: dict[str, set[str]] = defaultdict(set)
        for chain in self.levels[name]:
            for label in chain:
                found[label].add(chain[0])
        return {label: frozenset(below) for label, below in found.items()}

    def row_covers(self, row: Row, record: Record) -> bool:
        """Return whether every cell of a row covers the value of a record."""
        return all(self.covers(column, row, record[column.name]) for column in self.having(Role.QUASI))

    def covers(self, column: Column, row: Row, value: Any) -> bool:
        """Return whether one cell of a row can stand for a value."""
        cell = row[column.name]
        if column.kind is Kind.ITEMS:
            return _in_world(row, column.name, value or frozenset())
        if cell == "*":
            return True
        if column.hierarchy is not None:
            label = "" if value is None else str(value)
            shown = cell.removeprefix("\\") if cell.lstrip("\\") == "*" else cell
            return label == cell == "" or label in self.nodes(column.name).get(shown, ())
        if column.kind is Kind.CATEGORICAL:
            return ("" if value is None else label_of(value)) in _members(cell)
        if value is None or cell == "":
            return value is None and cell == ""
        ends = [datum(column, _unescaped(end)) for end in _split(cell, "..")]
        return bool(ends[0] <= datum(column, label_of(value)) <= ends[-1])


def text_of(original: Original, record: Record) -> dict[str, str]:
    return {column.name: label_of(record[column.name]) for column in original.columns}


def label_of(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, frozenset):
        return " ".join(sorted(value))
    return str(value)


def datum(column: Column, text: str) -> Any:
    match column.kind:
        case Kind.NUMERIC:
            return float(text)
        case Kind.DATE:
            return datetime.date.fromisoformat(text.strip()[:10])
        case _:
            return [str(value) for value in column.domain or ()].index(text)


def quasi_cells(original: Original, rows: Sequence[Row]) -> list[tuple[str, ...]]:
    names = []
    for column in original.having(Role.QUASI):
        name = column.name
        names += [name, f"{name}_uncertain", f"{name}_max_errors"] if column.kind is Kind.ITEMS else [name]
    return [tuple(row[name] for name in names) for row in rows]


def grouped(cells: Sequence[Any]) -> dict[Any, list[int]]:
    groups: dict[Any, list[int]] = defaultdict(list)
    for place, cell in enumerate(cells):
        groups[cell].append(place)
    return groups


def all_at_home(cover: Sequence[Sequence[bool]], rows: int) -> bool:
    """Return whether each row can have a record of its own."""

    @cache
    def at_home(row: int, taken: int) -> bool:
        return row == rows or any(
            covering[row] and not taken >> i & 1 and at_home(row + 1, taken | 1 << i)
            for i, covering in enumerate(cover)
        )

    return at_home(0, 0)


def matches_of(cover: Sequence[Sequence[bool]]) -> list[list[int]]:
    """Return the rows that each record has in some assignment of all records to all rows."""
    n = len(cover)

    def rest(i: int, j: int) -> list[list[bool]]:
        return [[covering[b] for b in range(n) if b != j] for a, covering in enumerate(cover) if a != i]

    return [[j for j in range(n) if cover[i][j] and all_at_home(rest(i, j), n - 1)] for i in range(n)]


def _in_world(row: Row, name: str, items: frozenset[str]) -> bool:
    base, uncertain = (
        {_unescaped(item) for item in _split(row[column], " ") if item}
        for column in (name, f"{name}_uncertain")
    )
    wrong = base ^ items
    return wrong <= uncertain and len(wrong) <= int(row[f"{name}_max_errors"])


def _members(cell: str) -> list[str]:
    return [_unescaped(member) for member in _split(cell, "|")]


def _split(cell: str, mark: str) -> list[str]:
    """Split where a mark stands that is not behind a backslash."""
    parts, place = [""], 0
    while place < len(cell):
        if cell[place] == "\\":
            parts[-1] += cell[place : place + 2]
            place += 2
        elif cell.startswith(mark, place):
            parts.append("")
            place += len(mark)
        else:
            parts[-1] += cell[place]
            place += 1
    return parts


def _unescaped(text: str) -> str:
    plain, place = "", 0
    while place < len(text):
        place += text[place] == "\\"
        plain += text[place : place + 1]
        place += 1
    return plain
