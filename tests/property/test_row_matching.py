"""Rows that take in whole rows: each is taken in once, all are apart, and few rows cost the least."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import twins
from hypothesis import event, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from spaces import records

from shoal.kernels import SET, BoxTree, Geometry
from shoal.methods.growth import PIECES, sizes_by_pieces, sizes_by_steps

ALL = 11
"""With so few rows, all others are candidates of a row."""


@st.composite
def boxes(draw: st.DrawFn, most: int) -> tuple[list[Geometry], NDArray[np.int32], Any, Any, Any]:
    """Draw attributes, records, their persons if these have several, and two regular and simple graphs.

    The second one, with the rows to be taken in, has as many or fewer records in a row; often it is the
    first.
    """
    attributes, codes = draw(records(most))
    n = len(codes)
    degree = draw(st.integers(1, max(1, min(n // 2, 4))))
    circle = np.array(draw(st.permutations(range(n))), dtype=np.int32)
    graph = around(circle, degree)
    others = graph
    if draw(st.booleans()):
        others = around(np.roll(circle, draw(st.integers(0, n))), draw(st.integers(1, degree)))
    owners = np.arange(n, dtype=np.int32)
    if draw(st.booleans()) and n > 3 * degree:
        # Records that are never in one row belong to one person.
        owners[circle[degree]] = owners[circle[0]]
    return attributes, codes, owners, graph, others


def around(circle: NDArray[np.int32], degree: int) -> NDArray[np.int32]:
    """Return rows of this many records that follow each other in a circle."""
    return np.stack([np.roll(circle, -step) for step in range(degree)], axis=1)


def taken_in(drawn: Any) -> tuple[NDArray[np.int32], ...]:
    """Return which rows are taken in, and the records, persons, rows and others in the order of the tree."""
    attributes, codes, owners, graph, others = drawn
    tree, second = (BoxTree(codes, attributes, g.shape[1], owners) for g in (graph, others))
    place = np.argsort(tree.order).astype(np.int32)
    rows, pieces = np.ascontiguousarray(place[graph]), np.ascontiguousarray(place[others])
    tree.set_members(rows)
    second.set_members(pieces)
    taken = tree.match_rows(tree if others is graph else second)
    return taken, codes[tree.order], owners[tree.order], rows, pieces


def are_apart(owners: NDArray[np.int32], one: NDArray[np.int32], other: NDArray[np.int32]) -> bool:
    return not set(owners[one].tolist()) & set(owners[other].tolist())


@given(boxes(ALL))
def test_few_rows_take_in_others_at_the_least_cost(drawn: Any) -> None:
    attributes = drawn[0]
    taken, codes, owners, rows, pieces = taken_in(drawn)
    n = len(rows)
    costs = np.full((n, n), 1e6)
    for i, one in enumerate(rows):
        for j, other in enumerate(pieces):
            if are_apart(owners, one, other):
                both = codes[np.concatenate([one, other])]
                costs[i, j] = sum(a.weight * twins.cost(a, set(both[:, c])) for c, a in enumerate(attributes))
    least = costs[linear_sum_assignment(costs)].sum()
    event("possible" if least < 1e6 else "impossible")
    assert (len(taken) > 0) == (least < 1e6)
    if len(taken):
        assert sorted(taken) == list(range(n))
        assert costs[np.arange(n), taken].sum() == pytest.approx(least)


@given(boxes(60))
def test_rows_that_take_in_rows_stay_regular_and_apart(drawn: Any) -> None:
    taken, _, owners, rows, pieces = taken_in(drawn)
    event("possible" if len(taken) else "impossible")
    if len(taken):
        assert sorted(taken) == list(range(len(rows)))
        assert all(are_apart(owners, one, other) for one, other in zip(rows, pieces[taken], strict=True))


def test_many_rows_whose_candidates_are_too_few() -> None:
    """All records are equal, and rows want those that are nearest in the tree: some get others."""
    n, degree = 400, 7
    codes = np.zeros((n, 1), dtype=np.int32)
    circle = np.random.default_rng(3).permutation(n).astype(np.int32)
    graph = around(circle, degree)
    owners = np.arange(n, dtype=np.int32)
    owners[circle[:: 4 * degree]] = owners[circle[0]]
    attributes = [Geometry(SET, 1.0, 70, np.array([65.0]))]
    taken, _, owners, rows, _ = taken_in((attributes, codes, owners, graph, graph))
    assert sorted(taken) == list(range(n))
    assert all(are_apart(owners, one, other) for one, other in zip(rows, rows[taken], strict=True))


@pytest.mark.parametrize(
    ("k", "pieces", "steps"),
    [
        (2, [1, 2], [1, 2]),
        (3, [1, 2, 3], [1, 2, 3]),
        (5, [1, 2, 3, 5], [1, 2, 3, 4, 5]),
        (10, [1, 2, 3, 6, 9, 10], [1, 2, 3, 4, 5, 7, 9, 10]),
        (25, [1, 2, 3, 6, 12, 18, 24, 25], [1, 2, 3, 4, 5, 7, 9, 11, 14, 17, 21, 25]),
    ],
)
def test_sizes_at_which_rows_are_refined(k: int, pieces: list[int], steps: list[int]) -> None:
    assert sizes_by_pieces(k) == pieces
    assert sizes_by_steps(k) == steps


def test_rows_take_in_rows_as_they_were_before() -> None:
    for k in range(2, 300):
        sizes = sizes_by_pieces(k)
        assert sizes[0] == 1
        assert sizes[-1] == k
        for i in range(1, len(sizes)):
            assert sizes[i] - sizes[i - 1] in set(PIECES) & set(sizes[:i])
