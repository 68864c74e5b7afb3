"""Random tables for campaigns: columns of every kind, in plain terms and as Shoal takes them."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from oracle import undiverse
from oracle_reading import Plain, Sheet

from shoal import Column, Hierarchy, Intervals, Kind, Missing, Prefixes, Role, Schema

Draw = random.Random

NASTY = (
    "a b", "a|b", "|", "\\", "\\\\", "*", "**", "\\*", ".", "..", "a..b", "1..2", "[1, 2)", "{a, b}",
    "a,b", 'say "a"',
    "'", "a\nb", "a\r\nb", "a\tb", " a", "a ", " ", "é", "e\u0301", "日本", "😀", "\u200b", "\ufeffa",
    "=1+1", "-", "nan",
    "None", "null", "NULL", "true", "0", "00", "1e5", "a;b", "#", "<b>", "A", "a", "B", "ß", "\u017f",
    "x" * 300, "\u202ea",
    "../a", "%s", "{0}", "$a", "`", "a\u2028b", "a\x0bb", "\x1f", "\u00a0", "0x1F", "1,5", "NaN",
    "inf", "?", "N/A",
)  # fmt: skip
"""Labels that are easily mistaken for something else when they are read or written."""

NUMBERS = (
    ("0", "1", "2", "3", "50"),
    ("-3", "-2", "0", "7", "7.0", "7.00", "+7"),
    ("0.1", "0.2", "0.3", "0.30000000000000004", "0.1000000000000000055511151231257827"),
    ("12345678901234567890", "12345678901234567891", "12345678901234567890.5", "-1e30", "1E30"),
    ("9007199254740992", "9007199254740993", "9007199254740994", "9007199254740993.0"),
    ("1e-300", "-1e-300", "0", "-0", "0.0", "1e300"),
    (" 5", "5 ", "5.", ".5", "05", "5e0", "0.05e2"),
    ("9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551616"),
    ("0.00001", "0.000010", "1e-5", "100000", "1e5", "123456.789"),
)
"""Numbers as they are written, with several spellings of one."""

DAYS = ("2024-02-29", "2024-03-01", "1999-12-31", "0001-01-01", "9999-12-31", "1970-01-01", "2024-02-28")
TIMES = (
    "2024-02-29T23:59:59",
    "2024-02-29 00:00:00",
    "2024-03-01T00:00",
    "2024-02-28T12:30:00.5",
    "2024-02-29",
)
ZONES = ("2024-02-29T23:30:00Z", "2024-03-01T00:30:00+01:00", "2024-02-28T12:00:00-05:00")
FORMS = {
    "%d.%m.%Y": "%d.%m.%Y",
    "%m/%d/%Y": "%m/%d/%Y",
    "%d.%m.%Y %H:%M": "%d.%m.%Y %H:%M",
    "%Y%m%d": "%Y%m%d",
}
SPELLINGS = {
    "flu": "flu", "Flu ": "flu", "ﬂu": "flu", "fl\u200bu": "flu", "gout": "gout", "GOUT": "gout",
    "burn": "burn",
    "cold": "cold", "straße": "strasse", "STRASSE": "strasse", "e\u0301": "é", "É": "é",
}  # fmt: skip
"""Spellings of sensitive values, and what each stands for."""

CHAINS = (
    (("a", "ab", "top"), ("b", "ab", "top"), ("c", "top"), ("*", "c*", "top"), ("d", "c*", "top")),
    (("a", "x", "y"), ("b", "x", "y"), ("c", "z"), ("*", "z")),
    (("02138", "0213*", "021**", "*"), ("02139", "0213*", "021**", "*"), ("02141", "0214*", "021**", "*")),
    (("a|b", "a,b"), ("\\", "a,b"), ("..", "a..b"), (" ", "a..b")),
    (("1", "1"), ("2", "2 or 3"), ("3", "2 or 3")),
)
NAMES = (
    "age", "a b", "a|b", "a;b", "a,b", 'say "a"', "a\nb", "*", "é", "日本", "a.b", "a..b", "#",
    "a\tb", "items", "value", "0",
    "A", "a", "a_uncertain", "a_max_errors", "low", "high", "k", "class", "index",
    "__index_level_0__", "%s", "{0}", "=a",
    "\\", "'", "level_0", "column_1", "literal", "len", "x" * 200, "a:b", "$a", "\u017f", "s",
)  # fmt: skip
"""Names of columns that are easily mistaken for something else."""

SORTS = (
    "numeric",
    "numeric",
    "date",
    "ordinal",
    "categorical",
    "categorical",
    "tree",
    "intervals",
    "prefixes",
)


NUMBERED = "number of the record"
"""A column that is carried along: it says which record each row carries."""


@dataclass(frozen=True)
class Drawn:
    """A column: in plain terms, as Shoal takes it, and the texts that its cells may have."""

    plain: Plain
    column: Column
    pool: tuple[str, ...]


def some(draw: Draw, values: Sequence[Any], most: int) -> list[Any]:
    """Return up to `most` different values."""
    return draw.sample(list(values), draw.randint(1, min(most, len(values))))


def quasi_column(draw: Draw, name: str, sort: str) -> Drawn:
    """Draw a quasi-identifier."""
    plain = Plain(name, "quasi", sort)
    column = Column(name, Role.QUASI, weight=draw.choice([1.0, 1.0, 0.5, 3.0]))
    match sort:
        case "numeric":
            pool = some(draw, draw.choice(NUMBERS), 5)
            column = replace(column, kind=Kind.NUMERIC)
        case "date":
            form = draw.choice([None, None, *FORMS])
            source = draw.choice([DAYS, TIMES, ZONES]) if form is None else DAYS
            pool = some(draw, source, 4)
            if form is not None:
                days = [datetime.datetime.fromisoformat(text) for text in pool if text >= "1900"]
                pool = [(each or datetime.datetime(2024, 1, 1)).strftime(form) for each in days or [None]]
            plain, column = replace(plain, form=form), replace(column, kind=Kind.DATE, date_format=form)
        case "ordinal":
            order = tuple(dict.fromkeys(draw.sample(NASTY, 4)))
            pool = some(draw, order, 4)
            plain, column = replace(plain, order=order), replace(column, kind=Kind.ORDINAL, domain=order)
        case "tree":
            chains = draw.choice(CHAINS)
            pool = some(draw, [chain[0] for chain in chains], 4)
            plain = replace(plain, chains=chains)
            column = replace(column, hierarchy=Hierarchy.from_levels(chains))
        case "intervals":
            pool = some(draw, ["0", "1", "4.9", "5", "9", "10", "-0.1", "-5", "39", "40", "1e2"], 5)
            rule = Intervals(*draw.choice([((5.0,), 0.0), ((5.0, 10.0), 30.0), ((0.1, 0.5, 40.0), 0.05)]))
            column = replace(column, kind=Kind.NUMERIC, hierarchy=rule)
        case "prefixes":
            pool = some(draw, ["0", "01", "012", "0123", "0124", "1", "11", "é1", "日本", "a b", "a|b"], 5)
            column = replace(column, hierarchy=Prefixes(draw.choice([(1,), (2, 1), (3,), (4, 2)])))
        case "items":
            names = some(draw, ["x", "y", "z", "\\", "*", "a|b", "é", "x\\", "a,b", "1"], 4)
            separator = draw.choice([None, ";", "|"])
            if separator == "|":
                names = [each for each in names if "|" not in each] or ["x"]
            between = " " if separator is None else separator
            pool = [between.join(some(draw, names, 3)) for _ in range(4)]
            plain = replace(plain, separator=separator)
            column = replace(column, kind=Kind.ITEMS, separator=separator)
        case _:
            pool = some(draw, NASTY, 5)
            if draw.random() < 0.2:
                column = replace(column, domain=tuple(draw.sample(pool, len(pool))))
    return with_missing(draw, Drawn(plain, column, tuple(pool)))


def with_missing(draw: Draw, drawn: Drawn) -> Drawn:
    """Let values of a column be missing, now and then."""
    if draw.random() < 0.7:
        return drawn
    marks = ("?!",) if draw.random() < 0.5 and drawn.plain.kind != "items" else ()
    policy = draw.choice(["category"] * 12 + ["suppress"] * 7 + ["error"])
    return Drawn(
        replace(drawn.plain, missing=policy, marks=marks),
        replace(drawn.column, missing=Missing(policy), missing_marks=marks),
        (*drawn.pool, "", *marks),
    )


def sensitive_column(draw: Draw, name: str) -> Drawn:
    """Draw a sensitive column."""
    if draw.random() < 0.3:
        pool = tuple(some(draw, ["0", "1", "2", "10", "10.0", "-3.5", "1e1"], 5))
        same = {"10.0": "10", "1e1": "10"}
        plain = Plain(name, "sensitive", "numeric", same=same)
        return with_missing(draw, Drawn(plain, Column(name, Role.SENSITIVE, Kind.NUMERIC), pool))
    pool = tuple(draw.sample(list(SPELLINGS), draw.randint(2, 6)))
    normalize = draw.random() < 0.7
    plain = Plain(name, "sensitive", same=SPELLINGS if normalize else {})
    return with_missing(draw, Drawn(plain, Column(name, Role.SENSITIVE, normalize=normalize), pool))


def person_column(draw: Draw, records: int) -> Drawn:
    """Draw the column that says whose record each is."""
    pool = tuple(f"P{number}" for number in range(max(2, records - draw.randint(0, records // 2))))
    spelled = tuple(each for name in pool for each in (name, f"{name.lower()} "))
    same = {each: each.strip().upper() for each in spelled}
    plain = Plain("person", "person", same=same)
    return Drawn(plain, Column("person", Role.PERSON), spelled if draw.random() < 0.3 else pool)


def numbered_column() -> Drawn:
    """Return the column that says which record each row carries."""
    return Drawn(Plain(NUMBERED, "other"), Column(NUMBERED), ("",))


def sheet_of(draw: Draw, columns: Sequence[Drawn], records: int) -> Sheet:
    """Draw the cells: with copies of records, now and then, and sensitive values about equally frequent."""
    even = draw.random() < 0.6
    cells: dict[str, list[str]] = {each.plain.name: [] for each in columns}
    for number in range(records):
        copied = draw.randrange(number) if number and draw.random() < 0.15 else None
        for each in columns:
            texts = cells[each.plain.name]
            if each.plain.role == "sensitive" and even:
                texts.append(each.pool[number % len(each.pool)])
            elif copied is not None and each.plain.role == "quasi":
                texts.append(texts[copied])
            else:
                texts.append(draw.choice(each.pool))
    for each in columns:
        if each.plain.role == "sensitive" and even:
            draw.shuffle(cells[each.plain.name])
        if each.plain.role == "person" and draw.random() < 0.5:  # each person about equally often
            often = draw.randint(1, 3)
            cells[each.plain.name] = [
                each.pool[number // often % len(each.pool)] for number in range(records)
            ]
            draw.shuffle(cells[each.plain.name])
        if each.plain.name == NUMBERED:
            cells[NUMBERED] = [str(number) for number in range(records)]
    return Sheet(tuple(each.plain for each in columns), cells)


def schema_of(columns: Sequence[Drawn]) -> Schema:
    """Return what Shoal is told about the columns."""
    return Schema(tuple(each.column for each in columns))


def renamed(draw: Draw, columns: Sequence[Drawn]) -> list[Drawn]:
    """Give columns other names, which no other column has; the numbers of the records keep theirs."""
    names = draw.sample(NAMES, len(columns))
    return [
        each
        if each.plain.name == NUMBERED
        else Drawn(replace(each.plain, name=name), replace(each.column, name=name), each.pool)
        for each, name in zip(columns, names, strict=True)
    ]


def possible(sheet: Sheet, model: str, asked: Mapping[str, Any]) -> bool | None:
    """Return whether a release exists: decided by the table as one crowd; None where that does not decide."""
    if "population" in asked:
        return None
    n = len(sheet.kept)
    k = asked.get("k", asked.get("l"))
    if sheet.owners is not None and max(map(sheet.owners.count, sheet.owners)) * k > n:
        return False
    if model == "patterned" and (asked.get("leftovers", "suppress") != "suppress" or asked.get("never")):
        return None
    if model == "dissimilarity" or asked.get("withhold"):
        return None
    limits = {"l": asked["l"]} if model == "set-diversity" else asked
    secrets = [sheet.secrets(column) for column in sheet.having("sensitive")]
    return not any(list(undiverse(Counter(values), limits)) for values in secrets)
