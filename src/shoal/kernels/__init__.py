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


class OwnRows:
    """Rows that generalize one record each and grow around others (Tassa, Mazza and Gionis 2012).

    Row i is made for record i. Whoever has a turn in an order is given by the number of the record.

    Parameters
    ----------
    codes, attributes
        The records, and what it costs to cover several codes.
    room
        How many records rows are going to be made of at first.
    entropies
        If rows are to be measured by the entropy of the values in them: for each attribute how often each
        code occurs; of a tree, the entropy below the lowest common ancestor of each code and the next.
    withheld
        Records without a row.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        attributes: Sequence[Geometry],
        room: int,
        *,
        entropies: Sequence[NDArray[np.float64]] = (),
        withheld: NDArray[np.integer[Any]] | None = None,
    ) -> None:
        tables = [np.ascontiguousarray(table, dtype=np.float64) for table in entropies]
        without = np.empty(0, np.int32) if withheld is None else withheld.astype(np.int32)
        # Rows that have once been drawn at random may have to be made larger by one record.
        self._rows = _native.OwnRows(codes, _specs(attributes), tables, without, room + 1)
        self._order = self._rows.order()
        self._place = np.empty_like(self._order)
        self._place[self._order] = np.arange(len(self._order), dtype=np.int32)

    @property
    def members(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The records around which each row is the smallest box, its own first.

        Those of row i are ``records[starts[i]:starts[i + 1]]``: `starts` and `records`.
        """
        starts, places = self._rows.members()
        sizes = np.diff(starts)[self._place]
        ends = np.cumsum(sizes)
        which = np.arange(len(places)) - np.repeat(ends - sizes - starts[self._place], sizes)
        return np.concatenate(([0], ends)), self._order[places[which]]

    def expand(self, k: int) -> None:
        """Let each row take in the record that costs it least until it covers k (Algorithm 2); all cores."""
        self._rows.expand(k)

    def expand_at_random(self, k: int, keys: NDArray[np.uint64]) -> None:
        """Let rows take in records as `expand` does, or k - 1 of the 2 (k - 1) nearest (Algorithm 6).

        Parameters
        ----------
        k
            How many records a row is made of.
        keys
            Four random words for each row: they decide which of the two, and which records.
        """
        self._rows.expand_at_random(k, np.ascontiguousarray(keys))

    def expand_from_several(self, k: int, starts: int, keys: NDArray[np.uint64] | None = None) -> None:
        """Let rows take in records as `expand` does, but several times, and keep what costs least.

        Parameters
        ----------
        k
            How many records a row covers.
        starts
            So many of its nearest records come first in turn.
        keys
            Four random words for each row, if a coin decides for each whether it is the best or one of the
            next best.
        """
        words = np.empty(0, np.uint64) if keys is None else np.ascontiguousarray(keys)
        self._rows.expand_from_several(k, starts, words)

    def cover(self, order: NDArray[np.integer[Any]], k: int) -> int:
        """Let rows grow around one record after the other until k rows cover it (Algorithm 3).

        A record without a row of its own may also be covered by none. Returns how many rows grew.
        """
        return self._rows.cover(self._place[order], k)

    def begin_tightening(self, k: int, *, keep_cores: bool) -> None:
        """Take rows as they are now for their cores, before they grow further or are tightened.

        Parameters
        ----------
        k
            So many records rows cover, and by so many rows records are to be covered.
        keep_cores
            Whether rows have to stay around the records that they are made of now.
        """
        self._rows.begin_tightening(k, keep_cores)

    def cover_dearest_first(self, widest: int) -> None:
        """Let rows grow until k of them cover each record: first those whose own rows cost most.

        Parameters
        ----------
        widest
            Rows that cover so many records grow only if there is no other.
        """
        self._rows.cover_dearest_first(widest)

    def relieve(self, order: NDArray[np.integer[Any]], together: int, widest: int) -> float:
        """Let one row after the other leave to others what these take for less; return what was saved.

        Each record that was covered by k rows still is, and each row still covers k records.

        Parameters
        ----------
        order
            In which order rows have their turns.
        together
            So many rows that are near each other try that at once.
        widest
            As for `cover_dearest_first`.
        """
        return self._rows.relieve(self._place[order], together, widest)

    def join(self, components: NDArray[np.integer[Any]] | None) -> None:
        """Say who is in a crowd from now on.

        Parameters
        ----------
        components
            For each record and its row a component 0, 1, 2, ...: only rows of the same component count, the
            matches. None lets all rows count that cover a record.
        """
        none = np.empty(0, np.int32)
        self._rows.join(none if components is None else components[self._order].astype(np.int32))

    def hold_together(self) -> None:
        """Let only matches count from now on when rows are tightened, so that nobody loses one too many.

        Components stay connected: for that some records have to stay in some rows.
        """
        self._rows.hold_together(self._rows.components())

    def conceal_records(self, order: NDArray[np.integer[Any]], k: int) -> int:
        """Let the rows of records grow until each record has k matches (Algorithm 5); return how many did."""
        return self._rows.conceal_records(self._place[order], k)

    def conceal_cheapest_first(self, records: NDArray[np.integer[Any]], k: int) -> int:
        """Let rows grow until each of some records has k matches, the cheapest first; return how many did."""
        return self._rows.conceal_cheapest_first(self._place[records], k)

    def conceal_rows(self, order: NDArray[np.integer[Any]], k: int) -> int:
        """Let rows grow until each row is a match of k records; return how many did."""
        return self._rows.conceal_rows(self._place[order], k)

    def vary(
        self,
        order: NDArray[np.integer[Any]],
        labels: Sequence[NDArray[np.int32]],
        *,
        frequency_l: float = 0.0,
        distinct: int = 0,
        entropy: float = 0.0,
    ) -> int:
        """Let rows grow until the labels in the crowd of each record are varied (Algorithm 7).

        Parameters
        ----------
        order
            In which order records have their turns.
        labels
            For each column, the label of each record, which its row carries.
        frequency_l, distinct, entropy
            As for `Diversification`.

        Returns
        -------
        int
            How many pairs of rows grew, or, if all rows that cover a record count, how many rows.
        """
        columns = [np.ascontiguousarray(column[self._order], dtype=np.int32) for column in labels]
        return self._rows.vary(self._place[order], columns, frequency_l, distinct, entropy)


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
        self._refinement = _native.Refinement(codes, _specs(attributes), np.ascontiguousarray(graph), key)
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


