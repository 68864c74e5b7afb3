"""Usefulness: how diverse the original values in a class of identical rows are."""

from __future__ import annotations

import numpy as np

from shoal.measures.measure import loss_measure
from shoal.recoding import Recoding


@loss_measure(help="Mean diversity of the original values in a row type, summed over attributes.", place=5)
def usefulness(recoding: Recoding) -> float:
    """Return the mean tuple diversity of the row types (Loukides and Shao 2007).

    The diversity of a row type sums over attributes: for numbers, dates and ordered categories, the span of
    the original values as a share of the column's; for other categories and with a hierarchy, the number of
    different ones as a share of the column's.
    """
    order = np.argsort(recoding.types, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(recoding.types))))
    attributes = recoding.table.attributes
    diversities = [
        weight * len(attributes) * a.domain.diversity(a.codes[recoding.records[order]], starts, a.counts)
        for a, weight in zip(attributes, recoding.table.weights, strict=True)
    ]
    return float(np.sum(diversities, axis=0).mean())
