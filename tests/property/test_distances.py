"""Distances: each is what its definition says, and ranks find the same neighbours as pairs do."""

from __future__ import annotations

import datetime
import math
from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import hierarchies

from shoal.errors import InputError, Reason
from shoal.kinds.hierarchy import Hierarchy
from shoal.measures.distances import (
    Absolute,
    Distance,
    Equality,
    Least,
    LinearDistance,
    Norm,
    TreeDistance,
    distance_of,
)
from shoal.schema import Column

tenths = st.integers(-30, 30).map(lambda number: number / 10)


@st.composite
def absolutes(draw: st.DrawFn) -> Absolute:
    numbers = tenths | st.just(math.nan) | st.floats(-1e9, 1e9) | st.integers(-(2**53), 2**53).map(float)
    return Absolute(np.array(draw(st.lists(numbers, min_size=1, max_size=12))))


@st.composite
def trees(draw: st.DrawFn) -> TreeDistance:
    labels = draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True))
    tree = draw(hierarchies(labels))
    return TreeDistance(tree, np.array([tree.leaf_index[label] for label in labels], dtype=np.int32))


linear = absolutes() | trees() | st.integers(1, 8).map(Equality)


@st.composite
def composites(draw: st.DrawFn) -> Least | Norm:
    parts = tuple(draw(st.lists(linear, min_size=1, max_size=3)))
    size = draw(st.integers(1, 8))
    codes = [[draw(st.integers(0, len(part) - 1)) for part in parts] for _ in range(size)]
    if draw(st.booleans()):
        return Least(parts, np.array(codes, dtype=np.int32))
    weights = draw(st.none() | st.lists(st.floats(0.1, 9), min_size=len(parts), max_size=len(parts)))
    return Norm(parts, np.array(codes, dtype=np.int32), draw(st.sampled_from([1, 2, math.inf])), weights)


def all_pairs(distance: Distance) -> np.ndarray:
    values = np.arange(len(distance))
    return distance.between(values[:, None], values[None, :])


@given(linear | composites())
def test_distances_are_symmetric_and_nobody_is_far_from_itself(distance: Distance) -> None:
    found = all_pairs(distance)
    assert (found >= 0).all()
    assert (found == found.T).all()
    assert (np.diag(found) == 0).all()
    finite = found[np.isfinite(found)]
    assert finite.max() <= distance.diameter + 1e-12


@given(linear, st.data())
def test_ranks_find_the_same_neighbours_as_pairs(distance: LinearDistance, data: st.DataObject) -> None:
    known = [float(each) for each in all_pairs(distance).ravel() if np.isfinite(each)]
    epsilon = data.draw(st.sampled_from(known) | st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0, 7.0]))
    values = np.arange(len(distance))
    assert sorted(distance.rank) == values.tolist()
    low, high = distance.reach(epsilon)
    by_rank = (low[:, None] <= distance.rank) & (distance.rank <= high[:, None])
    assert by_rank.tolist() == distance.close(values[:, None], values[None, :], epsilon).tolist()


@given(linear | composites(), st.data())
def test_kernels_find_the_same_neighbours(distance: Distance, data: st.DataObject) -> None:
    known = [float(each) for each in all_pairs(distance).ravel() if np.isfinite(each)]
    epsilon = data.draw(st.sampled_from(known) | st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0, 7.0]))
    values = np.arange(len(distance))
    close = distance.close(values[:, None], values[None, :], epsilon)
    alone = np.eye(len(values), dtype=np.int64)
    for closeness in (distance.closeness(epsilon), Distance.closeness(distance, epsilon)):
        assert (closeness.near(values, alone).T > 0).tolist() == close.tolist()
    counts = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(values), max_size=len(values))))
    assert distance.degrees(counts, epsilon).tolist() == (close @ counts - 1).tolist()
    largest = max(
        counts[list(chosen)].sum()
        for size in range(1, len(values) + 1)
        for chosen in combinations(values, size)
        if close[np.ix_(chosen, chosen)].all()
    )
    found = distance.clique(counts, epsilon)
    assert counts.max() <= found <= largest
    assert found == largest or not isinstance(distance, LinearDistance)


@given(st.lists(st.integers(-30, 30), min_size=1, max_size=10), st.integers(0, 20))
def test_tenths_are_as_close_as_their_digits_say(numbers: list[int], tenth: int) -> None:
    """In binary, 0.8 - 0.7 is more than 0.1."""
    values = np.arange(len(numbers))
    close = Absolute(np.array(numbers) / 10).close(values[:, None], values[None, :], tenth / 10)
    assert close.tolist() == [[abs(x - y) <= tenth for y in numbers] for x in numbers]


def test_large_whole_numbers_are_told_apart() -> None:
    numbers = Absolute(np.array([2.0**52, 2.0**52 + 1]))
    assert not numbers.close(np.array([0]), np.array([1]), 0.0).any()


