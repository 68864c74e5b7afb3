"""A tighter lower bound of GCP for freeform and k-anonymity: each record pays for the rows that cover it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.measures.bounds import Bound, estimated, stretches
from shoal.measures.geometry import geometry
from shoal.table import Table

SAMPLE = 200
"""The maximum number of records that are searched."""

STEPS = 4_000
"""The maximum number of steps of a search; one that ends early can only lower the bound."""

TOLERANCE = 0.005
"""A search ends when its bound is this part of the loss of the release below the best crowd that it found."""

SHARES = (0.0, 0.2, 0.35, 0.5, 0.65, 0.8)
"""By what the prices of a release are multiplied."""

CAPS = (0.3, 0.6, 1.0, 2.0, 4.0, 8.0)
"""The maximum price, as a multiple of the mean price of the release."""

PILOTS = 12
PILOT_STEPS = 500
"""The number of records that show which share and which maximum give the highest bound, and their steps."""

AT_ONCE = 1 << 22
"""Maximum number of comparisons of values that are held in memory at once."""


def priced_bound(
    table: Table,
    graph: NDArray[np.int32],
    *,
    sample: int = SAMPLE,
    steps: int = STEPS,
    shares: Sequence[float] = SHARES,
    caps: Sequence[float] = CAPS,
) -> Bound:
    """Return a lower bound of the GCP of every release that hides each record among k by a regular graph.

    Freeform does, and so does k-anonymity. `lower_bound` lets each row cover the most convenient records,
    however many rows cover these already. But each record is in exactly k rows. So let each record r have a
    price p(r). *Claim.* The mean over records of k p(r), plus the mean over records of the least
    cost(S) - p(S), where S are k records with this one among them, is no more than GCP; cost(S) is what the
    smallest row around S costs, and p(S) is what its records pay together. *Proof.* A k-regular graph with n
    rows is a union of k perfect matchings, so its rows can be numbered such that row r covers record r. Row r
    covers k records S(r), and costs at least cost(S(r)), which is p(S(r)) plus cost(S(r)) - p(S(r)). The sum
    of p(S(r)) over all rows is the sum of k p(r), as each record is in k rows; and cost(S(r)) - p(S(r)) is
    no less than the least over all S with r among them. A class of at least k records contains such a
    graph, and no row of it costs less. ∎ This holds for any prices. With prices of 0 it is `lower_bound`.

    Here prices come from a release: what a row costs is divided among its records (Shapley values, see
    decision 063), and the price of a record is a share of the mean over its rows, up to a maximum (see
    decision 085). The worse the release, the lower the bound, but it holds for all.

    Parameters
    ----------
    table
        The records, without columns of items.
    graph
        The records of each row; every record is in as many rows as rows have records.
    sample
        The number of records that are searched, two from each of half as many stretches of neighbours; all,
        if there are no more different ones.
    steps
        The maximum number of steps of each search. One that ends early can only lower the bound.
    shares, caps
        By what the prices of the release are multiplied, and the maximum price as a multiple of their mean,
        both ascending. A few records show which of them give the highest bound.
    """
    k = graph.shape[1]
    groups, first = kernels.group_rows(table.codes)
    tree = kernels.BoxTree(table.codes[first], geometry(table), 1)
    copies = np.bincount(groups)[tree.order]
    place = np.empty(len(first), dtype=np.int64)
    place[tree.order] = np.arange(len(first))
    full = np.bincount(place[groups], weights=prices_of(table, graph), minlength=len(first)) / copies
    mean = float(full @ copies) / len(table)

    def values(asked: NDArray[np.int64], share: float, cap: float, steps: int) -> NDArray[np.float64]:
        prices = np.minimum(share * full, cap * mean)
        paid = k * float(prices @ copies) / len(table)
        tolerance = TOLERANCE * k * mean
        found = tree.priced_crowds(asked, copies, prices, k, steps=steps, tolerance=tolerance)
        return np.asarray(paid + found.least)

    pilots = np.searchsorted(np.cumsum(copies), (np.arange(PILOTS) + 0.5) / PILOTS * len(table), side="right")

    def tried(share: float, cap: float) -> float:
        return float(values(pilots, share, cap, min(PILOT_STEPS, steps)).mean())

    middle = shares[len(shares) // 2]
    cap = _highest(caps, lambda cap: tried(middle, cap))
    share = _highest(shares[len(shares) // 2 :], lambda share: tried(share, cap))
    if share == middle:
        share = _highest(shares[len(shares) // 2 :: -1], lambda share: tried(share, cap))
    if sample >= len(first):
        everyone = np.arange(len(first))
        return Bound(float(values(everyone, share, cap, steps) @ copies) / len(table), 0.0)
    asked, which, sizes = stretches(copies, sample)
    return estimated(values(asked, share, cap, steps)[which] * (sizes / len(table)))


def _highest(options: Sequence[float], figure: Callable[[float], float]) -> float:
    """Return the option with the highest figure; the figures are tried in order, until they fall."""
    best, highest = options[0], -np.inf
    for option in options if len(options) > 1 else ():
        found = figure(option)
        if found <= highest:
            break
        best, highest = option, found
    return best


def prices_of(table: Table, graph: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return for each record the mean, over the rows that cover it, of its share in what the row costs.

    The shares of a row are Shapley values: what a record adds to the cost of the records before it, on
    average over all orders. In a set, the records with the same value share what the value adds. In a range,
    each step beyond the lowest value is shared by the records above it, and each step below the highest value
    by those below it. In a tree, all records share equally.
    """
    n, k = graph.shape
    paid = np.zeros(n, dtype=np.float64)
    rows = max(AT_ONCE // (k * k), 1)
    for begin in range(0, n, rows):
        some = graph[begin : begin + rows]
        shares = sum(
            _shares(attribute, codes[some])
            for attribute, codes in zip(geometry(table), table.codes.T, strict=True)
        )
        paid += np.bincount(some.ravel(), weights=np.ravel(shares), minlength=n)
    return np.asarray(paid / k)


def _shares(attribute: kernels.Geometry, codes: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return what each record of some rows pays for an attribute."""
    k = codes.shape[1]
    if attribute.kind == kernels.SET:
        equal = (codes[:, :, None] == codes[:, None, :]).sum(axis=2)
        value = attribute.weight / max(attribute.table[0] - 1, 1)
        return np.asarray(value * (1 / equal - 1 / k))
    if attribute.kind == kernels.TREE:
        steps = np.append(attribute.table, 0.0)
        costs = [
            steps[low:high].max(initial=0.0) for low, high in zip(codes.min(1), codes.max(1), strict=True)
        ]
        return np.repeat(attribute.weight * np.array(costs)[:, None] / k, k, axis=1)
    positions = attribute.weight * attribute.table[codes]
    order = np.argsort(positions, axis=1)
    ascending = np.take_along_axis(positions, order, axis=1)
    steps = np.diff(ascending, axis=1)
    none = np.zeros((len(codes), 1))
    above = np.cumsum(np.hstack([none, steps / np.arange(k - 1, 0, -1)]), axis=1)
    below = np.cumsum(np.hstack([none, steps[:, ::-1] / np.arange(k - 1, 0, -1)]), axis=1)[:, ::-1]
    width = ascending[:, -1:] - ascending[:, :1]
    shares = np.empty_like(ascending)
    np.put_along_axis(shares, order, above + below - width / k, axis=1)
    return shares
