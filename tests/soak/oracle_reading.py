"""How the oracle reads written files, in exact arithmetic and without code of Shoal.

The notation is that of docs/how-to.
"""

from __future__ import annotations

import csv
import datetime
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Plain:
    """What a column is, in plain terms.

    Parameters
    ----------
    name, role
        Its name and role.
    kind
        ``numeric``, ``date``, ``ordinal``, ``categorical``, ``items``, or with a hierarchy ``tree``,
        ``intervals``, ``prefixes``.
    form
        How dates are written, as in ``strptime``; None for ISO dates.
    order
        All values of an ordinal column, lowest first.
    chains
        For each leaf of a tree, the leaf and the groups above it.
    marks, missing
        Texts that mean "missing", and the policy for missing values.
    separator
        The text between items; None for white space.
    same
        For sensitive and person columns: what each spelling stands for; itself if it is not listed.
    """

    name: str
    role: str
    kind: str = "categorical"
    form: str | None = None
    order: tuple[str, ...] = ()
    chains: tuple[tuple[str, ...], ...] = ()
    marks: tuple[str, ...] = ()
    missing: str = "category"
    separator: str | None = None
    same: Mapping[str, str] = field(default_factory=dict)

    @property
    def released_as(self) -> tuple[str, ...]:
        """The columns that it becomes in a release."""
        more = (f"{self.name}_uncertain", f"{self.name}_max_errors") if self.kind == "items" else ()
        return (self.name, *more) if self.role not in ("identifier", "person") else ()

    def is_missing(self, text: str) -> bool:
        """Return whether a cell of the original is missing."""
        if text == "" or text in self.marks:
            return True
        if self.kind in ("numeric", "intervals"):
            return any(number(text) == found for mark in self.marks if (found := number(mark)) is not None)
        return False

    def value(self, text: str) -> Any:
        """Return the value of a cell of the original; None if it is missing."""
        if self.is_missing(text):
            return frozenset() if self.kind == "items" else None
        match self.kind:
            case "numeric" | "intervals":
                return number(text)
            case "date":
                return day(text, self.form)
            case "ordinal":
                return self.order.index(text)
            case "items":
                return frozenset(filter(None, text.split(self.separator)))
            case _:
                return text

    def meaning(self, text: str) -> str:
        """Return what a sensitive cell stands for where values are counted."""
        return "" if text == "" or text in self.marks else self.same.get(text, text)

    def covers(self, cells: Sequence[str], value: Any) -> bool:
        """Return whether a released cell, or the three of items, can stand for a value."""
        cell = cells[0]
        if self.kind == "items":
            base, uncertain = (set(split(part, " ")) - {""} for part in cells[:2])
            wrong = base ^ value
            return wrong <= uncertain and len(wrong) <= int(cells[2])
        if cell == "*":
            return True
        if self.kind == "categorical":
            return ("" if value is None else value) in split(cell, "|")
        if value is None or cell == "":
            return value is None and cell == ""
        if self.kind == "tree":
            label = cell[1:] if re.fullmatch(r"\\+\*", cell) else cell
            return any(chain[0] == value and label in chain for chain in self.chains)
        if self.kind == "prefixes":
            return bool(cell == value or (cell.endswith("*") and value.startswith(cell.rstrip("*"))))
        if self.kind == "intervals" and cell.startswith("["):
            low, high = cell[1:-1].split(", ")
            return bool(Fraction(low) <= value < Fraction(high))
        ends = split(cell, "..")
        if len(ends) > 2:
            raise ValueError(f"{cell!r} is no interval")
        low, high = (self.datum(end) for end in (ends[0], ends[-1]))
        return bool(low <= value <= high)

    def datum(self, text: str) -> Any:
        """Return an end of an interval."""
        if self.kind == "ordinal":
            return self.order.index(text)
        if self.kind == "date":
            return day(text, self.form, whole=True)
        found = number(text)
        if found is None:
            raise ValueError(f"{text!r} is no number")
        return found


def number(text: str) -> Fraction | None:
    """Return a number as it is written; None if it is none."""
    plain = text.strip()
    return Fraction(plain) if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", plain) else None


def day(text: str, form: str | None, *, whole: bool = False) -> datetime.date:
    """Return the day of a date as it is written; a release has whole days only."""
    if form is not None:
        used = form.split(" ")[0] if whole else form
        return datetime.datetime.strptime(text.strip(), used).date()
    if whole and not re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        raise ValueError(f"{text!r} is no day")
    return datetime.date.fromisoformat(text.strip()[:10])


def split(cell: str, mark: str) -> list[str]:
    """Return the parts of a cell between marks; what follows a backslash is taken as it is."""
    parts, place = [""], 0
    while place < len(cell):
        if cell[place] == "\\" and place + 1 < len(cell):
            parts[-1] += cell[place + 1]
            place += 2
        elif cell.startswith(mark, place):
            parts.append("")
            place += len(mark)
        else:
            parts[-1] += cell[place]
            place += 1
    return parts


