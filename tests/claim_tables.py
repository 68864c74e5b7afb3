"""Claims about results, and the tables they rest on: read from Markdown, and compared figure by figure."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

CONDITIONS = ("at_most", "at_least", "below", "above", "equals")
"""What a figure can be compared by: with a number, or with another column of the same row."""
NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?%?")


@dataclass(frozen=True)
class Compared:
    """A figure of a table, and what it was compared with."""

    where: str
    found: float
    condition: str
    limit: float

    @property
    def holds(self) -> bool:
        """Whether the figure meets its condition."""
        match self.condition:
            case "at_most":
                return self.found <= self.limit + 1e-12
            case "at_least":
                return self.found >= self.limit - 1e-12
            case "below":
                return self.found < self.limit
            case "above":
                return self.found > self.limit
        return math.isclose(self.found, self.limit, rel_tol=1e-9)


@dataclass(frozen=True)
class Claim:
    """A sentence on a page, and the checks of tables that support it."""

    page: str
    text: str
    checks: list[dict[str, Any]]


@dataclass(frozen=True)
class ResultTable:
    """A table of a results page; a column that occurs again is called ``name #2``."""

    section: str
    columns: list[str]
    rows: list[dict[str, str]]


def claims(file: Path) -> list[Claim]:
    """Return the claims that a file lists."""
    return [Claim(c["page"], c["text"], c["checks"]) for c in tomllib.loads(file.read_text())["claims"]]


def tables(markdown: str) -> Iterator[ResultTable]:
    """Yield all tables of a page, each under the path of its headings and its bold caption."""
    headings: list[str] = []
    caption: list[str] = []
    lines = [*markdown.splitlines(), ""]
    start = None
    for number, line in enumerate(lines):
        if line.startswith("#"):
            level = len(line) - len(line.lstrip("#"))
            headings, caption = [*headings[: level - 1], line.strip("# ")], []
        if bold := re.match(r"\*\*(.+?)\*\*", line):
            caption = [bold.group(1)]
        if line.startswith("|"):
            start = number if start is None else start
        elif start is not None:
            yield _table(" > ".join([*headings[1:], *caption]), lines[start:number])
            start = None


def _table(section: str, lines: list[str]) -> ResultTable:
    head, _, *body = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    columns: list[str] = []
    for name in head:
        times = sum(other.split(" #")[0] == name for other in columns) + 1
        columns.append(name if times == 1 else f"{name} #{times}")
    return ResultTable(section, columns, [dict(zip(columns, row, strict=True)) for row in body])


def number(cell: str) -> float | None:
    """Return the first number of a cell, a percentage as a share; None if it has none."""
    found = NUMBER.search(cell)
    if found is None:
        return None
    text = found.group().replace(",", "")
    return float(text.rstrip("%")) / (100 if text.endswith("%") else 1)


def is_about(check: dict[str, Any], table: ResultTable) -> bool:
    """Return whether a check looks at a table: its headings contain the section; before `$`, end with it."""
    section: str = check.get("section", "")
    return table.section.endswith(section[:-1]) if section.endswith("$") else section in table.section


def compared(check: dict[str, Any], markdown: str) -> list[Compared]:
    """Return all comparisons of one check.

    ``section`` and the columns choose the tables, ``rows`` (column and allowed cells) their rows. A condition
    is a number or a column, which ``times`` may multiply. With ``growth``, the figure is the exponent with
    which the column grows with that one, from each row to the next; with ``against`` (a column and a cell),
    it is the ratio to the same column of that row. With ``says``, figures stand where a text has ``{}``.
    """
    (condition,) = (name for name in CONDITIONS if name in check)
    limit = check[condition]
    if "says" in check:
        return [
            Compared(check["says"], figure, condition, float(limit))
            for figure in said(check["says"], markdown)
        ]
    needed = {*check["columns"], *check.get("rows", {}), *check.get("against", {})}
    needed |= {limit} if isinstance(limit, str) else set()
    needed |= {check["growth"]} if "growth" in check else set()
    found: list[Compared] = []
    for table in tables(markdown):
        if not is_about(check, table) or not needed <= set(table.columns):
            continue
        allowed = check.get("rows", {}).items()
        chosen = [row for row in table.rows if all(row[name] in cells for name, cells in allowed)]
        for column in check["columns"]:
            for place, figure, row in _figures(table, chosen, column, check):
                bound = number(row[limit]) if isinstance(limit, str) else float(limit)
                if bound is not None:
                    where = f"{table.section}, {place}, {column}"
                    found.append(Compared(where, figure, condition, bound * check.get("times", 1)))
    return found


def said(text: str, markdown: str) -> list[float]:
    """Return the numbers that stand where a text has ``{}``, each time that a page says it."""
    before, after = (r"\s+".join(map(re.escape, part.split(" "))) for part in text.split("{}"))
    found = re.findall(f"{before}({NUMBER.pattern}){after}", markdown)
    return [value for each in found if (value := number(each)) is not None]


def _figures(
    table: ResultTable, rows: list[dict[str, str]], column: str, check: dict[str, Any]
) -> Iterator[tuple[str, float, dict[str, str]]]:
    """Yield the figures of a column: where each stands, its value, its row."""
    first = table.columns[0]
    known = [(row[first], value, row) for row in rows if (value := number(row[column])) is not None]
    if "against" in check:
        ((name, cell),) = check["against"].items()
        (other,) = (number(row[column]) for row in table.rows if row[name] == cell)
        yield from ((place, value / other, row) for place, value, row in known if other is not None)
        return
    if "growth" not in check:
        yield from known
        return
    for (_, before, smaller), (place, after, row) in pairwise(known):
        sizes = [number(each[check["growth"]]) for each in (smaller, row)]
        assert sizes[0] is not None
        assert sizes[1] is not None
        yield place, math.log(after / before) / math.log(sizes[1] / sizes[0]), row
