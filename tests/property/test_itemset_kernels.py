"""Kernels for sets of items agree with their twins: distances, orders, cuts, ways, votes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st
from itemset_strategies import cyclic_length, packed, records, unpacked, vote, weighted

from shoal.kernels import differences, itemsets


def gray_rank(record: frozenset[int], width: int) -> int:
    """Return the number whose Gray code is the bitmap, item 0 as its highest bit."""
    code = sum(1 << (width - 1 - item) for item in record)
    number = 0
    while code:
        number ^= code
        code >>= 1
    return number


@given(records())
def test_distances(drawn: Any) -> None:
    sets, arrays = drawn
    ones, others = np.divmod(np.arange(len(sets) ** 2), len(sets))
    found = differences(arrays.arrays, arrays.arrays, ones, others)
    assert found.tolist() == [len(sets[a] ^ sets[b]) for a, b in zip(ones, others, strict=True)]


@given(records())
def test_the_gray_order_is_that_of_the_numbers(drawn: Any) -> None:
    sets, arrays = drawn
    ranks = [gray_rank(record, arrays.size) for record in sets]
    assert itemsets.gray_order(arrays).tolist() == sorted(range(len(sets)), key=lambda r: (ranks[r], r))


@given(st.lists(st.integers(0, 5), max_size=20), st.integers(1, 6), st.integers(0, 4))
def test_cuts_are_the_shortest(steps: list[int], shortest: int, more: int) -> None:
    longest, n = shortest + more, len(steps) + 1

    def cheapest(begin: int) -> float:
        if begin == n:
            return 0
        ends = range(begin + shortest, min(begin + longest, n) + 1)
        return min(((steps[end - 1] if end < n else 0) + cheapest(end) for end in ends), default=float("inf"))

    starts = itemsets.breakpoints(np.array(steps, dtype=np.int32), shortest, longest).tolist()
    if not starts:
        event("no cuts")
        assert cheapest(0) == float("inf")
        return
    assert starts[0] == 0
    assert all(shortest <= end - begin <= longest for begin, end in pairwise([*starts, n]))
    assert sum(steps[start - 1] for start in starts[1:]) == cheapest(0)


@given(records(max_size=30), st.integers(0, 3), st.booleans(), st.data())
def test_ways_become_shorter_within_segments(
    drawn: Any, kicks: int, equal: bool, data: st.DataObject
) -> None:
    sets, arrays = drawn
    n = len(sets)
    weight = st.just(1) if equal else st.integers(1, 9)
    weights = data.draw(st.lists(weight, min_size=n, max_size=n))
    order = data.draw(st.permutations(range(n)))
    starts = sorted({0, *data.draw(st.lists(st.integers(0, n - 1), max_size=2))})
    weighing, cut = np.array(weights, dtype=np.int32), np.array(starts, dtype=np.int32)
    shorter = itemsets.shorten(arrays, weighing, np.array(order), cut, kicks).tolist()

    def length(way: list[int]) -> int:
        return sum(weighted(sets[a], sets[b], weights[a], weights[b]) for a, b in pairwise(way))

    for begin, end in pairwise([*starts, n]):
        assert sorted(shorter[begin:end]) == sorted(order[begin:end])
        assert shorter[begin] == order[begin]
        assert shorter[end - 1] == order[end - 1]
        before, after = length(order[begin:end]), length(shorter[begin:end])
        assert after <= before
        event("shorter" if after < before else "as long")
        if end - begin < 12:  # then every record is a neighbour, and no move can be missed
            check_no_move_helps(shorter[begin:end], length)
    if equal:
        assert cyclic_length(sets, shorter) <= cyclic_length(sets, order)


def check_no_move_helps(way: list[int], length: Callable[[list[int]], int]) -> None:
    """Check that neither turning a stretch round nor moving up to three records makes a way shorter."""
    inner = range(1, len(way) - 1)
    for begin in inner:
        for end in range(begin, len(way) - 1):
            stretch, rest = way[begin : end + 1], way[:begin] + way[end + 1 :]
            assert length(way[:begin] + stretch[::-1] + way[end + 1 :]) >= length(way)
            if len(stretch) <= 3:
                for place in range(1, len(rest)):
                    for moved in (stretch, stretch[::-1]):
                        assert length(rest[:place] + moved + rest[place:]) >= length(way)


@given(records(), st.data())
def test_votes(drawn: Any, data: st.DataObject) -> None:
    sets, arrays = drawn
    row = st.lists(st.integers(0, len(sets) - 1), min_size=1, max_size=5)
    rows = data.draw(st.lists(row, min_size=1, max_size=6))
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    voted = itemsets.vote(arrays, starts, np.concatenate(rows).astype(np.int32))
    expected = [vote(sets, row) for row in rows]
    assert unpacked(voted.base) == [base for base, _, _ in expected]
    assert unpacked(voted.uncertain) == [uncertain for _, uncertain, _ in expected]
    assert voted.distances.tolist() == [distance for _, _, distances in expected for distance in distances]


def test_many_records_on_all_cores() -> None:
    rng = np.random.default_rng(4)
    for width, size in ((40, 20), (3_000, 12)):
        sets = [frozenset(rng.integers(0, width, size).tolist()) for _ in range(3_000)]
        arrays = packed(sets, width)
        order = itemsets.gray_order(arrays)
        starts = np.arange(0, 3_000, 60, dtype=np.int32)
        weights = np.ones(3_000, np.int32)
        first, again = (itemsets.shorten(arrays, weights, order, starts, 2) for _ in range(2))
        assert (first == again).all()  # whatever the threads do
        assert cyclic_length(sets, first) < cyclic_length(sets, order)
        rows = rng.integers(0, 3_000, (3_000, 3), dtype=np.int32)
        voted = itemsets.vote(arrays, np.arange(0, 9_001, 3), rows.ravel())
        assert unpacked(voted.base) == [vote(sets, row)[0] for row in rows.tolist()]
