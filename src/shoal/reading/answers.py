"""Answers from a release: an estimate, its standard error, and what is certain and possible."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import numpy as np

from shoal.reading.assumptions import Weights
from shoal.reading.joint import Asked, Joint

SHIFT = 0.3
"""Answers are also computed with other powers of probabilities, which differ by this."""
CONFIDENCE = 1.96
"""The number of standard errors on either side of an interval with 95% confidence."""
ROUNDING = 1e-6
"""By how much an end of an interval may miss a whole number and is still taken for it."""
NEVER = 1e-9
"""Rows with at most this probability are estimated never to meet the conditions."""


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
        """The interval that contains the truth with 95% confidence.

        It holds no impossible numbers, and its ends are whole numbers, rounded outward, as counts are.
        """
        low, high = super().interval
        lowest, highest = floor(low + ROUNDING), ceil(high - ROUNDING)
        return float(max(lowest, self.certain)), float(min(highest, self.possible))


@dataclass(frozen=True)
class Evidence:
    """What an estimate of a count or of a mean rests on.

    For a count, the parts are the following. For a mean, each row counts with the distance of its number from
    the mean, and the sums are divided by the number of rows.

    Parameters
    ----------
    estimate
        The estimate.
    certain, possible
        The numbers of rows that meet the conditions for certain, and that may meet them.
    doubt
        The sum of w (1 - w) over uncertain rows, which meet the conditions with probability w.
    shared
        The same, each row times the number of other records that it was made for.
    unsure
        The sum of the smaller of w and 1 - w.
    spread
        How far apart the answers under different assumptions are.
    unknown
        The number of rows that may meet the conditions, but are estimated never to: no published value lies
        in the question, and nothing is known about the values of suppressed cells. For a mean, by how much
        such rows could move it.
    hidden
        For a mean, `unsure` times the root of the share of the variance that is inside cells: there, the
        release does not show how numbers depend on other columns.
    """

    estimate: float
    certain: int
    possible: int
    doubt: float
    shared: float
    unsure: float
    spread: float = 0.0
    unknown: float = 0
    hidden: float = 0.0


def evidence(joint: Joint, asked: Asked) -> Evidence:
    """Return what the estimate of a count rests on."""
    certain, possible = joint.bounds(asked)
    rows = np.flatnonzero(possible & ~certain)
    weights = joint.weights(asked, rows)
    spread = 0.0
    if joint.estimator in ("tight", "columns") and len(rows):
        low, high = (
            float(joint.weights(asked, rows, joint.assumption.shifted(by)).sum()) for by in (-SHIFT, SHIFT)
        )
        spread = high - low
    doubt = weights * (1 - weights)
    return Evidence(
        int(certain.sum()) + float(weights.sum()),
        int(certain.sum()),
        int(possible.sum()),
        float(doubt.sum()),
        float((doubt * (joint.sharing[rows] - 1)).sum()),
        float(np.minimum(weights, 1 - weights).sum()),
        spread,
        int(((weights <= NEVER) & joint.vague(asked, rows)).sum()),
    )


def standard_error(found: Evidence, weights: Weights) -> float:
    """Return the standard error of an estimate.

    Parameters
    ----------
    found
        What it rests on.
    weights
        How much each part of it counts.
    """
    chance = weights.chance * found.doubt + weights.shared * found.shared
    model, spread = weights.model * found.unsure, weights.spread * found.spread
    hidden = weights.hidden * found.hidden
    unknown = found.unknown / CONFIDENCE  # the interval reaches what is possible
    return float(np.sqrt(chance + model**2 + spread**2 + hidden**2 + unknown**2))
