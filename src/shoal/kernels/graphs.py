"""Regular graphs: the box tree that grows them, refinements, orders and random assignments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native
from shoal.kernels.geometry import Geometry, specs


@dataclass(frozen=True, eq=False)
class Matching:
    """Which record goes into which box, and what it took to find out.

    Parameters
    ----------
    box_of
        The box of each record, -1 for those that do not take part.
    exchanged
        Records whose box is not their own choice but that of an exchange at a dead end.
    dead_ends
        How many records found only boxes that have them already.
    queries, visited
        How many searches for a nearest box there were, and how many nodes of the tree they looked at.
    """

    box_of: NDArray[np.int32]
    exchanged: NDArray[np.int32]
    dead_ends: int
    queries: int
    visited: int


class BoxTree:
    """Boxes that grow around records, which of them takes in a record at the least extra cost, and the like.

    Records and boxes are numbered by their place in the tree; `order` tells which record stands where. Box i
    starts as the record at place i.

    Parameters
    ----------
    codes
        One row for each record, one column for each attribute.
    attributes
        What it costs to cover several codes.
    room
        How many records a box can take in, its own included.
    """

    def __init__(self, codes: NDArray[np.int32], attributes: Sequence[Geometry], room: int) -> None:
        self._tree = _native.BoxTree(codes, specs(attributes), room)
        self.order = self._tree.order()

    def members(self) -> NDArray[np.int32]:
        """Return the places of the records in each box, one row for each; all boxes have equally many."""
        return self._tree.members().reshape(len(self.order), -1)

    def add(self, boxes: NDArray[np.integer[Any]], records: NDArray[np.integer[Any]]) -> None:
        """Let each box take in a record."""
        self._tree.add(boxes.astype(np.int32), records.astype(np.int32))

    def set_members(self, members: NDArray[np.int32]) -> None:
        """Give each box other members, one row for each; the places of boxes and records stay."""
        self._tree.set_members(members)

    def set_limits(self, limits: NDArray[np.float64]) -> None:
        """Set below which extra cost each box may be found; infinite at first, a negative one hides it."""
        self._tree.set_limits(limits)

    def nearest_boxes(
        self, records: NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return for each record the box with the least extra cost that does not have it, and that cost.

        Only boxes whose limit is above the cost are found; -1 and infinity if there is none. On all cores.
        """
        return self._tree.nearest_boxes(records.astype(np.int32))

    def nearest_records(
        self, boxes: NDArray[np.integer[Any]], count: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return for each box the records that it takes in at the least extra cost, and that cost.

        One row for each box with `count` records, nearest first; members are passed over, and where there are
        too few others, -1 and infinity fill the row. On all cores.
        """
        records, costs = self._tree.nearest_records(boxes.astype(np.int32), count)
        return records.reshape(len(boxes), count), costs.reshape(len(boxes), count)

    def records_in(self, boxes: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return all records that each box covers, on all cores.

        Returns
        -------
        tuple
            ``starts, records``: those of the i-th box are ``records[starts[i]:starts[i + 1]]``, ascending.
        """
        return self._tree.records_in(boxes.astype(np.int32))

    def boxes_around(self, records: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return all boxes that cover each record, as `records_in` does, whatever their limits."""
        return self._tree.boxes_around(records.astype(np.int32))

    def delete_records(self, records: NDArray[np.integer[Any]]) -> None:
        """Let these records never be found again; boxes that have them keep them, and they may still ask."""
        self._tree.delete_records(records.astype(np.int32))

    def delete_boxes(self, boxes: NDArray[np.integer[Any]]) -> None:
        """Let these boxes never be found again; they may still ask."""
        self._tree.delete_boxes(boxes.astype(np.int32))

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
            How many equal records each place stands for.
        k
            The size of a crowd.
        horizon, steps
            How many of the nearest records are looked at, and how many decisions are tried out, for each. The
            more, the nearer the bound is to the cost of the cheapest such box; it is never above.
        """
        return self._tree.crowd_costs(records.astype(np.int32), copies.astype(np.int32), k, horizon, steps)

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
        return Matching(*self._tree.match_cheapest_first(*arrays))

    def match_cheapest_together(self, candidates: int) -> Matching:
        """Match all records and boxes, each with one that does not have it yet, at the least cost together.

        Parameters
        ----------
        candidates
            The number of nearest records that are looked at for each box, and the one that it gets when the
            cheapest pair goes first. Exact on these. It costs no more than those together.
        """
        return Matching(*self._tree.match_cheapest_together(candidates))

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
        return Matching(*self._tree.match_in_order(records.astype(np.int32), costless.astype(np.int32)))


class Diversification:
    """Rows that cover records and carry the labels of one each, and changes that make labels more varied.

    A record is violated if the labels of the rows that cover it are not as varied as is asked.

    Parameters
    ----------
    codes, attributes
        The records, and what it costs to cover several codes.
    graph
        The records that each row is made to cover; equally many for each row.
    sensitive
        Labels and number of different ones of each sensitive column.
    assignment
        The record of each row whose labels it carries; the row covers it.
    frequency_l, distinct, entropy
        What the rows that cover a record must have: no label above a share of 1 / `frequency_l`, different
        labels, entropy of the labels in nats. 0 is no demand.
    widest
        No row grows beyond this many records, unless nothing else helps.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        attributes: Sequence[Geometry],
        graph: NDArray[np.int32],
        sensitive: Sequence[tuple[NDArray[np.int32], int]],
        assignment: NDArray[np.int32],
        *,
        frequency_l: float = 0.0,
        distinct: int = 0,
        entropy: float = 0.0,
        widest: int,
    ) -> None:
        self._native = _native.Diversification(
            codes,
            specs(attributes),
            graph,
            sensitive,
            frequency_l,
            distinct,
            entropy,
            assignment,
            widest,
        )

    @property
    def violated(self) -> int:
        """How many records are."""
        return self._native.violated()

    @property
    def shortfall(self) -> float:
        """By how much, all equal records together: about how many labels too many or too few there are."""
        return self._native.shortfall()

    def swap(self) -> int:
        """Let rows that cover both their records swap them where that mends something; return how many did.

        Each swap lowers the shortfall.
        """
        return self._native.swap()

    def widen(self) -> int:
        """Mend each violated record by letting rows grow, as cheaply as that goes; return how many grew.

        Other records may be violated afterwards. Returns 0 only if no record is violated, or if every row
        covers each of those who are.
        """
        return self._native.widen()

    def grow(self, rows: NDArray[np.int32], records: NDArray[np.int32]) -> None:
        """Let each of some rows grow around a record."""
        self._native.grow(rows, records)

    @property
    def assignment(self) -> NDArray[np.int32]:
        """The record of each row."""
        return self._native.record_of()

    @property
    def grown(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Rows that grew, and around which records."""
        return self._native.grown()


class Reassignable:
    """A regular graph of rows and the records they cover, all of which can be assigned anew.

    Parameters
    ----------
    native
        The graph in the compiled core.
    shape
        Its rows, and how many records each covers.
    """

    def __init__(self, native: _native.Refinement | _native.SetGraph, shape: tuple[int, ...]) -> None:
        self._native, self._shape = native, shape

    def reassign(self, times: int, temperature: float = 0.0) -> int:
        """Let all rows give away a record and assign these anew at the least cost; return how many moved.

        Parameters
        ----------
        times
            How often.
        temperature
            How much costs are blurred. Above zero, the graph may cost more afterwards: so it leaves local
            minima.
        """
        return self._native.reassign(times, temperature)

    @property
    def cost(self) -> float:
        """The cost of all rows together."""
        return self._native.cost()

    @property
    def graph(self) -> NDArray[np.int32]:
        """The records of each row."""
        return self._native.members().reshape(self._shape)


class Refinement(Reassignable):
    """A regular graph of rows and the records they cover, and exchanges that lower its cost.

    Parameters
    ----------
    codes, attributes
        The records, and what it costs to cover several codes.
    graph
        The records of each row; every record is in as many rows as rows have records.
    key
        Four random words that all random choices follow from.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        attributes: Sequence[Geometry],
        graph: NDArray[np.int32],
        key: NDArray[np.uint64],
    ) -> None:
        self._refinement = _native.Refinement(codes, specs(attributes), graph, key)
        super().__init__(self._refinement, graph.shape)

    def exchange(self, foresight: float = 0.0) -> int:
        """Let each row try to exchange each of its records with another row; return how often two did.

        Parameters
        ----------
        foresight
            How much it counts what would become of a row without its outermost records, from 0 to 1. With 0,
            each exchange lowers the cost; with more, the cost may rise at first and fall further then.
        """
        return self._refinement.exchange(foresight)


class Ring:
    """A cyclic order of distinct records, and moves that lower the cost of its windows of k neighbours.

    Parameters
    ----------
    codes
        One row for each distinct record, in the order in which they stand at first.
    copies
        How many records each stands for; they always stand together.
    attributes
        What it costs to cover several codes.
    k
        How many neighbours are a window; at least 2, and there are as many records.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        copies: NDArray[np.integer[Any]],
        attributes: Sequence[Geometry],
        k: int,
    ) -> None:
        self._ring = _native.Ring(codes, copies.astype(np.int32), specs(attributes), k)

    @property
    def cost(self) -> float:
        """The cost of all windows together."""
        return self._ring.cost()

    @property
    def order(self) -> NDArray[np.int32]:
        """The distinct records as they stand, from the first of all."""
        return self._ring.order()

    def sweep(self) -> int:
        """Move each record to where it costs least, near by or, if it is dear, far away, on all cores.

        Returns how many moved. Each move lowers the cost; records around which nothing changed since the last
        sweep are left alone.
        """
        return self._ring.sweep()


def chain(
    codes: NDArray[np.int32],
    copies: NDArray[np.integer[Any]],
    elsewhere: NDArray[np.float64],
    attributes: Sequence[Geometry],
    k: int,
) -> NDArray[np.int32]:
    """Order distinct records so that each is the one that costs least next to those before it.

    Parameters
    ----------
    codes
        One row for each distinct record.
    copies
        How many records each stands for; they stand together.
    elsewhere
        What each is expected to cost elsewhere; it is taken off its cost.
    attributes
        What it costs to cover several codes.
    k
        Cost is what a record adds to the last record, the last two, ..., the last k - 1, all summed.

    Returns
    -------
    NDArray
        The numbers of the records, in order.
    """
    return _native.chain(
        codes,
        copies.astype(np.int32),
        elsewhere,
        specs(attributes),
        k,
    )


def cheapest_assignment(
    starts: NDArray[np.int64], columns: NDArray[np.int32], costs: NDArray[np.float64], count: int
) -> NDArray[np.int32]:
    """Assign all rows to columns at the least sum of costs, where each row can take only some of them.

    Parameters
    ----------
    starts
        Row i can take ``columns[starts[i]:starts[i + 1]]``, at these `costs`; one entry more than rows.
    columns, costs
        No column twice in a row.
    count
        How many columns there are.

    Returns
    -------
    NDArray
        The column of each row. If not all can have one, as many as possible do, at any cost; -1 for others.
    """
    return _native.cheapest_assignment(
        starts,
        columns,
        costs,
        count,
    )


@dataclass(frozen=True, eq=False)
class Walked:
    """An assignment and the work it took.

    Parameters
    ----------
    assignment
        The record that each box gets; empty if it was given up.
    steps
        Edges looked at and steps back of all walks, those for the assignments before included.
    assigned
        How many records got a box, in all these assignments together.
    """

    assignment: NDArray[np.int32]
    steps: int
    assigned: int


def walk(members: NDArray[np.int32], which: int, key: NDArray[np.uint64]) -> Walked:
    """Return one of the disjoint assignments that random walks decompose a regular graph into.

    O(n log n) expected for each assignment.

    Parameters
    ----------
    members
        The records of each box, one row for each; every record lies in as many boxes as boxes have records.
    which
        The number of the assignment, from 0.
    key
        Four random words that all random choices follow from.
    """
    return Walked(*_native.walk(members, which, key))