class Agglomeration:
    """Clusters of records, the two closest of which become one, again and again; with k records, a class.

    Parameters
    ----------
    codes
        One row for each distinct record.
    copies
        How many records each stands for.
    attributes
        What it costs to cover several codes.
    k
        How many records a class has; there are as many. A cluster with more expels the farthest.
    counts
        For each attribute, how many records have each code, to measure cost by entropy and not by what
        `attributes` say; empty for these.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        copies: NDArray[np.integer[Any]],
        attributes: Sequence[Geometry],
        k: int,
        counts: Sequence[NDArray[np.integer[Any]]] = (),
    ) -> None:
        self._agglomeration = _native.Agglomeration(
            np.ascontiguousarray(codes), copies.astype(np.int32), _specs(attributes), _floats(counts), k
        )

    def advance(self, pairs: int) -> int:
        """Unite up to so many pairs; return how many records are in classes then, in the end all.

        What is left at the end, fewer than k records, goes to the classes where it costs least.
        """
        return self._agglomeration.advance(pairs)

    @property
    def classes(self) -> NDArray[np.int32]:
        """The class of each copy of the first record, then of the second, ...; once all are in classes."""
        return self._agglomeration.classes()


def forest(
    codes: NDArray[np.int32],
    copies: NDArray[np.integer[Any]],
    attributes: Sequence[Geometry],
    k: int,
    counts: Sequence[NDArray[np.integer[Any]]] = (),
) -> NDArray[np.int32]:
    """Link each tree of fewer than k records to the nearest one outside; cut trees into classes.

    Parameters
    ----------
    codes, copies, attributes, k, counts
        As for `Agglomeration`.

    Returns
    -------
    NDArray
        The class of each copy of the first record, then of the second, ... Classes have k to
        max(2k - 1, 3k - 5) records, or rarely up to 3k - 3.
    """
    return _native.forest(
        np.ascontiguousarray(codes), copies.astype(np.int32), _specs(attributes), _floats(counts), k
    )


def unify(
    codes: NDArray[np.int32],
    class_of: NDArray[np.int32],
    attributes: Sequence[Geometry],
    sensitive: Sequence[tuple[NDArray[np.int32], int]],
    *,
    diversity: float,
    weight: float,
    counts: Sequence[NDArray[np.integer[Any]]] = (),
) -> NDArray[np.int32]:
    """Unite classes, the least diverse first, until in each no label has a share above 1 / `diversity`.

    Parameters
    ----------
    codes
        One row for each record.
    class_of
        The class of each, numbered 0, 1, 2, ...
    attributes, counts
        As for `Agglomeration`.
    sensitive
        Codes and number of different values of each sensitive column.
    diversity
        Records per record of the most frequent label, in each class and column.
    weight
        How much the loss of uniting two classes counts, from 0 to 1; the rest is for what diversity the
        united class lacks.

    Returns
    -------
    NDArray
        The class of each record, numbered 0, 1, 2, ...; all are one class if nothing less is diverse.
    """
    columns = [(np.ascontiguousarray(values), size) for values, size in sensitive]
    return _native.unify(
        np.ascontiguousarray(codes), class_of, _specs(attributes), _floats(counts), columns, diversity, weight
    )


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


@dataclass(frozen=True, eq=False)
class Cover:
    """Which pattern each row has.

    Parameters
    ----------
    pattern_of
        The number of the pattern; -1 for rows that are left over.
    counted
        How many rows were counted, over all patterns.
    """

    pattern_of: NDArray[np.int32]
    counted: int


def cover(codes: NDArray[np.int32], kept: NDArray[np.uint64], k: int, *, shared: bool = False) -> Cover:
    """Give each row the first pattern under which it looks the same as enough others that have none yet.

    Parameters
    ----------
    codes
        One row for each record; at most 64 columns.
    kept
        The columns that each pattern keeps, as bits, in the order in which patterns take their turn.
    k
        How many rows look the same, at least.
    shared
        Whether rows that have a pattern still count for others: each row then has the first pattern that it
        could have at all.

    Returns
    -------
    Cover
        O(patterns x rows x columns) at worst; rows that are too rare for a pattern on some of its columns
        are not counted for it.
    """
    return Cover(*_native.cover(np.ascontiguousarray(codes), kept, k, shared))


class PatternSearch:
    """A cover by patterns, and moves of rows from class to class that lower its cost.

    A class are rows with the same pattern that look the same under it.

    Parameters
    ----------
    codes, kept, k
        As for `cover`; the cheapest pattern is the first.
    costs
        What a row costs under each pattern.
    beyond
        What a row costs that is left over: more than under any pattern.
    pattern_of
        The pattern of each row at first, as of a `Cover`.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        kept: NDArray[np.uint64],
        costs: NDArray[np.float64],
        beyond: float,
        k: int,
        pattern_of: NDArray[np.int32],
    ) -> None:
        self._search = _native.PatternSearch(np.ascontiguousarray(codes), kept, costs, beyond, k, pattern_of)
        self._patterns = len(kept)

    @property
    def cost(self) -> float:
        """What all rows cost together."""
        return self._search.cost()

    @property
    def pattern_of(self) -> NDArray[np.int32]:
        """The pattern of each row; -1 for those that are left over."""
        return self._search.pattern_of()

    def sweep(self, begin: int = 0, end: int | None = None) -> int:
        """Make classes, or let them grow, where that saves cost, under one pattern after the other.

        Rows that gain come, and as many others as k asks for; who stays behind in too small a class goes to
        the cheapest other one. Returns how often something was saved.
        """
        return self._search.sweep(begin, self._patterns if end is None else end)


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


