"""LM, the loss metric: as GCP, but intervals are measured by how many values of the domain they contain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.measures.measure import loss_measure, weighted
from shoal.recoding import Recoding


def lm_of_rows(recoding: Recoding) -> NDArray[np.float64]:
    """Return the loss metric of each row."""
    shares = (
        np.maximum(values.sizes() - 1, 0) / max(attribute.domain.cardinality - 1, 1)
        for attribute, values in zip(recoding.table.attributes, recoding.values, strict=True)
    )
    return weighted(recoding, shares)


@loss_measure(
    help="Mean share of the other values of its domain that a generalized value contains.",
    label="loss metric (LM)",
    share=True,
    of_rows=lm_of_rows,
    place=1,
)
def lm(recoding: Recoding) -> float:
    """Return the loss metric (Tassa, Mazza and Gionis 2012, Equations 1 and 2).

    It is the mean over rows and attributes of (|B| - 1) / (|A| - 1), where B is the generalized value and A
    the domain.
    """
    return float(lm_of_rows(recoding).mean())
