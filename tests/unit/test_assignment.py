"""Random assignments: valid, disjoint, and each edge used equally often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoal import kernels
from shoal.base.randomness import Randomness
from shoal.kernels.baselines import backtracking_walk
from shoal.methods.baselines.walks import backtracking_assignment
from shoal.recoding.assignment import random_assignment

Draw = Callable[[NDArray[np.int32], Randomness], NDArray[np.int32]]


def ring(n: int, k: int) -> NDArray[np.int32]:
    return ((np.arange(n)[:, None] + np.arange(k)) % n).astype(np.int32)


@given(st.integers(1, 40), st.integers(1, 8), st.integers(0, 2**32), st.booleans())
def test_the_assignments_make_up_the_graph(n: int, k: int, seed: int, backtracking: bool) -> None:
    k = min(k, n)
    rng = np.random.default_rng(seed)
    graph = rng.permutation(n).astype(np.int32)[ring(n, k)][rng.permutation(n)]
    key = Randomness(seed).words(4)
    walk_once = backtracking_walk if backtracking else kernels.walk
    walks = [walk_once(graph, which, key) for which in range(k)]
    drawn = [walk.assignment for walk in walks]
    for which, (assignment, walk) in enumerate(zip(drawn, walks, strict=True)):
        assert sorted(assignment) == list(range(n))
        assert walk.assigned == (which + 1) * n <= walk.steps  # it takes a step at least to get a box
    for row in range(n):
        assert sorted(int(assignment[row]) for assignment in drawn) == sorted(graph[row].tolist())


@pytest.mark.parametrize("draw", [random_assignment, backtracking_assignment])
@pytest.mark.parametrize(("n", "k"), [(5, 2), (6, 3), (7, 4)])
def test_each_edge_is_used_with_probability_1_in_k(draw: Draw, n: int, k: int) -> None:
    graph, draws = ring(n, k), 6_000
    often = Counter(
        (row, int(record))
        for seed in range(draws)
        for row, record in enumerate(draw(graph, Randomness(seed)))
    )
    assert len(often) == n * k
    expected, spread = draws / k, np.sqrt(draws * (1 / k) * (1 - 1 / k))
    for count in often.values():
        assert abs(count - expected) < 4.5 * spread


def test_without_a_seed_it_differs() -> None:
    graph = ring(500, 5)
    one, two = (random_assignment(graph, Randomness()) for _ in range(2))
    assert (one != two).any()
    assert (random_assignment(graph, Randomness(1)) == random_assignment(graph, Randomness(1))).all()


def test_backtracking_can_be_given_up() -> None:
    walk = backtracking_walk(ring(20_000, 8), 7, Randomness(1).words(4), seconds=1e-9)
    assert len(walk.assignment) == 0
    assert walk.assigned < 20_000


def test_numbers_below_a_bound_are_uniform() -> None:
    randomness = Randomness(5)
    often = Counter(randomness.below(3) for _ in range(3_000))
    assert set(often) == {0, 1, 2}
    assert min(often.values()) > 900
