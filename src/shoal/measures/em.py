"""EM, the entropy measure: how many bits of the original a generalized value leaves open."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.measures.measure import loss_measure, weighted
from shoal.recoding import Recoding


def em_of_rows(recoding: Recoding) -> NDArray[np.float64]:
    """Return the entropy measure of each row."""
    bits = (
        values.entropies(attribute.counts)
        for attribute, values in zip(recoding.table.attributes, recoding.values, strict=True)
    )
    return weighted(recoding, bits)


@loss_measure(
    help="Mean number of bits by which a generalized value leaves the original open.",
    label="entropy measure (EM), bits for each value",
    of_rows=em_of_rows,
    place=2,
)
def em(recoding: Recoding) -> float:
    """Return the entropy measure: the mean entropy of the original value given the generalized one."""
    return float(em_of_rows(recoding).mean())
