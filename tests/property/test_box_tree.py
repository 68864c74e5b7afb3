"""The box tree and what stands on it: true minima, containment, stable matchings, regular graphs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations, permutations, product
from typing import Any

import numpy as np
import twins
from hypothesis import event, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from spaces import LARGE, records

from shoal.kernels import RANGE, SET, BoxTree, Diversification, Geometry, Matching


@st.composite
def grown_trees(draw: st.DrawFn, lacking: int = 0) -> tuple[BoxTree, list[Geometry], NDArray[np.int32]]:
    """Draw records and boxes that have taken in a few of them; return the records in the tree's order.

    Each box lacks at least this many records.
    """
    attributes, codes = draw(records(40, 1 + lacking))
    n = len(codes)
    rounds = draw(st.integers(0, min(5, n - 1 - lacking)))
    tree = BoxTree(codes, attributes, n)
    for turn in range(1, rounds + 1):  # the turn-th next record joins each box: near or far
        boxes = np.arange(n)
        tree.add(boxes, (boxes + turn) % n)
    return tree, attributes, codes[tree.order]


def extra_cost(tree: BoxTree, attributes: list[Geometry], codes: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return what it costs each box (column) to take in each record (row); infinite if it has it."""
    members = tree.members()
    n = len(codes)
    costs = np.full((n, n), np.inf)
    for record, box in product(range(n), range(n)):
        if record in members[box]:
            continue
        costs[record, box] = sum(
            a.weight
            * (
                twins.cost(a, {*codes[members[box], c].tolist(), int(codes[record, c])})
                - twins.cost(a, set(codes[members[box], c].tolist()))
            )
            for c, a in enumerate(attributes)
        )
    return costs


@given(grown_trees(), st.data())
def test_the_nearest_box_is_a_true_minimum(grown: Any, data: st.DataObject) -> None:
    tree, attributes, codes = grown
    n = len(codes)
    limits = np.array(
        data.draw(st.lists(st.sampled_from([np.inf, 1.0, 0.25, 0.0, -1.0]), min_size=n, max_size=n))
    )
    tree.set_limits(limits)
    boxes, costs = tree.nearest_boxes(np.arange(n))
    expected = extra_cost(tree, attributes, codes)
    expected[~(expected < limits)] = np.inf
    assert costs.tolist() == expected.min(axis=1).tolist()
    for record, box in enumerate(boxes):
        assert (box < 0) == np.isinf(costs[record])
        assert box < 0 or expected[record, box] == costs[record]


