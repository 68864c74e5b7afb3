"""Estimates of population uniques and the individual risk, against their defining equations."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import optimize, stats

import shoal
from shoal import InputError, KAnonymity, Schema
from shoal.auditing import population
from shoal.auditing.population import (
    PopulationUniques,
    individual_risks,
    pitman_likelihood,
    population_uniques,
    snb_expectation,
)
from shoal.samples import hospital

SIZES = np.repeat([1, 2, 3, 4, 5, 6, 7, 10, 20, 50], [400, 120, 60, 35, 22, 15, 10, 6, 3, 2])
"""The sizes of classes of a sample."""


def test_zayatz_by_its_definition() -> None:
    fraction, n = 0.2, int(SIZES.sum())
    people = round(n / fraction)

    def once(size: int) -> float:
        """Return how likely one record of a class of the population is in the sample."""
        return size * math.comb(people - size, n - 1) / math.comb(people, n)

    shares = {size: (size == SIZES).mean() for size in set(SIZES.tolist())}
    sure = shares[1] * once(1) / sum(share * once(size) for size, share in shares.items())
    assert population_uniques(SIZES, fraction).zayatz == pytest.approx(400 * sure / fraction)


def test_the_expected_classes_of_the_shifted_negative_binomial() -> None:
    alpha, beta, fraction = 0.7, 0.3, 0.2
    one = two = 0.0
    for others in range(400):
        choose = math.exp(math.lgamma(alpha + others) - math.lgamma(alpha) - math.lgamma(others + 1))
        often = choose * beta**alpha * (1 - beta) ** others
        size = others + 1
        one += often * size * fraction * (1 - fraction) ** (size - 1)
        two += often * math.comb(size, 2) * fraction**2 * (1 - fraction) ** max(size - 2, 0)
    assert snb_expectation(1000, fraction)(alpha, beta) == pytest.approx((1000 * one, 1000 * two))


def test_snb_solves_its_equations(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[float, float]] = []
    made = snb_expectation

    def spied(total: float, fraction: float):  # type: ignore[no-untyped-def]
        expected = made(total, fraction)
        return lambda alpha, beta: (asked.append((alpha, beta)), expected(alpha, beta))[1]

    monkeypatch.setattr(population, "snb_expectation", spied)
    found = population_uniques(SIZES, 0.2).snb
    size, classes = np.unique(SIZES, return_counts=True)
    total = population._classes_of_population(size, classes, 0.2)
    answers = [(alpha, beta) for alpha, beta in asked if total * beta**alpha == pytest.approx(found)]
    assert answers
    assert made(total, 0.2)(*answers[-1]) == pytest.approx((400, 120), rel=1e-6)


def snb_by_sums(sizes: NDArray[np.int64], fraction: float, total: float | None = None) -> float:
    """Return the estimate by SNB, written anew: sums over the distributions of SciPy instead of closed forms.

    `total` is the number of classes of the population; estimated by Haas and Stokes (1998) if not given.
    """
    often = dict(zip(*np.unique(sizes, return_counts=True), strict=True))
    if total is None:
        q = fraction
        first = sum(i * q**2 * (1 - q**2) ** (i - 1) * c for i, c in often.items())
        first /= sum((1 - q) ** i * ((1 + q) ** i - 1) * c for i, c in often.items())
        second = sum((1 - q) ** i * c for i, c in often.items())
        second /= sum(i * q * (1 - q) ** (i - 1) * c for i, c in often.items())
        total = len(sizes) + often[1] * first * second**2
    size = np.arange(1, 20_000)
    once, twice = (stats.binom.pmf(wanted, size, fraction) for wanted in (1, 2))

    def residual(point: NDArray[np.float64]) -> list[float]:
        chances = stats.nbinom.pmf(size - 1, np.exp(point[0]), 1 / (1 + np.exp(-point[1])))
        return [np.log(total * (chances @ each) / often[i]) for i, each in ((1, once), (2, twice))]

    found = optimize.root(residual, [0.0, -1.0], tol=1e-12)
    assert found.success
    return float(total * (1 + np.exp(-found.x[1])) ** -np.exp(found.x[0]))


@pytest.mark.parametrize("fraction", [0.05, 0.1, 0.2, 0.4])
def test_snb_agrees_with_sums_over_its_distributions(fraction: float) -> None:
    assert population_uniques(SIZES, fraction).snb == pytest.approx(snb_by_sums(SIZES, fraction), rel=1e-8)


@pytest.mark.parametrize("fraction", [0.1, 0.2, 0.5])
@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 0.2), (1.0, 0.3), (0.8, 0.4)])
def test_snb_on_populations_that_it_describes(
    alpha: float, beta: float, fraction: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the true number of classes it is right at every fraction; estimating that needs large ones."""
    draw = np.random.default_rng(7)
    classes, found, estimated, unique = 100_000, [], [], []
    for _ in range(5):
        people = 1 + draw.negative_binomial(alpha, beta, classes)
        unique.append((people == 1).sum())
        sizes = draw.binomial(people, fraction)
        estimated.append(population_uniques(sizes[sizes > 0], fraction).snb)
        with monkeypatch.context() as known:
            known.setattr(population, "_classes_of_population", lambda *_: float(classes))
            found.append(population_uniques(sizes[sizes > 0], fraction).snb)
    assert np.mean(found) == pytest.approx(np.mean(unique), rel=0.05)
    if fraction == 0.5:
        assert np.mean(estimated) == pytest.approx(np.mean(unique), rel=0.05)


