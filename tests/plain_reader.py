"""A release read again by plain code that shares nothing with Shoal: every record against every row."""

from __future__ import annotations

import csv
import datetime
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

NAIVE, LAST = -(10**9), 10**9
"""Where times without an offset stand among those with one, and what comes after all of them."""


class UnreadableError(Exception):
    """The release cannot be read: a column is not there, or a cell is no value of its kind."""


@dataclass(frozen=True)
class Quasi:
    """What a quasi-identifier is.

    Parameters
    ----------
    name
        Its name.
    kind
        ``number``, ``date``, ``ordinal``, ``category`` or ``tree``.
    form
        How dates are written in text files, as in ``strptime``; None for ISO dates.
    order
        All values of an ordinal column, lowest first.
    chains
        For each leaf of a tree, the leaf and the groups above it.
    marks
        Texts that mean "missing".
    """

    name: str
    kind: str
    form: str | None = None
    order: tuple[str, ...] = ()
    chains: tuple[tuple[str, ...], ...] = ()
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Levels:
    """What a release hides, by counting.

    Parameters
    ----------
    classes
        How many rows look the same, for each different row, ascending.
    rows_of_record, records_of_row
        How many rows cover each record, and how many records each row covers.
    matches_of_record
        How many rows can be the record's own if as many records as possible have one.
    matched
        How many records can have a row of their own.
    secrets
        Three lists of crowds of sensitive values: in classes, around records, among their matches.
    leaks
        Whether an identifier is in the release.
    """

    classes: list[int]
    rows_of_record: list[int]
    records_of_row: list[int]
    matches_of_record: list[int]
    matched: int
    secrets: tuple[list[list[Any]], list[list[Any]], list[list[Any]]]
    leaks: bool

    @property
    def rows_per_record(self) -> int:
        """The least number of rows that cover a record, among those that some row covers."""
        return min((rows for rows in self.rows_of_record if rows), default=0)

    @property
    def concealment(self) -> int:
        """The least number of matches of a record, among those that have one."""
        return min((rows for rows in self.matches_of_record if rows), default=0)

    def diversity(self, place: int) -> tuple[int, Fraction]:
        """Return the least number of values in a crowd, and one over the largest share of one of them."""
        crowds = [Counter(values) for values in self.secrets[place] if values]
        share = max(Fraction(max(crowd.values()), crowd.total()) for crowd in crowds)
        return min(map(len, crowds)), 1 / share

    def keeps(self, model: str, k: int, diverse: int | None) -> bool:
        """Return whether a guarantee holds: by rows, by matches, and with this many sensitive values."""
        if self.leaks or len(self.rows_of_record) != len(self.records_of_row):
            return False
        if self.matched < len(self.records_of_row):
            return False
        asked = {
            "k-anonymity": [min(self.classes), self.rows_per_record, self.concealment],
            "freeform": [self.rows_per_record, min(self.records_of_row), self.concealment],
            "1k": [self.rows_per_record],
            "k1": [min(self.records_of_row)],
            "kk": [self.rows_per_record, min(self.records_of_row)],
            "concealment": [self.rows_per_record, self.concealment],
        }[model]
        places = {"k-anonymity": [0], "freeform": [1, 2], "concealment": [2]}.get(model, [1])
        varied = diverse is None or all(self.diversity(place)[1] >= diverse for place in places)
        return min(asked) >= k and varied


def levels(original: Path, released: Path, quasi: list[Quasi], secret: str, identifiers: list[str]) -> Levels:
    """Read two files and count."""
    before, after = read_file(original), read_file(released)
    count, rows = len(next(iter(before.values()))), len(next(iter(after.values())))
    fits = [[True] * rows for _ in range(count)]
    looks: list[list[Any]] = [[] for _ in range(rows)]
    for column in quasi:
        if column.name not in after:
            raise UnreadableError(column.name)
        values = [value_of(cell, column) for cell in before[column.name]]
        cells = after[column.name]
        for row, cell in enumerate(cells):
            looks[row].append(look_of(cell))
            can_be = reading(cell, column, set(values))
            for record, value in enumerate(values):
                fits[record][row] = fits[record][row] and can_be(value)
    classes: dict[Any, list[int]] = {}
    for row, look in enumerate(looks):
        classes.setdefault(tuple(look), []).append(row)
    around = [[row for row in range(rows) if fits[record][row]] for record in range(count)]
    most = matching(around)
    matches = [
        [row for row in around[record] if 1 + matching(without(around, record, row)) == most]
        for record in range(count)
    ]
    secrets = ["" if cell is None else cell for cell in after[secret]]
    if any(isinstance(cell, dict | list) for cell in secrets):
        raise UnreadableError(secret)

    def values_in(crowds: list[list[int]]) -> list[list[Any]]:
        return [[secrets[row] for row in crowd] for crowd in crowds]

    return Levels(
        sorted(map(len, classes.values())),
        [len(crowd) for crowd in around],
        [sum(fits[record][row] for record in range(count)) for row in range(rows)],
        [len(crowd) for crowd in matches],
        most,
        (values_in(list(classes.values())), values_in(around), values_in(matches)),
        any(name in after for name in identifiers),
    )