def covered(tree: BoxTree, attributes: list[Geometry], codes: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return whether each box (column) covers each record (row) as it is."""
    return covered_by(tree.members().tolist(), attributes, codes)


def covered_by(
    members: Sequence[Sequence[int]], attributes: list[Geometry], codes: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Return whether the closure of each list of records (column) covers each record (row)."""
    rows = [tuple(row) for row in codes.tolist()]
    return np.array(
        [[twins.covers(attributes, [rows[m] for m in box], record) for box in members] for record in rows]
    )


def some(data: st.DataObject, n: int) -> NDArray[np.int32]:
    """Draw some places of a tree, all of them now and then."""
    return np.array(sorted(data.draw(st.sets(st.integers(0, n - 1)) | st.just(set(range(n))))), np.int32)


@given(grown_trees(), st.data())
def test_the_nearest_records_are_true_minima(grown: Any, data: st.DataObject) -> None:
    tree, attributes, codes = grown
    n = len(codes)
    deleted = some(data, n)
    tree.delete_records(deleted)
    count = data.draw(st.integers(0, n + 1))
    records, costs = tree.nearest_records(np.arange(n), count)
    expected = extra_cost(tree, attributes, codes).T
    expected[:, deleted] = np.inf
    nearest = np.sort(np.hstack((expected, np.full((n, 1), np.inf))), axis=1)[:, :count]
    assert costs.tolist() == nearest.tolist()
    assert ((records < 0) == np.isinf(costs)).all()
    for box in range(n):
        found = records[box][records[box] >= 0]
        assert len(set(found)) == len(found)
        assert expected[box, found].tolist() == costs[box][: len(found)].tolist()


@given(grown_trees(), st.data())
def test_what_lies_in_what(grown: Any, data: st.DataObject) -> None:
    tree, attributes, codes = grown
    n = len(codes)
    inside = covered(tree, attributes, codes)
    left, open_boxes = np.ones(n, np.bool_), np.ones(n, np.bool_)
    for _ in range(2):
        starts, records = tree.records_in(np.arange(n))
        for box, found in enumerate(np.split(records, starts[1:-1])):
            assert found.tolist() == np.flatnonzero(inside[:, box] & left).tolist()
        starts, boxes = tree.boxes_around(np.arange(n))
        for record, found in enumerate(np.split(boxes, starts[1:-1])):
            assert found.tolist() == np.flatnonzero(inside[record] & open_boxes).tolist()
        deleted = some(data, n), some(data, n)
        tree.delete_records(deleted[0])
        tree.delete_boxes(deleted[1])
        left[deleted[0]] = open_boxes[deleted[1]] = False


@given(grown_trees(), st.data())
def test_deleted_boxes_are_never_found_again(grown: Any, data: st.DataObject) -> None:
    tree, attributes, codes = grown
    n = len(codes)
    expected = extra_cost(tree, attributes, codes)
    deleted = some(data, n)
    tree.delete_boxes(deleted)
    expected[:, deleted] = np.inf
    for _ in range(2):
        boxes, costs = tree.nearest_boxes(np.arange(n))
        assert costs.tolist() == expected.min(axis=1).tolist()
        assert ((boxes < 0) == np.isinf(costs)).all()
        tree.set_limits(np.full(n, np.inf))  # which does not bring them back


@given(records(9), st.data())
def test_the_cheapest_crowd(drawn: Any, data: st.DataObject) -> None:
    attributes, codes = drawn
    tree = BoxTree(np.unique(codes, axis=0), attributes, 1)
    codes = np.unique(codes, axis=0)[tree.order]
    n = len(codes)
    copies = np.array(data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)))
    k = data.draw(st.integers(1, copies.sum()))

    def cost(crowd: tuple[int, ...]) -> float:
        return sum(a.weight * twins.cost(a, set(codes[list(crowd), c])) for c, a in enumerate(attributes))

    crowds = chain.from_iterable(combinations(range(n), size) for size in range(1, n + 1))
    costs = {crowd: cost(crowd) for crowd in crowds if copies[list(crowd)].sum() >= k}
    cheapest = [min(costs[crowd] for crowd in costs if record in crowd) for record in range(n)]
    found = tree.crowd_costs(np.arange(n), copies, k, horizon=n, steps=10_000)
    assert found.tolist() == cheapest
    # With less effort the bound is lower, but never below the k-th nearest record.
    horizon = data.draw(st.integers(max(k - 1, 1), max(k - 1, n)))
    steps = data.draw(st.integers(0, 5))
    less = tree.crowd_costs(np.arange(n), copies, k, horizon=horizon, steps=steps)
    assert (less <= found).all()
    for record in range(n):
        near = sorted((cost((record, other)), other) for other in range(n))
        reached = np.cumsum(copies[[other for _, other in near]])
        assert near[int(np.searchsorted(reached, k))][0] <= less[record]


def test_a_crowd_with_numbers_and_the_missing_value_covers_everything() -> None:
    positions = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 2.0])
    tree = BoxTree(np.array([[1], [2], [3], [5]], np.int32), [Geometry(RANGE, 1.0, 6, positions)], 1)
    costs = [tree.crowd_costs(np.arange(4), np.ones(4), k, horizon=4, steps=99) for k in (1, 2, 3, 4)]
    by_code = np.array(costs)[:, np.argsort(tree.order)].tolist()
    assert by_code == [[0, 0, 0, 0], [0.25, 0.25, 0.25, 1], [0.5, 0.5, 0.5, 1], [1, 1, 1, 1]]


