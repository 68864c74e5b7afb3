"""Graphs over sets of items: regular, never worse, labels kept apart; the rivals agree with their twins."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from itemset_strategies import Items, check_regular, packed, records, weighted
from numpy.typing import NDArray

from shoal.base.randomness import Randomness
from shoal.kernels import baselines, differences, itemsets

KEY = Randomness(1).words(4)


def ring(n: int, k: int, seed: int) -> NDArray[np.int32]:
    rng = np.random.default_rng(seed)
    numbers = rng.permutation(n).astype(np.int32)
    return numbers[(np.arange(n)[:, None] + np.arange(k)) % n][rng.permutation(n)]


def around(graph: NDArray[np.int32], published: list[int]) -> list[list[int]]:
    """Return the labels of the rows that cover each record."""
    found: list[list[int]] = [[] for _ in range(len(graph))]
    for row, members in enumerate(graph.tolist()):
        for record in members:
            found[record].append(published[row])
    return found


def more_than_half(sets: list[Items], row: list[int]) -> Items:
    often = Counter(item for record in row for item in sets[record])
    return frozenset(item for item, count in often.items() if 2 * count > len(row))


@given(records(min_size=2), st.integers(1, 5), st.data())
def test_few_sets_are_compared_all_with_all(drawn: Any, count: int, data: st.DataObject) -> None:
    sets, arrays = drawn
    n = len(sets)
    count = min(count, n - 1)
    weights = data.draw(st.lists(st.integers(1, 9), min_size=n, max_size=n))
    near = itemsets.near_sets(arrays, np.array(weights, dtype=np.int32), [np.arange(n)], count, 2)
    for one, found in enumerate(near.tolist()):
        costs = [(weighted(sets[one], sets[o], weights[one], weights[o]), o) for o in range(n) if o != one]
        assert found == [other for _, other in sorted(costs)[:count]]


def test_many_sets_find_nearly_all_neighbours() -> None:
    rng = np.random.default_rng(3)
    for width, size in ((64, 30), (4_000, 12)):
        centres = [rng.integers(0, width, size) for _ in range(200)]
        sets = [
            frozenset(
                np.where(rng.random(size) < 0.05, rng.integers(0, width, size), centres[i % 200]).tolist()
            )
            for i in range(4_200)
        ]
        arrays, weights = packed(sets, width), np.ones(4_200, np.int32)
        order = itemsets.gray_order(arrays)
        turned = packed(([width - 1 - item for item in record] for record in sets), width)
        orders = [order, itemsets.gray_order(turned)]
        first, again = (itemsets.near_sets(arrays, weights, orders, 8, 4) for _ in range(2))
        assert (first == again).all()  # whatever the threads do
        asked = rng.integers(0, 4_200, 60)
        everybody = np.arange(4_200)
        shortfall = 0
        for one in asked:
            distances = differences(arrays.arrays, arrays.arrays, np.full(4_200, one), everybody)
            assert one not in first[one]
            assert len(set(first[one].tolist())) == 8
            assert (np.diff(distances[first[one]]) >= 0).all()
            shortfall += distances[first[one]].sum() - np.sort(distances)[1:9].sum()
        assert shortfall <= 0.02 * 60 * 8 * size


@given(records(min_size=3, max_size=20), st.integers(1, 6), st.integers(0, 2**32), st.booleans(), st.data())
def test_rows_err_less_and_stay_regular(
    drawn: Any, k: int, seed: int, labelled: bool, data: st.DataObject
) -> None:
    sets, arrays = drawn
    n = len(sets)
    k = min(k, n - 1)
    weights = data.draw(st.lists(st.integers(1, 9), min_size=n, max_size=n))
    before = ring(n, k, seed)
    labels = None
    if labelled:
        labels = np.arange(n) % max(2 * k - 1, n // 2)
        assume(all(len(set(seen)) == k for seen in around(before, labels.tolist())))
    weighing = np.array(weights, dtype=np.int32)
    near = itemsets.near_sets(arrays, weighing, [np.arange(n)], min(8, n - 1), 1)

    def true_cost(graph: NDArray[np.int32]) -> int:
        return sum(
            weights[record] * len(sets[record] ^ majority)
            for row in graph.tolist()
            for majority in [more_than_half(sets, row)]
            for record in row
        )

    search = itemsets.SetGraph(arrays, weighing, before, near, Randomness(seed).words(4), labels)
    cost = search.cost
    assert cost == true_cost(before)
    for temperature in (0.0, 0.0, 0.0, 5.0, 0.0):
        moved = search.reassign(2, temperature)
        graph = search.graph
        check_regular(graph)
        assert search.cost == true_cost(graph)
        if temperature == 0.0:
            assert search.cost <= cost
            event("moved" if moved else "nothing moved")
        cost = search.cost
        if labels is not None:
            assert (graph[:, 0] == before[:, 0]).all()
            assert all(len(set(seen)) == k for seen in around(graph, labels.tolist()))


@given(records(min_size=4, max_size=20), st.integers(0, 2**32))
def test_records_keep_their_places_and_labels(drawn: Any, seed: int) -> None:
    sets, arrays = drawn
    n = len(sets) // 2 * 2
    arrays = packed(sets[:n], arrays.size)
    weights = np.ones(n, dtype=np.int32)
    near = itemsets.near_sets(arrays, weights, [np.arange(n)], min(8, n - 1), 1)
    labels = np.arange(n) % 2
    before = np.column_stack((np.arange(n), (np.arange(n) + 1) % n)).astype(np.int32)
    search = itemsets.SetGraph(
        arrays, weights, before, near, Randomness(seed).words(4), labels, in_places=True
    )
    cost = search.cost
    search.reassign(4)
    assert search.cost <= cost
    for label in range(2):
        for place in range(2):
            rows = labels == label
            assert sorted(search.graph[rows, place]) == sorted(before[rows, place])


@pytest.mark.large
def test_many_rows_on_all_cores() -> None:
    rng = np.random.default_rng(5)
    n, k = 9_000, 3
    sets = packed((set(rng.integers(0, 60, 8).tolist()) for _ in range(n)), 60)
    weights = np.ones(n, np.int32)
    order = itemsets.gray_order(sets)
    near = itemsets.near_sets(sets, weights, [order], 8, 2)
    before = order[(np.arange(n)[:, None] + np.arange(k)) % n]
    for labels in (None, np.arange(n) % 7):
        results = []
        for _ in range(2):
            search = itemsets.SetGraph(sets, weights, before, near, KEY, labels)
            cost = search.cost
            assert search.reassign(2) > 0
            assert search.cost < cost
            results.append(search.graph)
        assert (results[0] == results[1]).all()  # whatever the threads do
        check_regular(results[0])
        if labels is not None:
            assert all(len(set(seen)) == k for seen in around(results[0], labels.tolist()))


def greedy_extraction(
    sets: list[Items], order: list[int], labels: list[int], starts: list[list[int]]
) -> list[list[int]] | None:
    """Algorithms 1 and 2 of Xue et al. 2012, line by line, over ranks; rows of records."""
    n = len(order)
    matched: list[list[int]] = [[] for _ in order]
    for begin in starts:
        record_of, left = list(range(n)), {order.index(record) for record in begin}
        for start in (order.index(record) for record in begin):
            if start not in left:
                continue
            visited: list[tuple[int, int]] = []
            child: dict[int, int] = {}

            def pick(u: int, visited: list[tuple[int, int]] = visited) -> int | None:
                last = None
                for j in range(n // 2 + 2):
                    eligible = [
                        p
                        for p in ((u + j) % n, (u - j) % n)
                        if p not in matched[u]
                        and (u, p) not in visited
                        and labels[order[p]] not in {labels[order[m]] for m in matched[u]}
                    ]
                    if not eligible:
                        continue
                    p = min(eligible, key=lambda p: len(sets[order[p]] ^ sets[order[u]]))
                    if all(p != other for _, other in visited):
                        return p
                    if last is None:
                        last = p
                return last

            first = row = pick(start)
            if row is None:
                return None
            visited.append((start, row))
            while row != start:
                record = record_of[row]
                following = pick(record)
                if following is None:
                    return None
                visited.append((record, following))
                child[row] = row = following
            record, row = start, first
            while True:
                record_of[row], before = record, record_of[row]
                left.discard(record)
                if row == start:
                    break
                record, row = before, child[row]
        for row, record in enumerate(record_of):
            matched[record].append(row)
    rows: list[list[int]] = [[-1] * len(starts) for _ in order]
    for record, found in enumerate(matched):
        for number, row in enumerate(found):
            rows[order[row]][number] = order[record]
    return rows


@given(records(min_size=2), st.integers(1, 4), st.data())
def test_greedy_extraction(drawn: Any, different: int, data: st.DataObject) -> None:
    sets, arrays = drawn
    n = len(sets)
    different = min(different, n)
    labels = data.draw(st.lists(st.integers(0, 6), min_size=n, max_size=n))
    order = data.draw(st.permutations(range(n)))
    starts = [data.draw(st.permutations(range(n))) for _ in range(different)]
    found = baselines.greedy_extraction(
        arrays, np.array(order), np.array(labels), [np.array(s) for s in starts], 10_000
    )
    expected = greedy_extraction(sets, order, labels, starts)
    event("no way on" if expected is None else "all matched")
    if found is None or expected is None:
        assert found is expected
        return
    assert found.tolist() == expected
    check_regular(found)
    assert all(len(set(seen)) == different for seen in around(found, labels))


def test_greedy_extraction_can_be_given_up() -> None:
    sets = packed([{i} for i in range(50)], 50)
    order = np.arange(50)
    assert baselines.greedy_extraction(sets, order, order, [order] * 3, 0) is None
    assert baselines.greedy_extraction(sets, order, order, [order] * 3, 10_000) is not None


def cahd(sets: list[Items], order: list[int], labels: list[int], size: int, reach: int) -> list[int]:
    """Return the groups of CAHD, by lists."""
    free, group_of, groups = list(order), [-1] * len(order), 0
    for start in order:
        if start not in free:
            continue
        place = free.index(start)
        others = [
            [r for r in side if labels[r] != labels[start]][:reach]
            for side in (free[:place][::-1], free[place + 1 :])
        ]
        near = sorted(others[0] + others[1], key=lambda r: (len(sets[r] ^ sets[start]), order.index(r)))
        group = [start]
        for record in near:
            if len(group) < size and labels[record] not in {labels[r] for r in group}:
                group.append(record)
        rest = [r for r in free if r not in group]
        most = max(Counter(labels[r] for r in rest).values(), default=0)
        if len(group) < size or most * size > len(rest):
            continue
        for record in group:
            group_of[record] = groups
        free, groups = rest, groups + 1
    return [groups if number < 0 else number for number in group_of]


@given(records(min_size=2, max_size=20), st.integers(1, 4), st.integers(1, 8), st.data())
def test_cahd(drawn: Any, size: int, reach: int, data: st.DataObject) -> None:
    sets, arrays = drawn
    n = len(sets)
    labels = data.draw(st.lists(st.integers(0, 6), min_size=n, max_size=n))
    order = data.draw(st.permutations(range(n)))
    found = baselines.cahd(arrays, np.array(order), np.array(labels), size, reach).tolist()
    assert found == cahd(sets, order, labels, size, reach)
    if max(Counter(labels).values()) * size <= n:
        for group in set(found):
            inside = [labels[r] for r in range(n) if found[r] == group]
            assert max(Counter(inside).values()) * size <= len(inside)


@given(st.integers(2, 30), st.integers(2, 5), st.integers(0, 2**32))
def test_mixing_keeps_labels_apart(n: int, k: int, seed: int) -> None:
    k = min(k, n)
    graph = ring(n, k, seed)
    labels = np.arange(n)
    labels[graph[0, 0]] = labels[graph[n // 2, -1]]  # one pair that may clash
    assignment = graph[:, 0].copy()
    assume(all(len(set(seen)) == k for seen in around(graph, labels[assignment].tolist())))
    mixed = itemsets.mix(graph, assignment, labels, 50 * n, Randomness(seed).words(4))
    assert sorted(mixed.tolist()) == list(range(n))
    assert (graph == mixed[:, None]).any(axis=1).all()
    assert all(len(set(seen)) == k for seen in around(graph, labels[mixed].tolist()))


def test_all_assignments_that_labels_allow_are_equally_likely() -> None:
    graph = ((np.arange(7)[:, None] + np.arange(3)) % 7).astype(np.int32)
    labels = np.array([0, 1, 2, 0, 4, 5, 6])
    possible = {
        drawn
        for drawn in permutations(range(7))
        if all(record in graph[row] for row, record in enumerate(drawn))
        and all(len(set(seen)) == 3 for seen in around(graph, labels[list(drawn)].tolist()))
    }
    start = np.array(
        sorted(possible)[len(possible) // 2], dtype=np.int32
    )  # not one that nothing leads away from
    draws = 200 * len(possible)
    often = Counter(
        tuple(itemsets.mix(graph, start, labels, 400, Randomness(seed).words(4)).tolist())
        for seed in range(draws)
    )
    reached = set(often)
    assert reached <= possible
    assert len(reached) > 1
    expected = draws / len(reached)
    assert all(abs(count - expected) < 5 * np.sqrt(expected) for count in often.values())
