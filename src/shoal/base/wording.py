"""Figures as people read them: shares, numbers, counts."""

from __future__ import annotations


def percent(share: float) -> str:
    """Return a share as readers expect it: 12%, 1.2%, 0.12%, never 0% for something, 100% for not all."""
    if 0.995 <= share < 1:
        return "more than 99%"
    for digits, least in ((0, 0.1), (1, 0.01), (2, 0.0001)):
        if share >= least:
            return f"{100 * share:.{digits}f}%"
    return "0%" if share == 0 else "less than 0.01%"


def number(value: float) -> str:
    """Return a number as readers expect it: digits in groups of three, three figures after the start."""
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def plural(count: int, one: str) -> str:
    """Return a count and the noun for it, in the plural unless the count is 1."""
    return f"{count:,} {one}{'s' * (count != 1)}"


def with_article(word: str) -> str:
    """Return the name of a kind with "a" or "an" before it."""
    return f"{'an' if word.startswith(('a', 'e', 'i', 'o', 'u', 'hour')) else 'a'} {word}"
