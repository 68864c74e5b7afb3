"""How many records of a sample are unique in its population, and the risk of each by survey weights.

Nothing is known of the population but its size, or how many of its people each record stands for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, Reason

Estimator = Literal["pitman", "zayatz", "snb", "none"]
"""Which estimate the decision rule takes; none if no record of the sample is unique."""

SMALL_SAMPLE = 0.1
"""Up to this sampling fraction, the decision rule takes the estimate by Pitman's model."""
_STEPS = 70
_GOLDEN = (math.sqrt(5) - 1) / 2
_PRECISION = 1e-9


@dataclass(frozen=True)
class PopulationUniques:
    """The estimated number of people who are unique in the population, given a random sample of it.

    Parameters
    ----------
    sampling_fraction
        The share of the population that the sample is.
    sample
        The number of records that are unique in the sample.
    zayatz
        By Zayatz (1991): classes of the population are assumed to have the sizes of those of the sample.
    snb
        By the shifted negative binomial model (Chen and Keller-McNulty 1998); None if it does not fit.
    pitman
        By Pitman's model (Hoshino 2001); None if it does not fit.
    population
        The size of the population: that of the sample, divided by the sampling fraction.
    """

    sampling_fraction: float
    sample: int
    zayatz: float
    snb: float | None
    pitman: float | None
    population: float

    @property
    def chosen(self) -> Estimator:
        """Which estimate the decision rule of Dankar et al. (2012) takes.

        Up to a sampling fraction of 10% Pitman's, otherwise the lower one of SNB and Zayatz; Zayatz where
        the other model does not fit.
        """
        if not self.sample:
            return "none"
        if self.sampling_fraction <= SMALL_SAMPLE:
            return "zayatz" if self.pitman is None else "pitman"
        return "snb" if self.snb is not None and self.snb <= self.zayatz else "zayatz"

    @property
    def dankar(self) -> float:
        """The estimate that the decision rule takes."""
        found = {"pitman": self.pitman, "snb": self.snb, "zayatz": self.zayatz, "none": 0.0}[self.chosen]
        assert found is not None
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "sampling_fraction": self.sampling_fraction,
            "population": self.population,
            "sample_uniques": self.sample,
            "zayatz": self.zayatz,
            "snb": self.snb,
            "pitman": self.pitman,
            "dankar": self.dankar,
            "chosen": self.chosen,
            "share": self.dankar / self.population,
        }


def population_uniques(sizes: NDArray[np.integer[Any]], sampling_fraction: float) -> PopulationUniques:
    """Estimate how many people are unique in the population that a table is a random sample of.

    Parameters
    ----------
    sizes
        The sizes of the classes of equal records in the sample.
    sampling_fraction
        The share of the population that the sample is, above 0 and at most 1.

    Raises
    ------
    InputError
        If the sampling fraction is not such a share.
    """
    if not 0 < sampling_fraction <= 1:
        raise InputError(
            f"sampling_fraction = {sampling_fraction!r} is not allowed; give a share above 0 and at most 1",
            reason=Reason.PARAMETER,
            parameter="sampling_fraction",
        )
    size, classes = np.unique(np.asarray(sizes, dtype=np.int64), return_counts=True)
    population = float((size * classes).sum() / sampling_fraction)
    unique = int(classes[size == 1].sum())
    if unique == 0 or sampling_fraction == 1:
        exact = float(unique)
        return PopulationUniques(sampling_fraction, unique, exact, exact, exact, population)
    return PopulationUniques(
        sampling_fraction,
        unique,
        _zayatz(size, classes, sampling_fraction),
        _snb(size, classes, sampling_fraction),
        _pitman(size, classes, population),
        population,
    )


@dataclass(frozen=True)
class IndividualRisks:
    """The risks that single records are re-identified in the population, by survey weights.

    Parameters
    ----------
    highest, mean
        Of all records or rows.
    expected
        The expected number of re-identifications: their sum.
    at_risk
        The share of risks above the threshold.
    threshold
        Above this a risk is too high.
    """

    highest: float
    mean: float
    expected: float
    at_risk: float
    threshold: float

    @classmethod
    def of(cls, risks: NDArray[np.float64], threshold: float) -> IndividualRisks:
        """Return the figures of some risks; 0 if there are none."""
        some = risks if len(risks) else np.zeros(1)
        above = float((some > threshold).mean())
        return cls(float(some.max()), float(some.mean()), float(risks.sum()), above, threshold)


