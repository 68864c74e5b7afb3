"""Figures of other principles against their definitions, and t-closeness against a transport problem."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from shoal import Hierarchy, KAnonymity, Schema, anonymize, audit
from shoal.auditing.classes import Classes
from shoal.auditing.principles import principles_of
from shoal.measures.distances import Absolute, Equality, LinearDistance, TreeDistance

TREE = Hierarchy.from_levels(
    [["a", "north", "*"], ["b", "north", "*"], ["c", "south", "*"], ["d", "far", "*"], ["e", "far", "*"]]
)
DISTANCES: dict[str, LinearDistance] = {
    "numbers": Absolute(np.array([30.0, 10.0, 20.0, 50.0, np.nan])),
    "categories": Equality(5),
    "places": TreeDistance(TREE, np.array([TREE.leaf_index[leaf] for leaf in "edcba"], dtype=np.int32)),
}


def ground(distance: LinearDistance) -> np.ndarray:
    """Return how far each value is from each other one: by rank for numbers, as t-closeness has it."""
    values = np.arange(len(distance))
    if isinstance(distance, Absolute):
        return np.abs(distance.rank[:, None] - distance.rank) / (len(distance) - 1)
    return distance.between(values[:, None], values)


def moved(costs: np.ndarray, one: np.ndarray, other: np.ndarray) -> float:
    """Return the cheapest way to turn one distribution into another, as a linear program."""
    size = len(one)
    rows = np.kron(np.eye(size), np.ones(size))
    columns = np.kron(np.ones(size), np.eye(size))
    found = linprog(costs.ravel(), A_eq=np.vstack((rows, columns)), b_eq=np.concatenate((one, other)))
    return float(found.fun)


@pytest.mark.parametrize("kind", DISTANCES)
@given(drawn=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=14))
def test_each_figure_is_that_of_the_worst_class(kind: str, drawn: list[tuple[int, int]]) -> None:
    distance = DISTANCES[kind]
    used = sorted({group for group, _ in drawn})
    of_row = np.array([used.index(group) for group, _ in drawn], dtype=np.int32)
    values = np.array([value for _, value in drawn], dtype=np.int32)
    found = principles_of(Classes(of_row, np.bincount(of_row)), "ill", values, distance)
    groups = [values[of_row == number] for number in range(len(used))]
    assert found.k == min(map(len, groups))
    assert found.alpha == max(np.bincount(group).max() / len(group) for group in groups)
    assert found.distinct == min(len(set(group.tolist())) for group in groups)
    shares = [np.bincount(group, minlength=5) / len(group) for group in [values, *groups]]
    expected = max(moved(ground(distance), share, shares[0]) for share in shares[1:])
    assert found.closeness == pytest.approx(expected, abs=1e-9)
    if not isinstance(distance, Absolute):
        assert found.extent is None
        assert found.variance is None
        return
    numbers = [distance.numbers[group] for group in groups]
    known = [each[~np.isnan(each)] for each in numbers]
    if not any(map(len, known)):
        assert found.variance is None
        return
    assert found.extent == pytest.approx(min(np.ptp(each) if len(each) else 0 for each in known))
    assert found.variance == pytest.approx(min(np.var(each) if len(each) else 0 for each in known))


def test_a_thorough_audit_tells_them() -> None:
    frame = pl.DataFrame({"age": [20, 21, 30, 31], "pay": [1, 5, 2, 4], "ill": ["a", "b", "a", "a"]})
    schema = Schema.infer(frame, quasi=["age"], sensitive=["pay", "ill"], kinds={"ill": "categorical"})
    release = anonymize(frame, schema, KAnonymity(k=2), method="mondrian")
    assert release.audit.principles == ()
    pay, ill = audit(frame, release.table, schema).principles
    assert (pay.extent, pay.variance, pay.distinct) == (2, 1, 2)
    assert (ill.alpha, ill.extent) == (1, None)
    plain: dict[str, Any] = pay.as_dict()
    assert plain["t_closeness"] == pay.closeness
    assert audit(frame, frame, schema).principles == ()  # classes of one row say nothing
