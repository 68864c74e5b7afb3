"""The absolute difference of numbers, compared exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal import kernels
from shoal.kinds import exact_numbers as exact
from shoal.measures.distances.distance import LinearDistance, Values


@dataclass(frozen=True, eq=False)
class Absolute(LinearDistance):
    """The absolute difference of numbers, in their own unit.

    Whether two numbers are close is determined exactly: a float stands for the shortest decimal that reads
    back as the same float. Distances themselves are floats.

    Parameters
    ----------
    numbers
        The float nearest to each value; NaN where it is missing. A missing value is close to missing values
        alone.
    multiples
        The values as whole multiples of `unit`, None where missing; by default they are the numbers.
    unit
        See there.
    """

    numbers: NDArray[np.float64]
    multiples: Sequence[int | None] | None = None
    unit: Fraction = Fraction(1)

    @classmethod
    def of(cls, values: pl.Series) -> Absolute:
        """Return the distance of numbers as `exact.read` returns them, null where missing."""
        known = exact.near(values.drop_nulls())
        numbers = np.full(len(values), np.nan)
        numbers[values.is_not_null().to_numpy()] = known
        return cls(numbers, *exact.scaled(values))

    def __len__(self) -> int:
        return len(self.numbers)

    def between(self, first: Values, second: Values) -> NDArray[np.float64]:
        x, y = self._places[first], self._places[second]
        unknown = np.isnan(x).astype(np.int8) + np.isnan(y)
        return np.where(unknown == 0, np.abs(x - y), np.where(unknown == 1, np.inf, 0.0))

    def close(self, first: Values, second: Values, epsilon: float) -> NDArray[np.bool_]:
        """Return whether each pair is within `epsilon`, exactly."""
        low, high = self.reach(epsilon)
        rank = self.rank[second]
        return np.asarray((low[first] <= rank) & (rank <= high[first]))

    @property
    def diameter(self) -> float:
        known = self._places[~np.isnan(self._places)]
        return float(known.max() - known.min()) if len(known) else 0.0

    @property
    def rounding(self) -> float:
        known = self._places[~np.isnan(self._places)]
        largest = float(np.abs(known).max(initial=0.0))
        whole = largest <= exact.WHOLE_FLOATS and np.array_equal(known, np.round(known))
        return 0.0 if whole else 2 * float(np.spacing(largest))

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """The rank of each value in ascending order, missing ones last."""
        steps, missing = self._steps[0], np.isnan(self.numbers)
        known = np.flatnonzero(~missing)
        order = np.concatenate((known[np.argsort(steps[known], kind="stable")], np.flatnonzero(missing)))
        ranks = np.empty(len(self), dtype=np.int64)
        ranks[order] = np.arange(len(self))
        return ranks

    def reach(self, epsilon: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if self._reached and self._reached[0][0] == epsilon:
            return self._reached[0][1:]
        steps, unit = self._steps
        known = np.sort(steps[~np.isnan(self.numbers)])
        most = int(known[-1]) if len(known) else 0  # the lowest is 0
        if epsilon < np.inf:
            most = min(most, int(Fraction(exact.exact(float(epsilon))) // unit))
        low = np.searchsorted(known, known - most)
        high = np.searchsorted(known, known + most, side="right") - 1
        missing = len(self) - len(known)
        low = np.concatenate((low, np.full(missing, len(known))))[self.rank]
        high = np.concatenate((high, np.full(missing, len(self) - 1)))[self.rank]
        self._reached[:] = [(epsilon, low, high)]
        return low, high

    def component(self, weight: float, codes: Values) -> kernels.Component:
        return kernels.Component(kernels.RANGE, weight, self.diameter, self._places[codes], np.empty(0))

    @cached_property
    def _reached(self) -> list[tuple[float, NDArray[np.int64], NDArray[np.int64]]]:
        """The result for the last epsilon."""
        return []

    @cached_property
    def _steps(self) -> tuple[NDArray[Any], Fraction]:
        """How many units each value lies above the lowest one, 0 for a missing one, and the unit."""
        multiples, unit = self.multiples, self.unit
        if multiples is None:
            multiples, unit = exact.scaled([None if x != x else x for x in self.numbers.tolist()])
        lowest = min((each for each in multiples if each is not None), default=0)
        steps = [0 if each is None else each - lowest for each in multiples]
        kind = np.int64 if max(steps, default=0) < 2**62 else object
        return np.array(steps, dtype=kind), unit

    @cached_property
    def _places(self) -> NDArray[np.float64]:
        """The numbers; where they are so large that floats blur them, how far they lie above the lowest."""
        missing = np.isnan(self.numbers)
        if (np.abs(self.numbers[~missing]) <= exact.WHOLE_FLOATS).all():
            return self.numbers
        steps, unit = self._steps
        places = np.array([exact.as_float(step * unit) for step in steps.tolist()])
        return np.where(missing, np.nan, places)