def read_file(path: Path) -> dict[str, list[Any]]:
    """Return the cells of each column: texts of a CSV file, plain Python values of a Parquet file."""
    if path.suffix == ".parquet":
        return {name: column.to_pylist() for name, column in zip(*_named_columns(path), strict=True)}
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    return {name: [row[at] for row in rows] for at, name in enumerate(head)}


def _named_columns(path: Path) -> tuple[list[str], list[Any]]:
    table = pq.read_table(path)
    return table.column_names, table.columns


def matching(around: list[list[int]]) -> int:
    """Return how many records can have a row of their own."""
    owner: dict[int, int] = {}

    def settle(record: int, tried: set[int]) -> bool:
        for row in around[record]:
            if row not in tried:
                tried.add(row)
                if row not in owner or settle(owner[row], tried):
                    owner[row] = record
                    return True
        return False

    return sum(settle(record, set()) for record in range(len(around)))


def without(around: list[list[int]], record: int, row: int) -> list[list[int]]:
    """Return what is left if a record has a row."""
    return [[r for r in rows if r != row] if other != record else [] for other, rows in enumerate(around)]


def look_of(cell: Any) -> Any:
    """Return what tells a cell from others at a glance; a missing value may be written in several ways."""
    if cell in (None, "", [None]):
        return ""
    return f"{type(cell).__name__} {cell!r}"


def value_of(cell: Any, column: Quasi) -> Any:
    """Return the value of an original cell; None if it is missing."""
    if cell is None or cell == "" or cell in column.marks:
        return None
    match column.kind:
        case "number":
            return number(cell)
        case "date":
            first, _ = span(cell, column)
            return first
        case "ordinal":
            return column.order.index(cell)
        case _:
            return cell


def reading(cell: Any, column: Quasi, values: set[Any]) -> Any:
    """Return a function that says whether a released cell can stand for a value."""
    if cell == "*" or says_nothing(cell):
        return lambda _: column.kind not in ("category", "tree") or cell == "*"
    if cell is None or cell == "" or cell in column.marks:
        return lambda value: value is None
    if isinstance(cell, dict) and column.kind in ("category", "tree"):
        return lambda _: False
    if isinstance(cell, list) and column.kind != "category":
        if len(cell) > 1 and column.kind != "tree":
            raise UnreadableError(str(cell))
        if len(cell) != 1:
            return lambda _: False
        member = re.sub(r"([\\|]|^\*$)", r"\\\1", cell[0] or "")
        return reading(member, column, values)
    if column.kind == "category":
        members = labels_of(cell, {"" if value is None else value for value in values})
        return lambda value: ("" if value is None else value) in members
    if column.kind == "tree":
        label = cell[1:] if re.fullmatch(r"\\+\*", cell) else cell
        leaves = {chain[0] for chain in column.chains if label in chain}
        return lambda value: value is not None and value in leaves
    ends = bounds_of(cell, column)
    if ends is None:
        return lambda _: False
    low, high, with_low, with_high = ends
    return lambda value: (
        value is not None
        and (low < value or (with_low and low == value))
        and (value < high or (with_high and value == high))
    )


def says_nothing(cell: Any) -> bool:
    """Return whether a cell is a struct of low and high, none of which is there, nor anything else."""
    if not isinstance(cell, dict):
        return False
    if not {"low", "high"} <= set(cell):
        raise UnreadableError(str(cell))
    return all(value is None for value in cell.values())


def labels_of(cell: Any, known: set[str]) -> set[str]:
    """Return the members of a set."""
    if isinstance(cell, list):
        return {"" if member is None else member for member in cell}
    members = {""} if not cell else set(split(cell, "|"))
    if members <= known or not (cell in known or re.fullmatch(r"\{.*\}", cell, re.DOTALL)):
        return members
    return {cell} if cell in known else {member.strip() for member in cell[1:-1].split(",")}


