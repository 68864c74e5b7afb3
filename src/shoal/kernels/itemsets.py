"""Native code for sets of items: orders of them, graphs, and what is published of several together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.base.ragged import Subsets
from shoal.kernels import _native
from shoal.kernels.graphs import Reassignable


def gray_order(sets: Subsets) -> NDArray[np.int32]:
    """Return the sets by the rank of their bitmaps in the Gray code, with item 0 as the highest bit.

    Equal sets stand together, by their numbers. O(n log n) comparisons.
    """
    return _native.gray_order(spec_of(sets))


def breakpoints(steps: NDArray[np.int32], shortest: int, longest: int) -> NDArray[np.int32]:
    """Return where segments of an order begin, so that the steps between them are the shortest together.

    Parameters
    ----------
    steps
        The distance from each record to the next one.
    shortest, longest
        How many records a segment has at least and at most.

    Returns
    -------
    NDArray
        Empty if there are no such segments. O(n (longest - shortest)).
    """
    return _native.breakpoints(steps, shortest, longest)


def shorten(
    sets: Subsets,
    weights: NDArray[np.int32],
    order: NDArray[np.integer[Any]],
    starts: NDArray[np.int32],
    kicks: int,
) -> NDArray[np.int32]:
    """Return an order with shorter steps, in which records stay within their segments; on all cores.

    Parameters
    ----------
    sets, weights
        The sets, and how much an item counts in each; in a step each item counts that only one of both has,
        as much as it does there.
    order
        Their numbers, in the order to improve.
    starts
        Where segments begin there. The first and the last record of a segment stay where they are.
    kicks
        How often, for each record, a piece of the way is put in disorder and improved again.
    """
    return _native.shorten(spec_of(sets), weights, order.astype(np.int32), starts, kicks)


@dataclass(frozen=True, eq=False)
class Voted:
    """What is published of the records of each row.

    Parameters
    ----------
    base
        The items that more than half of the row's records have, and every other one of those that exactly
        half of them have.
    uncertain
        The items that some of them have and others do not.
    distances
        From the base to each record, by row and in the order in which the records are given.
    """

    base: Subsets
    uncertain: Subsets
    distances: NDArray[np.int32]


def vote(sets: Subsets, starts: NDArray[np.int64], records: NDArray[np.int32]) -> Voted:
    """Let the records of each row vote on each item, on all cores.

    Parameters
    ----------
    sets
        The items of each record.
    starts, records
        The records of row i are ``records[starts[i]:starts[i + 1]]``, at least one.
    """
    base_starts, base, uncertain_starts, uncertain, distances = _native.vote(spec_of(sets), starts, records)
    return Voted(
        Subsets(base_starts, base, sets.size), Subsets(uncertain_starts, uncertain, sets.size), distances
    )


def near_sets(
    sets: Subsets,
    weights: NDArray[np.int32],
    orders: Sequence[NDArray[np.integer[Any]]],
    count: int,
    rounds: int,
) -> NDArray[np.int32]:
    """Return for each set others at a small weighted distance, nearest first; on all cores.

    Parameters
    ----------
    sets, weights
        More than `count` sets, and how much an item counts in each, as for `shorten`.
    orders
        In which near sets stand together. At least one.
    count
        How many others, for each.
    rounds
        How often each looks at the neighbours of its neighbours. Up to 4,096 sets are compared all with all
        instead, and the result is exact.
    """
    stacked = np.stack([order.astype(np.int32) for order in orders])
    return _native.near_sets(spec_of(sets), weights, stacked, count, rounds).reshape(-1, count)


class SetGraph(Reassignable):
    """A regular graph of rows and the sets they cover; it costs what rows publish wrongly of each record.

    Parameters
    ----------
    sets, weights
        The items of each record, and how much it counts if one is published wrongly.
    graph
        The records of each row; every record is in as many rows as rows have records.
    neighbours
        Records near each record, equally many for each.
    key
        Four random words that all random choices follow from.
    labels
        What rows carry besides, or None. No record comes to stand in two rows with the same label, unless it
        does so from the beginning, and the first record of each row stays.
    in_places
        Whether records, the first of each row as well, only change places with records at the same place in
        rows with the same label instead. At each place, each record is in one row.
    """

    def __init__(
        self,
        sets: Subsets,
        weights: NDArray[np.int32],
        graph: NDArray[np.int32],
        neighbours: NDArray[np.int32],
        key: NDArray[np.uint64],
        labels: NDArray[np.integer[Any]] | None = None,
        *,
        in_places: bool = False,
    ) -> None:
        carried = np.empty(0, np.int32) if labels is None else labels.astype(np.int32)
        native = _native.SetGraph(spec_of(sets), weights, graph, neighbours, carried, in_places, key)
        super().__init__(native, graph.shape)


def mix(
    graph: NDArray[np.int32],
    assignment: NDArray[np.int32],
    labels: NDArray[np.integer[Any]],
    steps: int,
    key: NDArray[np.uint64],
) -> NDArray[np.int32]:
    """Return another assignment, at random, in which each record stands in rows with different labels.

    Parameters
    ----------
    graph
        The records of each row; every record is in as many rows as rows have records.
    assignment
        The record of each row; it carries the label of that one. All records stand in rows with different
        labels.
    labels
        The label of each record.
    steps
        How often rows try to pass on their records; each step is as likely as its reverse.
    key
        Four random words that all random choices follow from.
    """
    return _native.mix(graph, assignment, labels.astype(np.int32), steps, key)


def cut_where_diverse(
    labels: NDArray[np.integer[Any]], ends: NDArray[np.integer[Any]], different: int
) -> NDArray[np.int64]:
    """Return where an order is cut into the shortest stretches with no label more frequent than 1 / l.

    Parameters
    ----------
    labels
        The label of each record, in the order. None is more frequent than 1 / l.
    ends
        Where stretches may end, ascending; the last one is the number of records.
    different
        The number l.

    Returns
    -------
    NDArray
        0, and where each stretch ends. The last one takes in those before it until no label is more frequent
        than 1 / l. O(n).
    """
    return _native.cut_where_diverse(labels.astype(np.int32), ends.astype(np.int64), different)


def varied_groups(labels: NDArray[np.integer[Any]], different: int, window: int) -> NDArray[np.int32]:
    """Return groups of l records that are near in an order, with different labels in every column.

    Parameters
    ----------
    labels
        The labels of each record in the order, one column for each sort.
    different
        The number of records of a group, l.
    window
        The number of records after its first one that a group tries. A record that is left over joins the
        first group this near that has none of its labels, otherwise the first one this near.

    Returns
    -------
    NDArray
        The group of each record in the order; all are in group 0 if there is no group. O(n window).
    """
    return _native.varied_groups(np.ascontiguousarray(labels, dtype=np.int32), different, window)


def spec_of(sets: Subsets) -> tuple[NDArray[np.int64], NDArray[np.int32], int]:
    """Return sets of items as native code takes them."""
    return sets.starts, sets.values, sets.size
