"""Random assignments with diverse labels: every valid one is drawn, about equally often, and no other."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import shoal
from shoal import Freeform, Schema
from shoal.base.randomness import Randomness
from shoal.kernels import Crowds, DiverseDraw, DrawnColumn, Shares
from shoal.methods import Circumstances
from shoal.methods.diversity import GROWN, recoded
from shoal.methods.unseen import drawn_as_diverse, settle
from shoal.recoding import Recoding
from shoal.recoding.assignment import random_assignment
from shoal.recoding.coverage import Graph
from shoal.table import Table


def ring(n: int, k: int) -> NDArray[np.int32]:
    """Return the graph in which each row has k neighbours on a ring."""
    return ((np.arange(n)[:, None] + np.arange(k)) % n).astype(np.int32)


def draw_from(graph: NDArray[np.int32], labels: list[int], seed: int, **asked: Any) -> DiverseDraw:
    """Return a draw in which the crowd of each record is its rows."""
    n, k = graph.shape
    rows_of = [np.flatnonzero((graph == record).any(axis=1)) for record in range(n)]
    shares = Shares(
        np.arange(n, dtype=np.int32),
        np.arange(0, n * k + 1, k, dtype=np.int64),
        np.concatenate(rows_of).astype(np.int32),
        np.full(n * k, 1 / k),
    )
    crowds = Crowds(
        np.arange(0, n * k + 1, k, dtype=np.int64),
        np.sort(graph, axis=1).ravel(),
        np.ones(n * k),
        np.arange(n, dtype=np.int32),
    )
    column = DrawnColumn(np.array(labels, dtype=np.int32), **asked)
    words = np.random.default_rng(seed).integers(0, 2**64, 4, dtype=np.uint64)
    own = graph[:, 0].copy()
    return DiverseDraw(shares, np.arange(n, dtype=np.int32), crowds, [column], own, words)


def assignments(graph: NDArray[np.int32]) -> list[tuple[int, ...]]:
    """Return all perfect matchings of a small graph."""
    n = len(graph)
    return [
        order
        for order in itertools.permutations(range(n))
        if all(order[row] in graph[row] for row in range(n))
    ]


def shortfalls(graph: NDArray[np.int32], labels: list[int], order: Any, l: float) -> list[float]:  # noqa: E741
    """Return by how many rows the most frequent label of each record's rows is too frequent."""
    n, k = graph.shape
    missed = []
    for record in range(n):
        shown = Counter(labels[order[row]] for row in range(n) if record in graph[row])
        missed.append(sum(max(0.0, many - k / l) for many in shown.values()))
    return missed


@pytest.mark.parametrize(
    ("n", "k", "labels", "l"),
    [
        (6, 3, [0, 1, 2, 0, 1, 2], 1.5),
        (6, 2, [0, 1, 0, 1, 0, 1], 2.0),
        (7, 3, [0, 0, 1, 1, 2, 2, 2], 1.5),
        (7, 4, [0, 0, 0, 1, 1, 1, 2], 2.0),
    ],
)
def test_valid_assignments_are_drawn_equally_often(n: int, k: int, labels: list[int], l: float) -> None:  # noqa: E741
    graph = ring(n, k)
    valid = {order for order in assignments(graph) if sum(shortfalls(graph, labels, order, l)) < 1e-9}
    assert len(valid) > 1
    times = 150 * len(valid)
    drawn: Counter[tuple[int, ...]] = Counter()
    for seed in range(times):
        draw = draw_from(graph, labels, seed, frequency_l=l)
        assert settle(draw, n)
        drawn[tuple(draw.assignment.tolist())] += 1
    assert set(drawn) == valid
    squares = sum((drawn[order] - 150) ** 2 / 150 for order in valid)
    freedom = len(valid) - 1
    assert squares < freedom + 5 * np.sqrt(2 * freedom) + 5


@given(st.integers(4, 12), st.integers(2, 4), st.data())
@examples(60)
def test_it_counts_as_the_twin_does(n: int, k: int, data: st.DataObject) -> None:
    graph = ring(n, k)
    labels = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    l = data.draw(st.sampled_from([1.2, 1.5, 2.0, 3.0]))  # noqa: E741
    draw = draw_from(graph, labels, data.draw(st.integers(0, 99)), frequency_l=l)
    for steps in (0, 5, 200):
        draw.search(steps)
        draw.mix(steps, 3.0)
        order = draw.assignment
        assert sorted(order) == list(range(n))
        assert all(order[row] in graph[row] for row in range(n))
        missed = np.array(shortfalls(graph, labels, order, l))
        assert draw.shortfall == pytest.approx(missed.sum(), abs=1e-6)
        assert sorted(draw.violated_crowds) == np.flatnonzero(missed > 1e-6).tolist()


