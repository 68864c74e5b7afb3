"""The kernels about sets of items against plain Python: possible worlds, distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from shoal import kernels
from shoal.base.ragged import Lists, ascending_sets

WIDTH = 7
MANY = 600
"""Items of which sets are searched without bitmaps, even if most of them do not occur."""
sets = st.sets(st.integers(0, WIDTH - 1))
worlds = st.tuples(sets, sets, st.integers(-1, WIDTH))


def lists(collections: Any) -> Lists:
    return Lists.of([sorted(each) for each in collections])


def plain(arrays: kernels.Arrays) -> list[list[int]]:
    found = Lists(*arrays)
    return [found[i].tolist() for i in range(len(found))]


def is_world(candidate: set[int], base: set[int], uncertain: set[int], errors: int) -> bool:
    """Say whether a set may stand behind a generalized one: the twin of the search."""
    wrong = candidate ^ base
    return wrong <= uncertain and len(wrong) <= errors


@given(st.lists(sets, max_size=40, unique_by=frozenset), st.lists(worlds, max_size=6))
@example([set()], [(set(), set(), 0)])
@example([{i} for i in range(WIDTH)], [(set(), {3, 4, 5, 6}, 3), (set(), set(), 3)])  # nothing stays
@example([set(), {0}], [({0}, {0}, 1), ({0}, {0}, 0), ({0}, set(), 7)])
def test_possible_worlds_are_found(
    drawn: list[set[int]], asked: list[tuple[set[int], set[int], int]]
) -> None:
    expected = [[i for i, candidate in enumerate(drawn) if is_world(candidate, *world)] for world in asked]
    assert possible(drawn, asked, WIDTH) == possible(drawn, asked, MANY) == expected


def possible(drawn: Any, asked: list[tuple[set[int], set[int], int]], width: int) -> list[list[int]]:
    """Return which sets may stand behind each generalized one."""
    return plain(
        kernels.sets_among_worlds(
            lists(drawn).arrays,
            lists(base for base, _, _ in asked).arrays,
            lists(uncertain for _, uncertain, _ in asked).arrays,
            np.array([errors for _, _, errors in asked], dtype=np.int32),
            width,
        )
    )


def test_possible_worlds_are_found_among_many_sets_on_all_cores() -> None:
    random = np.random.default_rng(8)
    width = 40
    often = random.random(width) ** 3
    drawn = list({frozenset(np.flatnonzero(random.random(width) < often).tolist()) for _ in range(1500)})
    asked = []
    for _ in range(600):  # two threads for 512
        base = set(drawn[random.integers(len(drawn))])
        uncertain = set(random.choice(width, random.integers(0, 12), replace=False).tolist())
        asked.append((base, uncertain, int(random.integers(0, 7))))
    found = possible(drawn, asked, width)
    assert possible(drawn, asked, MANY) == found
    bits = np.zeros((len(drawn), width), dtype=np.bool_)
    for i, each in enumerate(drawn):
        bits[i, list(each)] = True
    several = 0
    for (base, uncertain, errors), covered in zip(asked, found, strict=True):
        bitmap = np.isin(np.arange(width), list(base))
        doubtful = np.isin(np.arange(width), list(uncertain))
        wrong = bits ^ bitmap
        fits = ~(wrong & ~doubtful).any(axis=1) & (wrong.sum(axis=1) <= errors)
        assert covered == np.flatnonzero(fits).tolist()
        several += len(covered) > 1
    assert several > 50


@given(st.lists(st.tuples(sets, sets), max_size=6))
def test_distances_are_hamming_distances(pairs: list[tuple[set[int], set[int]]]) -> None:
    left, right = (lists(side) for side in zip(*pairs, strict=True)) if pairs else (lists([]), lists([]))
    backwards = np.arange(len(pairs))[::-1]
    found = kernels.differences(left.arrays, right.arrays, backwards, backwards)
    assert found.tolist() == [len(one ^ other) for one, other in reversed(pairs)]


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=6), st.data())
def test_lists_are_gathered_filtered_and_numbered(drawn: list[list[int]], data: st.DataObject) -> None:
    found = Lists.of(drawn)
    assert [found[i].tolist() for i in range(len(found))] == drawn
    index = data.draw(st.lists(st.integers(0, len(drawn) - 1), max_size=8)) if drawn else []
    gathered = found.gather(np.array(index, dtype=np.int64))
    assert plain(gathered.arrays) == [drawn[i] for i in index]
    assert plain(found.filtered(found.values > 4).arrays) == [[v for v in each if v > 4] for each in drawn]
    assert found.owners.tolist() == [i for i, each in enumerate(drawn) for _ in each]
    different = sorted(set(map(tuple, drawn)))
    assert found.numbers().tolist() == [different.index(tuple(each)) for each in drawn]
    assert plain(ascending_sets(found.owners, found.values, len(drawn)).arrays) == [
        sorted(set(each)) for each in drawn
    ]
