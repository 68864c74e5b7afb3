"""Intervals of attack rates contain the risk that made-up tables have by construction."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.attacking.inferring import inference
from shoal.attacking.linking import linkability
from shoal.attacking.rates import Gain, Rate
from shoal.attacking.scene import Scene, scene_of
from shoal.attacking.singling_out import singling_out
from shoal.base.randomness import Randomness

RECORDS, CONTROLS, TARGETS = 900, 200, 100
VALUES, COLUMNS = 8, 12

Planted = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]
"""The original, the release and the control group."""


def singled_out(at_risk: np.ndarray, chances: np.random.Generator) -> Planted:
    """Return tables in which records that are not at risk have a twin, and those at risk have none."""
    codes = chances.integers(0, 4, (RECORDS + CONTROLS, COLUMNS))
    hidden = np.flatnonzero(~at_risk)
    codes[hidden[1::2]] = codes[hidden[: len(hidden) - 1 : 2]]
    if len(hidden) % 2:
        codes[hidden[-1]] = codes[hidden[0]]
    frame = pl.DataFrame({f"q{i}": codes[:, i].astype(str) for i in range(COLUMNS)})
    return frame[:RECORDS], frame[:RECORDS], frame[RECORDS:]


def linked(at_risk: np.ndarray, chances: np.random.Generator) -> Planted:
    """Return tables in which the second half of each row is suppressed, except for records at risk."""
    order = chances.permutation(RECORDS + CONTROLS)
    frame = pl.DataFrame({"q0": [f"a{i}" for i in order], "q1": [f"b{i}" for i in order]})
    star = pl.when(pl.Series(at_risk)).then(pl.col("q1")).otherwise(pl.lit("*"))
    return frame[:RECORDS], frame[:RECORDS].with_columns(q1=star), frame[RECORDS:]


def inferred(at_risk: np.ndarray, chances: np.random.Generator) -> Planted:
    """Return tables in which each row has a random sensitive value, except for records at risk."""
    order = chances.permutation(RECORDS + CONTROLS)
    values = chances.integers(0, VALUES, (2, len(order))).astype(str)
    frame = pl.DataFrame({"q0": [f"a{i}" for i in order], "value": values[0]})
    shown = np.where(at_risk, values[0][:RECORDS], values[1][:RECORDS])
    return frame[:RECORDS], frame[:RECORDS].with_columns(value=pl.Series(shown)), frame[RECORDS:]


def gains(seed: int) -> Iterator[tuple[str, float, Gain]]:
    """Yield for each attack the share of records at risk, and what the attack on some of them finds."""
    chances = np.random.default_rng(seed)
    attacks: list[tuple[Callable[..., Planted], Callable[[Scene], shoal.AttackResult]]] = [
        (singled_out, lambda scene: next(singling_out(scene, 0.95))),
        (linked, lambda scene: linkability(scene, [["q0"], ["q1"]], 0.95)),
        (inferred, lambda scene: next(inference(scene, 0.95))),
    ]
    for plant, attack in attacks:
        at_risk = chances.random(RECORDS) < chances.uniform(0.05, 0.95)
        original, released, control = plant(at_risk, chances)
        quasi = [name for name in original.columns if name != "value"]
        sensitive = [name for name in original.columns if name == "value"]
        schema = shoal.Schema.infer(
            original, quasi=quasi, sensitive=sensitive, kinds=dict.fromkeys(quasi, "categorical")
        )
        scene = scene_of(
            original, released, schema, control, targets=TARGETS, randomness=Randomness(1000 + seed)
        )
        yield plant.__name__, float(at_risk.mean()), attack(scene).risk


def coverage(seeds: range) -> dict[str, float]:
    """Return how often the interval of each attack contains the risk."""
    inside: dict[str, list[bool]] = {}
    for seed in seeds:
        for name, planted, risk in gains(seed):
            inside.setdefault(name, []).append(risk.low <= planted <= risk.high)
    return {name: float(np.mean(each)) for name, each in inside.items()}


def test_intervals_contain_the_planted_risk_on_most_of_some_tables() -> None:
    found = coverage(range(8))
    assert set(found) == {"singled_out", "linked", "inferred"}
    assert min(found.values()) >= 0.75


@pytest.mark.slow
@pytest.mark.parametrize("tables", [50, pytest.param(200, marks=pytest.mark.campaign)])
def test_intervals_contain_the_planted_risk_on_19_of_20_tables(tables: int) -> None:
    for name, share in coverage(range(tables)).items():
        assert share >= 0.9, (name, share)
        assert share <= 0.99 or tables < 100, (name, share)  # few tables can all be hits by chance


def test_intervals_of_rates_and_gains_contain_the_truth_as_often_as_they_say() -> None:
    chances = np.random.default_rng(3)
    rates, gains = [], []
    for _ in range(400):
        a, c = sorted(chances.uniform(0.02, 0.98, 2), reverse=True)
        attacked, control = (Rate(int(chances.binomial(n, p)), n) for n, p in ((300, a), (150, c)))
        low, high = attacked.interval
        rates.append(low <= a <= high)
        gain = Gain.over(attacked, control)
        assert gain.low <= gain.value <= gain.high
        gains.append(gain.low <= (a - c) / (1 - c) <= gain.high)
    assert 0.92 <= np.mean(rates) <= 0.98
    assert 0.92 <= np.mean(gains) <= 0.99


def test_rates_at_the_ends() -> None:
    none, every = Rate(0, 50), Rate(50, 50)
    assert none.interval[0] == 0
    assert 0 < none.interval[1] < 0.1
    assert every.interval[1] == 1
    assert 0.9 < every.interval[0] < 1
    assert Gain.over(none, every).value == 0
    assert Gain.over(every, every).value == 0
    assert Gain.over(every, none).value == 1
    assert Gain.over(none, none).low == 0


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (1, 1000), (999, 1000), (50_000, 10**5)])
def test_quantiles_of_rates_are_those_of_a_beta_distribution(successes: int, trials: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    shares = np.linspace(0.001, 0.999, 101)
    expected = stats.beta.ppf(shares, successes + 0.5, trials - successes + 0.5)
    assert Rate(successes, trials).quantiles(shares) == pytest.approx(expected, rel=1e-3, abs=1e-9)
