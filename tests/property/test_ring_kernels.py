"""Chains, rings, cuts and classes: each link the cheapest, costs as claimed, nothing left to gain near by."""

from __future__ import annotations

from itertools import accumulate, product
from typing import Any

import numpy as np
import pytest
import twins
from hypothesis import event, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from spaces import records

from shoal.kernels import RANGE, SET, ClassMoves, Geometry, Ring, chain, cut


def rows_of(codes: NDArray[np.int32]) -> list[twins.Row]:
    return [tuple(row) for row in codes.tolist()]


@st.composite
def copied_records(draw: st.DrawFn) -> tuple[list[Geometry], NDArray[np.int32], NDArray[np.int32]]:
    """Draw distinct records and how many copies each has."""
    attributes, drawn = draw(records(16))
    codes = np.unique(drawn, axis=0)
    counts = st.lists(st.sampled_from([1, 1, 1, 2, 3, 9]), min_size=len(codes), max_size=len(codes))
    return attributes, codes, np.array(draw(counts), dtype=np.int32)


@given(copied_records(), st.integers(2, 6), st.data())
def test_each_link_is_the_cheapest(drawn: Any, k: int, data: st.DataObject) -> None:
    attributes, codes, copies = drawn
    numbers = st.lists(st.integers(0, 96), min_size=len(codes), max_size=len(codes))
    elsewhere = np.array(data.draw(numbers)) / 64
    order = chain(codes, copies, elsewhere, attributes, k).tolist()
    assert sorted(order) == list(range(len(codes)))
    rows, tail, left = rows_of(codes), list[twins.Row](), set(order)
    for record in order:
        costs = {r: twins.chain_cost(attributes, tail, rows[r], k) - elsewhere[r] for r in left}
        assert costs[record] == min(costs.values())
        left.remove(record)
        tail = [rows[record]] * int(copies[record]) + tail


@given(copied_records(), st.integers(2, 6))
def test_moves_lower_the_cost_as_claimed(drawn: Any, k: int) -> None:
    attributes, codes, copies = drawn
    k = min(k, int(copies.sum()))
    if k < 2:
        return
    rows = rows_of(codes)

    def true_cost(order: list[int]) -> float:
        return twins.ring_cost(attributes, [rows[r] for r in order for _ in range(copies[r])], k)

    ring = Ring(codes, copies, attributes, k)
    assert ring.cost == true_cost(list(range(len(rows))))
    for _ in range(100):
        before = ring.cost
        moved = ring.sweep()
        order = ring.order.tolist()
        assert sorted(order) == list(range(len(rows)))
        assert ring.cost == true_cost(order)
        assert (moved > 0) == (ring.cost < before)
        if moved == 0:
            break
    assert moved == 0
    # No record can gain by a move of up to k places.
    for record in order:
        others = int(copies.sum() - copies[record])
        if others < k:
            continue
        at = order.index(record)
        around = order[at + 1 :] + order[:at]  # the ring without the record, from its place on
        passed = list(accumulate((int(copies[r]) for r in around), initial=0))
        for place, distance in enumerate(passed):
            if min(distance, others - distance) <= k:
                event("a move was looked at")
                assert true_cost([*around[:place], record, *around[place:]]) >= ring.cost


@given(records(11), st.integers(2, 5))
def test_no_other_cuts_cost_less(drawn: Any, k: int) -> None:
    attributes, codes = drawn
    if len(codes) < k:
        return
    starts = cut(codes, attributes, k).tolist()
    ends = [*starts[1:], len(codes)]
    rows = rows_of(codes)
    sizes = [end - start for start, end in zip(starts, ends, strict=True)]
    assert starts[0] == 0
    assert all(k <= size < 2 * k for size in sizes)
    cost = sum((e - s) * twins.box_cost(attributes, rows[s:e]) for s, e in zip(starts, ends, strict=True))
    assert cost == twins.cheapest_cut(attributes, rows, k)


