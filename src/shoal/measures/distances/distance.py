"""What every distance between sensitive values is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.errors import InputError, Reason

Values = NDArray[np.integer[Any]]
"""Numbers of values, from 0, in any shape."""

MOST_LISTED = 1 << 14
"""The maximum number of values whose closeness is listed: the list has a bit for each pair."""


class Distance(ABC):
    """A distance between the values 0, 1, 2, ... of a column, or of several columns together.

    It is symmetric, and 0 between a value and itself. Nothing else is expected of it.
    """

    @abstractmethod
    def __len__(self) -> int:
        """Return how many values there are."""

    @abstractmethod
    def between(self, first: Values, second: Values) -> NDArray[np.float64]:
        """Return the distance of each pair, for arrays that broadcast; infinite if not comparable."""

    @property
    @abstractmethod
    def diameter(self) -> float:
        """An upper limit of all finite distances, at least 0."""

    @property
    def rounding(self) -> float:
        """By how much a distance can be too large because numbers such as 0.1 are not exact in binary."""
        return 0.0

    def close(self, first: Values, second: Values, epsilon: float) -> NDArray[np.bool_]:
        """Return whether each pair is within `epsilon`, itself included."""
        return np.asarray(self.between(first, second) <= epsilon + self.rounding)

    def degrees(self, counts: NDArray[np.integer[Any]], epsilon: float) -> NDArray[np.int64]:
        """Return for each value how many others are within `epsilon` of one that has it.

        Parameters
        ----------
        counts
            How many have each value.
        epsilon
            What counts as close.
        """
        return self.closeness(epsilon).degrees(counts)

    def clique(self, counts: NDArray[np.integer[Any]], epsilon: float) -> int:
        """Return how many are known to be within `epsilon` of each other, all of them; there may be more."""
        del epsilon
        return int(counts.max())

    def closeness(self, epsilon: float) -> kernels.Closeness:
        """Return which values are within `epsilon`, for the kernels.

        Raises
        ------
        InputError
            If there are too many values for a list of all pairs, and the distance needs one.
        """
        size = len(self)
        if size > MOST_LISTED:
            raise InputError(
                f"{size} different sensitive values are too many for a distance that must be asked about "
                f"each pair; it can be {MOST_LISTED} at most",
                reason=Reason.TOO_LARGE,
            )
        everything = np.arange(size)
        rows = [
            np.packbits(self.close(np.array([v]), everything, epsilon), bitorder="little") for v in everything
        ]
        return kernels.Closeness.listed(np.concatenate(rows), size)


class LinearDistance(Distance):
    """A distance for which the values can be ranked so that the neighbours of each have adjacent ranks."""

    def degrees(self, counts: NDArray[np.integer[Any]], epsilon: float) -> NDArray[np.int64]:
        low, high = self.reach(epsilon)
        before = self._before(counts)
        return np.asarray(before[high + 1] - before[low] - 1)

    def clique(self, counts: NDArray[np.integer[Any]], epsilon: float) -> int:
        # A value between two that are close to each other is close to both.
        high = self.reach(epsilon)[1]
        before = self._before(counts)
        return int((before[high + 1] - before[self.rank]).max())

    def _before(self, counts: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Return how many have a lower rank than each, and finally how many there are."""
        return np.concatenate(([0], np.cumsum(counts[np.argsort(self.rank)], dtype=np.int64)))

    def closeness(self, epsilon: float) -> kernels.Closeness:
        return kernels.Closeness.ranked([(self.rank, *self.reach(epsilon))])

    @abstractmethod
    def component(self, weight: float, codes: Values) -> kernels.Component:
        """Return the distance as a component of a norm over values with these codes here."""

    @property
    @abstractmethod
    def rank(self) -> NDArray[np.int64]:
        """The rank of each value: 0, 1, 2, ..., each once."""

    @abstractmethod
    def reach(self, epsilon: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return for each value the lowest and the highest rank within `epsilon`."""
