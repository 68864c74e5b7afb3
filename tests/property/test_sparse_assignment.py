"""The cheapest assignment: the least sum of costs, also with ties, or else as many rows as there can be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from shoal.kernels import cheapest_assignment


def assigned(costs: NDArray[np.float64], slack: float) -> NDArray[np.int32]:
    """Return the column of each row of a matrix in which infinite costs are no edges."""
    edges = np.isfinite(costs)
    starts = np.concatenate([[0], np.cumsum(edges.sum(axis=1))])
    return cheapest_assignment(starts, np.nonzero(edges)[1], costs[edges], costs.shape[1], slack)


def check(costs: NDArray[np.float64], slack: float = 0.0) -> int:
    """Check an assignment against SciPy's and return how many rows it leaves out."""
    column_of = assigned(costs, slack)
    rows = np.flatnonzero(column_of >= 0)
    taken = column_of[rows]
    assert len(set(taken.tolist())) == len(taken)
    paid = costs[rows, taken]
    assert np.isfinite(paid).all()
    most = maximum_bipartite_matching(csr_matrix(np.isfinite(costs)))
    assert len(rows) == (most >= 0).sum()
    left_out = len(costs) - len(rows)
    if left_out == 0:
        least = costs[linear_sum_assignment(costs)].sum()
        assert least <= paid.sum() <= least + slack * len(costs)
    return left_out


@given(
    shape=st.tuples(st.integers(1, 12), st.integers(1, 12)) | st.integers(1, 40).map(lambda n: (n, n)),
    often=st.sampled_from([0.1, 0.3, 0.6, 1.0]),
    values=st.sampled_from([1, 2, 5, 1_000]),
    perfect=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
    slack=st.sampled_from([0.0, 0.0, 0.25, 1.0, 8.0]),
)
def test_the_least_sum_there_is(
    shape: tuple[int, int], often: float, values: int, perfect: bool, seed: int, slack: float
) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.integers(-2, values, shape).astype(np.float64)
    costs[rng.random(shape) >= often] = np.inf
    if perfect:  # one that is known, and rarely the best
        least = min(shape)
        costs[rng.permutation(shape[0])[:least], rng.permutation(shape[1])[:least]] = values
    left_out = check(costs, slack)
    event("all rows" if left_out == 0 else "not all rows")
    assert not perfect or left_out == max(0, shape[0] - shape[1])


@pytest.mark.parametrize("slack", [0.0, 1.0, 2.0**10])
@pytest.mark.parametrize("values", [2, 10, 10**6])
@pytest.mark.parametrize("columns", [400, 500])
def test_hundreds_of_rows_that_want_the_same(values: int, columns: int, slack: float) -> None:
    rng = np.random.default_rng(values)
    costs = np.full((400, columns), np.inf)
    for row in range(400):
        near = (row + rng.integers(0, 30, 12)) % columns
        costs[row, near] = rng.integers(0, values, 12)
        costs[row, row] = values
    assert check(costs, slack) == 0


def test_nothing_to_assign() -> None:
    nothing: Any = np.empty(0)
    assert cheapest_assignment(np.zeros(1), nothing, nothing, 0).tolist() == []
    assert cheapest_assignment(np.zeros(3), nothing, nothing, 2).tolist() == [-1, -1]
