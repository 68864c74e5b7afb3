"""Distances of values that consist of several columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.errors import InputError, Reason
from shoal.measures.distances.distance import Distance, LinearDistance, Values


@dataclass(frozen=True, eq=False)
class Least(Distance):
    """The distance of composite values in the component in which they are closest, each in its own unit.

    Parameters
    ----------
    parts
        The distance of each component.
    codes
        For each value, the numbers of its components.
    """

    parts: tuple[Distance, ...]
    codes: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.codes)

    def between(self, first: Values, second: Values) -> NDArray[np.float64]:
        return np.asarray(np.minimum.reduce(_by_part(self.parts, self.codes, first, second)))

    @property
    def diameter(self) -> float:
        return max(part.diameter for part in self.parts)  # a part may be infinite where it would be less

    @property
    def rounding(self) -> float:
        return max(part.rounding for part in self.parts)

    def close(self, first: Values, second: Values, epsilon: float) -> NDArray[np.bool_]:
        """Return whether each pair is within `epsilon` in some component, as that component sees it."""
        columns = zip(self.parts, self.codes.T, strict=True)
        near = [part.close(codes[first], codes[second], epsilon) for part, codes in columns]
        return np.asarray(np.logical_or.reduce(near))

    def closeness(self, epsilon: float) -> kernels.Closeness:
        ways = []
        for part, codes in zip(self.parts, self.codes.T, strict=True):
            if not isinstance(part, LinearDistance):
                return super().closeness(epsilon)
            ways.append(tuple(array[codes] for array in (part.rank, *part.reach(epsilon))))
        return kernels.Closeness.ranked(ways)


@dataclass(frozen=True, eq=False)
class Norm(Distance):
    """The weighted norm of the components' distances, each a share of its diameter: 0 to 1.

    With shares d and weights w that sum to 1, it is (sum of w d^power) ^ (1 / power), or the largest of the d
    for an infinite power, in which weights play no part. A component in which values cannot be compared
    counts as 1.

    Parameters
    ----------
    parts
        The distance of each component.
    codes
        For each value, the numbers of its components.
    power
        1, 2, or infinity.
    weights
        How much each component counts; equally much by default.

    Raises
    ------
    InputError
        If the power is less than 1, or the weights are not one positive number for each component.
    """

    parts: tuple[Distance, ...]
    codes: NDArray[np.int32]
    power: float = 1.0
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if not self.power >= 1:
            raise InputError(f"power = {self.power!r} makes no norm; give 1 or more", reason=Reason.PARAMETER)
        weights = self.weights
        if weights is not None and (len(weights) != len(self.parts) or not all(w > 0 for w in weights)):
            raise InputError(
                f"weights {list(weights)} must be one positive number for each of the {len(self.parts)} "
                "components",
                reason=Reason.PARAMETER,
            )

    def __len__(self) -> int:
        return len(self.codes)

    def between(self, first: Values, second: Values) -> NDArray[np.float64]:
        distances = _by_part(self.parts, self.codes, first, second)
        shares = [
            np.minimum(distance / part.diameter, 1.0) if part.diameter > 0 else (distance > 0).astype(float)
            for part, distance in zip(self.parts, distances, strict=True)
        ]
        if np.isinf(self.power):
            return np.asarray(np.maximum.reduce(shares))
        weights = np.ones(len(self.parts)) if self.weights is None else np.asarray(self.weights, dtype=float)
        terms = [w * share**self.power for w, share in zip(weights / weights.sum(), shares, strict=True)]
        return np.asarray(np.add.reduce(terms) ** (1 / self.power))

    def clique(self, counts: NDArray[np.integer[Any]], epsilon: float) -> int:
        # Two that are within half of epsilon of a third are within epsilon of each other.
        half = (epsilon - self.rounding) / 2
        known = super().clique(counts, epsilon)
        return max(known, int(self.degrees(counts, half).max()) + 1) if half > 0 else known

    def closeness(self, epsilon: float) -> kernels.Closeness:
        components = []
        weights = [1.0] * len(self.parts) if self.weights is None else self.weights
        for part, weight, codes in zip(self.parts, weights, self.codes.T, strict=True):
            if not isinstance(part, LinearDistance):
                return super().closeness(epsilon)
            components.append(part.component(weight, codes))
        return kernels.Closeness.norm(components, self.power, epsilon + self.rounding)

    @property
    def diameter(self) -> float:
        return 1.0

    @property
    def rounding(self) -> float:
        # A norm moves no more than the component that moves most; sums and roots add the rest.
        return 1e-12 + max((p.rounding / p.diameter for p in self.parts if p.diameter > 0), default=0.0)


def _by_part(
    parts: Sequence[Distance], codes: NDArray[np.int32], first: Values, second: Values
) -> list[NDArray[np.float64]]:
    """Return the distances in each component."""
    columns = zip(parts, codes.T, strict=True)
    return [part.between(column[first], column[second]) for part, column in columns]