@given(grown_trees(lacking=1))
def test_everybody_is_matched_even_at_dead_ends(grown: Any) -> None:
    tree, attributes, codes = grown
    n = len(codes)
    costs = extra_cost(tree, attributes, codes)
    matching = tree.match_cheapest_first(np.arange(n), np.arange(n))
    box_of = matching.box_of
    assert sorted(box_of) == list(range(n))
    paid = costs[np.arange(n), box_of]
    assert np.isfinite(paid).all()
    # A pair that is cheaper than what both got may only be left out by an exchange at a dead end.
    stuck = left_over(costs)
    event("dead end" if stuck else "no dead end")
    holder = np.argsort(box_of)
    blocking = (costs < paid[:, None]) & (costs < paid[holder][None, :])
    ties = len(np.unique(costs[np.isfinite(costs)])) < np.isfinite(costs).sum()
    assert stuck or ties or not blocking.any()
    assert ties or matching.dead_ends == len(stuck)
    if matching.dead_ends == 1 and len(matching.exchanged) == 2:
        # What was before the one exchange follows from it: of all that were possible, it is the cheapest.
        other, record = matching.exchanged
        spare, holder_before = box_of[other], holder.copy()
        holder_before[box_of[record]] = other
        possible = [
            costs[record, box] + costs[holder_before[box], spare] - costs[holder_before[box], box]
            for box in range(n)
            if box != spare
        ]
        assert paid[record] + paid[other] - costs[other, box_of[record]] == min(possible)


@given(grown_trees(lacking=1), st.data())
def test_records_choose_in_order(grown: Any, data: st.DataObject) -> None:
    tree, attributes, codes = grown
    costs = extra_cost(tree, attributes, codes)
    order = data.draw(st.permutations(range(len(codes))))
    costless = [data.draw(st.sampled_from([-1, *np.flatnonzero(costs[r] == 0).tolist()])) for r in order]
    matching = matched_as_by_the_twin(tree, costs, order, costless)
    event(f"{matching.dead_ends} dead ends, {len(matching.exchanged)} moves")


def test_chains_of_exchanges() -> None:
    """Each box lacks two records: a record that finds no box may have to wait for several others to move."""
    n, moves = 6, set()
    codes = np.arange(n, dtype=np.int32)[:, None]
    attributes = [Geometry(RANGE, 1.0, n, codes[:, 0] / 64)]
    tree = BoxTree(codes, attributes, n)
    for turn in range(1, n - 2):
        tree.add(np.arange(n), (np.arange(n) + turn) % n)
    costs = extra_cost(tree, attributes, codes[tree.order])
    for order in permutations(range(n)):
        matching = matched_as_by_the_twin(tree, costs, order, [-1] * n)
        moves.add((matching.dead_ends, len(matching.exchanged)))
    assert (0, 0) in moves
    assert (1, 2) in moves
    assert max(moved for _, moved in moves) > 2


def matched_as_by_the_twin(
    tree: BoxTree, costs: NDArray[np.float64], order: Sequence[int], costless: Sequence[int]
) -> Matching:
    """Return how records choose in order, which must be as the twin says."""

    def nearest(record: int, free: set[int]) -> int:
        """Let the tree choose among equals, if its choice is a minimum."""
        tree.set_limits(np.array([np.inf if box in free else -1.0 for box in range(len(order))]))
        box = int(tree.nearest_boxes(np.array([record]))[0][0])
        least = min(costs[record, b] for b in free)
        assert np.isinf(least) if box < 0 else costs[record, box] == least
        return box

    expected, exchanged, dead_ends = twins.match_in_order(order, costless, costs.tolist(), nearest)
    matching = tree.match_in_order(np.array(order), np.array(costless))
    assert matching.box_of.tolist() == expected
    assert matching.dead_ends == dead_ends
    assert set(matching.exchanged.tolist()) == exchanged
    return matching


def left_over(costs: NDArray[np.float64]) -> set[int]:
    """Return the records that taking the cheapest pair first leaves without a box."""
    records, boxes = set(range(len(costs))), set(range(len(costs)))
    for record, box in sorted(product(range(len(costs)), repeat=2), key=lambda pair: costs[pair]):
        if np.isfinite(costs[record, box]) and record in records and box in boxes:
            records.remove(record)
            boxes.remove(box)
    return records


@given(st.integers(2, 30), st.integers(1, 3), st.randoms(use_true_random=False))
def test_without_dead_ends_the_matching_is_stable(n: int, columns: int, random: Any) -> None:
    """Some boxes take part and keep away from records of their own: then no record is ever stuck."""
    codes = np.array([[random.randrange(50) for _ in range(columns)] for _ in range(2 * n)], dtype=np.int32)
    attributes = [Geometry(RANGE, 1.0, 50, np.arange(50) / 64) for _ in range(columns)]
    tree = BoxTree(codes, attributes, 2)
    records, boxes = np.arange(n), np.arange(n, 2 * n)
    matching = tree.match_cheapest_first(records, boxes)
    assert matching.dead_ends == len(matching.exchanged) == 0
    box_of = matching.box_of
    assert sorted(box_of[records]) == boxes.tolist()
    assert (box_of[boxes] == -1).all()
    costs = extra_cost(tree, attributes, codes[tree.order])[:n, n:]
    paid = costs[np.arange(n), box_of[records] - n]
    holder = np.argsort(box_of[records])
    assert not ((costs < paid[:, None]) & (costs < paid[holder][None, :])).any()


