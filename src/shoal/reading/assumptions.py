"""What readers assume, by the family of the method that made a release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.reading.codebook import Codebook
from shoal.reading.mixture import Assumption


@dataclass(frozen=True)
class Family:
    """Methods whose rows are similar, and what readers assume about them.

    The powers were chosen by hand, from errors of answers on CMC and Adult. The other figures were fitted by
    `benchmarks/reading_weights.py` to releases of Nursery, of made-up patients and of random tables, with k
    from 2 to 50. `docs/estimator.md` explains them.

    Parameters
    ----------
    assumption
        How values are distributed over a cell.
    chance, shared, model, spread
        How much each part of the evidence adds to the variance of an answer; see `standard_error`.
    """

    assumption: Assumption
    chance: float
    shared: float
    model: float
    spread: float


JOINED = Family(Assumption(0.65), 0.34, 0.19, 0.017, 0.53)
"""Records were brought together because they are similar."""
MERGED = Family(Assumption(0.5), 0.33, 0.34, 0.02, 0.79)
"""Clusters were merged: those that stay small to the end are together with rare values."""
CUT = Family(Assumption(0.9), 0.51, 0.26, 0.024, 1.4)
"""The table was cut into classes: whatever lies between two cuts is together."""
OWN = Family(Assumption(0.2), 1.21, 0.25, 0.018, 1.52)
"""Rows were made for a record of their own: these have several values above all if it is rare."""
SUPPRESSED = Family(Assumption(0.65), 0.63, 1.35, 0.02, 0.73)
"""Cells are exact or suppressed, and which ones are suppressed depends on the values."""
BY_METHOD = {"mondrian": CUT, "agglomerative": MERGED, "forest": MERGED}
LARGE = 1.2
"""Classes that are on average this many times as large as the smallest were cut, not joined."""


def family_of(codebook: Codebook, sharing: NDArray[np.int64]) -> Family:
    """Return the family that a release belongs to.

    Parameters
    ----------
    codebook
        What is known about it. Where it does not name the method, the sizes of classes tell.
    sharing
        For each row, the number of records that it was made for.
    """
    if codebook.tightness.own:
        return OWN
    if codebook.tightness.around == "rows":
        return JOINED
    if codebook.model.get("name") == "patterned":
        return SUPPRESSED
    if codebook.method is not None:
        return BY_METHOD.get(codebook.method, JOINED)
    sizes = np.sort(sharing)
    smallest, mean = int(sizes[len(sizes) // 50]), float(1 / np.mean(1 / sharing))
    return CUT if mean > LARGE * smallest else JOINED
