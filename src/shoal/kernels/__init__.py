"""The only door to native code: typed functions over the compiled core, which trusts its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native

RANGE, SET, TREE = 0, 1, 2
"""Kinds of attribute, as native/space.hpp numbers them."""


@dataclass(frozen=True, eq=False)
class Geometry:
    """What it costs to cover several codes of one attribute; see native/space.hpp.

    Parameters
    ----------
    kind
        `RANGE`, `SET` or `TREE`.
    weight
        How much the attribute counts; the weights of a table sum to 1.
    size
        How many codes there are.
    table
        The position of each code (range), the number of possible values (set), or the cost of the lowest
        common ancestor of each code and the next (tree).
    """

    kind: int
    weight: float
    size: int
    table: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals of the codes 0..size-1, both ends included."""

    size: int
    low: NDArray[np.int32]
    high: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Subsets:
    """Subsets of the codes 0..size-1: the i-th is members[starts[i]:starts[i + 1]], ascending."""

    size: int
    starts: NDArray[np.int64]
    members: NDArray[np.int32]


def group_rows(codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Group equal rows of a matrix.

    Parameters
    ----------
    codes
        One row for each record.

    Returns
    -------
    tuple
        The group of each row, numbered in order of first appearance, and the first row of each group.
        O(rows x columns) expected.
    """
    return _native.group_rows(np.ascontiguousarray(codes, dtype=np.int32))


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
        self._tree = _native.BoxTree(codes, _specs(attributes), room)
        self.order = self._tree.order()

    def members(self) -> NDArray[np.int32]:
        """Return the places of the records in each box, one row for each; all boxes have equally many."""
        return self._tree.members().reshape(len(self.order), -1)

    def add(self, boxes: NDArray[np.integer[Any]], records: NDArray[np.integer[Any]]) -> None:
        """Let each box take in a record."""
        self._tree.add(boxes.astype(np.int32), records.astype(np.int32))

    def set_members(self, members: NDArray[np.int32]) -> None:
        """Give each box other members, one row for each; the places of boxes and records stay."""
        self._tree.set_members(np.ascontiguousarray(members, dtype=np.int32))

    def set_limits(self, limits: NDArray[np.float64]) -> None:
        """Set below which extra cost each box may be found; infinite at first, a negative one hides it."""
        self._tree.set_limits(np.ascontiguousarray(limits))

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
            So many of its nearest records are looked at for each box, and the one that it gets when the
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
        No row grows beyond so many records, unless nothing else helps.
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
        columns = [(np.ascontiguousarray(values), size) for values, size in sensitive]
        self._native = _native.Diversification(
            codes,
            _specs(attributes),
            np.ascontiguousarray(graph, dtype=np.int32),
            columns,
            frequency_l,
            distinct,
            entropy,
            np.ascontiguousarray(assignment, dtype=np.int32),
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

        Other records may be violated afterwards. Returns 0 only if nobody is violated, or if every row
        covers each of those who are.
        """
        return self._native.widen()

    def grow(self, rows: NDArray[np.int32], records: NDArray[np.int32]) -> None:
        """Let each of some rows grow around a record."""
        self._native.grow(
            np.ascontiguousarray(rows, dtype=np.int32), np.ascontiguousarray(records, dtype=np.int32)
        )

    @property
    def assignment(self) -> NDArray[np.int32]:
        """The record of each row."""
        return self._native.record_of()

    @property
    def grown(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Rows that grew, and around which records."""
        return self._native.grown()


@dataclass(frozen=True, eq=False)
class Matched:
    """Copies of records matched with copies of boxes.

    Parameters
    ----------
    records, boxes
        The pairs; one may occur several times.
    copies
        How many copies of each pair's record are matched with copies of its box.
    phases, searches, visited
        The work it took: rounds of augmenting paths, searches in trees, nodes they looked at.
    """

    records: NDArray[np.int32]
    boxes: NDArray[np.int32]
    copies: NDArray[np.int64]
    phases: int = 0
    searches: int = 0
    visited: int = 0


class ConsistencyGraph:
    """Records and boxes, and an edge wherever a record lies in a box; the edges are never listed.

    Parameters
    ----------
    records
        The codes of each distinct record.
    record_copies
        How many records each stands for.
    boxes
        For each distinct box and attribute, the number of a generalized value.
    box_copies
        How many released rows each stands for.
    attributes
        The generalized values of each attribute.
    """

    def __init__(
        self,
        records: NDArray[np.int32],
        record_copies: NDArray[np.int64],
        boxes: NDArray[np.int32],
        box_copies: NDArray[np.int64],
        attributes: Sequence[Intervals | Subsets],
    ) -> None:
        none32, none64 = np.empty(0, np.int32), np.empty(0, np.int64)
        specs = [
            (False, a.size, np.ascontiguousarray(a.low), np.ascontiguousarray(a.high), none64, none32)
            if isinstance(a, Intervals)
            else (
                *(True, a.size, none32, none32),
                *(np.ascontiguousarray(a.starts), np.ascontiguousarray(a.members)),
            )
            for a in attributes
        ]
        self._graph = _native.ConsistencyGraph(
            np.ascontiguousarray(records),
            np.ascontiguousarray(record_copies),
            np.ascontiguousarray(boxes),
            np.ascontiguousarray(box_copies),
            specs,
        )

    def count(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how many copies of boxes contain each record, and of records lie in each box; all cores."""
        return self._graph.count()

    def count_labels(self, labels: NDArray[np.int32], size: int) -> LabelCounts:
        """Count the labels of the boxes around each record, see the function of that name; on all cores."""
        return LabelCounts(*self._graph.count_labels(np.ascontiguousarray(labels), size))

    def boxes_around(self, records: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the boxes that contain each of some records, in no particular order; on all cores.

        Returns
        -------
        tuple
            The boxes around the i-th record are ``boxes[starts[i]:starts[i + 1]]``: `starts` and `boxes`.
        """
        return self._graph.boxes_around(np.ascontiguousarray(records, dtype=np.int32))

    def maximum_matching(self, start: Matched | None = None) -> Matched:
        """Match as many copies of records with copies of boxes around them as possible.

        Parameters
        ----------
        start
            Pairs to start from; those that are no edge, or more than there are copies, are left out.
        """
        before = start or Matched(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64))
        return Matched(*self._graph.maximum_matching(before.records, before.boxes, before.copies))

    def components(self, maximum: Matched) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the component of each record and of each box, 0, 1, 2, ..., given a maximum matching.

        Some maximum matching uses an edge if and only if its ends are in the same component. No record lies
        in a box of a component with a lower number than its own.
        """
        return self._graph.components(maximum.records, maximum.boxes, maximum.copies)

    def stretches(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """Return all edges, by stretches of an order of the records; all cores.

        Returns
        -------
        tuple
            The record at each place of the order; where the stretches of each box start, and their number;
            the first place of each stretch, and the one after its last.
        """
        return self._graph.stretches()


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Boxes and the records in them, which are stretches of an order of the records.

    Parameters
    ----------
    record_copies, box_copies
        How many each record, by its place in the order, and each box stands for.
    starts
        Where the stretches of each box start, and how many stretches there are.
    begins, ends
        The first place of each stretch, and the one after its last; ascending and apart for each box.
    """

    record_copies: NDArray[np.int64]
    box_copies: NDArray[np.int64]
    starts: NDArray[np.int64]
    begins: NDArray[np.int32]
    ends: NDArray[np.int32]

    @property
    def _arrays(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        return self.record_copies, self.box_copies, self.starts, self.begins, self.ends


@dataclass(frozen=True, eq=False)
class Parts:
    """Boxes of some components: those of the i-th are boxes[starts[i]:starts[i + 1]].

    All records in them belong to the component, which has as many copies of records as of boxes.
    """

    starts: NDArray[np.int64]
    boxes: NDArray[np.int32]


def exact_links(
    graph: Neighbourhoods, components: Parts
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Return how many copies of a record have a copy of a box, on average over all perfect matchings.

    Parameters
    ----------
    graph
        The boxes and the records in them.
    components
        Those to look at. For each, the product of copies + 1 over its records or over its boxes must be small
        enough to count so far, and the number of those to the power of its copies a floating-point number.

    Returns
    -------
    tuple
        The record, by its place, and the box of each pair that some perfect matching uses, and the average.
    """
    return _native.exact_links(graph._arrays, (components.starts, components.boxes))


class MatchingChains:
    """Markov chains over the perfect matchings of some components, each matching equally likely in the end.

    Parameters
    ----------
    graph
        The boxes and the records in them.
    components
        Those to look at.
    chains
        How many chains each component has.
    key
        Four random words for each chain of each component.
    """

    def __init__(
        self, graph: Neighbourhoods, components: Parts, chains: int, key: NDArray[np.uint64]
    ) -> None:
        self._chains = chains
        self._native = _native.MatchingChains(
            graph._arrays, (components.starts, components.boxes), chains, key
        )

    def run(
        self, components: NDArray[np.int32], walks: int, seconds: float
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.bool_], int]:
        """Let each chain of some components make closed walks, on all cores.

        Parameters
        ----------
        components
            Their numbers.
        walks
            How many closed walks.
        seconds
            When to give up.

        Returns
        -------
        tuple
            The record, by its place, and the box of each pair that was seen on these walks, and for each
            chain how many copies of the record had one of the box, on average; for each component whether all
            its chains were in time (else nothing of it is there); the number of steps of all walks.
        """
        records, boxes, shares, complete, steps = self._native.run(components, walks, seconds)
        return records, boxes, shares.reshape(-1, self._chains), complete.astype(np.bool_), steps


class Refinement:
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
        self._shape = graph.shape
        self._refinement = _native.Refinement(codes, _specs(attributes), np.ascontiguousarray(graph), key)

    def exchange(self, foresight: float = 0.0) -> int:
        """Let each row try to exchange each of its records with another row; return how often two did.

        Parameters
        ----------
        foresight
            How much it counts what would become of a row without its outermost records, from 0 to 1. With 0,
            each exchange lowers the cost; with more, the cost may rise at first and fall further then.
        """
        return self._refinement.exchange(foresight)

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
        return self._refinement.reassign(times, temperature)

    @property
    def cost(self) -> float:
        """The cost of all rows together."""
        return self._refinement.cost()

    @property
    def graph(self) -> NDArray[np.int32]:
        """The records of each row."""
        return self._refinement.members().reshape(self._shape)


class Classes:
    """Classes of at least k records, and moves between them that lower their cost.

    Parameters
    ----------
    codes, attributes
        The records, and what it costs to cover several codes.
    class_of
        The class of each record, numbered 0, 1, 2, ...; near classes should have near numbers, or the search
        takes long.
    k
        How many records a class has at least.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        attributes: Sequence[Geometry],
        class_of: NDArray[np.integer[Any]],
        k: int,
    ) -> None:
        self._classes = _native.Classes(
            np.ascontiguousarray(codes), _specs(attributes), class_of.astype(np.int32), k
        )

    @property
    def cost(self) -> float:
        """The cost of all classes, each times its size."""
        return self._classes.cost()

    @property
    def class_of(self) -> NDArray[np.int32]:
        """The class of each record."""
        return self._classes.class_of()

    def sweep(self) -> int:
        """Let each record go to another class, or change places with a record there, if that saves anything.

        Returns how many did. Each lowers the cost; only the few classes that fit a record best are looked at.
        """
        return self._classes.sweep()


class Closeness:
    """Which values are close to each other, without a table of all pairs; see native/closeness.hpp."""

    def __init__(self, native: _native.Closeness, size: int) -> None:
        self._native = native
        self._size = size

    def __len__(self) -> int:
        """Return how many values there are."""
        return self._size

    @classmethod
    def ranked(cls, ways: Sequence[tuple[NDArray[np.integer[Any]], ...]]) -> Closeness:
        """Return the closeness of values that are near in one of several ways.

        Parameters
        ----------
        ways
            In each of them, the rank of each value, and the lowest and the highest rank that is near to it.
        """
        specs = [tuple(np.ascontiguousarray(array, dtype=np.int32) for array in way) for way in ways]
        return cls(_native.Closeness(cast(Any, specs)), len(ways[0][0]))

    @classmethod
    def norm(cls, components: Sequence[Component], power: float, limit: float) -> Closeness:
        """Return the closeness of values whose weighted norm is at most the limit."""
        specs = [
            (c.kind, c.weight, c.diameter, np.ascontiguousarray(c.numbers), np.ascontiguousarray(c.steps))
            for c in components
        ]
        return cls(_native.Closeness(specs, power, limit), len(components[0].numbers))

    @classmethod
    def listed(cls, close: NDArray[np.uint8], size: int) -> Closeness:
        """Return the closeness that a matrix of bits lists; each row has whole bytes, low bits first."""
        return cls(_native.Closeness(np.ascontiguousarray(close).ravel(), size), size)

    def degrees(self, counts: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Return how many others are close to one of each value, if so many have each. On all cores.

        In proportion to the pairs of values.
        """
        return self._native.degrees(np.ascontiguousarray(counts, dtype=np.int64))

    def near(self, values: NDArray[np.integer[Any]], counts: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Return how many of each class are close to each of some values, those with the value included.

        Parameters
        ----------
        values
            The values, each once.
        counts
            How many of each class have each of them, a row for each class.
        """
        rows = np.ascontiguousarray(counts, dtype=np.int64)
        return self._native.near(values.astype(np.int32), rows.ravel()).reshape(rows.shape)


@dataclass(frozen=True, eq=False)
class Component:
    """One component of a norm, in which values differ by a share from 0 to 1.

    Parameters
    ----------
    kind
        `RANGE`: by the difference of their numbers, as a share of the diameter; NaN is the missing value.
        `TREE`: by the dearest step between their places. `SET`: wholly, if their numbers differ.
    weight
        How much it counts.
    diameter
        What no difference exceeds.
    numbers
        One for each value.
    steps
        In a tree, what it costs from each place to the next.
    """

    kind: int
    weight: float
    diameter: float
    numbers: NDArray[np.float64]
    steps: NDArray[np.float64]


class Coloring:
    """Classes in which no record may have too many neighbours: records whose sensitive value is close to its.

    Parameters
    ----------
    codes, attributes
        The records, and what it costs to cover several codes.
    class_of
        The class of each record, numbered 0, 1, 2, ...; near classes should have near numbers. Classes keep
        their sizes.
    closeness
        Which sensitive values are close to each other.
    values
        The sensitive value of each record.
    allowed
        How many neighbours a record of each class may have there.
    """

    LOSS, POTENTIAL, CAREFUL, EXCESS = range(4)
    """What exchanges are made for, as native/coloring.hpp numbers it."""

    def __init__(
        self,
        codes: NDArray[np.int32],
        attributes: Sequence[Geometry],
        class_of: NDArray[np.integer[Any]],
        closeness: Closeness,
        values: NDArray[np.int32],
        allowed: NDArray[np.integer[Any]],
    ) -> None:
        self._coloring = _native.Coloring(
            np.ascontiguousarray(codes),
            _specs(attributes),
            class_of.astype(np.int32),
            closeness._native,
            np.ascontiguousarray(values, dtype=np.int32),
            allowed.astype(np.int32),
        )

    @property
    def cost(self) -> float:
        """The cost of all classes, each times its size."""
        return self._coloring.cost()

    @property
    def class_of(self) -> NDArray[np.int32]:
        """The class of each record."""
        return self._coloring.class_of()

    @property
    def neighbours(self) -> NDArray[np.int32]:
        """How many neighbours each record has in its class."""
        return self._coloring.neighbours()

    @property
    def potential(self) -> int:
        """How many pairs of neighbours are in the same class."""
        return self._coloring.potential()

    @property
    def excess(self) -> int:
        """How many neighbours too many there are, over all records."""
        return self._coloring.excess()

    def mend(self, goal: int, few: int, *, cycles: bool = False, most: int = 1 << 62) -> int:
        """Exchange records that have too many neighbours, as long as that serves the goal.

        First the record whose class saves most without it, and each in the way that loses least.

        Parameters
        ----------
        goal
            `POTENTIAL`: there are fewer pairs of neighbours, and the record goes where it does not have too
            many. `CAREFUL`: the same, but it may take the place of a neighbour, and the excess falls.
            `EXCESS`: the excess falls.
        few
            At how many classes to look, those that fit a record best; at more if none is found, at last at
            all, unless that was in vain many times in a row.
        cycles
            Whether to look also at cycles of three records, among the few classes.
        most
            So many exchanges are made at most.

        Returns
        -------
        int
            How many were made.
        """
        return self._coloring.mend(goal, few, cycles, most)

    def sweep(self, few: int, *, cycles: bool = False) -> int:
        """Go once through all records and exchange those that make classes cheaper; the excess never grows.

        Parameters
        ----------
        few
            At how many classes to look, those that fit a record best.
        cycles
            Whether to look also at cycles of three records, where no pair was found.

        Returns
        -------
        int
            How many exchanges were made. On all cores.
        """
        return self._coloring.sweep(few, cycles)

    def part(self, classes: NDArray[np.integer[Any]], few: int) -> int:
        """Make each of these classes show what no other does, by the exchange that costs least.

        Classes that do so already stay as they are; the other one then shows what it did, or nothing that
        others do. The excess never grows. Looks at the few classes that fit best first; returns how many were
        changed.
        """
        return self._coloring.part(classes.astype(np.int32), few)


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
        self._ring = _native.Ring(np.ascontiguousarray(codes), copies.astype(np.int32), _specs(attributes), k)

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
        np.ascontiguousarray(codes),
        copies.astype(np.int32),
        np.ascontiguousarray(elsewhere),
        _specs(attributes),
        k,
    )


def cut(codes: NDArray[np.int32], attributes: Sequence[Geometry], k: int) -> NDArray[np.int32]:
    """Cut a row of at least k records into classes of k to 2 k - 1 neighbours that cost least together.

    Parameters
    ----------
    codes
        One row for each record, in order.
    attributes
        What it costs to cover several codes.
    k
        How many records a class has at least.

    Returns
    -------
    NDArray
        Where each class begins. No other cuts of this order cost less; O(records x k).
    """
    return _native.cut(np.ascontiguousarray(codes), _specs(attributes), k)


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
        np.ascontiguousarray(starts, dtype=np.int64),
        np.ascontiguousarray(columns, dtype=np.int32),
        np.ascontiguousarray(costs, dtype=np.float64),
        count,
    )


def random_assignment(members: NDArray[np.int32], which: int, key: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return one of the disjoint assignments that random walks decompose a regular graph into.

    Parameters
    ----------
    members
        The records of each box, one row for each; every record lies in as many boxes as boxes have records.
    which
        The number of the assignment, from 0.
    key
        Four random words that all random choices follow from.

    Returns
    -------
    NDArray
        The record that each box gets. O(n log n) expected for each assignment.
    """
    return walk(members, which, key).assignment


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


def walk(
    members: NDArray[np.int32],
    which: int,
    key: NDArray[np.uint64],
    *,
    backtracking: bool = False,
    seconds: float = 0.0,
) -> Walked:
    """Return what `random_assignment` does, with the work it took, or what walks do that backtrack.

    Parameters
    ----------
    members, which, key
        As for `random_assignment`.
    backtracking
        Whether a walk must not come twice to a record and takes steps back instead, O(k n^2) at worst.
    seconds
        After how long to give up, if backtracking; 0 is never.
    """
    return Walked(*_native.walk(np.ascontiguousarray(members), which, key, backtracking, seconds))


def mondrian(
    codes: NDArray[np.int32],
    attributes: Sequence[Geometry],
    sensitive: Sequence[tuple[NDArray[np.int32], int]],
    *,
    k: int,
    frequency_l: float = 0.0,
    distinct: int = 0,
    entropy: float = 0.0,
    relaxed: bool = False,
) -> NDArray[np.int32]:
    """Cut a table into classes of at least k neighbouring records, on all cores.

    Parameters
    ----------
    codes
        One row for each record, one column for each attribute.
    attributes
        What it costs to cover several codes.
    sensitive
        Codes and number of different values of each sensitive column.
    k, frequency_l, distinct, entropy
        What each class must have: records, no sensitive value above a share of 1 / `frequency_l`, different
        sensitive values, entropy of the sensitive values in nats. 0 is no demand.
    relaxed
        Whether records with the same value may be divided.

    Returns
    -------
    NDArray
        The class of each record, numbered 0, 1, 2, ...
    """
    columns = [(np.ascontiguousarray(values), size) for values, size in sensitive]
    return _native.mondrian(codes, _specs(attributes), columns, k, frequency_l, distinct, entropy, relaxed)


def count_consistent(
    records: NDArray[np.int32],
    record_copies: NDArray[np.int64],
    boxes: NDArray[np.int32],
    box_copies: NDArray[np.int64],
    attributes: Sequence[Intervals | Subsets],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count which records lie in which boxes, both ways, without listing the pairs, on all cores.

    Parameters
    ----------
    records, record_copies, boxes, box_copies, attributes
        As for `ConsistencyGraph`.

    Returns
    -------
    tuple
        How many released rows contain each record, and how many records lie in each box.
    """
    return ConsistencyGraph(records, record_copies, boxes, box_copies, attributes).count()


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """What labels the boxes around each record have.

    Parameters
    ----------
    boxes
        How many boxes contain each record, with their copies.
    most
        How many of them have their most frequent label.
    distinct
        How many different labels they have.
    logs
        The sum of c log c over these labels, where c boxes have each.
    """

    boxes: NDArray[np.int64]
    most: NDArray[np.int64]
    distinct: NDArray[np.int64]
    logs: NDArray[np.float64]


def count_labels(
    records: NDArray[np.int32],
    boxes: NDArray[np.int32],
    box_copies: NDArray[np.int64],
    attributes: Sequence[Intervals | Subsets],
    labels: NDArray[np.int32],
    size: int,
) -> LabelCounts:
    """Count the labels of the boxes that contain each record, without listing the pairs, on all cores.

    Takes as much work as `count_consistent`, however many labels there are.

    Parameters
    ----------
    records, boxes, box_copies, attributes
        As for `count_consistent`; equal boxes with different labels are listed apart.
    labels
        The label of each box.
    size
        How many labels there are, at least 1.
    """
    graph = ConsistencyGraph(records, np.ones(len(records), dtype=np.int64), boxes, box_copies, attributes)
    return graph.count_labels(labels, size)


def _specs(attributes: Sequence[Geometry]) -> list[tuple[int, float, int, NDArray[np.float64]]]:
    """Return attributes as native code takes them."""
    return [(a.kind, a.weight, a.size, np.ascontiguousarray(a.table)) for a in attributes]
