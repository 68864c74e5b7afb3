"""The box tree: boxes that grow around records, and how it matches both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native
from shoal.kernels.geometry import Geometry, given


@dataclass(frozen=True, eq=False)
class Matching:
    """Which record goes into which box, and what it took to find out.

    Parameters
    ----------
    box_of
        The box of each record, -1 for those that do not take part.
    exchanged
        Records that got their box by an exchange at a dead end.
    dead_ends
        Number of records that found only boxes that have them already.
    queries, visited
        Number of searches for a nearest box, and of nodes of the tree that they visited.
    """

    box_of: NDArray[np.int32]
    exchanged: NDArray[np.int32]
    dead_ends: int
    queries: int
    visited: int


class PricedCrowds(NamedTuple):
    """The best crowd of each record where records have prices; see native/trees/priced_crowd.hpp.

    Parameters
    ----------
    least
        A lower bound of what any crowd costs, minus the prices of its records.
    found
        The same of the best crowd that was found; equal to the bound if the search was not ended early.
    """

    least: NDArray[np.float64]
    found: NDArray[np.float64]


class BoxTree:
    """Boxes that grow around records, and searches, as for the box with the least extra cost for a record.

    Records and boxes are numbered by their place in the tree; `order` tells which record stands where. Box i
    starts as the record at place i.

    Parameters
    ----------
    codes
        One row for each record, one column for each attribute.
    attributes
        What it costs to cover several codes.
    room
        Maximum number of records in a box, its own included.
    owners
        The person of each record, if persons have several: a box that has a record of a person never takes in
        another one of hers. There may be no matching then, and records are left without a box (-1).
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        attributes: Sequence[Geometry],
        room: int,
        owners: NDArray[np.int32] | None = None,
    ) -> None:
        self.native = _native.BoxTree(codes, attributes, room, given(owners))
        self.order = self.native.order()

    def members(self) -> NDArray[np.int32]:
        """Return the places of the records in each box, one row for each; all boxes have equally many."""
        return self.native.members().reshape(len(self.order), -1)

    def add(self, boxes: NDArray[np.integer[Any]], records: NDArray[np.integer[Any]]) -> None:
        """Let each box take in a record."""
        self.native.add(boxes.astype(np.int32), records.astype(np.int32))

    def set_members(self, members: NDArray[np.int32]) -> None:
        """Give each box other members, one row for each; the places of boxes and records stay."""
        self.native.set_members(members)

    def set_limits(self, limits: NDArray[np.float64]) -> None:
        """Set below which extra cost each box may be found; infinite at first, a negative one hides it."""
        self.native.set_limits(limits)

    def nearest_boxes(
        self, records: NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return for each record the box with the least extra cost that does not have it, and that cost.

        Only boxes whose limit is above the cost are found; -1 and infinity if there is none. On all cores.
        """
        return self.native.nearest_boxes(records.astype(np.int32))

    def nearest_records(
        self, boxes: NDArray[np.integer[Any]], count: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return for each box the records that it takes in at the least extra cost, and that cost.

        One row for each box with `count` records, nearest first; members are passed over, and where there are
        too few others, -1 and infinity fill the row. On all cores.
        """
        records, costs = self.native.nearest_records(boxes.astype(np.int32), count)
        return records.reshape(len(boxes), count), costs.reshape(len(boxes), count)

    def records_in(self, boxes: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return all records that each box covers, on all cores.

        Returns
        -------
        tuple
            ``starts, records``: those of the i-th box are ``records[starts[i]:starts[i + 1]]``, ascending.
        """
        return self.native.records_in(boxes.astype(np.int32))

    def boxes_around(self, records: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return all boxes that cover each record, as `records_in` does, whatever their limits."""
        return self.native.boxes_around(records.astype(np.int32))

    def delete_records(self, records: NDArray[np.integer[Any]]) -> None:
        """Let these records never be found again; boxes that have them keep them, and they may still ask."""
        self.native.delete_records(records.astype(np.int32))

    def delete_boxes(self, boxes: NDArray[np.integer[Any]]) -> None:
        """Let these boxes never be found again; they may still ask."""
        self.native.delete_boxes(boxes.astype(np.int32))

    def crowd_costs(
        self,
        records: NDArray[np.integer[Any]],
        copies: NDArray[np.integer[Any]],
        k: int,
        *,
        horizon: int,
        steps: int,
    ) -> NDArray[np.float64]:
        """Return for each record what any box costs at least that covers it and k - 1 others, on all cores.

        For a tree of different records whose boxes have not grown.

        Parameters
        ----------
        records
            Who asks.
        copies
            Number of equal records at each place.
        k
            The size of a crowd.
        horizon, steps
            How many of the nearest records are looked at, and how many decisions are tried out, for each. The
            more, the nearer the bound is to the cost of the cheapest such box; it is never above.
        """
        return self.native.crowd_costs(records.astype(np.int32), copies.astype(np.int32), k, horizon, steps)

    def priced_crowds(
        self,
        records: NDArray[np.integer[Any]],
        copies: NDArray[np.integer[Any]],
        prices: NDArray[np.float64],
        k: int,
        *,
        steps: int,
        tolerance: float = 0.0,
    ) -> PricedCrowds:
        """Return for each record what a box that covers it and k - 1 others costs, minus their prices.

        For a tree of different records whose boxes have not grown. On all cores.

        Parameters
        ----------
        records
            Who asks.
        copies, prices
            Number of equal records at each place, and the price of each of them.
        k
            The size of a crowd; at most all records together.
        steps
            How many decisions are tried out for each.
        tolerance
            A search ends when its bound is no more than this below the best crowd that it found.
        """
        asked, counted = records.astype(np.int32), copies.astype(np.int32)
        return PricedCrowds(*self.native.priced_crowds(asked, counted, prices, k, steps, tolerance))

    def match_cheapest_first(
        self,
        records: NDArray[np.integer[Any]],
        boxes: NDArray[np.integer[Any]],
        settled: tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]] | None = None,
    ) -> Matching:
        """Match records and as many boxes that do not have them yet, cheapest pair first, on all cores.

        Parameters
        ----------
        records, boxes
            Who is to be matched.
        settled
            Pairs of records and boxes that cost nothing and are taken beforehand; only where a record would
            be left without a box are they undone.
        """
        before = settled or (np.empty(0, np.int32), np.empty(0, np.int32))
        arrays = [array.astype(np.int32) for array in (records, boxes, *before)]
        return Matching(*self.native.match_cheapest_first(*arrays))

    def match_cheapest_together(self, candidates: int) -> Matching:
        """Match all records and boxes, each with one that does not have it yet, at the least total cost.

        Parameters
        ----------
        candidates
            The number of nearest records that are looked at for each box, and the one that it gets when the
            cheapest pair goes first. Exact on these. It costs no more than those together.
        """
        return Matching(*self.native.match_cheapest_together(candidates))

    def match_rows(self, others: BoxTree) -> NDArray[np.int32]:
        """Match the boxes, all with equally many members, with others that they can take in at little cost.

        Parameters
        ----------
        others
            A tree over the same records with the boxes to be taken in; may be the same tree.

        Returns
        -------
        NDArray
            The box that each box takes in: one with other members, of other persons, and each once. Empty if
            no such matching was found.
        """
        return self.native.match_rows(others.native)

    def match_in_order(
        self, records: NDArray[np.integer[Any]], costless: NDArray[np.integer[Any]]
    ) -> Matching:
        """Let one record after the other take the cheapest box that is still free and does not have it yet.

        Parameters
        ----------
        records
            All of them, in the order in which they choose.
        costless
            For each of these a box that costs it nothing, which it takes without a search if it is still
            free; -1 if none is known.
        """
        return Matching(*self.native.match_in_order(records.astype(np.int32), costless.astype(np.int32)))
