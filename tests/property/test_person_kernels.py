"""Kernels for persons with several records, against plain Python twins."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal import kernels
from shoal.kernels import RANGE, BoxTree, ClassMoves, ConsistencyGraph, Geometry
from shoal.kernels.geometry import CodeIntervals

PERSONS = st.lists(st.integers(0, 6), min_size=1, max_size=40)


def spaced_twin(owners: list[int], gap: int) -> list[int]:
    """Put the first record that may stand now, of those that waited, then of those to come."""
    order: list[int] = []
    waiting: list[int] = []
    last: dict[int, int] = {}
    to_come = list(range(len(owners)))

    def may(record: int) -> bool:
        return owners[record] not in last or len(order) - last[owners[record]] >= gap

    while True:
        chosen = next((record for record in waiting if may(record)), None)
        if chosen is None:
            while to_come and not may(to_come[0]):
                waiting.append(to_come.pop(0))
            if not to_come:
                return order
            chosen = to_come.pop(0)
        else:
            waiting.remove(chosen)
        last[owners[chosen]] = len(order)
        order.append(chosen)


@given(PERSONS, st.integers(1, 6))
def test_records_of_a_person_stand_apart(owners: list[int], gap: int) -> None:
    order = kernels.spaced(np.array(owners, np.int32), gap).tolist()
    assert order == spaced_twin(owners, gap)
    for place, record in enumerate(order):
        near = order[max(0, place - gap + 1) : place]
        assert owners[record] not in [owners[other] for other in near]


def line() -> list[Geometry]:
    return [Geometry(RANGE, 1.0, 10, np.linspace(0.0, 1.0, 10))]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), min_size=4, max_size=12), st.integers(2, 3))
def test_the_cheapest_cut_keeps_persons_apart(records: list[tuple[int, int]], k: int) -> None:
    codes = np.array([[code] for code, _ in records], np.int32)
    owners = np.array([owner for _, owner in records], np.int32)
    found = kernels.cut(codes, line(), k, owners).tolist()
    best: dict[int, tuple[float, list[int]]] = {0: (0.0, [])}
    for end in range(1, len(records) + 1):
        for size in range(k, 2 * k):
            begin = end - size
            part = records[begin:end] if begin >= 0 else []
            if begin not in best or len({owner for _, owner in part}) < size:
                continue
            spread = max(code for code, _ in part) - min(code for code, _ in part)
            cost = best[begin][0] + size * spread / 9
            if end not in best or cost < best[end][0] - 1e-12:
                best[end] = (cost, [*best[begin][1], begin])
    if len(records) not in best:
        assert found == []
        return
    bounds = [*found, len(records)]
    assert all(k <= high - low < 2 * k for low, high in itertools.pairwise(bounds))
    cost = sum(
        (high - low) * (codes[low:high].max() - codes[low:high].min()) / 9
        for low, high in itertools.pairwise(bounds)
    )
    assert abs(cost - best[len(records)][0]) < 1e-9


@given(st.integers(2, 3), st.integers(2, 6), st.integers(0, 2**32))
def test_moves_keep_persons_apart_and_lower_the_cost(k: int, classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = k * classes
    codes = rng.integers(0, 10, (n, 1)).astype(np.int32)
    owners = rng.permutation(np.arange(n) % (n - classes // 2)).astype(np.int32)
    class_of = np.repeat(np.arange(classes), k)
    crowded = {number for number in range(classes) if len(set(owners[class_of == number])) < k}
    moves = ClassMoves(codes, line(), class_of, k, owners)
    before = moves.cost
    for _ in range(3):
        moves.sweep()
    assert moves.cost <= before + 1e-9
    for number in range(classes):
        members = np.flatnonzero(moves.class_of == number)
        assert len(members) >= k
        if number in crowded:
            assert members.tolist() == np.flatnonzero(class_of == number).tolist()
        else:
            assert len(set(owners[members])) == len(members)


@given(st.integers(2, 20), st.integers(1, 8), st.integers(0, 2**32))
def test_nearest_boxes_have_no_record_of_the_person(n: int, persons: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 10, (n, 1)).astype(np.int32)
    owners = rng.integers(0, persons, n).astype(np.int32)
    tree = BoxTree(codes, line(), 3, owners)
    boxes, costs = tree.nearest_boxes(np.arange(n))
    placed = owners[tree.order]
    values = codes[tree.order, 0]
    for place in range(n):
        others = [other for other in range(n) if placed[other] != placed[place]]
        if not others:
            assert boxes[place] == -1
            continue
        least = min(abs(int(values[other]) - int(values[place])) / 9 for other in others)
        assert abs(costs[place] - least) < 1e-12
        assert placed[boxes[place]] != placed[place]


@given(st.integers(1, 15), st.integers(1, 10), st.integers(1, 6), st.integers(0, 2**32))
def test_persons_of_boxes_and_boxes_of_persons(n: int, boxes: int, persons: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    records = np.arange(min(n, 10), dtype=np.int32)[:, None]
    low = rng.integers(0, 10, boxes)
    high = np.minimum(9, low + rng.integers(0, 6, boxes))
    copies = rng.integers(1, 4, boxes)
    lists = [sorted(set(rng.integers(0, persons, rng.integers(1, 4)).tolist())) for _ in records]
    graph = ConsistencyGraph(
        records,
        np.ones(len(records), np.int64),
        np.arange(boxes, dtype=np.int32)[:, None],
        copies.astype(np.int64),
        [CodeIntervals(10, low.astype(np.int32), high.astype(np.int32))],
    )
    starts = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    whose = np.array([owner for each in lists for owner in each], np.int32)
    components = (
        rng.integers(0, 2, len(records)).astype(np.int32),
        rng.integers(0, 2, boxes).astype(np.int32),
    )
    carried = [rng.integers(0, persons, each).tolist() for each in copies]
    carriers = (np.cumsum([0, *copies]).astype(np.int64), np.concatenate(carried).astype(np.int32))
    found = graph.count_persons((starts, whose), persons, components, carriers)
    inside = [[r for r in range(len(records)) if low[b] <= r <= high[b]] for b in range(boxes)]
    matching = [[r for r in inside[b] if components[0][r] == components[1][b]] for b in range(boxes)]
    for edges, of_box, of_person in ((inside, *found[:2]), (matching, *found[2:4])):
        assert of_box.tolist() == [len({owner for r in each for owner in lists[r]}) for each in edges]
        assert of_person.tolist() == [
            sum(int(copies[b]) for b in range(boxes) if any(person in lists[r] for r in edges[b]))
            for person in range(persons)
        ]
    assert found[4].tolist() == [
        sum(carried[b].count(owner) for b in range(boxes) if r in inside[b])
        for r, each in enumerate(lists)
        for owner in each
    ]
    alone = graph.count_persons((starts, whose), persons)
    for given_twice in (alone[:2], alone[2:4]):
        assert all((a == b).all() for a, b in zip(given_twice, found[:2], strict=True))
    assert len(alone[4]) == 0
