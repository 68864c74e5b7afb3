"""Answers in words, the same on the command line and on the page."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import TYPE_CHECKING, Any

from shoal.reading.questions import read_question

if TYPE_CHECKING:
    from shoal.reading.answers import Answer
    from shoal.reading.reader import Reader

GROUPED = ("95% interval", "certain", "possible")
"""The headings of a table of answers, after the groups and the estimate."""
MOST_PLACES = 6
"""Numbers have at most this many digits after the point."""


def facts(answer: Answer) -> list[tuple[str, str]]:
    """Return an answer as names and what there is to say about them."""
    low, high = answer.interval
    return [
        ("estimate", f"{answer.estimate:,.4g}" if abs(answer.estimate) < 1e4 else f"{answer.estimate:,.0f}"),
        ("95% interval", _interval(low, high)),
        ("certain", f"{answer.certain:,} rows"),
        ("possible", f"{answer.possible:,} rows"),
    ]


def asked(reader: Reader, question: str, mean: str | None) -> Answer:
    """Return the answer to a question as people write it; see `read_question`."""
    conditions = read_question(question, reader.columns)
    return reader.count(conditions) if mean is None else reader.mean(mean, conditions)


def grouped(reader: Reader, question: str, names: Sequence[str], mean: str | None) -> list[dict[str, Any]]:
    """Return the answers to a question for each group, as plain data."""
    conditions = read_question(question, reader.columns)
    groups: list[dict[str, Any]] = reader.table(names, conditions, mean=mean, flavour="polars").to_dicts()
    return groups


def group_table(
    groups: Sequence[dict[str, Any]], names: Sequence[str], mean: str | None
) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the lines of a table of answers."""
    head = [*names, "rows" if mean is None else f"mean of {mean}", *GROUPED]
    # Columns of numbers have a group for missing values, even if there are none.
    there = [group for group in groups if group["possible"] or all(group[name] != "" for name in names)]
    return head, [_line(group, names) for group in there]


def _line(group: dict[str, Any], names: Sequence[str]) -> list[str]:
    labels = ["(missing)" if group[name] == "" else str(group[name]) for name in names]
    if group["estimate"] is None:
        return [*labels, "", "", f"{group['certain']:,}", f"{group['possible']:,}"]
    low, high = group["low"], group["high"]
    estimate = f"{group['estimate']:,.{max(_places(low, high), 1)}f}"
    return [*labels, estimate, _interval(low, high), f"{group['certain']:,}", f"{group['possible']:,}"]


def _interval(low: float, high: float) -> str:
    places = _places(low, high)
    return f"{low:,.{places}f} to {high:,.{places}f}"


def _places(low: float, high: float) -> int:
    """Return how many digits after the point show the ends of an interval apart.

    The ends of the interval of a count are whole numbers.
    """
    if float(low).is_integer() and float(high).is_integer():
        return 0
    width = high - low
    return min(max(-floor(log10(width)), 1), MOST_PLACES) if width > 0 else 1
