"""Orders of set-valued records in which neighbours share most items (Xue et al. 2012, Section 4.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.base.ragged import Lists, Subsets
from shoal.kernels import differences, itemsets

SHORTEST, LONGEST = 300, 350
"""Minimum and maximum number of records of a segment, as in the paper."""
KICKS = 10
"""Number of times, for each record, that the search for a shorter path is perturbed."""
FINE = 1024
"""The weight of an item of a record that has no other."""


def gray_order(sets: Subsets) -> NDArray[np.int32]:
    """Return the records by the rank of their bitmaps in the Gray code, the first item as the highest bit."""
    return itemsets.gray_order(sets)


def gray_ranks(sets: Lists, width: int) -> NDArray[np.int64]:
    """Return the place of each set among the different ones in the Gray order; equal sets share theirs.

    Parameters
    ----------
    sets
        The items of each, ascending.
    width
        How many items there are.
    """
    numbers = sets.numbers()
    different = sets.gather(np.unique(numbers, return_index=True)[1])
    ranks = np.empty(len(different), dtype=np.int64)
    ranks[gray_order(Subsets(*different.arrays, width))] = np.arange(len(different))
    return ranks[numbers]


def short_order(sets: Subsets, *, kicks: int = KICKS) -> NDArray[np.int32]:
    """Return the records in the Gray order, improved within segments that are cut where that costs least.

    Parameters
    ----------
    sets
        The items of each record.
    kicks
        How long to search for a shorter path; time grows with it.
    """
    order = gray_order(sets)
    return shortened(sets, order, segments_of(sets, order), kicks=kicks)


def shortened(
    sets: Subsets, order: NDArray[np.int32], starts: NDArray[np.int32], *, kicks: int = KICKS
) -> NDArray[np.int32]:
    """Return an order with a shorter path through each segment, by local search; ends of segments stay.

    The paper uses a genetic algorithm. If all records have equally many items, the path is never longer than
    before in Hamming distances; otherwise each item counts by `error_weights`.

    Parameters
    ----------
    sets
        The items of each record.
    order
        The records in the order to improve.
    starts
        Where its segments begin.
    kicks
        How long to search for a shorter path.
    """
    return itemsets.shorten(sets, error_weights(sets), order, starts, kicks)


def segments_of(sets: Subsets, order: NDArray[np.integer[Any]]) -> NDArray[np.int32]:
    """Return where segments of an order begin, cut at the shortest steps (Equation 1).

    If segments of `SHORTEST` to `LONGEST` records are not possible, the minimum number of segments has about
    equal lengths.

    Parameters
    ----------
    sets, order
        The items of each record, and their order.
    """
    between = steps(sets, order)[:-1]
    starts = itemsets.breakpoints(between, SHORTEST, LONGEST)
    if len(starts):
        return starts
    fewest = -(-len(order) // LONGEST)
    return itemsets.breakpoints(between, len(order) // fewest, LONGEST)


def steps(sets: Subsets, order: NDArray[np.integer[Any]]) -> NDArray[np.int32]:
    """Return the Hamming distance from each record of a cyclic order to the next; the last to the first."""
    return differences(sets.arrays, sets.arrays, order, np.roll(order, -1))


def error_weights(sets: Subsets) -> NDArray[np.int32]:
    """Return the weight of a wrong item of each record: the fewer items it has, the more each counts.

    In proportion to 1 / items, as in the error rate. If all records have equally many items, only the number
    of wrong items counts.
    """
    sizes = np.maximum(np.diff(sets.starts), 1)
    return np.maximum(np.rint(FINE / sizes), 1).astype(np.int32)
