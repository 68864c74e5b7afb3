"""A distance that a function of the caller computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, Reason
from shoal.measures.distances.distance import Distance, Values


class Asked(Distance):
    """A distance that a function of two values computes.

    The function is called for each pair in both directions, once in each call of `between`.

    Parameters
    ----------
    function
        Called with two values, or with two tuples of values where several columns are one composite value;
        None stands for a missing value.
    values
        The different values.
    """

    def __init__(self, function: Callable[[Any, Any], float], values: Sequence[Any]) -> None:
        self._function = function
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def between(self, first: Values, second: Values) -> NDArray[np.float64]:
        first, second = np.broadcast_arrays(first, second)
        low, high = np.minimum(first, second), np.maximum(first, second)
        pairs, which = np.unique(low.astype(np.int64) * len(self) + high, return_inverse=True)
        told = np.array([self._tell(*divmod(int(pair), len(self))) for pair in pairs], dtype=np.float64)
        return told[which].reshape(first.shape)

    def _tell(self, low: int, high: int) -> float:
        try:
            there = float(self._function(self._values[low], self._values[high]))
            back = float(self._function(self._values[high], self._values[low]))
        except Exception as error:
            raise InputError(
                f"the distance of two sensitive values could not be told: {type(error).__name__}: {error}",
                reason=Reason.PARAMETER,
            ) from error
        for wrong, what in (
            (np.isnan(there) or np.isnan(back), "is not a number (NaN)"),
            (there != back, "is another one in the other direction: it must be symmetric"),
            (there < 0, "is negative"),
            (low == high and there != 0, "is not 0, although they are equal"),
        ):
            if wrong:
                raise InputError(
                    f"the distance of two sensitive values {what}; correct the function",
                    reason=Reason.PARAMETER,
                )
        return there

    @property
    def diameter(self) -> float:
        return float("inf")
