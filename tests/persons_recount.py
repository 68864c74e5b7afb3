"""Persons counted again by plain code: every record against every row, from the two tables as texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Cells = Mapping[str, Sequence[str]]
"""The columns of a table as texts, by name."""


@dataclass(frozen=True)
class Broken:
    """For whom each point of the guarantee is broken, k being the number of persons.

    Parameters
    ----------
    rows
        Rows that cover records of fewer than k persons (point 1).
    exposed
        Persons with fewer than k times as many rows around any of their records as records (point 2).
    told
        Records around which more than 1 in k rows carry records of the same person (point 3).
    owned
        Persons who have more than 1 in k rows of a class, or are in one of fewer than k persons (point 4).
    """

    rows: set[int]
    exposed: set[str]
    told: set[int]
    owned: set[str]


def recount(
    original: Cells, released: Cells, quasi: Sequence[str], person: str, key: Sequence[int], k: int
) -> Broken:
    """Return for whom the guarantee of k persons is broken.

    Parameters
    ----------
    original, released
        The tables as texts; the original has a column of persons.
    quasi
        The names of the quasi-identifiers.
    person
        The name of the column of persons.
    key
        The record of each row, from 0.
    k
        The number of persons.
    """
    who = original[person]
    records = list(zip(*(original[name] for name in quasi), strict=True))
    rows = list(zip(*(released[name] for name in quasi), strict=True))
    around = [
        [row for row, cells in enumerate(rows) if all(map(covers, cells, record))] for record in records
    ]
    inside: list[set[str]] = [set() for _ in rows]
    for record, found in enumerate(around):
        for row in found:
            inside[row].add(who[record])
    kept = Counter(who[record] for record in key)
    union: dict[str, set[int]] = {each: set() for each in kept}
    for record, found in enumerate(around):
        if who[record] in union:
            union[who[record]].update(found)
    told = {
        record
        for record, found in enumerate(around)
        if sum(who[key[row]] == who[record] for row in found) * k > len(found)
    }
    classes: dict[tuple[str, ...], list[str]] = {}
    for row, cells in enumerate(rows):
        classes.setdefault(cells, []).append(who[key[row]])
    owned = {
        name
        for members in classes.values()
        for name, often in Counter(members).items()
        if often * k > len(members) or len(set(members)) < k
    }
    return Broken(
        {row for row, persons in enumerate(inside) if len(persons) < k},
        {name for name, rows_around in union.items() if len(rows_around) < k * kept[name]},
        told,
        owned,
    )


def covers(cell: str, value: str) -> bool:
    """Return whether a cell, as it is written, covers a value: numbers, and categories without signs."""
    if cell in ("*", value):
        return True
    if ".." in cell:
        low, high = cell.split("..")
        return float(low) <= float(value) <= float(high)
    return value in cell.split("|")
