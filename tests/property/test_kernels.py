"""The native kernels against their plain-Python twins, and what they promise at size."""

from __future__ import annotations

import math
import os
import pickle
import resource
import subprocess
import sys
from collections import Counter
from functools import partial
from typing import Any

import mondrian_twin
import numpy as np
import pytest
import twins
from examples import examples
from hypothesis import event, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoal import kernels
from shoal.base.ragged import Subsets
from shoal.kernels import RANGE, SET, TREE, CodeIntervals, Geometry

LARGE = 100_000
SIZES = st.one_of(st.integers(1, 9), st.sampled_from([LARGE]))


def matrix(rows: list[tuple[int, ...]], columns: int) -> NDArray[np.int32]:
    return np.array(rows, dtype=np.int32).reshape(len(rows), columns)


def pools(size: int) -> st.SearchStrategy[list[int]]:
    """Draw the few codes that occur; the first and the last are worth a try."""
    codes = st.one_of(st.integers(0, size - 1), st.sampled_from([0, size - 1]))
    return st.sampled_from([7, 4, 2, 1]).flatmap(lambda number: exactly(number, codes))


def exactly(number: int, elements: st.SearchStrategy[int]) -> st.SearchStrategy[list[int]]:
    return st.lists(elements, min_size=number, max_size=number)


# --- group_rows ---------------------------------------------------------------------------------------------


@given(st.integers(0, 4).flatmap(lambda d: st.lists(st.tuples(*[st.integers(-2, 2)] * d), max_size=60)))
def test_group_rows(rows: list[tuple[int, ...]]) -> None:
    group, first = kernels.group_rows(matrix(rows, len(rows[0]) if rows else 0))
    assert (group.tolist(), first.tolist()) == twins.group_rows(rows)


@given(st.lists(st.tuples(*[st.sampled_from([-(2**31), -1, 0, 1, 2**16, 2**31 - 1])] * 2), max_size=60))
def test_group_rows_of_extreme_numbers(rows: list[tuple[int, ...]]) -> None:
    group, first = kernels.group_rows(matrix(rows, 2))
    assert (group.tolist(), first.tolist()) == twins.group_rows(rows)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 4), st.integers(0, 5)), max_size=60),
    st.sampled_from([6, 100, 2**31 - 1]),
)
def test_refine(records: list[tuple[bool, int, int]], size: int) -> None:
    # With few codes a table has a slot for each pair of group and code, with many it hashes them.
    chosen = [number for number, (asked, _, _) in enumerate(records) if asked]
    group = np.array([records[number][1] for number in chosen], np.int32)
    codes = np.array([code for _, _, code in records], np.int32)
    found = kernels.refine(np.array(chosen, np.int32), group, 5, codes, size)
    sizes = Counter((records[number][1], records[number][2]) for number in chosen)
    sharing = [number for number in chosen if sizes[records[number][1:]] > 1]
    assert found.records.tolist() == sharing
    pairs = {(records[number][1:], own) for number, own in zip(sharing, found.group.tolist(), strict=True)}
    assert len(pairs) == len({pair for pair, _ in pairs}) == len({own for _, own in pairs}) == found.shared
    assert {own for _, own in pairs} == set(range(found.shared))
    assert (found.groups, found.smallest) == (len(sizes), min(sizes.values(), default=0))


def test_group_rows_takes_columns_in_any_layout() -> None:
    rows = np.random.default_rng(5).integers(0, 3, (200, 3), dtype=np.int32)
    expected = twins.group_rows([tuple(row) for row in rows[::2, ::-1].tolist()])
    group, first = kernels.group_rows(rows[::2, ::-1])
    assert (group.tolist(), first.tolist()) == expected


def test_group_rows_at_size() -> None:
    rows = np.random.default_rng(1).integers(0, 60, (20_000, 3), dtype=np.int32)
    group, first = kernels.group_rows(rows)
    assert (rows[first][group] == rows).all()
    assert len(first) == len(np.unique(rows, axis=0))
    assert (np.diff(first) > 0).all()


def test_more_rows_than_32_bits_can_number() -> None:
    with pytest.raises(ValueError, match="at most 2,147,483,647 rows"):
        kernels.group_rows(np.empty((2**31, 0), np.int32))


# --- mondrian -----------------------------------------------------------------------------------------------

# All numbers are multiples of 1/64, so that sums of losses are exact in whatever order they are taken.