@given(grown_trees(lacking=1), st.data())
def test_the_cheapest_matching_of_all(grown: Any, data: st.DataObject) -> None:
    tree, attributes, codes = grown
    n = len(codes)
    costs = extra_cost(tree, attributes, codes)
    candidates = data.draw(st.integers(0, n) | st.just(n))
    found = tree.match_cheapest_together(candidates)
    assert sorted(found.box_of) == list(range(n))
    paid = costs[np.arange(n), found.box_of].sum()
    assert np.isfinite(paid)
    assert found.queries >= n
    # Without candidates, what is left is the matching in which the cheapest pair goes first.
    known = tree.match_cheapest_together(0).box_of
    stuck = left_over(costs)
    ties = len(np.unique(costs[np.isfinite(costs)])) < np.isfinite(costs).sum()
    if not ties and not stuck:
        assert known.tolist() == tree.match_cheapest_first(np.arange(n), np.arange(n)).box_of.tolist()
    if (
        not ties
    ):  # Exact on the pairs that are looked at: those of each box's nearest records, and those known.
        looked_at = np.full((n, n), np.inf)
        for box, near in enumerate(tree.nearest_records(np.arange(n), candidates)[0]):
            looked_at[near[near >= 0], box] = costs[near[near >= 0], box]
        looked_at[np.arange(n), known] = costs[np.arange(n), known]
        assert paid == looked_at[linear_sum_assignment(looked_at)].sum()
    if candidates >= n - 1 or not ties:
        assert paid <= costs[np.arange(n), known].sum()
    least = costs[linear_sum_assignment(costs)].sum()
    assert least <= paid
    event("the least of all" if paid == least else "the least of the candidates")
    assert candidates < n - 1 or paid == least


@given(grown_trees(), st.data())
def test_boxes_may_be_given_other_members(grown: Any, data: st.DataObject) -> None:
    tree, attributes, codes = grown
    n = len(codes)
    circle = data.draw(st.permutations(range(n)))
    size = data.draw(st.integers(1, min(n, 5)))
    rows = np.array([[circle[(box + step) % n] for step in range(size)] for box in range(n)], np.int32)
    tree.set_members(rows)
    assert (tree.members() == rows).all()
    answers_are_true(tree, attributes, codes)
    if size < n:  # and they grow on from there
        tree.add(np.arange(n), np.array([circle[(box + size) % n] for box in range(n)]))
        answers_are_true(tree, attributes, codes)
    # Those that are given what others took in answer as they do, down to the choice among equals.
    original = codes[np.argsort(tree.order)]
    taken, given_ = BoxTree(original, attributes, n), tree
    for turn in range(1, size):
        taken.add(np.arange(n), (np.arange(n) + turn) % n)
    given_.set_members(taken.members())
    places = np.arange(n)
    for one, other in zip(
        (*taken.nearest_boxes(places), *taken.nearest_records(places, n)),
        (*given_.nearest_boxes(places), *given_.nearest_records(places, n)),
        strict=True,
    ):
        assert one.tolist() == other.tolist()


def answers_are_true(tree: BoxTree, attributes: list[Geometry], codes: NDArray[np.int32]) -> None:
    """Check what a tree says about all boxes and records."""
    places = np.arange(len(codes))
    costs, inside = extra_cost(tree, attributes, codes), covered(tree, attributes, codes)
    assert tree.nearest_boxes(places)[1].tolist() == costs.min(axis=1).tolist()
    assert tree.nearest_records(places, 1)[1].ravel().tolist() == costs.min(axis=0).tolist()
    starts, records = tree.records_in(places)
    for box, found in enumerate(np.split(records, starts[1:-1])):
        assert found.tolist() == np.flatnonzero(inside[:, box]).tolist()


