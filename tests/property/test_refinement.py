"""Refined graphs: what they cost, that they stay regular and simple, and that cores do not matter."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
import twins
from hypothesis import event, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from spaces import LARGE, records

from shoal.kernels import RANGE, SET, TREE, Geometry, Refinement

KEY = np.arange(4, dtype=np.uint64)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Geometry], NDArray[np.int32], NDArray[np.int32]]:
    """Draw attributes, records, and a regular and simple graph of rows that are near or far."""
    attributes, codes = draw(records(40))
    n = len(codes)
    degree = draw(st.integers(1, min(n, 9)))
    circle = draw(st.permutations(range(n)))
    return attributes, codes, around(np.array(circle, dtype=np.int32), degree)


def around(circle: NDArray[np.int32], degree: int) -> NDArray[np.int32]:
    """Return rows of this many records that follow each other in a circle."""
    return np.stack([np.roll(circle, -step) for step in range(degree)], axis=1)


def literal_cost(attributes: list[Geometry], codes: NDArray[np.int32], graph: NDArray[np.int32]) -> float:
    """Return what all rows cost, from their records; exact, as all costs are multiples of 1/64."""
    return sum(
        a.weight * twins.cost(a, set(codes[row, c].tolist()))
        for row in graph
        for c, a in enumerate(attributes)
    )


def stays_regular_and_simple(graph: NDArray[np.int32], degree: int) -> bool:
    ordered = np.sort(graph, axis=1)
    return bool(
        graph.shape[1] == degree
        and (ordered[:, 1:] != ordered[:, :-1]).all()
        and (np.bincount(graph.ravel(), minlength=len(graph)) == degree).all()
    )


@given(graphs())
def test_exchanges_only_lower_the_cost(drawn: Any) -> None:
    attributes, codes, graph = drawn
    refinement = Refinement(codes, attributes, graph, KEY)
    assert (refinement.graph == graph).all()
    for _ in range(3):
        before, cost = refinement.graph, refinement.cost
        assert cost == literal_cost(attributes, codes, before)
        exchanges = refinement.exchange()
        assert (exchanges == 0) == (refinement.graph == before).all()
        assert (refinement.cost < cost) == (exchanges > 0)
        assert stays_regular_and_simple(refinement.graph, graph.shape[1])
    assert refinement.cost == literal_cost(attributes, codes, refinement.graph)


@given(graphs(), st.integers(1, 4), st.sampled_from([0.0, 0.0, 0.02, 1.0]), st.integers(1, 5))
def test_reassignments_raise_the_cost_only_if_it_is_blurred(
    drawn: Any, times: int, temperature: float, most: int
) -> None:
    attributes, codes, graph = drawn
    refinement = Refinement(codes, attributes, graph, KEY)
    for _ in range(3):
        before, cost = refinement.graph, refinement.cost
        moved = refinement.reassign(times, temperature, most)
        assert moved <= times * len(graph)
        assert moved > 0 or (refinement.graph == before).all()
        assert refinement.cost == literal_cost(attributes, codes, refinement.graph)
        assert refinement.cost <= cost or temperature > 0
        assert stays_regular_and_simple(refinement.graph, graph.shape[1])
        event("cheaper" if refinement.cost < cost else "dearer" if refinement.cost > cost else "as before")


@given(records(40), st.integers(2, 9), st.sampled_from([0.0, 0.02, 1.0]), st.integers(1, 5))
def test_no_row_gets_two_records_of_a_person(drawn: Any, degree: int, temperature: float, most: int) -> None:
    attributes, codes = drawn
    codes = np.ascontiguousarray(np.resize(codes, (4 * degree, codes.shape[1])))
    owners = np.arange(len(codes), dtype=np.int32) % (2 * degree)  # two records each, far apart in the circle
    refinement = Refinement(
        codes, attributes, around(np.arange(len(codes), dtype=np.int32), degree), KEY, owners
    )
    for _ in range(3):
        refinement.reassign(2, temperature, most)
        assert stays_regular_and_simple(refinement.graph, degree)
        persons = np.sort(owners[refinement.graph], axis=1)
        assert (persons[:, 1:] != persons[:, :-1]).all()
        assert refinement.cost == literal_cost(attributes, codes, refinement.graph)


@pytest.mark.parametrize("size", [64, 65, 70, LARGE])
def test_sets_on_both_sides_of_a_word(size: int) -> None:
    """Codes of large sets are counted in the rows, those of small ones in bits: the last code matters."""
    rng = np.random.default_rng(size)
    codes = rng.choice([0, 1, 62, 63, size - 2, size - 1], (200, 2)).astype(np.int32)
    attributes = [Geometry(SET, 0.5, size, np.array([65.0])) for _ in range(2)]
    graph = around(rng.permutation(200).astype(np.int32), 5)
    refinement = Refinement(codes, attributes, graph, KEY)
    start = refinement.cost
    for step in (
        refinement.exchange,
        partial(refinement.reassign, 5),
        partial(refinement.reassign, 5, most=2),
        refinement.exchange,
    ):
        before = refinement.cost
        step()
        assert refinement.cost <= before
        assert refinement.cost == literal_cost(attributes, codes, refinement.graph)
        assert stays_regular_and_simple(refinement.graph, 5)
    assert refinement.cost < 0.5 * start  # of 36 kinds, most have others of their kind nearby


@pytest.mark.large
def test_many_parts_on_all_cores_give_what_the_key_says() -> None:
    """Rows of two parts; runs at the same time get the cores in another order each."""
    n, degree = 4_500, 4
    rng = np.random.default_rng(7)
    attributes = [
        Geometry(RANGE, 0.5, 64, np.concatenate([np.arange(63) / 64, [2.0]])),  # the last is missing
        Geometry(TREE, 0.25, 16, np.array([8, 16, 8, 32, 8, 16, 8, 64, 8, 16, 8, 32, 8, 16, 8]) / 64),
        Geometry(SET, 0.125, 70, np.array([65.0])),
        Geometry(SET, 0.125, LARGE, np.array([65.0])),
    ]
    codes = np.stack([rng.integers(0, a.size, n) for a in attributes], axis=1).astype(np.int32)
    codes = codes[np.lexsort(codes.T)]
    graph = around(np.arange(n, dtype=np.int32), degree)

    def refined(key: NDArray[np.uint64]) -> tuple[list[int], list[float], NDArray[np.int32]]:
        refinement = Refinement(codes, attributes, graph, key)
        costs, changes = [refinement.cost], []
        for step in (
            refinement.exchange,
            lambda: refinement.reassign(1),
            lambda: refinement.reassign(2, 0.01, most=2),
        ):
            changes.append(step())
            costs.append(refinement.cost)
        return changes, costs, refinement.graph

    with ThreadPoolExecutor(3) as pool:
        (changes, costs, one), *others = pool.map(refined, [KEY, KEY, KEY + np.uint64(1)])
    assert min(changes) > 0
    assert costs[2] < costs[1] < costs[0]
    assert costs[3] == literal_cost(attributes, codes, one)
    assert stays_regular_and_simple(one, degree)
    assert others[0][:2] == (changes, costs)
    assert (others[0][2] == one).all()
    assert (others[1][2] != one).any()
