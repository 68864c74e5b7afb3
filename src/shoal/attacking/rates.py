"""Success rates of attacks, and what one gains over another, with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

STEPS = 500
"""How finely the distribution of a rate is cut where the interval of a gain is computed."""
POINTS, WIDEST = 8001, 6.0
"""How finely the density of a rate is computed, and how far from its middle: 12 standard deviations."""


@dataclass(frozen=True)
class Rate:
    """How often an attack succeeded.

    Parameters
    ----------
    successes, trials
        The number of successful attacks, and of all attacks.
    confidence
        The confidence of the interval.
    """

    successes: int
    trials: int
    confidence: float = 0.95

    @classmethod
    def of(cls, succeeded: NDArray[np.bool_], confidence: float) -> Rate:
        """Return the rate of attacks of which it is known which succeeded."""
        return cls(int(succeeded.sum()), len(succeeded), confidence)

    @property
    def share(self) -> float:
        """The share of the attacks that succeeded."""
        return self.successes / self.trials

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The confidence interval of Jeffreys; it begins at 0 or ends at 1 if none or all succeeded."""
        tail = (1 - self.confidence) / 2
        low, high = self.quantiles(np.array([tail, 1 - tail])).tolist()
        return (0.0 if self.successes == 0 else low, 1.0 if self.successes == self.trials else high)

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        low, high = self.interval
        return {
            "successes": self.successes,
            "trials": self.trials,
            "rate": self.share,
            "low": low,
            "high": high,
        }

    def quantiles(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return quantiles of what the rate may be after these trials: of a beta distribution.

        With rate = sin(angle)^2, densities are finite and about as wide everywhere.
        """
        successes, failures = self.successes + 0.5, self.trials - self.successes + 0.5
        middle = np.arcsin(np.sqrt(successes / (self.trials + 1)))
        width = WIDEST / np.sqrt(self.trials + 1)
        angle = np.linspace(max(middle - width, 0.0), min(middle + width, np.pi / 2), POINTS)
        between = (angle[1:] + angle[:-1]) / 2
        logs = 2 * self.successes * np.log(np.sin(between)) + 2 * (failures - 0.5) * np.log(np.cos(between))
        below = np.concatenate(([0.0], np.cumsum(np.exp(logs - logs.max()))))
        return np.sin(np.interp(shares, below / below[-1], angle)) ** 2


@dataclass(frozen=True)
class Gain:
    """What an attack gains over another: the share of the other's failures that become successes.

    Parameters
    ----------
    value
        (a - c) / (1 - c) for success rates a and c; 0 if that is negative or c is 1.
    low, high
        Its confidence interval, also from 0 on.
    """

    value: float
    low: float
    high: float

    @classmethod
    def over(cls, attacked: Rate, other: Rate) -> Gain:
        """Return what one attack gains over another; see Giomi et al. 2023, Section 3.

        Both rates are distributed as in the intervals of Jeffreys, independently of each other. Quantiles of
        the gain are those over a grid of quantiles of both.
        """
        grid = (np.arange(STEPS) + 0.5) / STEPS
        failures = 1 - attacked.quantiles(grid)[:, None], 1 - other.quantiles(grid)[None, :]
        gains = 1 - failures[0] / np.maximum(failures[1], 1e-12)
        tail = (1 - attacked.confidence) / 2
        low, high = np.clip(np.quantile(gains, [tail, 1 - tail]), 0.0, 1.0).tolist()
        value = 0.0 if other.share == 1 else 1 - (1 - attacked.share) / (1 - other.share)
        return cls(max(value, 0.0), low if attacked.successes else 0.0, high)

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {"value": self.value, "low": self.low, "high": self.high}