Arrays = tuple[NDArray[np.int64], NDArray[np.int32]]
"""Lists in a row, where each begins and all of them: the i-th is values[starts[i]:starts[i + 1]]."""


def smallest_worlds(sets: Arrays, groups: Arrays, width: int) -> tuple[Arrays, Arrays, NDArray[np.int32]]:
    """Return the smallest generalized set of items around each group of sets, on all cores.

    An item is in the base if more than half of the group have it (bit voting; Xue et al. 2012, Section 4),
    and uncertain if some have it and some do not.

    Parameters
    ----------
    sets
        The items of each set, out of 0..width-1, ascending.
    groups
        The sets in each group; none is empty.
    width
        How many items there are.

    Returns
    -------
    tuple
        The base items and the uncertain items of each, ascending, and the largest number of items in which
        one of the group differs from the base. O(items in all groups).
    """
    return _native.smallest_worlds(sets, groups, width)


def differences(
    left: Arrays, right: Arrays, lefts: NDArray[np.integer[Any]], rights: NDArray[np.integer[Any]]
) -> NDArray[np.int32]:
    """Return the Hamming distance of each pair of sets, on all cores.

    Parameters
    ----------
    left, right
        Sets of items, ascending.
    lefts, rights
        The pairs: the i-th are set lefts[i] on the left and set rights[i] on the right.
    """
    return _native.differences(left, right, lefts.astype(np.int32), rights.astype(np.int32))


def sets_among_worlds(
    sets: Arrays, base: Arrays, uncertain: Arrays, most_errors: NDArray[np.int32], width: int
) -> Arrays:
    """Return which sets of items each generalized set stands for, on all cores.

    Those differ from the base in uncertain items only, and in no more than the given number.

    Parameters
    ----------
    sets
        The items of each set, out of 0..width-1, ascending; no two are equal.
    base, uncertain, most_errors
        The generalized sets; a negative number of errors stands for nothing.
    width
        How many items there are.

    Returns
    -------
    tuple
        The sets that each stands for, ascending. A search turns away at the first item, the rarest ones
        first, that rules out all sets that are left; so it hardly looks at more than it finds.
    """
    return _native.sets_among_worlds(sets, base, uncertain, most_errors, width)


def _specs(attributes: Sequence[Geometry]) -> list[tuple[int, float, int, NDArray[np.float64]]]:
    """Return attributes as native code takes them."""
    return [(a.kind, a.weight, a.size, np.ascontiguousarray(a.table)) for a in attributes]


def _floats(arrays: Sequence[NDArray[np.integer[Any]]]) -> list[NDArray[np.float64]]:
    return [np.ascontiguousarray(array, dtype=np.float64) for array in arrays]
