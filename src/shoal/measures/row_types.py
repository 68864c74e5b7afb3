"""Classes of equal released rows: their number, their sizes, and measures of these."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.base.wording import number
from shoal.measures.measure import loss_measure
from shoal.recoding import Recoding


@dataclass(frozen=True)
class RowTypes:
    """The classes of equal released rows.

    Parameters
    ----------
    count, mean, smallest, largest
        How many there are and how many rows they have.
    """

    count: int
    mean: float
    smallest: int
    largest: int

    def __str__(self) -> str:
        return f"{self.count:,}, each {number(self.mean)} times on average"


@loss_measure(
    help="Number and sizes of the classes of identical rows.", label="different rows", words=str, place=6
)
def row_types(recoding: Recoding) -> RowTypes:
    """Return how many different rows a release shows, and how often each."""
    sizes = np.bincount(recoding.types)
    return RowTypes(len(sizes), float(sizes.mean()), int(sizes.min()), int(sizes.max()))


@loss_measure(help="Mean size of a class of identical rows, in units of k.", place=4)
def average_class_size(recoding: Recoding, k: int) -> float:
    """Return the mean class size in units of k (LeFevre et al.); 1 is the minimum that k allows."""
    return row_types(recoding).mean / k


@loss_measure(
    help="Sum of squared class sizes; a fully suppressed row counts as much as the whole table.", place=3
)
def discernibility(recoding: Recoding) -> int:
    """Return the discernibility of Bayardo and Agrawal: each row costs the size of its class.

    A row in which every attribute shows its whole domain cannot be distinguished from any other and costs the
    size of the table.
    """
    sizes = np.bincount(recoding.types).astype(np.int64)
    suppressed = np.logical_and.reduce(
        [
            values.sizes() >= attribute.domain.cardinality
            for attribute, values in zip(recoding.table.attributes, recoding.values, strict=True)
        ]
    )
    told_from_none = np.zeros(len(sizes), dtype=np.bool_)
    told_from_none[recoding.types[suppressed[recoding.box]]] = True
    return int(np.where(told_from_none, sizes * len(recoding.box), sizes * sizes).sum())
