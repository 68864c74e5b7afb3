"""The closed walk of Xue et al. (2012) as printed, and the ring along their order by itself."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from printed_walk import Words, closed_walk, closed_walk_assignments

from shoal import Schema, SetAnonymity, anonymize
from shoal.base.randomness import Randomness
from shoal.kernels.baselines import closed_walk as closed_walk_kernel
from shoal.methods.baselines.walks import closed_walk_assignment
from shoal.methods.items import as_items
from shoal.methods.ring import ring_graph
from shoal.methods.setgraphs import pure_ring
from shoal.methods.setorder import short_order
from shoal.table import Table


@st.composite
def regular_graphs(draw: st.DrawFn) -> NDArray[np.int32]:
    """Draw a graph in which k permutations differ in each place, so that each record is in k rows."""
    n = draw(st.integers(1, 12))
    k = draw(st.integers(1, n))
    shifts = draw(st.permutations(range(n)))[:k]
    names = np.array(draw(st.permutations(range(n))))
    return np.array([[names[(row + shift) % n] for shift in shifts] for row in range(n)], dtype=np.int32)


@given(regular_graphs(), st.integers(0, 2**32))
def test_the_walk_is_that_of_the_transcription(graph: NDArray[np.int32], seed: int) -> None:
    """The assignments are the same, choice by choice, and together they are the graph."""
    n, k = graph.shape
    key = Randomness(seed).words(4)
    words = Words(key.tolist())
    expected = closed_walk_assignments(graph, words.below)
    found = [closed_walk_kernel(graph, which, key) for which in range(k)]
    assert [each.assignment.tolist() for each in found] == expected
    assert found[-1].assigned == n * k
    edges = Counter((row, record) for each in expected for row, record in enumerate(each))
    assert edges == Counter((row, record) for row, records in enumerate(graph.tolist()) for record in records)


def test_the_figure_of_the_paper() -> None:
    """Figure 3: the walk 4, 5, 1, 3, 2 comes back to 1, and the detour over 3 and 2 is left out."""
    hops = [[], [3, 4], [1, 3], [2, 5], [2, 5], [1, 4]]
    # 5 of (2, 5), 1 of (1, 4), 3 of (3, 4), 2 of (2, 5); 1 and 3 were visited, 1 is first; 4 is left.
    choices = [1, 0, 0, 0, 0, 0, 0]
    child = closed_walk(4, hops, list(range(6)), list(range(6)), [False] * 6, lambda _: choices.pop(0))
    assert child == {4: 5, 5: 1, 1: 4, 3: 2, 2: 1}
    assert not choices


def test_every_edge_is_drawn_equally_often() -> None:
    graph = ring_graph(np.arange(6), np.zeros(6, np.int32), 3)
    often: Counter[tuple[int, int]] = Counter()
    randomness = Randomness(5)
    for _ in range(900):
        often.update(enumerate(closed_walk_assignment(graph, randomness).tolist()))
    assert len(often) == 18
    assert all(230 < count < 370 for count in often.values())


@st.composite
def baskets(draw: st.DrawFn) -> list[list[str]]:
    """Draw sets of three items each, so that only Hamming distances count."""
    n = draw(st.integers(3, 7))
    return [draw(st.permutations("abcdef"))[:3] for _ in range(n)]


@given(baskets(), st.integers(2, 4))
def test_the_pure_ring_follows_the_shortest_path(sets: list[list[str]], k: int) -> None:
    """Within a segment the ends stay, and no path is shorter; each row covers k neighbours on it."""
    k = min(k, len(sets))
    frame = pl.DataFrame({"items": sets})
    items = as_items(Table.encode(frame, Schema.infer(frame, quasi=["items"])))
    order = short_order(items).tolist()

    def length(way: Any) -> int:
        return sum(len(set(sets[a]) ^ set(sets[b])) for a, b in pairwise(way))

    inner = permutations(order[1:-1])
    assert length(order) == min(length([order[0], *way, order[-1]]) for way in inner)
    windows = {
        frozenset(order[(place + step) % len(order)] for step in range(k)) for place in range(len(order))
    }
    assert {frozenset(row) for row in pure_ring(items, k).tolist()} == windows


@pytest.mark.parametrize("options", [{"order": "gray-tsp"}, {"walk": "paper"}])
def test_releases_with_these_options(options: dict[str, str]) -> None:
    rng = np.random.default_rng(2)
    sets = [sorted(set(rng.choice(list("abcdefgh"), 4).tolist())) for _ in range(60)]
    frame = pl.DataFrame({"items": sets})
    schema = Schema.infer(frame, quasi=["items"])
    release = anonymize(frame, schema, SetAnonymity(k=4), method="ring", **options)  # type: ignore[arg-type]
    assert release.audit.holds
