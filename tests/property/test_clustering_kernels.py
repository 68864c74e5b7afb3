"""Agglomeration, forest and unification: each agrees with a plain twin that looks at everything."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate, combinations
from typing import Any

import numpy as np
import pytest
import twins
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from spaces import records
from twins import Row

from shoal.kernels import RANGE, SET, TREE, Geometry
from shoal.kernels.baselines import Agglomeration, forest, unify

Cost = Callable[[Sequence[Row]], float]


def in_steps(distance: float) -> int:
    return math.floor(distance * 2.0**32 + 0.5)


@st.composite
def spaces(draw: st.DrawFn, most: int = 12) -> tuple[NDArray[np.int32], NDArray[np.int32], Any, Any, Cost]:
    """Draw distinct records, their copies, attributes, counts (or none), and what a closure costs."""
    attributes, drawn = draw(records(most, 2))
    codes = np.unique(drawn, axis=0)
    copies = draw(st.lists(st.sampled_from([1, 1, 1, 2, 5]), min_size=len(codes), max_size=len(codes)))
    return space(attributes, codes, np.array(copies), by_entropy=draw(st.booleans()))


def space(
    attributes: list[Geometry], codes: NDArray[np.int32], copies: NDArray[np.int32], *, by_entropy: bool
) -> tuple[NDArray[np.int32], NDArray[np.int32], Any, Any, Cost]:
    if not by_entropy:
        return codes, copies, attributes, [], lambda rows: twins.box_cost(attributes, rows)
    counts = [
        np.bincount(np.repeat(c, copies), minlength=a.size) for a, c in zip(attributes, codes.T, strict=True)
    ]
    listed = [column.tolist() for column in counts]
    return codes, copies, attributes, counts, lambda rows: twins.entropy(attributes, listed, rows)


def classes_of_copies(classes: Sequence[Counter[int]], copies: NDArray[np.int32]) -> list[Counter[int]]:
    """Return the classes as numbers of records, with how many copies; in an order that means nothing."""
    assert sum(classes, Counter()) == Counter(dict(enumerate(copies.tolist())))
    return sorted(classes, key=lambda members: sorted(members.elements()))


def counted_classes(class_of: NDArray[np.int32], copies: NDArray[np.int32]) -> list[Counter[int]]:
    """Return the same from the class of each copy of each record."""
    record = np.repeat(np.arange(len(copies)), copies)
    classes = [Counter(record[class_of == number].tolist()) for number in range(class_of.max() + 1)]
    assert all(classes)  # none is empty
    return classes_of_copies(classes, copies)


def agglomerated(rows: list[Row], copies: NDArray[np.int32], k: int, cost: Cost) -> list[Counter[int]]:
    """Unite the closest pair of all clusters, again and again (Gionis, Mazza and Tassa 2008)."""

    def cost_of(members: Counter[int]) -> float:
        return cost([rows[r] for r in +members])

    @cache
    def distance(one: int, other: int) -> int:
        a, b = clusters[one], clusters[other]
        apart = cost_of(a) + cost_of(b)
        return in_steps((cost_of(a + b) - apart) / math.log2(a.total() + b.total()))

    classes = [Counter({r: k}) for r, count in enumerate(copies.tolist()) for _ in range(count // k)]
    clusters = {r: Counter({r: count % k}) for r, count in enumerate(copies.tolist()) if count % k}
    ages = iter(range(len(rows), 1_000_000))
    while len(clusters) > 1:
        _, one, other = min((distance(a, b), a, b) for a, b in combinations(sorted(clusters), 2))
        both = clusters.pop(one) + clusters.pop(other)
        if both.total() < k:
            clusters[next(ages)] = both
            continue
        expelled = Counter[int]()
        while both.total() > k:
            gone = min(sorted(both), key=lambda r: in_steps(cost_of(both - Counter([r]))))
            both -= Counter([gone])
            expelled += Counter([gone])
        classes.append(both)
        for record in sorted(expelled):
            clusters[next(ages)] = Counter({record: expelled[record]})
    for left in clusters.values():
        for record in sorted(left.elements()):

            def growth(members: Counter[int], record: int = record) -> int:
                size = float(members.total())
                return in_steps((size + 1) * cost_of(members + Counter([record])) - size * cost_of(members))

            classes[classes.index(min(classes, key=growth))] += Counter([record])
    return classes_of_copies(classes, copies)


def many_records(seed: int, *, by_entropy: bool) -> Any:
    """Return enough records of all kinds, near and far, for searches to leave some out."""
    generator = np.random.default_rng(seed)
    positions = np.sort(generator.integers(0, 65, 20)) / 64
    positions[-1] = 2.0
    attributes = [
        Geometry(RANGE, 0.5, 20, positions),
        Geometry(TREE, 0.25, 40, generator.choice([1, 4, 16, 64], 39, p=[0.6, 0.2, 0.1, 0.1]) / 64),
        Geometry(TREE, 0.25, 6, np.array([1, 8, 1, 32, 1]) / 64),
        Geometry(SET, 0.5, 5, np.array([5.0])),
        Geometry(SET, 0.125, 70, np.array([65.0])),
    ]
    drawn = [generator.binomial(a.size - 1, generator.random(90)) for a in attributes]
    codes = np.unique(np.column_stack(drawn).astype(np.int32), axis=0)
    return space(attributes, codes, generator.choice([1, 1, 1, 2, 4], len(codes)), by_entropy=by_entropy)


@given(spaces(), st.integers(2, 7))
def test_agglomeration_unites_the_closest(drawn: Any, k: int) -> None:
    check_agglomeration(drawn, k)


def check_agglomeration(drawn: Any, k: int) -> None:
    codes, copies, attributes, counts, cost = drawn
    k = min(k, int(copies.sum()))
    agglomeration = Agglomeration(codes, copies, attributes, k, counts)
    while agglomeration.advance(3) < copies.sum():
        pass
    found = counted_classes(agglomeration.classes, copies)
    assert found == agglomerated([tuple(row) for row in codes.tolist()], copies, k, cost)


@pytest.mark.large
@pytest.mark.parametrize("by_entropy", [False, True])
@pytest.mark.parametrize(("seed", "k"), [(1, 3), (2, 7), (3, 20)])
def test_agglomeration_of_many_unites_the_closest(seed: int, k: int, by_entropy: bool) -> None:
    check_agglomeration(many_records(seed, by_entropy=by_entropy), k)


def linked(rows: list[Row], copies: NDArray[np.int32], k: int, cost: Cost) -> list[tuple[int, int, int]]:
    """Return the lightest edges out of trees of fewer than k records, until there are none such."""
    tree = list(range(len(rows)))
    edges = []
    weight = {(a, b): in_steps(cost([rows[a], rows[b]])) for a, b in combinations(range(len(rows)), 2)}
    while True:
        sizes = Counter(np.repeat(tree, copies).tolist())
        leaving = [
            (heavy, a, b)
            for (a, b), heavy in weight.items()
            if tree[a] != tree[b] and min(sizes[tree[a]], sizes[tree[b]]) < k
        ]
        if not leaving:
            return edges
        heavy, a, b = min(leaving)
        edges.append((heavy, a, b))
        tree = [tree[a] if t == tree[b] else t for t in tree]


Tree = dict[int, dict[int, int]]
"""The weights of the edges at each vertex; vertices below 0 stand in for records."""


def component(tree: Tree, start: int, without: int | None = None) -> set[int]:
    """Return all vertices that are reached from one, not through another."""
    seen, waiting = set[int](), [start]
    while waiting:
        vertex = waiting.pop()
        seen.add(vertex)
        waiting += [to for to in tree[vertex] if to not in seen and to != without]
    return seen


def decomposed(tree: Tree, start: int, k: int, stand_ins: Iterator[int]) -> list[set[int]]:
    """Cut a tree into parts of at least k records, the heaviest edge first; see native/classes/forest.cpp."""

    def size(vertices: set[int]) -> int:
        return sum(vertex >= 0 for vertex in vertices)

    def number(vertex: int) -> int:
        return vertex if vertex >= 0 else 1_000_000 - vertex

    whole = component(tree, start)
    records = {vertex for vertex in whole if vertex >= 0}
    if size(whole) <= max(2 * k - 1, 3 * k - 5):
        return [records]
    edges = [
        (-weight, *sorted((number(a), number(b))), a, b)
        for a in whole
        for b, weight in tree[a].items()
        if min(size(component(tree, a, b)), size(component(tree, b, a))) >= k
    ]
    if edges:
        *_, a, b = min(edges)
        del tree[a][b], tree[b][a]
        here, there = a, b
    else:
        (hub,) = [v for v in whole if all(size(component(tree, x, v)) < k for x in tree[v])]
        branches = [(weight, number(x), x, size(component(tree, x, hub))) for x, weight in tree[hub].items()]
        group: list[Any] = []
        for branch in sorted(branches):
            if hub >= 0 and branch[3] == k - 1:
                group = [branch]
                break
        for branch in sorted(branches):
            if sum(b[3] for b in group) < (k - 1 if hub >= 0 else k):
                group.append(branch)
        count = sum(b[3] for b in group)
        with_hub = hub >= 0 and count == k - 1
        if size(whole) - count - with_hub < k:
            return [records]
        here, there = hub, next(stand_ins)
        tree[there] = {}
        for weight, _, x, _ in [b for b in branches if (b in group) != with_hub]:
            del tree[hub][x], tree[x][hub]
            tree[there][x] = tree[x][there] = weight
    return decomposed(tree, here, k, stand_ins) + decomposed(tree, there, k, stand_ins)


def copies_in_trees(rows: list[Row], copies: NDArray[np.int32], k: int, cost: Cost) -> Tree:
    """Return trees over all copies of all records; those of one form a path, and the first has its edges."""
    first = [0, *accumulate(copies.tolist())]
    tree: Tree = {vertex: {} for vertex in range(first[-1])}
    edges = [(weight, first[a], first[b]) for weight, a, b in linked(rows, copies, k, cost)]
    edges += [(0, v, v + 1) for a in range(len(rows)) for v in range(first[a], first[a + 1] - 1)]
    for weight, a, b in edges:
        tree[a][b] = tree[b][a] = weight
    return tree


@given(spaces(16), st.integers(2, 5))
def test_forest_cuts_the_lightest_trees(drawn: Any, k: int) -> None:
    check_forest(drawn, k)


@pytest.mark.large
@pytest.mark.parametrize("by_entropy", [False, True])
@pytest.mark.parametrize(("seed", "k"), [(1, 3), (2, 7), (3, 20)])
def test_forest_of_many_cuts_the_lightest_trees(seed: int, k: int, by_entropy: bool) -> None:
    check_forest(many_records(seed, by_entropy=by_entropy), k)


@pytest.mark.parametrize(("leaves", "k"), [(9, 4), (30, 4), (12, 3), (7, 2), (40, 6)])
def test_forest_divides_stars(leaves: int, k: int) -> None:
    """All records differ from one in one attribute each: no edge can be cut, and the hub is needed twice."""
    attributes = [Geometry(SET, 1.0, 2, np.array([2.0]))] * leaves
    codes = np.vstack([np.zeros(leaves), np.eye(leaves)]).astype(np.int32)
    check_forest(space(attributes, codes, np.ones(leaves + 1, dtype=np.int32), by_entropy=False), k)


def check_forest(drawn: Any, k: int) -> None:
    codes, copies, attributes, counts, cost = drawn
    k = min(k, int(copies.sum()))
    if k < 2:
        return
    rows = [tuple(row) for row in codes.tolist()]
    tree = copies_in_trees(rows, copies, k, cost)
    stand_ins = iter(range(-1, -1_000_000, -1))
    parts: list[set[int]] = []
    for vertex in sorted(tree):
        if not any(vertex in part for part in parts):
            parts += decomposed(tree, vertex, k, stand_ins)
    classes = forest(codes, copies, attributes, k, counts)
    assert sorted(np.bincount(classes).tolist()) == sorted(map(len, parts))
    assert np.bincount(classes).min() >= k
    assert np.bincount(classes).max() <= max(2 * k - 1, 3 * k - 3)
    found = [set(np.flatnonzero(classes == number).tolist()) for number in range(classes.max() + 1)]
    assert sorted(map(sorted, found)) == sorted(map(sorted, parts))


def partitions(records: list[int], k: int) -> Iterator[list[list[int]]]:
    """Yield all ways to divide records into classes of at least k."""
    if not records:
        yield []
        return
    head, *rest = records
    for size in range(k - 1, len(rest) + 1):
        for mates in combinations(rest, size):
            for others in partitions([r for r in rest if r not in mates], k):
                yield [[head, *mates], *others]


@given(spaces(7), st.integers(2, 4))
def test_forest_keeps_its_guarantee(drawn: Any, k: int) -> None:
    codes, copies, attributes, _, _ = drawn
    rows = [tuple(row) for row in codes.tolist()]
    if len(rows) < k:
        return

    def loss(classes: Sequence[Sequence[int]]) -> float:
        return sum(len(c) * twins.box_cost(attributes, [rows[r] for r in c]) for c in classes)

    class_of = forest(codes, np.ones_like(copies), attributes, k)
    found = [np.flatnonzero(class_of == number).tolist() for number in range(class_of.max() + 1)]
    best = min(map(loss, partitions(list(range(len(rows))), k)))
    assert best <= loss(found) <= (3 * k - 3) * best


def unified(
    rows: list[Row],
    classes: list[list[int]],
    labels: list[list[int]],
    diversity: float,
    weight: float,
    cost: Cost,
) -> list[list[int]]:
    """Unite the least diverse class with the one where that costs least (Tassa et al. 2012, Algorithm 8)."""

    def diversity_of(members: list[int]) -> float:
        return min(len(members) / max(Counter(column[r] for r in members).values()) for column in labels)

    def loss(members: list[int]) -> float:
        return len(members) * cost([rows[r] for r in members])

    while True:
        least = min(classes, key=diversity_of)
        others = [c for c in classes if c is not least]
        if diversity_of(least) >= diversity or not others:
            return classes

        def price(other: list[int], least: list[int] = least) -> int:
            more = (loss(least + other) - (loss(least) + loss(other))) / len(rows)
            gap = max(diversity - diversity_of(least + other), 0.0)
            return in_steps(weight * more + (1 - weight) * gap)

        best = min(others, key=price)
        place = min(classes.index(least), classes.index(best))
        classes = [c for c in classes if c is not least and c is not best]
        classes.insert(place, least + best)


@given(spaces(), st.data())
def test_unification_unites_the_least_diverse(drawn: Any, data: st.DataObject) -> None:
    codes, _, attributes, counts, cost = drawn
    n = len(codes)
    numbers = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    class_of = np.unique(numbers, return_inverse=True)[1].astype(np.int32)
    columns = data.draw(st.lists(st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=1, max_size=2))
    diversity = data.draw(st.sampled_from([1.0, 1.1, 1.5, 2.0, 3.0]))
    weight = data.draw(st.sampled_from([0.0, 0.15, 0.5, 1.0]))
    found = unify(
        codes,
        class_of,
        attributes,
        [(np.array(column, dtype=np.int32), 4) for column in columns],
        diversity=diversity,
        weight=weight,
        counts=counts,
    )
    classes = [np.flatnonzero(class_of == number).tolist() for number in range(class_of.max() + 1)]
    wanted = unified([tuple(row) for row in codes.tolist()], classes, columns, diversity, weight, cost)
    united = [np.flatnonzero(found == number).tolist() for number in range(found.max() + 1)]
    assert united == [sorted(members) for members in wanted]
