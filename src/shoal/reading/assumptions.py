"""What readers assume, by the family of the method that made a release."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.reading.codebook import Codebook
from shoal.reading.mixture import Assumption


@dataclass(frozen=True)
class Weights:
    """How much each part of the evidence adds to the variance of an answer; see `standard_error`.

    Parameters
    ----------
    chance, shared, model, spread, hidden
        The weights of the parts; those of the last three are squared. Counts do not have the last one.
    """

    chance: float
    shared: float
    model: float
    spread: float
    hidden: float = 0.0


@dataclass(frozen=True)
class Family:
    """Methods whose rows are similar, and what readers assume about them.

    Weights were fitted by `benchmarks/reading_weights.py` to releases of Nursery, of made-up patients, of
    random tables and, for means, of a census. Powers were chosen on the same data (`OWN`, `NEAREST`,
    `COVERING`, `GROWN`) or by hand on CMC and Adult, and compared by `benchmarks/reading_powers.py`.
    `docs/estimator.md` explains them.

    Parameters
    ----------
    assumption
        How values are distributed over a cell.
    weights, means
        The weights for counts and for means.
    """

    assumption: Assumption
    weights: Weights
    means: Weights


_OWN_MEANS = Weights(0.93, 0.04, 0.114, 0.91, 0.13)
"""The weights for means where rows were made for a record of their own."""

JOINED = Family(Assumption(0.65), Weights(0.34, 0.19, 0.09, 0.53), Weights(0.64, 0.14, 0.016, 0.92, 0.15))
"""Records were brought together because they are similar."""
MERGED = Family(Assumption(0.5), Weights(0.33, 0.34, 0.045, 0.79), Weights(0.72, 0.16, 0.037, 1.19, 0.14))
"""Clusters were merged: those that stay small to the end are together with rare values."""
GROWN = replace(MERGED, assumption=Assumption(0.8))
"""Trees grew from record to nearest record: their ends are less alike than the members of a cluster."""
CUT = Family(Assumption(0.9), Weights(0.51, 0.26, 0.07, 1.4), Weights(0.68, 0.24, 0.023, 1.81, 0.07))
"""The table was cut into classes: whatever lies between two cuts is together."""
OWN = Family(Assumption(0.0), Weights(0.74, 0.17, 0.017, 1.16), _OWN_MEANS)
"""Rows were made for a record of their own, and can be those of others; the power depends on k."""
NEAREST = Family(Assumption(-0.5), Weights(0.99, 0.08, 0.17, 1.94), _OWN_MEANS)
"""Rows were made for a record of their own and those nearest to it: its values are the rare ones."""
COVERING = Family(Assumption(0.65), Weights(0.82, 0.08, 0.045, 1.17), _OWN_MEANS)
"""Rows were made for a record of their own, and then grew so that they cover others."""
SUPPRESSED = Family(Assumption(0.65), Weights(0.63, 1.35, 0.02, 0.73), Weights(0.69, 0.13, 0.019, 1.12))
"""Cells are exact or suppressed, and which ones are suppressed depends on the values."""
NARROWED = Family(Assumption(0.35), JOINED.weights, JOINED.means)
"""Records were brought together, and then each cell became as narrow as a crowd in a few columns allows."""
BY_METHOD = {"mondrian": CUT, "agglomerative": MERGED, "forest": GROWN}
OWN_BY_MODEL = {"k1": NEAREST, "1k": COVERING}
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
        power = own_power(max(codebook.k, codebook.tightness.records))
        found = OWN_BY_MODEL.get(str(codebook.model.get("name")))
        return found or replace(OWN, assumption=Assumption(power))
    if codebook.tightness.around == "rows":
        return JOINED
    if codebook.model.get("name") == "patterned":
        return SUPPRESSED
    if is_narrowed(codebook):
        return NARROWED
    if codebook.method is not None:
        return BY_METHOD.get(codebook.method, JOINED)
    sizes = np.sort(sharing)
    smallest, mean = int(sizes[len(sizes) // 50]), float(1 / np.mean(1 / sharing))
    return CUT if mean > LARGE * smallest else JOINED


def is_narrowed(codebook: Codebook) -> bool:
    """Return whether rows are narrower than the records that they were made for."""
    return codebook.model.get("name") == "km-anonymity"


def own_power(k: int) -> float:
    """Return the power of the family `OWN`.

    Small rows show several values above all if their own record is rare: rare values are the likely ones.
    Large rows show many values anyway, and their own record is as likely to be any of them.
    """
    return float(np.clip(0.35 * np.log(k / 12), -0.6, 0.65))
