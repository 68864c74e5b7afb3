"""GCP, the global certainty penalty: which share of its domain a generalized value spans."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.measures.measure import loss_measure, mean_by_name, mean_over_rows, weighted
from shoal.recoding import Recoding


def ncp(recoding: Recoding) -> NDArray[np.float64]:
    """Return the normalized certainty penalty of each row, the weighted mean over its attributes."""
    return weighted(recoding, (values.ncp() for values in recoding.values))


@loss_measure(
    help="Mean share of the domain that a generalized value spans; 1 if everything is suppressed.",
    label="information loss (GCP)",
    heading="loss (GCP)",
    share=True,
    merge=mean_over_rows,
    of_rows=ncp,
    place=0,
)
def gcp(recoding: Recoding) -> float:
    """Return the global certainty penalty (Doka et al. 2015, Equations 1 to 3): the mean of `ncp`."""
    return float(ncp(recoding).mean())


@loss_measure(help="GCP of each quasi-identifier alone.", name="by_attribute", merge=mean_by_name, place=7)
def gcp_by_attribute(recoding: Recoding) -> dict[str, float]:
    """Return the mean penalty of each attribute alone."""
    return {
        attribute.column.name: float(values.ncp()[recoding.box].mean())
        for attribute, values in zip(recoding.table.attributes, recoding.values, strict=True)
    }