def test_a_missing_number_is_close_to_missing_ones_alone() -> None:
    distance = Absolute(np.array([1.0, math.nan, 5.0, math.nan]))
    assert all_pairs(distance)[1].tolist() == [math.inf, 0, math.inf, 0]
    assert distance.diameter == 4


@given(trees())
def test_tree_distance_is_the_height_of_the_common_ancestor(distance: TreeDistance) -> None:
    tree = distance.hierarchy

    def path(leaf: int) -> list[int]:
        node, nodes = int(tree.leaf_node[leaf]), []
        while node >= 0:
            nodes.append(node)
            node = int(tree.parent[node])
        return nodes

    paths = [path(leaf) for leaf in range(len(tree.leaves))]
    height = {node: max(p.index(node) for p in paths if node in p) for p in paths for node in p}
    for x, y in product(range(len(distance)), repeat=2):
        common = next(node for node in paths[distance.leaves[x]] if node in paths[distance.leaves[y]])
        expected = height[common] / max(height[0], 1)
        assert distance.between(np.array(x), np.array(y)) == pytest.approx(expected)


@given(composites())
def test_composites_by_their_formulas(distance: Least | Norm) -> None:
    found = all_pairs(distance)
    for x, y in product(range(len(distance)), repeat=2):
        parts = [
            float(part.between(np.array(distance.codes[x, c]), np.array(distance.codes[y, c])))
            for c, part in enumerate(distance.parts)
        ]
        if isinstance(distance, Least):
            assert found[x, y] == min(parts)
            continue
        diameters = [part.diameter for part in distance.parts]
        shares = [min(p / d, 1.0) if d else float(p > 0) for p, d in zip(parts, diameters, strict=True)]
        weights = list(distance.weights or [1.0] * len(parts))
        if math.isinf(distance.power):
            assert found[x, y] == max(shares)
        else:
            terms = sum(w * s**distance.power for w, s in zip(weights, shares, strict=True))
            assert found[x, y] == pytest.approx((terms / sum(weights)) ** (1 / distance.power))
        assert 0 <= found[x, y] <= 1 + 1e-12


def test_the_distance_that_suits_a_column() -> None:
    numbers = distance_of(pl.Series([10, None, 30]), Column("x", kind="numeric"))
    assert all_pairs(numbers)[0].tolist() == [0, math.inf, 20]
    texts = distance_of(pl.Series(["1.5", " 2"]), Column("x", kind="numeric"))
    assert all_pairs(texts)[0].tolist() == [0, 0.5]
    days = pl.Series([datetime.date(2024, 2, 28), datetime.date(2024, 3, 1)])
    assert all_pairs(distance_of(days, Column("x", kind="date")))[0].tolist() == [0, 2]
    written = pl.Series(["28.02.2024", "01.03.2024"])
    column = Column("x", kind="date", date_format="%d.%m.%Y")
    assert all_pairs(distance_of(written, column))[0].tolist() == [0, 2]
    order = Column("x", kind="ordinal", domain=("low", "middle", "high"))
    assert all_pairs(distance_of(pl.Series(["high", "low"]), order))[0].tolist() == [0, 2]
    assert all_pairs(distance_of(pl.Series(["a", None]), Column("x")))[0].tolist() == [0, 1]
    tree = Hierarchy.from_levels([["flu", "lungs", "*"], ["asthma", "lungs", "*"], ["gout", "joints", "*"]])
    ill = distance_of(pl.Series(["asthma", "flu", "gout", None]), Column("x", hierarchy=tree))
    assert all_pairs(ill)[0].tolist() == [0, 0.5, 1, 1]


@pytest.mark.parametrize(
    ("values", "column"),
    [
        (["1", "many"], Column("x", kind="numeric")),
        (["yesterday"], Column("x", kind="date")),
        (["odd"], Column("x", kind="ordinal", domain=("low", "high"))),
    ],
)
def test_values_of_another_kind_are_refused(values: list[str], column: Column) -> None:
    with pytest.raises(InputError, match="'x'") as caught:
        distance_of(pl.Series(values), column)
    assert caught.value.reason is Reason.BAD_VALUE


@pytest.mark.parametrize("values", [[1.0, math.inf], ["1", "-inf"], ["nan", "2"]])
def test_numbers_without_end_are_refused(values: list[Any]) -> None:
    with pytest.raises(InputError, match="'x' holds numbers that are not finite") as caught:
        distance_of(pl.Series(values), Column("x", kind="numeric"))
    assert caught.value.reason is Reason.NOT_FINITE


@pytest.mark.parametrize("options", [{"power": 0.5}, {"weights": [1.0, 2.0]}, {"weights": [0.0]}])
def test_norms_that_are_none_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError) as caught:
        Norm((Equality(2),), np.zeros((1, 1), dtype=np.int32), **options)  # type: ignore[arg-type]
    assert caught.value.reason is Reason.PARAMETER