def test_pitman_has_the_largest_likelihood() -> None:
    size, classes = np.unique(SIZES, return_counts=True)
    n, u = int(SIZES.sum()), len(SIZES)
    theta, alpha = 30.0, 0.4
    plain = sum(math.log(theta + i * alpha) for i in range(1, u))
    plain -= sum(math.log(theta + i) for i in range(1, n))
    plain += sum(math.log(i - alpha) for each in SIZES.tolist() for i in range(1, each))
    assert pitman_likelihood(size, classes, theta, alpha) == pytest.approx(plain)
    best = max(
        (pitman_likelihood(size, classes, t, a), t, a)
        for t in np.linspace(-0.5, 300, 300)
        for a in np.linspace(0.05, 0.95, 91)
        if t > -a
    )
    people = n / 0.05
    roughly = math.exp(math.lgamma(best[1] + 1) - math.lgamma(best[1] + best[2])) * people ** best[2]
    assert population_uniques(SIZES, 0.05).pitman == pytest.approx(roughly, rel=0.05)


def test_the_decision_rule() -> None:
    def chosen(fraction: float, zayatz: float, snb: float | None, pitman: float | None) -> tuple[str, float]:
        found = PopulationUniques(fraction, 9, zayatz, snb, pitman, 1000.0)
        return found.chosen, found.dankar

    assert chosen(0.1, 5, 4, 6) == ("pitman", 6)
    assert chosen(0.1, 5, 4, None) == ("zayatz", 5)
    assert chosen(0.2, 5, 4, 6) == ("snb", 4)
    assert chosen(0.2, 5, 6, 7) == ("zayatz", 5)
    assert chosen(0.2, 5, None, 7) == ("zayatz", 5)
    no_one = population_uniques(np.array([2, 3]), 0.1)
    assert (no_one.dankar, no_one.chosen) == (0, "none")
    assert population_uniques(np.array([1, 1, 3]), 1).dankar == 2


@pytest.mark.parametrize("fraction", [0.05, 0.3])
def test_estimates_of_a_known_population(fraction: float) -> None:
    draw = np.random.default_rng(1)
    people = draw.zipf(1.3, 100_000)
    unique = int((np.unique(people, return_counts=True)[1] == 1).sum())
    sample = draw.choice(people, int(fraction * len(people)), replace=False)
    found = population_uniques(np.unique(sample, return_counts=True)[1], fraction)
    assert found.dankar == pytest.approx(unique, rel=0.1)


def test_the_individual_risk_has_the_digits_that_sdcmicro_prints() -> None:
    """f, the sum of weights and the risk, from a public anonymization report of Statistics Sierra Leone."""
    printed = [
        (12, 1316.701, 0.0008278),
        (10, 2595.686, 0.0004279),
        (10, 2760.185, 0.0004024),
        (7, 5079.996, 0.0002296),
        (15, 5300.859, 0.0002021),
    ]
    found = individual_risks(np.array([f for f, _, _ in printed]), np.array([w for _, w, _ in printed]))
    assert [round(risk, 7) for risk in found.tolist()] == [risk for _, _, risk in printed]


@pytest.mark.parametrize(("records", "people"), [(1, 40.0), (2, 50.0), (1, 3.0)])
def test_the_individual_risk_is_an_expectation(records: int, people: float) -> None:
    p = records / people
    expected = sum(
        math.comb(size - 1, records - 1) * p**records * (1 - p) ** (size - records) / size
        for size in range(records, 4000)
    )
    assert individual_risks(np.array([records]), np.array([people]))[0] == pytest.approx(expected)


def test_an_audit_of_a_sample() -> None:
    patients = hospital(400, seed=3).select("age", "sex", "zip").with_columns(w=pl.lit(20.0))
    schema = Schema.infer(patients, quasi=["age", "sex", "zip"], drop=["w"])
    release = shoal.anonymize(patients, schema, KAnonymity(k=5), seed=1)
    found = shoal.audit(patients, release.table, schema, sampling_fraction=0.05, survey_weight="w").sample
    assert found is not None
    assert found.uniques is not None
    assert found.uniques_released is not None
    assert found.uniques.population == 8000
    assert found.uniques.dankar > found.uniques_released.dankar == 0
    assert found.individual is not None
    assert found.individual_released is not None
    # A class of 5 stands for 100 people: p = 0.05.
    assert found.individual_released.highest <= 0.05 / (5 - 0.95) + 1e-12
    assert found.individual.highest == pytest.approx(math.log(20) / 19)
    assert [name for name, _ in found.facts()] == [
        "unique among 8,000 people",
        "re-identifications by survey weights",
    ]
    assert shoal.audit(patients, release.table, schema).sample is None


def test_impossible_samples_are_refused() -> None:
    patients = hospital(30).select("age", "name")
    schema = Schema.infer(patients, quasi=["age"], drop=["name"])
    released = patients.select("age")
    with pytest.raises(InputError, match="above 0 and at most 1"):
        shoal.audit(patients, released, schema, sampling_fraction=0)
    with pytest.raises(InputError, match="no column 'w'"):
        shoal.audit(patients, released, schema, survey_weight="w")
    with pytest.raises(InputError, match="not positive numbers, the first in row 1"):
        shoal.audit(patients, released, schema, survey_weight="name")
    weighted = patients.with_columns(w=pl.Series([1.0, 0.5, 0.0, -1.0, None] + [2.0] * 25))
    schema = Schema.infer(weighted, quasi=["age"], drop=["name"])
    with pytest.raises(
        InputError, match="has 3 survey weights that are not positive numbers, the first in row 3"
    ):
        shoal.audit(weighted, weighted.select("age", "w"), schema, survey_weight="w")
