"""Orders of set-valued records in which neighbours share most items (Xue et al. 2012, Section 4.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import Subsets, itemsets

SHORTEST, LONGEST = 300, 350
"""Records of a segment, at least and at most, as in the paper."""
FINE = 1024
"""The weight of an item of a record that has no other."""
KICKS = 10
"""How often, for each record, the search for a shorter way starts anew."""


def gray_order(sets: Subsets) -> NDArray[np.int32]:
    """Return the records by the rank of their bitmaps in the Gray code, the first item as the highest bit."""
    return itemsets.gray_order(sets)


def short_order(
    sets: Subsets, *, shortest: int = SHORTEST, longest: int = LONGEST, kicks: int = KICKS
) -> NDArray[np.int32]:
    """Return the records in the Gray order, improved within segments that are cut where that costs least.

    The way through a segment is shortened by a local search, where the paper has a genetic algorithm; its
    ends stay. The steps of the result are never longer together than those of the Gray order.

    Parameters
    ----------
    sets
        The items of each record.
    shortest, longest
        Records of a segment. Where they cannot make up all records, segments may be shorter.
    kicks
        How hard to look for a shorter way; time grows with it.
    """
    order = gray_order(sets)
    if len(order) < 2:
        return order
    starts = segments(steps(sets, order)[:-1], shortest, longest)
    return itemsets.shorten(sets, error_weights(sets), order, starts, kicks)


def error_weights(sets: Subsets) -> NDArray[np.int32]:
    """Return how much it counts if an item of a record is published wrongly: the fewer it has, the more.

    In proportion to 1 / items, as the error rate counts it. Where all records have equally many, nothing but
    the number of wrong items counts.
    """
    sizes = np.maximum(np.diff(sets.starts), 1)
    return np.maximum(np.rint(FINE / sizes), 1).astype(np.int32)


def segments(between: NDArray[np.int32], shortest: int, longest: int) -> NDArray[np.int32]:
    """Return where segments of an order begin, cut at the shortest steps (Equation 1).

    Parameters
    ----------
    between
        The distance from each record to the next one.
    shortest, longest
        How many records a segment has. If records cannot be divided so, as few segments as there can be are
        about equally long.
    """
    starts = itemsets.breakpoints(between, shortest, longest)
    if len(starts):
        return starts
    records = len(between) + 1
    return itemsets.breakpoints(between, records // -(-records // longest), longest)


def steps(sets: Subsets, order: NDArray[np.integer[Any]]) -> NDArray[np.int32]:
    """Return the Hamming distance from each record of a cyclic order to the next; the last to the first."""
    return itemsets.hamming(sets, order, np.roll(order, -1))