@dataclass(frozen=True)
class SampleRisks:
    """Risks in the population that a table is a sample of: of the original as it is, and of the release.

    Parameters
    ----------
    uniques, uniques_released
        Who is unique in the population; None without a sampling fraction.
    individual, individual_released
        Risks by survey weights; None without a column of them.
    """

    uniques: PopulationUniques | None = None
    uniques_released: PopulationUniques | None = None
    individual: IndividualRisks | None = None
    individual_released: IndividualRisks | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "population_uniques": None if self.uniques is None else self.uniques.as_dict(),
            "population_uniques_released": None
            if self.uniques_released is None
            else self.uniques_released.as_dict(),
            "individual": None if self.individual is None else asdict(self.individual),
            "individual_released": None
            if self.individual_released is None
            else asdict(self.individual_released),
        }

    def facts(self) -> list[tuple[str, str]]:
        """Return the figures as pairs of a name and its value in words."""
        facts = []
        if self.uniques is not None and self.uniques_released is not None:
            facts.append(
                (
                    f"unique among {self.uniques.population:,.0f} people",
                    f"{self.uniques.dankar:,.0f} by the original ({self.uniques.chosen}), "
                    f"{self.uniques_released.dankar:,.0f} by the release, estimated",
                )
            )
        if self.individual is not None and self.individual_released is not None:
            before, after = self.individual, self.individual_released
            facts.append(
                (
                    "re-identifications by survey weights",
                    f"{before.expected:,.4g} expected in the original, {after.expected:,.4g} in the release; "
                    f"the highest risk is {before.highest:.2%} and {after.highest:.2%}",
                )
            )
        return facts


def _zayatz(size: NDArray[np.int64], classes: NDArray[np.int64], fraction: float) -> float:
    """Return the uniques if a class of the population has each size as often as one of the sample."""
    n = int((size * classes).sum())
    population = round(n / fraction)
    # How likely exactly one record of a class of each size is in the sample: hypergeometric.
    reached = np.array(
        [
            math.exp(math.log(i) + _log_choose(population - i, n - 1) - _log_choose(population, n))
            if population - i >= n - 1
            else 0.0
            for i in size.tolist()
        ]
    )
    shares = classes * reached
    return float(classes[0] * shares[0] / shares.sum() / fraction)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _snb(size: NDArray[np.int64], classes: NDArray[np.int64], fraction: float) -> float | None:
    """Return the uniques if sizes, less one, have a negative binomial distribution; None if none fits.

    Its two parameters are such that as many classes of one and of two records as there are would be
    expected in the sample. The number of classes of the population is the third estimator of Shlosser's
    kind by Haas and Stokes (1998).
    """
    singles, pairs = float(classes[size == 1].sum()), float(classes[size == 2].sum())
    if pairs == 0:
        return None
    total = _classes_of_population(size, classes, fraction)
    expected = snb_expectation(total, fraction)

    def residual(point: NDArray[np.float64]) -> NDArray[np.float64]:
        one, two = expected(math.exp(point[0]), 1 / (1 + math.exp(-point[1])))
        return np.log([max(one, 1e-300) / singles, max(two, 1e-300) / pairs])

    for start in ((0.0, 0.0), (-2.0, -2.0), (1.0, 1.0), (-3.0, -5.0), (2.0, -1.0), (-1.0, 3.0)):
        found = _root(residual, np.array(start))
        if found is not None:
            alpha, beta = math.exp(found[0]), 1 / (1 + math.exp(-found[1]))
            return float(total * beta**alpha)
    return None


def snb_expectation(total: float, fraction: float) -> Callable[[float, float], tuple[float, float]]:
    """Return a function of alpha and beta that tells how many classes of one and two a sample would have.

    A class of the population has 1 + X records, with P(X = x) = C(alpha + x - 1, x) beta^alpha
    (1 - beta)^x, and each record is sampled with the probability `fraction`.
    """

    def expected(alpha: float, beta: float) -> tuple[float, float]:
        d = (1 - fraction) * (1 - beta)
        all_others_missed = (beta / (1 - d)) ** alpha
        one = total * fraction * all_others_missed * (1 + alpha * d / (1 - d))
        two = total * fraction**2 / 2 * all_others_missed * alpha * (1 - beta) * (2 - (1 - alpha) * d)
        return one, two / (1 - d) ** 2

    return expected


