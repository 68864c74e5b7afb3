"""What every release must lose: a lower bound of GCP, to tell how far a release is from the best possible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.base.randomness import Randomness
from shoal.measures.geometry import geometry
from shoal.table import Table

SAMPLE = 1_000
"""The maximum number of records that are searched; above k = 100 fewer, since each then takes longer."""


@dataclass(frozen=True)
class Bound:
    """A lower bound.

    Parameters
    ----------
    value
        The bound, or the estimate of it from a sample of records.
    error
        The standard error of the estimate; 0 if all records were used.
    """

    value: float
    error: float


def lower_bound(
    table: Table, k: int, *, sample: int | None = None, records: NDArray[np.int64] | None = None
) -> Bound:
    """Return a lower bound of the GCP of every release in which each row covers its record and k - 1 others.

    k-anonymity promises that, with or without diversity, and so does freeform. *Proof.* The row that is made
    for a record covers it and at least k - 1 others. NCP never falls when a generalized value grows, so the
    row costs no less than the cheapest box that covers the record and k - 1 others. GCP is the mean over
    rows, and each row is made for another record; so the mean over records of what that box costs is no more
    than GCP. ∎ If nothing more is promised, each record can have that very box: then this is the optimum.

    Where there are sets of items nothing better than 0 is known.

    Where a search for the cheapest box is stopped early, what it has shown by then takes its place, which is
    no more. Time and memory are in proportion to the number of different records, up to a logarithm.

    Parameters
    ----------
    table
        The records.
    k
        How many records each row covers; at most all of them count.
    sample
        The number of records that are used, two from each of half as many stretches of neighbours; all, if
        there are no more different ones with fewer than k copies. `SAMPLE` by default.
    records
        The records that have a row; all by default. The others can still be one of the k that a row covers.
    """
    if not all(attribute.domain.in_boxes for attribute in table.attributes):
        return Bound(0.0, 0.0)
    groups, first = kernels.group_rows(table.codes)
    tree = kernels.BoxTree(table.codes[first], geometry(table), 1)
    copies = np.bincount(groups)[tree.order]
    rows = copies if records is None else np.bincount(groups[records], minlength=len(first))[tree.order]
    paying = np.flatnonzero((copies < k) & (rows > 0))  # the others hide among their copies
    horizon = 4 * k + 40
    steps = 20_000 // horizon  # the wider it looks, the more each step costs

    def costs(places: NDArray[np.int64]) -> NDArray[np.float64]:
        return tree.crowd_costs(places, copies, min(k, len(table)), horizon=horizon, steps=steps)

    if sample is None:
        sample = min(SAMPLE, max(100 * SAMPLE // k, 20))
    if sample >= len(paying):
        return Bound(float(costs(paying) @ rows[paying]) / rows.sum(), 0.0)
    asked, which, sizes = stretches(rows[paying], sample)
    return estimated(costs(paying[asked])[which] * (sizes / rows.sum()))


def stretches(
    rows: NDArray[np.int64], sample: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]:
    """Draw two records from each of some stretches of neighbours.

    They are always the same, so that releases of one table are compared with the same bound.

    Parameters
    ----------
    rows
        The number of equal records at each place.
    sample
        The number of records to draw.

    Returns
    -------
    tuple
        ``asked, which, sizes``: the places that were drawn, which of them stands for the first and which for
        the second record of each stretch, and how many records each stretch has.
    """
    ends = np.cumsum(rows)
    edges = np.linspace(0, ends[-1], max(sample // 2, 1) + 1).astype(np.uint64)
    sizes = np.diff(edges)
    drawn = edges[:-1] + Randomness(0).words(2 * len(sizes)).reshape(2, -1) % sizes
    asked, which = np.unique(np.searchsorted(ends, drawn, side="right"), return_inverse=True)
    return asked, which.reshape(2, -1), sizes


def estimated(pairs: NDArray[np.float64]) -> Bound:
    """Return the bound that the first and the second record of each stretch estimate."""
    one, other = pairs
    return Bound(float((one + other).sum()) / 2, float(np.sqrt(((one - other) ** 2).sum())) / 2)