def test_rows_of_small_tables_do_not_depend_on_labels() -> None:
    """With the same graph, any two ways to deal the labels show the same boxes, if rows are united alike."""
    frame = pl.DataFrame({"age": [20, 21, 30, 33, 50, 58, 63, 70], "d": list("abababab")})
    shown: dict[int, set[tuple[Any, ...]]] = {}
    for seed in range(40):
        dealt = frame.with_columns(d=pl.Series(np.random.default_rng(seed).permutation(list("aaaabbbb"))))
        schema = Schema.infer(dealt, quasi=["age"], sensitive=["d"])
        table = Table.encode(dealt, schema)
        model = Freeform(k=2, l=2)
        recoding = recoded(table, model, ring(8, 2), Circumstances(Randomness(seed)))
        boxes = tuple(sorted(zip(*(key.tolist() for key in recoding.values[0].keys()), strict=True)))  # noqa: SIM118
        shown.setdefault(len(np.unique(recoding.box)), set()).add(boxes)
    assert all(len(boxes) == 1 for boxes in shown.values())


@pytest.mark.parametrize("asked", [{"l": 2}, {"p": 3}, {"entropy_l": 2.5}, {"l": 1.5, "p": 2}])
@pytest.mark.parametrize("records", [12, 24, 32])
def test_small_tables_keep_every_guarantee(asked: dict[str, Any], records: int) -> None:
    rng = np.random.default_rng(records)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 80, records),
            "zip": rng.integers(0, 9, records),
            "d": [f"d{i % 4}" for i in range(records)],
            "e": [f"e{i % 3}" for i in range(records)],
        }
    )
    schema = Schema.infer(frame, quasi=["age", "zip"], sensitive=["d", "e"])
    release = shoal.anonymize(frame, schema, Freeform(k=3, **asked), seed=1)
    assert release.audit.holds
    assert release.audit.chance is not None
    assert release.audit.chance.least is not None
    assert release.audit.chance.least <= Fraction(1, 3)


def test_rows_of_larger_tables_grow_only_where_no_assignment_is_diverse() -> None:
    n = 150
    frame = pl.DataFrame({"age": np.arange(n), "d": [f"d{i % 5}" for i in range(n)]})
    schema = Schema.infer(frame, quasi=["age"], sensitive=["d"])
    alike = frame.with_columns(d=pl.Series([f"d{i * 5 // n}" for i in range(n)]))
    model = Freeform(k=6, l=2)
    for dealt, grows in ((frame, False), (alike, True)):
        table, circumstances = Table.encode(dealt, schema), Circumstances(Randomness(1))
        recoding = recoded(table, model, ring(n, 6), circumstances)
        alone = Recoding.of_graph(table, ring(n, 6))
        shown = [sorted(zip(*each.values[0].keys(), strict=True)) for each in (recoding, alone)]
        assert (shown[0] != shown[1]) == grows
        assert circumstances.notes == ([GROWN] if grows else [])
        assert sorted(recoding.assignment) == list(range(n))
    assert shoal.anonymize(alike, schema, model, seed=1).audit.holds


def test_what_is_drawn_for_larger_tables_is_diverse() -> None:
    """The draw mixes and repairs: what it returns is the repaired assignment."""
    rng = np.random.default_rng(1)
    n, model = 200, Freeform(k=10, l=3)
    frame = pl.DataFrame({"age": rng.integers(17, 80, n), "sex": rng.integers(0, 2, n)})
    valid = 0
    for seed in range(12):
        dealt = frame.with_columns(d=pl.Series([f"d{label}" for label in rng.integers(0, 7, n)]))
        schema = Schema.infer(dealt, quasi=["age", "sex"], sensitive=["d"])
        table, circumstances = Table.encode(dealt, schema), Circumstances(Randomness(seed))
        graph = np.argsort(dealt["age"].to_numpy(), kind="stable")[ring(n, 10)].astype(np.int32)
        alone = Recoding.of_graph(table, graph)
        found, fine = drawn_as_diverse(
            alone, model, random_assignment(graph, Randomness(seed)), circumstances
        )
        audit = shoal.anonymize(dealt, schema, model, seed=seed).audit
        assert audit.holds
        valid += fine
        if fine:
            carried = table.sensitive[0].codes[found]
            counts = Graph.of_recoding(alone).count_labels(carried, 7)
            assert (counts.most * 3 <= counts.boxes).all()
    assert valid > 0
