"""Groups of neighbouring values that begin at round ones, for kinds that lie on a scale."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Marks = Callable[[float, float], Iterator[tuple[float, str]]]
"""Yields round values from a lowest to a highest one, and how each is written."""


def round_starts(
    numbers: NDArray[np.float64], counts: NDArray[np.int64], least: int, marks: Marks
) -> Iterator[tuple[int, str]]:
    """Yield the codes at which groups may begin, and how the round values there are written.

    Parameters
    ----------
    numbers
        Where each value lies, ascending, without the missing one.
    counts
        How many records have each code.
    least
        The minimum number of records of a group.
    marks
        Where groups may begin.
    """
    # From where `least` records are below to where as many are above: no single record decides the steps.
    before = np.cumsum(counts[: len(numbers)])
    if not len(before) or before[-1] < 2 * least:
        return
    low, high = (float(numbers[np.searchsorted(before, at)]) for at in (least, before[-1] - least + 1))
    if low >= high:
        return
    for mark, name in marks(low, high):
        yield int(np.searchsorted(numbers, mark)), name


def span_labels(names: Sequence[str], last_before: Callable[[str], str], first: str, last: str) -> list[str]:
    """Return what groups are called that begin at these values; the first is before all of them.

    Parameters
    ----------
    names
        How the values are written at which groups begin.
    last_before
        Returns how a group ends that is followed by one that begins at a value.
    first, last
        What the outermost groups are called, with braces for a value.
    """
    if not names:
        return ["all"]
    inner = []
    for low, high in pairwise(names):
        end = last_before(high)
        inner.append(low if end == low else f"{low} to {end}")
    return [first.format(names[0]), *inner, last.format(names[-1])]
