"""Values that are equal or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.measures.distances.distance import LinearDistance, Values


@dataclass(frozen=True, eq=False)
class Equality(LinearDistance):
    """0 for equal values, 1 for different ones.

    Parameters
    ----------
    size
        How many values there are; a missing value is one like any other.
    """

    size: int

    def __len__(self) -> int:
        return self.size

    def between(self, first: Values, second: Values) -> NDArray[np.float64]:
        return np.asarray(first != second, dtype=np.float64)

    @property
    def diameter(self) -> float:
        return 1.0

    @property
    def rank(self) -> NDArray[np.int64]:
        """The values as they are numbered."""
        return np.arange(self.size)

    def reach(self, epsilon: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if epsilon < 1:
            return self.rank, self.rank
        return np.zeros(self.size, dtype=np.int64), np.full(self.size, self.size - 1)

    def component(self, weight: float, codes: Values) -> kernels.Component:
        return kernels.Component(kernels.SET, weight, 1.0, codes.astype(np.float64), np.empty(0))
