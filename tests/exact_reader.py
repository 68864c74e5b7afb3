"""A reader of releases that never rounds: fractions alone, written anew, and nothing of Shoal in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

Interval = tuple[Fraction, Fraction]
_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")


def fraction(text: str) -> Fraction:
    """Return the number that a text is, exactly."""
    found = _NUMBER.fullmatch(text.strip())
    assert found is not None, text
    sign, whole, part, power = found.groups()
    digits = (whole or "") + (part or "")
    assert digits, text
    value = Fraction(int(digits)) * Fraction(10) ** (int(power or 0) - len(part or ""))
    return -value if sign == "-" else value


def original(text: str | None) -> Fraction | None:
    """Return the number in a cell of the original; None if it is missing."""
    return None if text is None or text == "" else fraction(text)


def covers(cell: str | None, value: Fraction | None) -> bool:
    """Return whether a released cell, as Shoal writes it, contains a value."""
    if cell == "*":
        return True
    if cell is None or cell == "":
        return value is None
    low, _, high = cell.partition("..")
    return value is not None and fraction(low) <= value <= fraction(high or low)


def meaning(cell: str | None) -> object:
    """Return the same for two cells that mean the same."""
    if cell is None or cell in ("", "*"):
        return cell or ""
    low, _, high = cell.partition("..")
    return fraction(low), fraction(high or low)


def fits(
    records: Sequence[Sequence[str | None]], rows: Sequence[Sequence[str | None]]
) -> tuple[list[int], list[int]]:
    """Return how many rows cover each record, and how many records each row covers.

    Parameters
    ----------
    records, rows
        The original and the release, row by row.
    """
    values = [[original(cell) for cell in record] for record in records]
    pairs = [[all(map(covers, row, value)) for row in rows] for value in values]
    return [sum(each) for each in pairs], [sum(each) for each in zip(*pairs, strict=True)]


def levels(records: Sequence[Sequence[str | None]], rows: Sequence[Sequence[str | None]]) -> dict[str, int]:
    """Return the levels of a release of numbers that an exact reader counts.

    Parameters
    ----------
    records, rows
        The original and the release, row by row.
    """
    of_record, of_row = fits(records, rows)
    return {
        "k": min(Counter(tuple(map(meaning, row)) for row in rows).values()),
        "rows_per_record": min(of_record),
        "records_per_row": min(of_row),
    }