def _classes_of_population(size: NDArray[np.int64], classes: NDArray[np.int64], q: float) -> float:
    """Return the estimated number of classes of the population."""
    missed = (1 - q) ** size
    first = (size * q**2 * (1 - q**2) ** (size - 1) * classes).sum()
    first /= (((1 - q**2) ** size - missed) * classes).sum()
    second = (missed * classes).sum() / (size * q * (1 - q) ** (size - 1) * classes).sum()
    return float(classes.sum() + classes[0] * first * second**2)


def _root(
    residual: Callable[[NDArray[np.float64]], NDArray[np.float64]], point: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return where two functions are 0, by Newton steps that are halved until they help; None if nowhere."""
    value = residual(point)
    for _ in range(_STEPS):
        if float(np.abs(value).max()) < _PRECISION:
            return point
        columns = [(residual(point + step) - value) / 1e-6 for step in np.eye(2) * 1e-6]
        try:
            step = np.linalg.solve(np.column_stack(columns), -value)
        except np.linalg.LinAlgError:
            return None
        for _ in range(_STEPS):
            after = point + step
            if float(np.abs(after).max()) < 30:
                tried = residual(after)
                if float(np.abs(tried).max()) < float(np.abs(value).max()):
                    break
            step = step / 2
        else:
            return None
        point, value = after, tried
    return None


def _pitman(size: NDArray[np.int64], classes: NDArray[np.int64], population: float) -> float | None:
    """Return the uniques by Pitman's model, with parameters of the largest likelihood; None if none fits."""

    def best_theta(alpha: float) -> float:
        shifted = _largest(lambda x: pitman_likelihood(size, classes, math.exp(x) - alpha, alpha), -15, 35)
        return math.exp(shifted) - alpha

    alpha = _largest(lambda a: pitman_likelihood(size, classes, best_theta(a), a), 1e-4, 1 - 1e-4)
    if not 2e-4 < alpha < 1 - 2e-4:
        return None
    theta = best_theta(alpha)
    if not -14 < math.log(theta + alpha) < 34:
        return None
    uniques = math.exp(math.lgamma(theta + 1) - math.lgamma(theta + alpha) + alpha * math.log(population))
    return uniques if uniques <= population else None


def pitman_likelihood(
    size: NDArray[np.int64], classes: NDArray[np.int64], theta: float, alpha: float
) -> float:
    """Return the logarithm of the likelihood of a sample by Pitman's model, up to a constant.

    Parameters
    ----------
    size, classes
        The sizes of classes in the sample, and how many have each.
    theta, alpha
        The parameters: alpha from 0 to 1, theta above -alpha.
    """
    n, u = int((size * classes).sum()), int(classes.sum())
    grown = math.lgamma(theta / alpha + u) - math.lgamma(theta / alpha + 1) + (u - 1) * math.log(alpha)
    drawn = math.lgamma(theta + n) - math.lgamma(theta + 1)
    inside = sum(
        often * (math.lgamma(i - alpha) - math.lgamma(1 - alpha))
        for i, often in zip(size.tolist(), classes.tolist(), strict=True)
    )
    return float(grown - drawn + inside)


def _largest(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function with one maximum is largest, by golden sections."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(_STEPS):
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return (low + high) / 2


def individual_risks(
    records: NDArray[np.integer[Any]], people: NDArray[np.floating[Any]]
) -> NDArray[np.float64]:
    """Return the risk that a record of a class is re-identified, by survey weights.

    The model of Benedetti and Franconi, as sdcMicro computes it: given that f records of a class are in the
    sample, the number F of people has a negative binomial distribution with the probability p = f / sum of
    weights, and the risk is the expected 1 / F. Exact for classes of one and two records; for larger ones it
    is the approximation p / (f - (1 - p)).

    Parameters
    ----------
    records
        How many records each class has in the sample.
    people
        The sum of their weights: how many people of the population they stand for.
    """
    f = np.asarray(records, dtype=np.float64)
    p = np.minimum(f / np.maximum(people, f), 1.0)
    odds = p / np.where(p < 1, 1 - p, 1.0)
    surprise = -np.log(p)
    found = p / (f - (1 - p))
    found = np.where(f == 2, odds - odds**2 * surprise, found)
    found = np.where(f == 1, odds * surprise, found)
    return np.asarray(np.where(p == 1, 1 / f, found))
