"""Closeness and colourings: kernels against literal counts, and each exchange against the paper's rule."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
import twins
from hypothesis import assume, event, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from spaces import LARGE, records

from shoal.kernels import RANGE, SET, TREE, Closeness, Coloring, Component, Geometry

GOALS = (Coloring.POTENTIAL, Coloring.CAREFUL, Coloring.EXCESS)


def listed(close: NDArray[np.bool_]) -> Closeness:
    return Closeness.listed(np.packbits(close, axis=1, bitorder="little"), len(close))


def pairs_of(closeness: Closeness) -> NDArray[np.bool_]:
    """Return which values are close, as the kernel sees them one pair at a time."""
    size = len(closeness)
    alone = np.eye(size, dtype=np.int64)
    return closeness.near(np.arange(size), alone).T > 0


@st.composite
def graphs(draw: st.DrawFn, most: int = 7) -> NDArray[np.bool_]:
    """Draw which values are close to each other; each is close to itself."""
    size = draw(st.integers(1, most))
    close = np.eye(size, dtype=np.bool_)
    for a in range(size):
        for b in range(a):
            close[a, b] = close[b, a] = draw(st.booleans())
    return close


@given(graphs(12), st.data())
def test_degrees_of_listed_values(close: NDArray[np.bool_], data: st.DataObject) -> None:
    closeness = listed(close)
    assert (pairs_of(closeness) == close).all()
    counts = np.array(data.draw(st.lists(st.integers(1, 5), min_size=len(close), max_size=len(close))))
    assert closeness.degrees(counts).tolist() == (close @ counts - 1).tolist()


@given(st.integers(1, 9), st.integers(1, 3), st.data())
def test_values_that_are_close_in_one_of_several_ranks(size: int, ways: int, data: st.DataObject) -> None:
    drawn, close = [], np.zeros((size, size), dtype=np.bool_)
    for _ in range(ways):
        numbers = np.array(data.draw(st.lists(st.integers(0, 12), min_size=size, max_size=size)))
        reach = data.draw(st.integers(0, 3))
        rank = np.argsort(np.argsort(numbers, kind="stable"), kind="stable")
        ordered = np.sort(numbers)
        low = np.searchsorted(ordered, numbers - reach)
        high = np.searchsorted(ordered, numbers + reach, side="right") - 1
        drawn.append((rank, low, high))
        close |= np.abs(numbers[:, None] - numbers) <= reach
    assert (pairs_of(Closeness.ranked(drawn)) == close).all()


@given(st.integers(1, 8), st.sampled_from([1.0, 2.0, math.inf, 3.0]), st.integers(0, 64), st.data())
def test_norms(size: int, power: float, limit: int, data: st.DataObject) -> None:
    components = []
    for _ in range(data.draw(st.integers(1, 3))):
        kind, weight = data.draw(st.sampled_from([RANGE, SET, TREE])), data.draw(st.integers(1, 4)) / 4
        numbers = np.array(data.draw(st.lists(st.integers(0, 4), min_size=size, max_size=size)), dtype=float)
        if kind == RANGE:
            numbers[np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))] = np.nan
        steps = np.array(data.draw(st.lists(st.integers(0, 64), min_size=4, max_size=4))) / 64
        diameter = data.draw(st.sampled_from([0.0, 2.0, 4.0]))
        components.append(Component(kind, weight, diameter, numbers, steps))
    # Beside the norms that occur, so that rounding plays no part.
    bound = (limit + 0.5) / 97
    found = pairs_of(Closeness.norm(components, power, bound))
    for a, b in product(range(size), repeat=2):
        norm = twins.norm(components, power, a, b)
        if abs(norm - bound) > 1e-9:
            assert found[a, b] == (norm <= bound)


class Case:
    """A colouring, and the same counted word by word."""

    def __init__(self, drawn: Any, close: NDArray[np.bool_], data: st.DataObject) -> None:
        self.attributes, codes = drawn
        assume(all(attribute.size < LARGE for attribute in self.attributes))  # twins look at all codes
        self.rows = [tuple(row) for row in codes.tolist()]
        n = len(self.rows)
        self.count = data.draw(st.integers(min(2, n), max(2, n // 2)))
        self.first = np.array(data.draw(st.permutations([i % self.count for i in range(n)])))
        values = st.lists(st.integers(0, len(close) - 1), min_size=n, max_size=n)
        self.values = np.array(data.draw(values), dtype=np.int32)
        self.near = close[self.values][:, self.values] & ~np.eye(n, dtype=np.bool_)
        self.allowed = np.array(
            data.draw(st.lists(st.integers(0, 2), min_size=self.count, max_size=self.count))
        )
        self.coloring = Coloring(codes, self.attributes, self.first, listed(close), self.values, self.allowed)

    def neighbours(self, class_of: NDArray[Any]) -> NDArray[Any]:
        return np.asarray((self.near & (class_of[:, None] == class_of)).sum(axis=1))

    def excess(self, class_of: NDArray[Any]) -> int:
        return int(np.maximum(self.neighbours(class_of) - self.allowed[class_of], 0).sum())

    def cost(self, class_of: NDArray[Any]) -> float:
        members = [[self.rows[r] for r in np.flatnonzero(class_of == c)] for c in range(self.count)]
        return sum(len(m) * twins.box_cost(self.attributes, m) for m in members)

    def check(self) -> NDArray[Any]:
        """Assert that the kernel knows what it has, and return the classes."""
        class_of = self.coloring.class_of.astype(np.int64)
        neighbours = self.neighbours(class_of)
        assert np.bincount(class_of).tolist() == np.bincount(self.first).tolist()
        assert self.coloring.neighbours.tolist() == neighbours.tolist()
        assert self.coloring.potential == neighbours.sum() / 2
        assert self.coloring.excess == self.excess(class_of)
        assert self.coloring.cost == self.cost(class_of)
        return class_of


@given(records(14, 2), graphs(), st.sampled_from(GOALS), st.booleans(), st.integers(1, 8), st.data())
def test_each_exchange_serves_its_goal(
    drawn: Any, close: NDArray[np.bool_], goal: int, cycles: bool, few: int, data: st.DataObject
) -> None:
    case = Case(drawn, close, data)
    coloring = case.coloring
    case.check()
    while True:
        potential, excess = coloring.potential, coloring.excess
        if not coloring.mend(goal, few, cycles=cycles, most=1):
            break
        case.check()
        event(f"an exchange for goal {goal}")
        assert goal == Coloring.EXCESS or coloring.potential < potential
        assert goal == Coloring.POTENTIAL or coloring.excess < excess
    assert coloring.mend(goal, few, cycles=cycles) == 0


@given(records(12, 2), graphs(), st.data())
def test_the_exchanges_of_the_paper(drawn: Any, close: NDArray[np.bool_], data: st.DataObject) -> None:
    """Algorithm 2, lines 5 to 11, word by word; of equally good ones, the first."""
    case = Case(drawn, close, data)
    for _ in range(30):
        class_of = case.check()
        expected = twins.xcolor_step(
            case.attributes, case.rows, case.near.tolist(), class_of.tolist(), case.allowed.tolist()
        )
        made = case.coloring.mend(Coloring.POTENTIAL, case.count, most=1)
        assert bool(made) == (expected is not None)
        if expected is None:
            break
        event("an exchange")
        assert case.coloring.class_of.tolist() == expected


@given(records(14, 2), graphs(), st.booleans(), st.data())
def test_sweeps_lower_the_cost(
    drawn: Any, close: NDArray[np.bool_], cycles: bool, data: st.DataObject
) -> None:
    case = Case(drawn, close, data)
    coloring = case.coloring
    for _ in range(200):
        cost, excess = coloring.cost, coloring.excess
        made = coloring.sweep(case.count, cycles=cycles)
        case.check()
        assert coloring.excess <= excess
        assert (coloring.cost < cost) == (made > 0)
        if not made:
            break
        event("an exchange")
    assert not made


@given(records(14, 4), graphs(), st.data())
def test_classes_are_told_apart(drawn: Any, close: NDArray[np.bool_], data: st.DataObject) -> None:
    case = Case(drawn, close, data)

    def shown(class_of: NDArray[Any]) -> list[tuple[object, ...]]:
        return [
            twins.shown(case.attributes, [case.rows[r] for r in np.flatnonzero(class_of == number)])
            for number in range(case.count)
        ]

    before, excess = shown(case.check()), case.coloring.excess
    number = data.draw(st.integers(0, case.count - 1))
    made = case.coloring.part(np.array([number]), 3)
    after = shown(case.check())
    assert case.coloring.excess <= excess
    if before.count(before[number]) == 1:
        assert made == 0
    if not made:
        assert after == before
        return
    event("a class was changed")
    assert after.count(after[number]) == 1
    for other in range(case.count):
        assert after[other] == before[other] or after.count(after[other]) == 1


def test_two_classes_do_not_come_to_show_the_same() -> None:
    """An exchange of 1 and 2 between {2} and {1} would make both {1, 2}."""
    rows = np.array([[2], [2], [2], [1], [2], [1], [2], [1], [1], [1], [1]], dtype=np.int32)
    classes = np.array([0, 1, 0, 3, 0, 2, 1, 2, 3, 4, 4])
    coloring = Coloring(
        rows,
        [Geometry(SET, 1.0, 3, np.array([2.0]))],
        classes,
        listed(np.ones((1, 1), dtype=np.bool_)),
        np.zeros(11, dtype=np.int32),
        np.zeros(5),
    )
    assert coloring.part(np.array([0]), 3) == 0
    assert coloring.class_of.tolist() == classes.tolist()


def test_cycles_help_where_pairs_do_not() -> None:
    """Records 0 and 3 are close and in one class, and no exchange of two leaves fewer such pairs."""
    close = np.eye(6, dtype=np.bool_)
    for a, b in [(0, 1), (0, 3), (0, 5), (3, 4), (3, 5)]:
        close[a, b] = close[b, a] = True
    attributes = [Geometry(RANGE, 1.0, 1, np.zeros(1))]

    def mended(cycles: bool) -> int:
        coloring = Coloring(
            np.zeros((6, 1), dtype=np.int32),
            attributes,
            np.arange(6) % 3,
            listed(close),
            np.arange(6, dtype=np.int32),
            np.zeros(3),
        )
        assert coloring.excess == 2
        coloring.mend(Coloring.POTENTIAL, 8, cycles=cycles)
        return coloring.excess

    assert mended(cycles=False) == 2
    assert mended(cycles=True) == 0


@pytest.mark.parametrize("cycles", [False, True])
def test_large_colourings_are_mended_on_all_cores(cycles: bool) -> None:
    """Enough classes that several records look for an exchange at the same time."""
    generator = np.random.default_rng(7)
    n, k, size = 6000, 6, 40
    codes = generator.integers(0, 50, (n, 2)).astype(np.int32)
    attributes = [Geometry(RANGE, 0.5, 50, np.arange(50) / 49), Geometry(SET, 0.5, 50, np.array([50.0]))]
    close = np.abs(np.arange(size)[:, None] - np.arange(size)) <= 1
    values = generator.integers(0, size, n).astype(np.int32)
    class_of = np.argsort(np.argsort(codes[:, 0], kind="stable")) // k
    coloring = Coloring(codes, attributes, class_of, listed(close), values, np.zeros(n // k))
    assert coloring.excess > 1000
    coloring.mend(Coloring.CAREFUL, 8, cycles=cycles)
    assert coloring.excess == 0
    cost = coloring.cost
    assert coloring.sweep(8, cycles=cycles) > 0
    assert coloring.cost < cost
    assert coloring.excess == 0
    again = coloring.class_of
    assert (close[values][:, values] & (again[:, None] == again)).sum() == n