@given(records(30, 2), st.data())
def test_labels_become_varied(drawn: Any, data: st.DataObject) -> None:
    attributes, codes = drawn
    n = len(codes)
    k = data.draw(st.integers(1, min(n, 5)))
    ring = data.draw(st.permutations(range(n)))
    graph = np.array([[ring[(row + step) % n] for step in range(k)] for row in range(n)], dtype=np.int32)
    assignment = graph[:, data.draw(st.integers(0, k - 1))]
    sizes = data.draw(st.lists(st.sampled_from([1, 2, 4, LARGE]), min_size=1, max_size=2))
    columns = [
        data.draw(st.lists(st.integers(0, size - 1), min_size=n, max_size=n).map(tuple)) for size in sizes
    ]
    demands = {
        "frequency_l": data.draw(st.sampled_from([0.0, 1.2, 2.0, 3.0])),
        "distinct": data.draw(st.sampled_from([0, 2, 3])),
        "entropy": data.draw(st.sampled_from([0.0, 0.5])),
    }
    widest = data.draw(st.integers(1, n))
    labels = [(np.array(column, dtype=np.int32), size) for column, size in zip(columns, sizes, strict=True)]
    tree = BoxTree(codes, attributes, k)
    found = Diversification(tree, graph, labels, assignment, widest=widest, **demands)  # type: ignore[arg-type]

    def check() -> NDArray[np.float64]:
        rows = [[*row, *found.grown[1][found.grown[0] == i].tolist()] for i, row in enumerate(graph.tolist())]
        inside = covered_by(rows, attributes, codes)
        record_of = found.assignment
        assert sorted(record_of) == list(range(n))
        assert inside[record_of, np.arange(n)].all()  # each row covers its record
        misses = np.array(
            [sum(twins.miss([c[record_of[row]] for row in np.flatnonzero(i)], **demands) for c in columns)
             for i in inside]
        )  # fmt: skip
        assert found.violated == (misses > 0).sum()
        first = np.sort(np.unique(codes, axis=0, return_index=True)[1])
        assert np.isclose(found.shortfall, misses[first].sum())
        return misses

    before = check()
    swaps = found.swap()
    assert len(found.grown[0]) == 0
    assert (check().sum() < before.sum()) == (swaps > 0) or len(np.unique(codes, axis=0)) < n
    for _ in range(n * n * len(attributes)):
        if found.widen() == 0:
            break
        check()
    if sum(twins.miss(column, **demands) for column in columns) == 0:  # all rows together are varied enough
        assert found.violated == 0
    event(f"swaps: {swaps > 0}, grown: {len(found.grown[0]) > 0}")


def test_fewer_rows_grow_if_they_may_be_wider() -> None:
    rng = np.random.default_rng(1)
    codes = np.sort(rng.integers(0, 100, 60)).astype(np.int32)[:, None]
    graph = ((np.arange(60)[:, None] + np.arange(3)) % 60).astype(np.int32)
    labels = [((rng.random(60) < 0.15).astype(np.int32), 2)]
    loss = Geometry(RANGE, 1 / 99, 100, np.arange(100.0))
    grown = []
    for doublings in (0, 3):  # a row may cover 3 records, or 24
        tree = BoxTree(codes, [loss], 3)
        found = Diversification(
            tree, graph, labels, graph[:, 0], widest=3, frequency_l=0.0, distinct=2, entropy=0.0
        )
        for _ in range(doublings):
            found.allow_wider()
        while found.violated:
            assert found.widen() > 0
        grown.append(len(found.grown[0]))
    assert grown[1] < grown[0]


def test_a_hundred_thousand_categories() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, LARGE, (3_000, 1), dtype=np.int32)
    codes[::3] = codes[1::3]
    tree = BoxTree(codes, [Geometry(SET, 1.0, LARGE, np.array([float(LARGE)]))], 3)
    _, costs = tree.nearest_boxes(np.arange(3_000))
    assert (costs == 0).sum() >= 2_000
    assert (costs[costs > 0] == 1 / (LARGE - 1)).all()
    places = np.arange(3_000)
    starts, boxes = tree.boxes_around(places)
    assert len(boxes) == len(tree.records_in(places)[1]) >= 5_000
    tree.delete_boxes(boxes[starts[:1_000]])
    tree.delete_records(places[:2_999])
    assert set(tree.nearest_records(places, 1)[0].ravel()) == {-1, 2_999}