@st.composite
def geometries(draw: st.DrawFn) -> Geometry:
    kind, size = draw(st.sampled_from([RANGE, SET, TREE])), draw(SIZES)
    weight = draw(st.integers(0, 64)) / 64
    if kind == SET:
        table = np.array([1.0 + 2.0 ** math.ceil(math.log2(max(size - 1, 1)))])
    else:
        length = size if kind == RANGE else size - 1
        if size == LARGE:
            steps = np.random.default_rng(draw(st.integers(0, 9))).integers(0, 64, length)
        else:
            steps = np.array(draw(exactly(length, st.integers(0, 64))))
        # Positions may go beyond 1: a cost does not.
        table = np.cumsum(steps) / (2.0**18 if size == LARGE else 64) if kind == RANGE else steps / 64
    return Geometry(kind, weight, size, table.astype(np.float64))


@st.composite
def problems(draw: st.DrawFn) -> tuple[Any, ...]:
    """Draw a table, what covering its codes costs, sensitive columns, and what each class must have."""
    attributes = draw(st.lists(geometries(), min_size=draw(st.sampled_from([2, 3, 1, 0])), max_size=4))
    n = draw(st.sampled_from([20, 30, 40, 15, 10, 5, 2, 1, 0]))
    columns = [exactly(n, st.sampled_from(draw(pools(a.size)))) for a in attributes]
    rows = list(zip(*map(draw, columns), strict=True)) if columns else [()] * n
    sensitive = draw(st.lists(exactly(n, st.integers(0, 3)), max_size=2))
    small, large = st.integers(1, 3), st.sampled_from([max(1, n // 2), n // 2 + 1, max(1, n), n + 1])
    demands: dict[str, Any] = {
        "k": draw(st.one_of(small, small, small, large)),
        "relaxed": draw(st.booleans()),
    }
    demands |= draw(
        st.fixed_dictionaries(
            {},
            optional={
                "frequency_l": st.sampled_from([1.0, 1.5, 2.0]),
                "distinct": st.integers(1, 3),
                "entropy": st.sampled_from([0.5, math.log(2)]),
            },
        )
    )
    return rows, attributes, sensitive, demands


def native_mondrian(
    rows: NDArray[np.int32], attributes: list[Geometry], sensitive: list[list[int]], demands: dict[str, Any]
) -> list[int]:
    columns = [(np.array(column, np.int32), max(column, default=0) + 1) for column in sensitive]
    return kernels.mondrian(rows, attributes, columns, **demands).tolist()


@examples(100)
@given(problems())
def test_mondrian(problem: tuple[Any, ...]) -> None:
    rows, attributes, sensitive, demands = problem
    classes = native_mondrian(matrix(rows, len(attributes)), attributes, sensitive, demands)
    event(f"classes: {min(len(set(classes)), 4)}")
    assert classes == mondrian_twin.mondrian(rows, attributes, sensitive, **demands)


@examples(100)
@given(st.data())
def test_mondrian_with_demands_that_refuse_cuts(data: st.DataObject) -> None:
    """Dividing the records of one value depends on their order, which a refused cut must leave alone."""
    attributes = data.draw(st.lists(geometries(), min_size=1, max_size=3))
    columns = [st.sampled_from(data.draw(pools(a.size))) for a in attributes]
    rows = data.draw(st.lists(st.tuples(*columns), min_size=12, max_size=40))
    sensitive = [
        [r % 2 for r in range(len(rows))],
        data.draw(st.permutations([r % 3 for r in range(len(rows))])),
    ]
    demands = {"k": data.draw(st.integers(2, 4)), "distinct": 2, "frequency_l": 1.5, "relaxed": True}
    classes = native_mondrian(matrix(rows, len(attributes)), attributes, sensitive, demands)
    event(f"classes: {min(len(set(classes)), 4)}")
    assert classes == mondrian_twin.mondrian(rows, attributes, sensitive, **demands)


@given(st.data())
def test_mondrian_on_copies_of_one_record(data: st.DataObject) -> None:
    attributes = data.draw(st.lists(geometries(), min_size=1, max_size=3))
    row = tuple(data.draw(st.integers(0, a.size - 1)) for a in attributes)
    n, k = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 30))
    classes = native_mondrian(matrix([row] * n, len(row)), attributes, [], {"k": k})
    assert classes == [0] * n


@pytest.mark.large
@pytest.mark.parametrize("group", [1, 3, 1000])
@pytest.mark.parametrize("relaxed", [False, True])
def test_mondrian_loses_patience_with_cuts_that_take_off_a_little(group: int, relaxed: bool) -> None:
    """Below a flat root the cheapest cut takes off one value; below groups of values, one group."""
    size = 300
    rng = np.random.default_rng(group)
    apart = np.where(np.arange(1, size) % group == 0, 1.0, 1 / 64)
    attributes = [Geometry(TREE, 0.5, size, apart), Geometry(SET, 0.5, 2, np.array([2.0]))]
    rows = [(code, int(rng.integers(2))) for code in rng.permutation(np.repeat(np.arange(size), 2)).tolist()]
    demands = {"k": 2, "relaxed": relaxed}
    assert native_mondrian(matrix(rows, 2), attributes, [], demands) == mondrian_twin.mondrian(
        rows, attributes, [], **demands
    )


def large_table(rows: int) -> tuple[NDArray[np.int32], list[Geometry], list[tuple[NDArray[np.int32], int]]]:
    rng = np.random.default_rng(7)
    codes = np.column_stack(
        [
            rng.binomial(64, 0.4, rows),
            np.minimum(rng.geometric(0.2, rows) - 1, 16),
            rng.integers(0, 32, rows),
            rng.integers(0, LARGE, rows),
        ]
    )
    boundaries = np.arange(1, 32)
    attributes = [
        Geometry(RANGE, 0.25, 65, np.arange(65) / 64),
        Geometry(SET, 0.25, 17, np.array([17.0])),
        Geometry(TREE, 0.25, 32, (boundaries & -boundaries) / 32),
        Geometry(RANGE, 0.25, LARGE, np.arange(LARGE) / 2.0**17),
    ]
    return codes.astype(np.int32), attributes, [(rng.integers(0, 5, rows, dtype=np.int32), 5)]


@pytest.mark.large
@pytest.mark.parametrize("relaxed", [False, True])
def test_mondrian_that_is_shared_among_threads(relaxed: bool) -> None:
    codes, attributes, _ = large_table(20_000)
    codes, attributes = np.ascontiguousarray(codes[:, :3]), attributes[:3]
    rows = [tuple(row) for row in codes.tolist()]
    demands = {"k": 200, "relaxed": relaxed}
    assert native_mondrian(codes, attributes, [], demands) == mondrian_twin.mondrian(
        rows, attributes, [], **demands
    )


@pytest.mark.large
@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize(
    "demands",
    [{}, {"frequency_l": 2.5}, {"distinct": 4}, {"entropy": math.log(3)}],
    ids=["k only", "frequency", "distinct", "entropy"],
)
def test_mondrian_at_size(demands: dict[str, float], relaxed: bool) -> None:
    codes, attributes, sensitive = large_table(10_000)  # enough for two threads
    run = partial(kernels.mondrian, codes, attributes, sensitive, k=5, relaxed=relaxed, **demands)
    classes = run()
    assert (run() == classes).all()

    tally = np.zeros((classes.max() + 1, 5))
    np.add.at(tally, (classes, sensitive[0][0]), 1)
    often = tally.sum(axis=1)
    shares = tally / often[:, None]
    assert len(often) > 200
    assert often.min() >= 5
    assert shares.max() * demands.get("frequency_l", 0) <= 1 + 1e-9
    assert (tally > 0).sum(axis=1).min() >= demands.get("distinct", 0)
    entropy = -(shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=1)
    assert entropy.min() >= demands.get("entropy", 0) - 1e-9


@pytest.mark.large
def test_strict_mondrian_keeps_equal_records_together() -> None:
    codes, attributes, _ = large_table(20_000)
    codes, attributes = np.ascontiguousarray(codes[:, :3]), attributes[:3]
    group, first = kernels.group_rows(codes)
    classes = kernels.mondrian(codes, attributes, [], k=5)
    assert len(first) < len(codes) / 2
    assert (classes[first][group] == classes).all()


# --- count_consistent ---------------------------------------------------------------------------------------


@st.composite
def generalized_values(draw: st.DrawFn, size: int, pool: list[int]) -> CodeIntervals | Subsets:
    """Draw a few generalized values: also empty ones, and ones that contain every code."""
    codes = st.one_of(st.sampled_from(pool), st.integers(0, size - 1))
    if draw(st.booleans()):
        ends = draw(
            st.lists(st.one_of(st.tuples(codes, codes), st.just((0, size - 1))), min_size=1, max_size=5)
        )
        low, high = zip(*ends, strict=True)
        return CodeIntervals(size, np.array(low, np.int32), np.array(high, np.int32))
    sets = draw(st.lists(st.lists(codes, max_size=8).map(set), min_size=1, max_size=5))
    if draw(st.booleans()):
        sets.append(set(range(size)))
    if draw(st.booleans()):  # nearly everything: far more members than there are records
        sets.append(set(range(size)) - {pool[0]})
    members = [code for members in sets for code in sorted(members)]
    starts = np.cumsum([0, *map(len, sets)])
    return Subsets(starts.astype(np.int64), np.array(members, np.int32), size)


@examples(100)
@given(st.data())
def test_count_consistent(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(SIZES, max_size=3))
    drawn = [data.draw(pools(size)) for size in sizes]
    attributes = [data.draw(generalized_values(size, pool)) for size, pool in zip(sizes, drawn, strict=True)]
    numbers = [len(a.low) if isinstance(a, CodeIntervals) else len(a.starts) - 1 for a in attributes]
    least = data.draw(st.sampled_from([0, 10, 20]))  # so few that they are compared one by one, or more
    records = data.draw(st.lists(st.tuples(*map(st.sampled_from, drawn)), min_size=least, max_size=40))
    boxes = data.draw(
        st.lists(
            st.tuples(*[st.integers(0, number - 1) for number in numbers]), min_size=least // 2, max_size=25
        )
    )
    copies = st.integers(0, 5)
    event(f"records: {len(records) // 9 * 9} or more, boxes: {len(boxes) // 9 * 9} or more")
    record_copies = data.draw(exactly(len(records), copies))
    box_copies = data.draw(exactly(len(boxes), copies))
    graph = kernels.ConsistencyGraph(
        matrix(records, len(sizes)),
        np.array(record_copies, np.int64),
        matrix(boxes, len(sizes)),
        np.array(box_copies, np.int64),
        attributes,
    )
    boxes_of_record, records_of_box = graph.count()
    expected = twins.count_consistent(records, record_copies, boxes, box_copies, attributes)
    assert (boxes_of_record.tolist(), records_of_box.tolist()) == expected


@given(st.data())
def test_count_labels(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(SIZES, max_size=3))
    drawn = [data.draw(pools(size)) for size in sizes]
    attributes = [data.draw(generalized_values(size, pool)) for size, pool in zip(sizes, drawn, strict=True)]
    numbers = [len(a.low) if isinstance(a, CodeIntervals) else len(a.starts) - 1 for a in attributes]
    records = data.draw(st.lists(st.tuples(*map(st.sampled_from, drawn)), max_size=40))
    boxes = data.draw(st.lists(st.tuples(*[st.integers(0, number - 1) for number in numbers]), max_size=25))
    copies = data.draw(exactly(len(boxes), st.integers(1, 5)))
    size = data.draw(st.sampled_from([1, 2, 5, LARGE]))
    labels = data.draw(exactly(len(boxes), st.integers(0, size - 1)))
    found = kernels.count_labels(
        matrix(records, len(sizes)),
        matrix(boxes, len(sizes)),
        np.array(copies, np.int64),
        attributes,
        np.array(labels, np.int32),
        size,
    )
    expected = twins.count_labels(records, boxes, copies, attributes, labels)
    assert found.boxes.tolist() == [boxes for boxes, *_ in expected]
    assert found.most.tolist() == [most for _, most, *_ in expected]
    assert found.distinct.tolist() == [distinct for *_, distinct, _ in expected]
    assert np.allclose(found.logs, [logs for *_, logs in expected])


@pytest.mark.large
def test_count_labels_that_is_shared_among_threads() -> None:
    records, _, boxes, copies, attributes = large_consistency_problem()
    labels = np.random.default_rng(4).integers(0, 12, len(boxes), dtype=np.int32)
    ones = np.ones(len(records), np.int64)
    by_label = [
        kernels.ConsistencyGraph(records, ones, boxes[labels == v], copies[labels == v], attributes).count()[
            0
        ]
        for v in range(12)
    ]
    counts = np.column_stack(by_label)
    for _ in range(2):
        found = kernels.count_labels(records, boxes, copies, attributes, labels, 12)
        assert (found.boxes == counts.sum(axis=1)).all()
        assert (found.most == counts.max(axis=1)).all()
        assert (found.distinct == (counts > 0).sum(axis=1)).all()
        assert np.allclose(found.logs, (counts * np.log(np.maximum(counts, 1))).sum(axis=1))


def large_consistency_problem() -> tuple[Any, ...]:
    rng = np.random.default_rng(3)
    records = np.column_stack([rng.integers(0, size, 6000) for size in (100, 40, LARGE)]).astype(np.int32)
    low = rng.integers(0, 90, 4000, dtype=np.int32)
    few = [np.unique(rng.integers(0, 40, number)) for number in rng.integers(0, 60, 500)]
    many = [rng.choice(records[:, 2], 1500) for _ in range(50)] + [records[:, 2], np.arange(0)]
    attributes = [CodeIntervals(100, low, (low + rng.integers(-2, 60, 4000)).astype(np.int32))]
    for size, sets in ((40, few), (LARGE, [np.unique(members) for members in many])):
        starts = np.cumsum([0, *map(len, sets)])
        attributes.append(Subsets(starts.astype(np.int64), np.concatenate(sets).astype(np.int32), size))
    boxes = np.column_stack([rng.integers(0, number, 4000) for number in (4000, 500, 52)]).astype(np.int32)
    return records, rng.integers(1, 9, 6000), boxes, rng.integers(1, 9, 4000), attributes


@pytest.mark.large
def test_count_consistent_that_is_shared_among_threads() -> None:
    records, record_copies, boxes, box_copies, attributes = problem = large_consistency_problem()
    inside = np.ones((len(records), len(boxes)), dtype=bool)
    for a, attribute in enumerate(attributes):
        if isinstance(attribute, CodeIntervals):
            code = records[:, a, None]
            inside &= (attribute.low[boxes[:, a]] <= code) & (code <= attribute.high[boxes[:, a]])
        else:
            contains = np.zeros((attribute.size, len(attribute.starts) - 1), dtype=bool)
            contains[attribute.values, np.repeat(np.arange(contains.shape[1]), np.diff(attribute.starts))] = (
                True
            )
            inside &= contains[records[:, a]][:, boxes[:, a]]
    assert inside.sum() > 100_000
    for _ in range(2):
        boxes_of_record, records_of_box = kernels.ConsistencyGraph(*problem).count()
        assert (boxes_of_record == inside @ box_copies).all()
        assert (records_of_box == record_copies @ inside).all()


# --- threads ------------------------------------------------------------------------------------------------

ALONE = """
import pickle, sys
from shoal import kernels
name, arguments, options = pickle.load(sys.stdin.buffer)
found = getattr(kernels, name)(*arguments, **options)
sys.stdout.buffer.write(pickle.dumps(found.count() if name == "ConsistencyGraph" else found))
"""


@pytest.mark.skipif("SHOAL_NATIVE" in os.environ, reason="sanitizers need more memory than the test grants")
@pytest.mark.skipif(sys.platform != "linux", reason="other systems bound memory in other ways")
@pytest.mark.parametrize(
    ("name", "arguments", "options"),
    [
        ("mondrian", large_table(20_000), {"k": 5, "distinct": 3, "relaxed": True}),
        ("ConsistencyGraph", large_consistency_problem(), {}),
    ],
    ids=["mondrian", "count_consistent"],
)
def test_the_number_of_threads_does_not_matter(
    name: str, arguments: tuple[Any, ...], options: dict[str, Any]
) -> None:
    """Nor does it if the system refuses them: each would need a stack beyond what the process may have."""

    def limit() -> None:
        for what, most in ((resource.RLIMIT_STACK, 16 << 30), (resource.RLIMIT_AS, 8 << 30)):
            resource.setrlimit(what, (most, resource.getrlimit(what)[1]))

    done = subprocess.run(
        [sys.executable, "-c", ALONE],
        input=pickle.dumps((name, arguments, options)),
        capture_output=True,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=limit,
    )
    assert done.returncode == 0, done.stderr.decode()
    found = getattr(kernels, name)(*arguments, **options)
    expected = found.count() if isinstance(found, kernels.ConsistencyGraph) else found
    np.testing.assert_equal(pickle.loads(done.stdout), expected)