def split(text: str, mark: str) -> list[str]:
    """Return the parts of a text between marks; what follows a backslash is as it is."""
    parts, at = [""], 0
    while at < len(text):
        if text[at] == "\\" and at + 1 < len(text):
            parts[-1] += text[at + 1]
            at += 2
        elif text.startswith(mark, at) and (mark == "|" or (len(parts) == 1 and parts[0])):
            parts.append("")
            at += len(mark)
        else:
            parts[-1] += text[at]
            at += 1
    return parts


def bounds_of(cell: Any, column: Quasi) -> tuple[Any, Any, bool, bool] | None:
    """Return the ends of an interval and whether each belongs to it; None if the cell says nothing known."""
    if isinstance(cell, dict):
        rest = [value for name, value in cell.items() if name not in ("low", "high")]
        if {cell["low"], cell["high"]} & {None, ""} or any(value is not None for value in rest):
            return None
        return datum(cell["low"], column)[0], datum(cell["high"], column)[1], True, True
    if not isinstance(cell, str):
        return *datum(cell, column), True, True
    ends = split(cell, "..")
    if len(ends) == 2:
        with suppress(UnreadableError):
            return datum(ends[0], column)[0], datum(ends[1], column)[1], True, True
    single = split(cell, "|")
    if len(single) == 1:
        with suppress(UnreadableError):
            return *datum(single[0], column), True, True
    found = re.fullmatch(r"([\[\](])\s*([^\[\](),;]+?)\s*[,;]\s*([^\[\](),;]+?)\s*([\[\])])", cell)
    if found:
        with_low, with_high = found[1] == "[", found[4] == "]"
        low, high = datum(found[2], column), datum(found[3], column)
        return low[not with_low], high[with_high], with_low, with_high
    dashed = re.fullmatch(r"(-?\d+(?:\.\d+)?)\s*-\s*(-?\d+(?:\.\d+)?)", cell)
    if dashed:
        return datum(dashed[1], column)[0], datum(dashed[2], column)[1], True, True
    raise UnreadableError(cell)


def datum(cell: Any, column: Quasi) -> tuple[Any, Any]:
    """Return the least and the greatest value that one end of an interval, or a single value, stands for."""
    match column.kind:
        case "number":
            value = number(cell)
        case "date":
            return span(cell, column)
        case _:
            if cell not in column.order:
                raise UnreadableError(str(cell))
            value = column.order.index(cell)
    return value, value


def number(cell: Any) -> Fraction:
    """Return a number exactly, as it is written."""
    text = repr(cell) if isinstance(cell, float) else str(cell).strip()
    if not re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", text):
        raise UnreadableError(text)
    return Fraction(text)


def span(cell: Any, column: Quasi) -> tuple[Any, Any]:
    """Return the first and the last moment of a date: day, microseconds and offset, as they are shown."""
    if isinstance(cell, str):
        return _text_span(cell.strip(), column.form)
    if isinstance(cell, datetime.datetime):
        return (moment(cell),) * 2
    return whole(cell)


@cache
def _text_span(text: str, form: str | None) -> tuple[Any, Any]:
    if form is not None:
        timed = "%H" in form
        with suppress(ValueError):
            read = datetime.datetime.strptime(text, form)
            return (moment(read),) * 2 if timed else whole(read.date())
        for shorter in (form.split(" ", maxsplit=1)[0], "%Y-%m-%d") if timed else ():
            with suppress(ValueError):
                return whole(datetime.datetime.strptime(text, shorter).date())
        raise UnreadableError(text)
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return whole(datetime.date.fromisoformat(text))
        if re.fullmatch(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*", text):
            return (moment(datetime.datetime.fromisoformat(text)),) * 2
    except ValueError:
        pass
    raise UnreadableError(text)


def whole(day: datetime.date) -> tuple[Any, Any]:
    """Return the first and the last moment of a day."""
    return (day.toordinal(), 0, NAIVE), (day.toordinal(), 86_400 * 10**6 - 1, LAST)


def moment(time: datetime.datetime) -> tuple[int, int, int]:
    """Return a moment in an order."""
    ahead = time.utcoffset()
    clock = ((time.hour * 60 + time.minute) * 60 + time.second) * 10**6 + time.microsecond
    return time.toordinal(), clock, NAIVE if ahead is None else int(ahead.total_seconds())
