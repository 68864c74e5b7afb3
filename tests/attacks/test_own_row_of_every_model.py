"""The own row of a person in small tables: running the method again tells no more than the least chance."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal import (
    KK,
    Concealment,
    Freeform,
    KAnonymity,
    KOne,
    OneK,
    Patterned,
    Schema,
    SetAnonymity,
    SetDiversity,
)
from shoal.models import Model

SHAPES = {
    "even": [20, 21, 30, 33, 50, 58, 63, 70, 72, 80, 85, 90],
    "two groups": [20, 21, 22, 23, 24, 25, 70, 71, 72, 73, 74, 75],
    "an outlier": [20, 21, 22, 24, 25, 27, 28, 29, 30, 31, 32, 90],
    "equal records": [20, 20, 40, 40, 60, 60, 60, 80, 80, 80, 85, 85],
}
MODELS: list[tuple[Model, float]] = [
    (Freeform(k=2), 1 / 2),
    (Freeform(k=3), 1 / 3),
    (Freeform(k=3, l=1.5), 1 / 3),
    (KAnonymity(k=3), 1 / 3),
    (KAnonymity(k=3, l=1.5), 1 / 3),
    (Patterned(k=3), 1 / 3),
    (Concealment(k=3), 2 / 3),
    (Concealment(k=4), 2 / 4),
    (Concealment(k=3, l=1.5), 2 / 3),
    (Concealment(k=3, chance=1), 1.0),
    (KK(k=4), 2 / 4),
    (KK(k=3, chance=1), 1.0),
    (OneK(k=3), 1.0),
    (KOne(k=3), 1.0),
]
"""Each model with the largest probability of a right guess that it allows."""


def require_bounded(frame: pl.DataFrame, quasi: str, model: Model, most: float) -> None:
    """Fail if guesses of rows are right more often than the audits of the releases say."""
    schema = Schema.infer(frame, quasi=[quasi], sensitive=["diagnosis"])
    found = shoal.repeated_attack(frame, schema, model, training=40, tests=25, seed=1)
    allowed = most if found.least_chance is None else min(most, found.least_chance)
    assert found.least_chance is None or found.least_chance <= most + 1e-9
    assert found.row.right <= allowed + 2 * found.row.error


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
@pytest.mark.parametrize(
    ("shape", "n"), [("even", 6), ("two groups", 12), ("an outlier", 9), ("equal records", 12)]
)
@pytest.mark.parametrize(("model", "most"), MODELS, ids=lambda each: repr(each)[:40])
def test_own_row_is_no_likelier_than_the_certificate_says(
    model: Model, most: float, shape: str, n: int
) -> None:
    frame = pl.DataFrame({"age": SHAPES[shape][:n], "diagnosis": list("abc" * (n // 3))})
    require_bounded(frame, "age", model, most)


@pytest.mark.parametrize(("model", "most"), [(SetAnonymity(k=3), 1 / 3), (SetDiversity(l=2), 1 / 2)])
def test_own_row_of_sets(model: Model, most: float) -> None:
    sets = [["a"], ["a", "b"], ["b"], ["c"], ["c", "d"], ["d"], ["a", "d"], ["b", "c"], ["a", "c", "d"]]
    frame = pl.DataFrame({"items": sets, "diagnosis": list("xyz" * 3)})
    require_bounded(frame, "items", model, most)
