"""Many numbers as few: each once, and how often it occurs; for facts of blocks that are merged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Often = NDArray[np.int64] | None
"""How often each number of an array counts; None for once each."""


def tally(numbers: NDArray[Any], often: Often = None) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the numbers of an array, each once and ascending, and how often each occurs."""
    values, place = np.unique(numbers, return_inverse=True)
    return values, np.bincount(place, often, len(values)).astype(np.int64)


def merged(parts: Iterable[tuple[NDArray[Any], Often]]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the tally of several arrays together."""
    tallies = [tally(numbers, often) for numbers, often in parts]
    return tally(np.concatenate([n for n, _ in tallies]), np.concatenate([often for _, often in tallies]))


def total(those: NDArray[np.bool_], often: Often = None) -> int:
    """Return how many numbers those are."""
    return int(those.sum() if often is None else often[those].sum())
