"""Answers from a release: an estimate, its standard error, and what is certain and possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

RANDOM_ERROR = 0.85
"""The share of the variance of independent rows that remains: rows are drawn without replacement."""
MODEL_ERROR = 0.07
"""The share of the uncertain part of an answer by which an estimator is typically off, in a large release.

What rows contribute to an answer is not independent: an error in a distribution affects all of them. Both
shares were chosen so that intervals contain the truth as often as they say, on the data of the benchmark.
"""
OWN_ERROR = 0.3
"""The same for rows that were made for a record of their own, about which less is known."""
SMALL = 12_000
"""In a release of this many rows, the variance of that error is twice as large."""
CONFIDENCE = 1.96
"""The number of standard errors on either side of an interval with 95% confidence."""


@dataclass(frozen=True)
class Answer:
    """What a release says about a question.

    Parameters
    ----------
    estimate
        The most likely answer.
    error
        The standard error of the estimate.
    certain
        The number of rows that meet the conditions for certain.
    possible
        The number of rows that may meet them. For a count, the truth lies between these two.
    """

    estimate: float
    error: float
    certain: int
    possible: int

    @property
    def interval(self) -> tuple[float, float]:
        """The interval that contains the truth with 95% confidence; of a count, no more than is possible."""
        return self.estimate - CONFIDENCE * self.error, self.estimate + CONFIDENCE * self.error

    def as_dict(self) -> dict[str, Any]:
        """Return the answer as plain data."""
        return {
            "estimate": self.estimate,
            "error": self.error,
            "certain": self.certain,
            "possible": self.possible,
        }


@dataclass(frozen=True)
class Count(Answer):
    """How many rows meet the conditions."""

    @property
    def interval(self) -> tuple[float, float]:
        """The interval that contains the truth with 95% confidence; it holds no impossible numbers."""
        low, high = super().interval
        return max(low, float(self.certain)), min(high, float(self.possible))


def count_of(
    weights: NDArray[np.float64], certain: int, possible: int, spread: float = 0.0, share: float = MODEL_ERROR
) -> Count:
    """Return a count from the probabilities that uncertain rows meet the conditions.

    Parameters
    ----------
    weights
        The probability for each row that may meet them, and not for certain.
    certain, possible
        The numbers of rows that meet the conditions for certain, and that may meet them.
    spread
        How far apart the answers under different assumptions are.
    share
        The share of the uncertain part by which the estimator is off.
    """
    error = float(np.hypot(error_of(weights, share=share), spread))
    return Count(certain + float(weights.sum()), error, certain, possible)


def model_error(rows: int, *, own: bool) -> float:
    """Return the share of the uncertain part of an answer by which an estimator is off.

    Parameters
    ----------
    rows
        The number of rows, from which distributions are estimated.
    own
        Whether rows were made for a record of their own.
    """
    return float((OWN_ERROR if own else MODEL_ERROR) * np.sqrt(1 + SMALL / max(rows, 1)))


def error_of(
    weights: NDArray[np.float64], scale: NDArray[np.float64] | float = 1.0, share: float = MODEL_ERROR
) -> float:
    """Return the standard error of a sum over rows with these probabilities.

    Parameters
    ----------
    weights
        The probability of each row.
    scale
        What each row adds to the sum if it is counted.
    share
        The share of the uncertain part by which the estimator is off.
    """
    doubt = weights * (1 - weights)
    random = RANDOM_ERROR * (doubt * np.square(scale)).sum()
    model = share * (np.minimum(weights, 1 - weights) * np.abs(scale)).sum()
    return float(np.sqrt(random + model**2))
