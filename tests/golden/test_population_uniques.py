"""Population uniques of Adult: the figures that the tests of ARX print for its estimators.

ARX (`TestRiskMetrics`, `testDecisionRule2`) takes the 30,162 complete records of Adult with nine
quasi-identifiers as a sample, and prints the estimated share of the population that is unique.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from shoal import read_table
from shoal.auditing.population import population_uniques

COLUMNS = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]


@pytest.fixture(scope="module")
def sizes(shared_data: Path) -> NDArray[np.int64]:
    """Return the sizes of the classes of equal records."""
    frame = read_table(shared_data / "adult_train.csv.gz")
    frame = frame.filter(~pl.any_horizontal(pl.all() == "?"))
    return frame.group_by([*COLUMNS, "income"]).len()["len"].to_numpy().astype(np.int64)


def test_the_sample_is_that_of_arx(sizes: NDArray[np.int64]) -> None:
    assert sizes.sum() == 30_162
    assert len(sizes) / 30_162 == 0.6465751607983555  # its average risk
    assert population_uniques(sizes, 1).dankar / 30_162 == 0.5142895033485844


@pytest.mark.parametrize(("fraction", "printed"), [(0.1, 0.3207402393466189), (0.2, 0.3577099234829125)])
def test_zayatz(sizes: NDArray[np.int64], fraction: float, printed: float) -> None:
    found = population_uniques(sizes, fraction)
    assert found.zayatz / found.population == pytest.approx(printed, abs=1e-9)


@pytest.mark.parametrize(("fraction", "printed"), [(0.01, 0.1446083531167384), (0.1, 0.27684993883653597)])
def test_pitman_and_the_decision_rule(sizes: NDArray[np.int64], fraction: float, printed: float) -> None:
    found = population_uniques(sizes, fraction)
    assert found.chosen == "pitman"
    assert found.dankar / found.population == pytest.approx(printed, abs=5e-8)


def test_above_a_tenth_the_rule_takes_the_lower_of_two(sizes: NDArray[np.int64]) -> None:
    """ARX takes Zayatz here: its solver finds no estimate by SNB, or a higher one."""
    found = population_uniques(sizes, 0.2)
    assert found.chosen == "snb"
    assert found.snb is not None
    assert found.snb < found.zayatz
