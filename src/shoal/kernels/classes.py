"""Classes of records: made, improved, coloured, and suppressed by patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native
from shoal.kernels.geometry import Geometry, specs


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
        self._classes = _native.Classes(codes, specs(attributes), class_of.astype(np.int32), k)

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
    """Which values are close, without a table of all pairs; see native/classes/closeness.hpp."""

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
        specs = [(c.kind, c.weight, c.diameter, c.numbers, c.steps) for c in components]
        return cls(_native.Closeness(specs, power, limit), len(components[0].numbers))

    @classmethod
    def listed(cls, close: NDArray[np.uint8], size: int) -> Closeness:
        """Return the closeness that a matrix of bits lists; each row has whole bytes, low bits first."""
        return cls(_native.Closeness(close.ravel(), size), size)

    def degrees(self, counts: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Return how many others are close to one of each value, given how many have each. On all cores.

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
    """What exchanges are made for, as native/classes/coloring.hpp numbers it."""

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
            codes,
            specs(attributes),
            class_of.astype(np.int32),
            closeness._native,
            values,
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
            At how many classes to look, those that fit a record best; at more if none is found, finally at
            all, unless that was in vain many times in a row.
        cycles
            Whether to look also at cycles of three records, among the few classes.
        most
            The maximum number of exchanges.

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
    return Cover(*_native.cover(codes, kept, k, shared))


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
        self._search = _native.PatternSearch(codes, kept, costs, beyond, k, pattern_of)
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
    return _native.cut(codes, specs(attributes), k)


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
    return _native.mondrian(codes, specs(attributes), sensitive, k, frequency_l, distinct, entropy, relaxed)
