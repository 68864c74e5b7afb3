"""m-invariance (Xiao and Tao 2007): classes change, the set of sensitive values around a person does not.

A class has one row for each value of its *signature*, a set of at least m sensitive values. A person keeps
her signature in all releases. Where a class lacks a value, a made-up row (a counterfeit) shows it.

Example: with m = 2, Ann (flu) and Bob (gout) are a class. When Bob has left, Ann needs another patient with
gout: a new one, or a counterfeit.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Signature = frozenset[str]
Row = tuple[int | None, str]
"""The person of a row (none for a counterfeit), and its sensitive value."""


@dataclass(frozen=True)
class Patients:
    """The persons of a table.

    Parameters
    ----------
    values
        The sensitive value of each person.
    places
        The quasi-identifiers of each person, as numbers from 0 to 1.
    """

    values: Mapping[int, str]
    places: Mapping[int, NDArray[np.float64]]


def m_invariant(now: Patients, earlier: Sequence[Sequence[Row]], m: int) -> list[list[Row]]:
    """Return the classes of the next release.

    Parameters
    ----------
    now
        The persons of the table.
    earlier
        The classes of the release before; none for the first.
    m
        The least number of values of a signature.
    """
    before = {
        person: frozenset(value for _, value in rows)
        for rows in earlier
        for person, _ in rows
        if person is not None
    }
    buckets: dict[Signature, list[Row]] = defaultdict(list)
    waiting: dict[str, list[int]] = defaultdict(list)
    for person, value in now.values.items():
        if person in before:
            buckets[before[person]].append((person, value))
        else:
            waiting[value].append(person)
    for signature, rows in buckets.items():
        _balance(signature, rows, waiting, m)
    _assign(buckets, waiting, m)
    return [part for signature, rows in buckets.items() for part in _split(signature, rows, now)]


def _eligible(counts: Mapping[str, int], m: int) -> bool:
    """Return whether persons with these values can be divided into classes with m different values each."""
    return max(counts.values(), default=0) * m <= sum(counts.values())


def _balance(signature: Signature, rows: list[Row], waiting: dict[str, list[int]], m: int) -> None:
    """Give each value of a signature equally many rows, by new persons if enough others remain."""
    have = Counter(value for _, value in rows)
    most = max(have.values())
    for value in sorted(signature):
        for _ in range(most - have[value]):
            counts = {each: len(persons) for each, persons in waiting.items()}
            if counts.get(value, 0) and _eligible({**counts, value: counts[value] - 1}, m):
                rows.append((waiting[value].pop(), value))
            else:
                rows.append((None, value))


def _assign(buckets: dict[Signature, list[Row]], waiting: dict[str, list[int]], m: int) -> None:
    """Put the other new persons into buckets: as many as possible of the most frequent values at once."""
    while any(waiting.values()):
        counts = {value: len(persons) for value, persons in waiting.items() if persons}
        values = sorted(counts, key=lambda value: (-counts[value], value))
        chosen, many = _largest(values, counts, m)
        bucket = buckets[frozenset(chosen)]
        bucket.extend((waiting[value].pop(), value) for value in chosen for _ in range(many))


def _largest(values: Sequence[str], counts: Mapping[str, int], m: int) -> tuple[Sequence[str], int]:
    """Return the values of a bucket, and how many persons with each the bucket gets."""
    for size in range(m, len(values) + 1):
        chosen = values[:size]
        for many in range(counts[chosen[-1]], 0, -1):
            if _eligible({value: counts[value] - many * (value in chosen) for value in values}, m):
                return chosen, many
    raise ValueError(f"one of {m} new persons or more has the same sensitive value")


def _split(signature: Signature, rows: list[Row], now: Patients) -> list[list[Row]]:
    """Divide a bucket into classes with one row for each value, in halves along the widest column."""
    lists = {value: [person for person, each in rows if each == value] for value in sorted(signature)}
    size = len(next(iter(lists.values())))
    found = np.array([now.places[person] for person, _ in rows if person is not None])
    if not len(found):
        return []  # counterfeits alone protect no person
    if size == 1:
        return [[(persons[0], value) for value, persons in lists.items()]]
    column = int(np.argmax(found.max(axis=0) - found.min(axis=0)))

    def place(person: int | None) -> float:
        return 2.0 if person is None else float(now.places[person][column])

    halves: tuple[list[Row], list[Row]] = ([], [])
    for value, persons in lists.items():
        for n, person in enumerate(sorted(persons, key=place)):
            halves[n >= size // 2].append((person, value))
    return [part for half in halves for part in _split(signature, half, now)]