@given(records(16, 2), st.integers(2, 5), st.data())
def test_moves_between_classes(drawn: Any, k: int, data: st.DataObject) -> None:
    attributes, codes = drawn
    n, k = len(codes), min(k, len(codes))
    rows = rows_of(codes)
    count = data.draw(st.integers(min(2, n // k), n // k))
    numbers = np.array(data.draw(st.permutations([i % count for i in range(n)])))

    def true_cost(class_of: NDArray[np.int64]) -> float:
        members = [[rows[r] for r in np.flatnonzero(class_of == number)] for number in range(count)]
        return sum(len(m) * twins.box_cost(attributes, m) for m in members)

    classes = ClassMoves(codes, attributes, numbers, k)
    assert classes.cost == true_cost(numbers)
    for _ in range(100):
        before = classes.cost
        moved = classes.sweep()
        class_of = classes.class_of.astype(np.int64)
        sizes = np.bincount(class_of, minlength=count)
        assert len(sizes) == count
        assert sizes.min() >= k
        assert classes.cost == true_cost(class_of)
        assert (moved > 0) == (classes.cost < before)
        if moved == 0:
            break
    assert moved == 0
    # With so few classes all are looked at that may pay: neither a move nor a change of places saves more.
    members = [np.flatnonzero(class_of == number).tolist() for number in range(count)]

    def box_cost(records: list[int]) -> float:
        return twins.box_cost(attributes, [rows[r] for r in records])

    for record, other in product(range(n), repeat=2):
        here, there = members[class_of[record]], members[class_of[other]]
        if here is there:
            continue
        without = [r for r in here if r != record]
        saved = box_cost(here) - box_cost(without)
        extra = box_cost([*there, record]) - box_cost(there)
        if extra < 2 * saved and box_cost([*without, other]) < box_cost(here):
            event("a change of places was looked at")
            swapped = class_of.copy()
            swapped[[record, other]] = class_of[[other, record]]
            assert true_cost(swapped) >= classes.cost
        if len(here) > k:
            event("a move was looked at")
            moved_away = class_of.copy()
            moved_away[record] = class_of[other]
            assert true_cost(moved_away) >= classes.cost


def test_a_dear_record_goes_far() -> None:
    """Two valleys, and a record of the one in the midst of the other: k places do not lead out of it."""
    codes = np.array([*range(40), 90, *range(40, 60), *range(80, 90), *range(91, 120)], dtype=np.int32)[
        :, None
    ]
    attributes = [Geometry(RANGE, 1.0, 128, np.arange(128) / 128)]
    ring = Ring(codes, np.ones(len(codes), np.int32), attributes, 4)
    while ring.sweep():
        pass
    order = codes[ring.order, 0].tolist()
    assert {order[order.index(90) - 1], order[(order.index(90) + 1) % len(order)]} == {89, 91}


@pytest.mark.large
def test_many_records_on_all_cores() -> None:
    rng = np.random.default_rng(2)
    attributes = [
        Geometry(RANGE, 0.5, 64, np.arange(64) / 64),
        Geometry(SET, 0.25, 5, np.array([5.0])),
        Geometry(SET, 0.25, 200, np.array([257.0])),
    ]
    codes = np.column_stack([rng.integers(0, a.size, 3_000, dtype=np.int32) for a in attributes])
    codes = rng.permutation(np.unique(codes, axis=0))
    n, k = len(codes), 4
    copies = np.ones(n, np.int32)
    rings = [Ring(codes, copies, attributes, k) for _ in range(2)]
    for _ in range(3):
        assert rings[0].sweep() == rings[1].sweep() > 0  # whatever the threads do
    order = rings[0].order
    assert (order == rings[1].order).all()
    rows = rows_of(codes[order])
    assert rings[0].cost == twins.ring_cost(attributes, rows, k)
    numbers = np.minimum(np.arange(n) // k, n // k - 1)
    both = [ClassMoves(codes[order], attributes, numbers, k) for _ in range(2)]
    for _ in range(3):
        assert both[0].sweep() == both[1].sweep() > 0
    class_of = both[0].class_of
    assert (class_of == both[1].class_of).all()
    members = [[rows[r] for r in np.flatnonzero(class_of == number)] for number in range(n // k)]
    assert min(map(len, members)) >= k
    assert both[0].cost == sum(len(m) * twins.box_cost(attributes, m) for m in members)
