"""The attacker's view: which rows cover which records, in which matchings, and how likely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.base.ragged import Subsets
from shoal.kernels import _native
from shoal.kernels.geometry import Arrays, CodeIntervals


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
        attributes: Sequence[CodeIntervals | Subsets],
    ) -> None:
        none32, none64 = np.empty(0, np.int32), np.empty(0, np.int64)
        specs = [
            (False, a.size, a.low, a.high, none64, none32)
            if isinstance(a, CodeIntervals)
            else (
                *(True, a.size, none32, none32),
                *a.arrays,
            )
            for a in attributes
        ]
        self._graph = _native.ConsistencyGraph(
            records,
            record_copies,
            boxes,
            box_copies,
            specs,
        )

    def count(self, unknown: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how many copies of boxes contain each record, and of records lie in each box; all cores.

        Parameters
        ----------
        unknown
            An attribute that is not compared: whatever its value, a box contains it.
        """
        return self._graph.count(-1 if unknown is None else unknown)

    def count_labels(self, labels: NDArray[np.int32], size: int) -> LabelCounts:
        """Count the labels of the boxes around each record, see the function of that name; on all cores."""
        return LabelCounts(*self._graph.count_labels(labels, size))

    def count_persons(
        self,
        owners: Arrays,
        persons: int,
        components: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None,
        carried: Arrays | None = None,
    ) -> tuple[NDArray[np.int64], ...]:
        """Count the persons who have a record in each box, and the boxes around records of each person.

        Copies of boxes count. On all cores, in one search for each box.

        Parameters
        ----------
        owners
            The persons of each record, each of them once: where those of each start, and the persons.
        persons
            How many persons there are.
        components
            The component of each record, and of each box; None if all have the same.
        carried
            The person of each copy of each box, in the same way; None if that is not known.

        Returns
        -------
        tuple
            The persons of each box and the boxes of each person; the same two within components alone; for
            each person of each record, as in `owners`, how many boxes around the record carry that person, or
            nothing if that is not known.
        """
        none, nothing = np.empty(0, np.int32), (np.empty(0, np.int64), np.empty(0, np.int32))
        found = self._graph.count_persons(
            owners, persons, *(components or (none, none)), nothing if carried is None else carried
        )
        return found if components is not None else (*found[:2], *found[:2], found[4])

    def boxes_around(self, records: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the boxes that contain each of some records, in no particular order; on all cores.

        Returns
        -------
        tuple
            The boxes around the i-th record are ``boxes[starts[i]:starts[i + 1]]``: `starts` and `boxes`.
        """
        return self._graph.boxes_around(records)

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


def least_chances(graph: Neighbourhoods, components: Parts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the least chance of each component, as numerators and denominators.

    This is the smallest t for which the records of the component can be assigned to its boxes at random such
    that no copy of a record gets a copy of a box with a probability above t. Exact.

    Parameters
    ----------
    graph
        The boxes and the records in them.
    components
        Those to look at. Boxes must not outnumber records, by their copies; records may be left over.
    """
    return _native.least_chances(graph._arrays, (components.starts, components.boxes))


def evenest_links(
    graph: Neighbourhoods, components: Parts
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Return how many copies of a record `draw_assignment` gives a copy of a box, on average.

    Returns
    -------
    tuple
        The record, by its place, and the box of each edge, and the average.
    """
    return _native.evenest_links(graph._arrays, (components.starts, components.boxes))


def draw_assignment(graph: Neighbourhoods, components: Parts, key: NDArray[np.uint64]) -> Matched:
    """Draw an assignment of records to boxes that attains the least chance of each component.

    Parameters
    ----------
    graph, components
        As for `least_chances`; each component has as many copies of records as of boxes.
    key
        Four random words that all random choices follow from.

    Returns
    -------
    Matched
        Records by their places.
    """
    return Matched(*_native.draw_assignment(graph._arrays, (components.starts, components.boxes), key))


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
    attributes: Sequence[CodeIntervals | Subsets],
    labels: NDArray[np.int32],
    size: int,
) -> LabelCounts:
    """Count the labels of the boxes that contain each record, without listing the pairs, on all cores.

    Takes as much work as `ConsistencyGraph.count`, however many labels there are.

    Parameters
    ----------
    records, boxes, box_copies, attributes
        As for `ConsistencyGraph`; equal boxes with different labels are listed apart.
    labels
        The label of each box.
    size
        How many labels there are, at least 1.
    """
    graph = ConsistencyGraph(records, np.ones(len(records), dtype=np.int64), boxes, box_copies, attributes)
    return graph.count_labels(labels, size)


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
