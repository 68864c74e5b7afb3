"""Which sensitive values are close, and classes in which few of them are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native
from shoal.kernels.geometry import Geometry, given


class Closeness:
    """Which values are close, without a table of all pairs; see native/classes/closeness.hpp."""

    def __init__(self, native: _native.Closeness, size: int) -> None:
        self._native = native
        self._size = size

    def __len__(self) -> int:
        """Return the number of values."""
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
        `TREE`: by the most expensive step between their places. `SET`: by 1 if their numbers differ.
    weight
        Weight in the norm.
    diameter
        Upper limit of differences.
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
        Maximum number of neighbours of a record in each class.
    owners, least
        The person of each record, if persons have several: none has more than 1 / `least` of a class, and no
        exchange changes that.
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
        owners: NDArray[np.int32] | None = None,
        least: int = 1,
    ) -> None:
        self._coloring = _native.Coloring(
            codes,
            attributes,
            class_of.astype(np.int32),
            closeness._native,
            values,
            allowed.astype(np.int32),
            given(owners),
            least,
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
        """Number of neighbours of each record in its class."""
        return self._coloring.neighbours()

    @property
    def potential(self) -> int:
        """Number of pairs of neighbours in the same class."""
        return self._coloring.potential()

    @property
    def excess(self) -> int:
        """Number of neighbours above the limit, summed over all records."""
        return self._coloring.excess()

    def mend(self, goal: int, few: int, *, cycles: bool = False, most: int = 1 << 62) -> int:
        """Exchange records that have too many neighbours, while this serves the goal.

        First the record whose class saves most without it, and each in the way that loses least.

        Parameters
        ----------
        goal
            `POTENTIAL`: there are fewer pairs of neighbours, and the record goes where it does not have too
            many. `CAREFUL`: the same, but it may take the place of a neighbour, and the excess falls.
            `EXCESS`: the excess falls.
        few
            At how many classes to look, those that suit a record best; at more if none is found, finally at
            all, unless that failed many times in a row.
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

    def mend_as_printed(self, most: int = 1 << 62) -> int:
        """Exchange records as Algorithm 2 of the paper on XColor does, looking at all records each time.

        Returns
        -------
        int
            How many exchanges were made, `most` at most; 0 if a record has too many neighbours and the paper
            knows no exchange for it.
        """
        return self._coloring.mend_as_printed(most)

    def sweep(self, few: int, *, cycles: bool = False) -> int:
        """Go once through all records and exchange those that make classes cheaper; the excess never grows.

        Parameters
        ----------
        few
            At how many classes to look, those that suit a record best.
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
        others do. The excess never grows. Looks first at the classes that suit best; returns how many were
        changed.
        """
        return self._coloring.part(classes.astype(np.int32), few)
