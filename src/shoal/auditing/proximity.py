"""Proximity: how much of a crowd has nearly the same sensitive value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.auditing.classes import BINS, Classes, bin_of
from shoal.auditing.crowds import Histograms, crowds_of_classes, crowds_of_records, stretches
from shoal.base.tally import merged
from shoal.errors import InputError, Reason
from shoal.kernels import ROUNDING
from shoal.measures.distances import Distance, LinearDistance
from shoal.recoding.coverage import Graph


@dataclass(frozen=True, eq=False)
class Proximity:
    """How much crowds reveal about approximate values of their records (paper on XColor, Definition 6).

    Parameters
    ----------
    column
        The sensitive column, or the names of several that are one composite value.
    epsilon
        Two values are close if their distance is at most this.
    delta
        A crowd is breached if more than a share of 1 - delta of the others is close to one of its values;
        None if nothing was asked for.
    risks
        The risk of each crowd that is not empty: the largest share of the other values that are close to one
        of them; 1 for a crowd of one.
    weights
        How many times each crowd counts: once for a class, once for each of the records that have it.
    """

    column: str
    epsilon: float
    delta: float | None
    risks: NDArray[np.float64]
    weights: NDArray[np.int64]

    @classmethod
    def merge(cls, parts: Sequence[Proximity]) -> Proximity:
        """Return the risks of several releases together, counted by risk."""
        first = parts[0]
        risks = merged((part.risks, part.weights) for part in parts)
        return cls(first.column, first.epsilon, first.delta, *risks)

    def crowds_by_risk(self) -> NDArray[np.int64]:
        """Return how many crowds have such a risk, by `BINS`."""
        return np.bincount(bin_of(self.risks), self.weights, len(BINS) - 1).astype(np.int64)

    @property
    def risk(self) -> float:
        """The risk of the worst crowd."""
        return float(self.risks.max(initial=0.0))

    @property
    def mean(self) -> float:
        """The mean risk."""
        return float(np.average(self.risks, weights=self.weights)) if len(self.risks) else 0.0

    @property
    def vulnerability(self) -> float | None:
        """The share of crowds that are breached; None without a delta."""
        if self.delta is None:
            return None
        breached = self.risks > (1 - self.delta) * (1 + ROUNDING) + ROUNDING
        return float(self.weights[breached].sum() / max(self.weights.sum(), 1))

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "column": self.column,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "crowds": int(self.weights.sum()),
            "risk": self.risk,
            "mean": self.mean,
            "vulnerability": self.vulnerability,
        }


def proximity_of_classes(
    classes: Classes,
    column: str,
    values: NDArray[np.int32],
    distance: Distance,
    *,
    epsilon: float,
    delta: float | None = None,
) -> Proximity:
    """Return the proximity risk of the classes of identical rows, one crowd each.

    Parameters
    ----------
    classes
        The classes.
    column
        The name of what is sensitive.
    values
        For each row, the number of the value it carries.
    distance
        The distance of these values.
    epsilon, delta
        See `Proximity`.

    Returns
    -------
    Proximity
        O(n log n) for a `LinearDistance`; otherwise grows with the pairs of different values in a class.

    Raises
    ------
    InputError
        If epsilon is negative, or delta is not between 0 and 1.
    """
    _check(epsilon, delta)
    carried, measure = _prepared(values, distance, epsilon)
    risks = measure(crowds_of_classes(classes, carried))
    return Proximity(column, epsilon, delta, risks, np.ones(len(risks), dtype=np.int64))


def proximity_of_records(
    graph: Graph,
    column: str,
    values: NDArray[np.int32],
    distance: Distance,
    *,
    epsilon: float,
    delta: float | None = None,
) -> Proximity:
    """Return the proximity risk of the crowds of all records: the rows that cover each.

    It needs no classes. Records that no row covers have no crowd and are left out.

    Parameters
    ----------
    graph
        Which rows cover which records.
    column, values, distance, epsilon, delta
        As for `proximity_of_classes`.

    Returns
    -------
    Proximity
        Time as for classes, summed over different records; memory is bounded.

    Raises
    ------
    InputError
        If epsilon is negative, or delta is not between 0 and 1.
    """
    _check(epsilon, delta)
    carried, measure = _prepared(values, distance, epsilon)
    risks, weights = [], []
    for members, crowds in crowds_of_records(graph, carried):
        risks.append(measure(crowds))
        weights.append(members[crowds.sizes > 0])
    return Proximity(column, epsilon, delta, np.concatenate(risks), np.concatenate(weights))


def _check(epsilon: float, delta: float | None) -> None:
    if not epsilon >= 0:
        raise InputError(f"epsilon = {epsilon!r} is not a distance; give 0 or more", reason=Reason.PARAMETER)
    if delta is not None and not 0 <= delta <= 1:
        raise InputError(f"delta = {delta!r} is not a share; give 0 to 1", reason=Reason.PARAMETER)


def _prepared(
    values: NDArray[np.int32], distance: Distance, epsilon: float
) -> tuple[NDArray[np.int64], Callable[[Histograms], NDArray[np.float64]]]:
    """Return the values renumbered, and what then tells the risk of each crowd that is not empty."""
    if isinstance(distance, LinearDistance):
        by_rank = np.argsort(distance.rank)
        low, high = (end[by_rank] for end in distance.reach(epsilon))
        return distance.rank[values], partial(_risks, partial(_close_by_rank, low, high))
    return values.astype(np.int64), partial(_risks, partial(_close_by_pairs, distance, epsilon))


def _risks(close: Callable[[Histograms], NDArray[np.int64]], crowds: Histograms) -> NDArray[np.float64]:
    first = np.flatnonzero(np.diff(crowds.crowd, prepend=-1))
    if not len(first):
        return np.empty(0)
    most = np.maximum.reduceat(close(crowds), first)
    sizes = crowds.sizes[crowds.sizes > 0]
    return np.where(sizes > 1, (most - 1) / np.maximum(sizes - 1, 1), 1.0)


def _close_by_rank(low: NDArray[np.int64], high: NDArray[np.int64], crowds: Histograms) -> NDArray[np.int64]:
    """Return for each entry how many members of its crowd are close to it, itself included.

    Values are ranks; those close to value v are low[v] to high[v].
    """
    base = crowds.crowd * len(low)
    keys = base + crowds.value
    before = np.concatenate(([0], np.cumsum(crowds.count)))
    ends = np.searchsorted(keys, base + high[crowds.value], side="right")
    return before[ends] - before[np.searchsorted(keys, base + low[crowds.value])]


def _close_by_pairs(distance: Distance, epsilon: float, crowds: Histograms) -> NDArray[np.int64]:
    """Return the same for distances that must be asked about each pair of different values in a crowd."""
    first = np.searchsorted(crowds.crowd, crowds.crowd)
    others = np.searchsorted(crowds.crowd, crowds.crowd, side="right") - first
    close = np.zeros(len(first), dtype=np.int64)
    for begin, end in stretches(others):
        many = others[begin:end]
        starts = np.cumsum(many) - many
        one = np.repeat(np.arange(begin, end), many)
        other = np.arange(many.sum()) + np.repeat(first[begin:end] - starts, many)
        near = distance.close(crowds.value[one], crowds.value[other], epsilon)
        close[begin:end] = np.add.reduceat(np.where(near, crowds.count[other], 0), starts)
    return close