def read_csv(path: Path) -> dict[str, list[str]]:
    """Return the texts of each column of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    if any(len(row) != len(head) for row in rows) or len(set(head)) != len(head):
        raise ValueError(f"{path} is no table")
    return {name: [row[at] for row in rows] for at, name in enumerate(head)}


@dataclass(frozen=True)
class Sheet:
    """An original: its columns, and the texts of their cells."""

    columns: tuple[Plain, ...]
    cells: Mapping[str, Sequence[str]]

    def having(self, *roles: str) -> list[Plain]:
        """Return the columns with these roles."""
        return [column for column in self.columns if column.role in roles]

    @cached_property
    def kept(self) -> list[int]:
        """The records that no missing value leaves out."""
        strict = [c for c in self.having("quasi", "sensitive", "person") if c.missing == "suppress"]
        n = len(next(iter(self.cells.values())))
        return [i for i in range(n) if not any(c.is_missing(self.cells[c.name][i]) for c in strict)]

    @cached_property
    def refused(self) -> bool:
        """Whether a value is missing where none may be."""
        strict = [c for c in self.having("quasi", "sensitive", "person") if c.missing == "error"]
        return any(c.is_missing(text) for c in strict for text in self.cells[c.name])

    @cached_property
    def owners(self) -> list[str] | None:
        """The person of each record that is kept; None if no column says it."""
        for column in self.having("person"):
            return [column.meaning(self.cells[column.name][i]) for i in self.kept]
        return None

    def secrets(self, column: Plain) -> list[str]:
        """Return the sensitive values of the records that are kept."""
        return [column.meaning(self.cells[column.name][i]) for i in self.kept]


class Reading:
    """A release beside its original, read by counting.

    Parameters
    ----------
    sheet
        The original.
    released
        The texts of each released column.
    """

    def __init__(self, sheet: Sheet, released: Mapping[str, Sequence[str]]) -> None:
        self.sheet = sheet
        self.released = released
        self.rows = len(next(iter(released.values())))
        self.records = len(sheet.kept)
        self.cover = [[True] * self.rows for _ in range(self.records)]
        self.by_column: list[list[list[bool]]] = []
        looks: list[list[str]] = [[] for _ in range(self.rows)]
        for column in sheet.having("quasi"):
            values = [column.value(sheet.cells[column.name][i]) for i in sheet.kept]
            written = list(zip(*(released[name] for name in column.released_as), strict=True))
            known: dict[Any, bool] = {}
            for row, cells in enumerate(written):
                looks[row] += cells
                for record, value in enumerate(values):
                    if (cells, value) not in known:
                        known[cells, value] = column.covers(cells, value)
                    self.cover[record][row] &= known[cells, value]
            self.by_column.append([[known[cells, value] for cells in written] for value in values])
        groups = defaultdict(list)
        for row, look in enumerate(looks):
            groups[tuple(look)].append(row)
        self.classes = list(groups.values())
        self.around = [[j for j in range(self.rows) if line[j]] for line in self.cover]
        self.covered = [sum(line[j] for line in self.cover) for j in range(self.rows)]

    @cached_property
    def matching(self) -> list[int | None]:
        """The record of each row in one assignment of as many rows as possible."""
        record_of: list[int | None] = [None] * self.rows

        def settle(record: int, tried: set[int]) -> bool:
            for row in self.around[record]:
                if row in tried:
                    continue
                tried.add(row)
                holder = record_of[row]
                if holder is None or settle(holder, tried):
                    record_of[row] = record
                    return True
            return False

        for record in range(self.records):
            settle(record, set())
        return record_of

    @property
    def perfect(self) -> bool:
        """Whether each row can have a record of its own."""
        return None not in self.matching

    @cached_property
    def matches(self) -> list[list[int]]:
        """The rows that each record has in some assignment of all records to all rows."""
        row_of = {record: row for row, record in enumerate(self.matching)}
        reach: list[set[int]] = []
        for record in range(self.records):
            # Records that can pass their rows on in a circle: each takes a row whose holder then moves on.
            seen, left = {record}, [record]
            while left:
                for row in self.around[left.pop()]:
                    holder = self.matching[row]
                    if holder is not None and holder not in seen:
                        seen.add(holder)
                        left.append(holder)
            reach.append(seen)
        return [
            [
                row
                for row in rows
                if (holder := self.matching[row]) is not None
                and (row_of.get(record) == row or record in reach[holder])
            ]
            for record, rows in enumerate(self.around)
        ]

    def values_in(self, column: Plain, crowds: Sequence[Sequence[int]]) -> list[Counter[str]]:
        """Return how often each sensitive value occurs in crowds of rows."""
        shown = [column.meaning(text) for text in self.released[column.name]]
        return [Counter(shown[row] for row in crowd) for crowd in crowds]
