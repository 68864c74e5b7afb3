"""The kernels of patterns agree with plain twins, on any table and any patterns."""

from __future__ import annotations

import numpy as np
import patterns as twins
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoal import kernels

Problem = tuple[NDArray[np.int32], NDArray[np.bool_], NDArray[np.float64], int]


@st.composite
def problems(draw: st.DrawFn, most_rows: int = 24, most_columns: int = 7, last: bool = False) -> Problem:
    """Return codes, patterns, maybe with one that keeps nothing, their costs, and k."""
    columns = draw(st.integers(1, most_columns))
    rows = draw(st.lists(st.tuples(*[st.integers(0, 2)] * columns), min_size=1, max_size=most_rows))
    blank = draw(st.sets(st.tuples(*[st.booleans()] * columns), min_size=1, max_size=80))
    weights = np.array(draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=columns, max_size=columns)))
    suppressed = np.array(sorted(blank | ({(True,) * columns} if last else set())))
    costs = suppressed @ weights
    order = np.argsort(costs, kind="stable")
    return np.array(rows, dtype=np.int32), suppressed[order], costs[order], draw(st.integers(2, 5))


def kept(suppressed: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return the columns that patterns keep as bits."""
    return ((~suppressed) * (1 << np.arange(suppressed.shape[1]))).sum(axis=1).astype(np.uint64)


@pytest.mark.parametrize("shared", [False, True])
@given(problems())
def test_cover_agrees_with_the_algorithm(shared: bool, problem: Problem) -> None:
    codes, suppressed, _, k = problem
    rows = [tuple(row) for row in codes.tolist()]
    found = kernels.cover(codes, kept(suppressed), k, shared=shared)
    assert found.pattern_of.tolist() == twins.cover(rows, suppressed, k, shared=shared)


def test_cover_with_a_sieve_agrees_with_the_algorithm() -> None:
    """With all patterns of nine columns, rare rows are sieved out before anything is counted."""
    rng = np.random.default_rng(5)
    codes = rng.choice(4, size=(400, 9), p=[0.6, 0.2, 0.15, 0.05]).astype(np.int32)
    suppressed = (np.arange(512)[:, np.newaxis] >> np.arange(9)[::-1]) & 1 == 1
    suppressed = suppressed[np.argsort(suppressed.sum(axis=1), kind="stable")]
    repeated = np.repeat(suppressed, 3, axis=0)  # enough questions for a sieve to be worth it
    rows = [tuple(row) for row in codes.tolist()]
    for k in (2, 7, 30):
        found = kernels.cover(codes, kept(repeated), k)
        # A pattern asked again finds nothing more: rows left over had fewer than k instances, and still have.
        first = [3 * pattern if pattern >= 0 else -1 for pattern in twins.cover(rows, suppressed, k)]
        assert found.pattern_of.tolist() == first
        assert found.counted < len(rows) * len(repeated) / 2


@given(problems(last=True), st.booleans())
def test_search_agrees_with_its_twin(problem: Problem, covered: bool) -> None:
    codes, suppressed, costs, k = problem
    rows = [tuple(row) for row in codes.tolist()]
    first = twins.cover(rows, suppressed, k) if covered else [-1] * len(rows)
    ours = kernels.PatternSearch(codes, kept(suppressed), costs, 1000.0, k, np.array(first, dtype=np.int32))
    twin = twins.Search(rows, suppressed, costs, 1000.0, k, first)
    assert ours.pattern_of.tolist() == first
    for begin, end in ((len(costs) - 1, len(costs)), (0, len(costs)), (0, len(costs))):
        before = ours.cost
        saved = ours.sweep(begin, end)
        assert saved == twin.sweep(begin, end)
        assert ours.pattern_of.tolist() == twin.pattern_of
        assert ours.cost == pytest.approx(twin.cost())
        assert ours.cost <= before
        assert (ours.cost < before) == (saved > 0)
    placed = [pattern for pattern in ours.pattern_of.tolist() if pattern >= 0]
    kept_rows = [row for row, pattern in zip(rows, ours.pattern_of, strict=True) if pattern >= 0]
    assert all(size >= k for size in twins.sizes(kept_rows, suppressed, placed).values())
    if len(rows) >= k:
        assert len(placed) == len(rows)
