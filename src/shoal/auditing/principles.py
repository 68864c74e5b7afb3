"""Other principles of the literature: how far the classes of a release keep them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.auditing.classes import Classes
from shoal.auditing.crowds import Histograms, crowds_of_classes
from shoal.auditing.proximity import proximity_of_classes
from shoal.measures.distances import Absolute, LinearDistance, TreeDistance

_LARGE = 1e100


@dataclass(frozen=True, eq=False)
class Principles:
    """How far the classes of a release keep principles about one sensitive column.

    Each figure is that of the worst class.

    Parameters
    ----------
    column
        Its name.
    k
        The size of the smallest class.
    alpha
        The largest share of one value: (alpha, k)-anonymity (Wong et al. 2006).
    epsilon
        What counts as close; None if not requested.
    m
        At most 1/m of a class lies within epsilon of one of its values, that value included: (epsilon,
        m)-anonymity (Li, Tao and Xiao 2008); None without an epsilon.
    distinct
        The minimum number of different values.
    extent
        The minimum distance between the lowest and the highest value, with `distinct` (k, e)-anonymity (Zhang
        et al. 2007); None if there are no numbers.
    variance
        The minimum variance: variance control (LeFevre et al. 2006); None if there are no numbers.
    closeness
        The largest distance between the values of a class and those of the whole release: t-closeness (Li, Li
        and Venkatasubramanian 2007), by ranks for numbers, by heights in a hierarchy, otherwise by equality.
    gain
        The largest (p - q) / q of a value with the share p in a class and q in the whole release: the beta of
        basic beta-likeness (Cao and Karras 2012).
    disclosure
        The largest absolute value of log2(p / q): the delta of delta-disclosure privacy (Brickell and
        Shmatikov 2008); infinite if a class lacks a value.
    """

    column: str
    k: int
    alpha: float
    epsilon: float | None
    m: int | None
    distinct: int
    extent: float | None
    variance: float | None
    closeness: float
    gain: float
    disclosure: float

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "column": self.column,
            "k": self.k,
            "alpha": self.alpha,
            "epsilon": self.epsilon,
            "m": self.m,
            "distinct": self.distinct,
            "extent": self.extent,
            "variance": self.variance,
            "t_closeness": self.closeness,
            "beta_likeness": self.gain,
            "delta_disclosure": self.disclosure if math.isfinite(self.disclosure) else None,
        }


def principles_of(
    classes: Classes,
    column: str,
    values: NDArray[np.int32],
    distance: LinearDistance,
    epsilon: float | None = None,
) -> Principles:
    """Return how far the classes of a release keep other principles.

    Parameters
    ----------
    classes
        The classes.
    column
        The name of the sensitive column.
    values
        For each row, the number of the value it carries.
    distance
        The distance that suits the column.
    epsilon
        What counts as close, if requested.

    Returns
    -------
    Principles
        In O(n log n), and with a hierarchy O(classes x values) time, but O(values) memory.
    """
    crowds = crowds_of_classes(classes, distance.rank[values])
    first = np.flatnonzero(np.diff(crowds.crowd, prepend=-1))
    shares = crowds.count / crowds.sizes[crowds.crowd]
    extent = variance = None
    if isinstance(distance, Absolute):
        extent, variance = _spread(crowds, first, np.sort(distance.numbers))
    m = None
    if epsilon is not None:
        risks = proximity_of_classes(classes, column, values, distance, epsilon=epsilon).risks
        m = int(1 / float(((risks * (classes.sizes - 1) + 1) / classes.sizes).max()) + 1e-9)
    return Principles(
        column,
        int(crowds.sizes.min()),
        float(shares.max()),
        epsilon,
        m,
        int(np.diff(np.append(first, len(shares))).min()),
        extent,
        variance,
        closeness_of(crowds, distance),
        float((shares / whole_shares(crowds, len(distance))[crowds.value]).max()) - 1,
        _disclosure(crowds, first, len(distance)),
    )


def whole_shares(crowds: Histograms, values: int) -> NDArray[np.float64]:
    """Return the share of each value in all crowds together."""
    return np.asarray(np.bincount(crowds.value, crowds.count, values) / crowds.count.sum())


def _disclosure(crowds: Histograms, first: NDArray[np.int64], values: int) -> float:
    """Return the largest absolute value of log2(p / q): share in a class by share in the whole."""
    whole = whole_shares(crowds, values)
    if np.diff(np.append(first, len(crowds.value))).min() < (whole > 0).sum():
        return math.inf
    shares = crowds.count / crowds.sizes[crowds.crowd]
    return float(np.abs(np.log2(shares / whole[crowds.value])).max())


def _spread(
    crowds: Histograms, first: NDArray[np.int64], numbers: NDArray[np.float64]
) -> tuple[float | None, float | None]:
    """Return the minimum extent and the minimum variance of the numbers in a class, without missing ones."""
    known = ~np.isnan(numbers[crowds.value])
    if not known.any():
        return None, None
    # Squares and sums of the largest numbers exceed all floats.
    largest = float(np.nanmax(np.abs(numbers)))
    scale = largest if largest > _LARGE else 1.0
    number, count = np.where(known, numbers[crowds.value] / scale, 0.0), np.where(known, crowds.count, 0)
    size = np.maximum(np.add.reduceat(count, first), 1)
    mean = np.add.reduceat(number * count, first) / size
    which = np.cumsum(np.diff(crowds.crowd, prepend=-1) > 0) - 1
    squares = np.add.reduceat(np.where(known, (number - mean[which]) ** 2, 0.0) * count, first) / size
    high = np.maximum.reduceat(np.where(known, number, -np.inf), first)
    low = np.minimum.reduceat(np.where(known, number, np.inf), first)
    extent, variance = float(np.maximum(high - low, 0.0).min()) * scale, float(squares.min()) * scale * scale
    return extent, variance if math.isfinite(variance) else None


def closeness_of(crowds: Histograms, distance: LinearDistance) -> float:
    """Return the largest earth mover's distance between a crowd and the whole; values are ranks."""
    first = np.flatnonzero(np.diff(crowds.crowd, prepend=-1))
    whole = whole_shares(crowds, len(distance))
    shares = crowds.count / crowds.sizes[crowds.crowd]
    if isinstance(distance, Absolute):
        return float(_moved_along(crowds, first, shares, whole).max())
    if isinstance(distance, TreeDistance):
        worst = 0.0
        for begin, end in zip(first, np.append(first[1:], len(shares)), strict=True):
            difference = -whole
            difference[crowds.value[begin:end]] += shares[begin:end]
            worst = max(worst, float(distance.moved(difference)))
        return worst
    # What a class has in common with the whole need not be moved.
    common = np.add.reduceat(np.minimum(shares, whole[crowds.value]), first)
    return float(1.0 - common.min())


def _moved_along(
    crowds: Histograms, first: NDArray[np.int64], shares: NDArray[np.float64], whole: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how much of each class must be moved how far along the ranks until it is like the whole.

    That is the sum, over all ranks, of how much the share up to there differs. The share of a class is the
    same from one of its values to the next, and that of the whole grows: it is the larger one from some rank
    on. O(log values) for each value of each class.
    """
    last = len(whole) - 1
    up_to = np.cumsum(whole)[:last]
    sums = np.concatenate(([0.0], np.cumsum(up_to)))
    of_class = np.cumsum(shares)
    before = np.concatenate(([0.0], of_class))[first]
    height = of_class - np.repeat(before, np.diff(np.append(first, len(shares))))
    begin = np.minimum(crowds.value, last)
    end = np.append(begin[1:], last)
    end[np.append(first[1:], len(shares)) - 1] = last
    turn = np.clip(np.searchsorted(up_to, height), begin, end)
    below = height * (turn - begin) - (sums[turn] - sums[begin])
    above = sums[end] - sums[turn] - height * (end - turn)
    return np.asarray((np.add.reduceat(below + above, first) + sums[begin[first]]) / max(last, 1))
