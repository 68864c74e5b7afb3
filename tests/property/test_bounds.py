"""The lower bound of loss: what brute force finds, and never above a release or the best there is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import tables

from shoal import KAnonymity, Schema, anonymize
from shoal.measures import lower_bound
from shoal.methods import METHODS
from shoal.models import CrowdModel, Model
from shoal.table import Table

# Some are about classes, as KAnonymity is, but need a sensitive column to say anything.
CROWD_MODELS = [model for model in METHODS if issubclass(model, CrowdModel) and not model.needs_sensitive]


def cost(table: Table, crowd: tuple[int, ...]) -> float:
    """Return the NCP of the smallest row around some records."""
    ends = np.array([0, len(crowd)])
    parts = [a.domain.closure(a.codes[list(crowd)], ends).ncp()[0] for a in table.attributes]
    return float(table.weights @ np.array(parts))


@given(tables(min_rows=1, max_rows=8, flavours=["polars"]), st.data())
def test_the_bound_is_the_mean_of_the_cheapest_crowds(drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    table = Table.encode(*drawn)
    n = len(table)
    k = data.draw(st.integers(1, n))
    costs = {crowd: cost(table, crowd) for crowd in combinations(range(n), k)}
    cheapest = [min(costs[crowd] for crowd in costs if record in crowd) for record in range(n)]
    bound = lower_bound(table, k)
    assert bound.value == pytest.approx(np.mean(cheapest))
    assert bound.error == 0


def regular_graphs(n: int, k: int) -> Iterator[list[tuple[int, ...]]]:
    """Yield, for each row, the k records it covers, where each record is covered by k rows."""

    def extended(rows: list[tuple[int, ...]], left: list[int]) -> Iterator[list[tuple[int, ...]]]:
        if len(rows) == n:
            yield rows
            return
        for row in combinations([record for record in range(n) if left[record]], k):
            yield from extended([*rows, row], [count - (record in row) for record, count in enumerate(left)])

    return extended([], [k] * n)


def partitions(records: list[int], k: int) -> Iterator[list[tuple[int, ...]]]:
    """Yield all ways to put records into classes of at least k."""
    if not records:
        yield []
    for size in range(k, len(records) + 1):
        for others in combinations(records[1:], size - 1):
            rest = [record for record in records[1:] if record not in others]
            for classes in partitions(rest, k):
                yield [(records[0], *others), *classes]


@given(tables(min_rows=2, max_rows=5, flavours=["polars"]), st.data())
def test_the_bound_is_not_above_the_optimum(drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    table = Table.encode(*drawn)
    n = len(table)
    k = data.draw(st.integers(2, n))
    costs = {crowd: cost(table, crowd) for size in range(k, n + 1) for crowd in combinations(range(n), size)}
    freeform = min(sum(costs[row] for row in rows) for rows in regular_graphs(n, k)) / n
    classes = (
        min(sum(len(c) * costs[c] for c in partition) for partition in partitions(list(range(n)), k)) / n
    )
    assert lower_bound(table, k).value <= freeform + 1e-12 <= classes + 2e-12


@given(tables(min_rows=2, max_rows=14), st.data())
def test_no_release_loses_less(drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    frame, schema = drawn
    k = data.draw(st.integers(2, len(nw.from_native(frame))))
    model, method = data.draw(
        st.sampled_from([(model, name) for model in CROWD_MODELS for name in METHODS[model]])
    )
    promise = model(k=k)
    loss = anonymize(frame, schema, promise, method=method).loss
    assert loss.bound <= loss.gcp + 1e-12
    assert loss.bound == lower_bound(Table.encode(frame, schema), promise.records_per_row).value
    assert loss["ratio"] == loss.as_dict()["ratio"] == (loss.gcp / loss.bound if loss.bound else None)


@given(tables(min_rows=2, max_rows=14, flavours=["polars"]), st.data())
def test_what_the_bound_depends_on(drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    frame, schema = drawn
    n = len(frame)
    bounds = [lower_bound(Table.encode(frame, schema), k).value for k in range(1, n + 1)]
    assert bounds[0] == 0
    assert (np.diff(bounds) >= -1e-12).all()  # larger crowds cost more
    k = data.draw(st.integers(1, n))
    order = data.draw(st.permutations(range(n)))
    assert lower_bound(Table.encode(frame[order], schema), k).value == pytest.approx(bounds[k - 1])
    twice = pl.concat([frame, frame[order]])  # every record has a copy: twice the crowd at the same cost
    assert lower_bound(Table.encode(twice, schema), 2 * k).value == pytest.approx(bounds[k - 1])
    assert lower_bound(Table.encode(frame, schema), n + 1).value == bounds[-1]  # all are all


def test_a_sample_estimates_the_bound() -> None:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "age": np.minimum(rng.exponential(20, 6_000), 99).round(1),
            "job": rng.geometric(0.1, 6_000).astype(str),
        }
    )
    table = Table.encode(frame, Schema.infer(frame, quasi=["age", "job"]))
    exact = lower_bound(table, 5, sample=len(table))
    assert exact.error == 0
    for sample in (None, 101, 3):
        estimate = lower_bound(table, 5, sample=sample)
        assert estimate == lower_bound(table, 5, sample=sample)
        assert estimate.error > 0
        assert abs(estimate.value - exact.value) < 4 * estimate.error
    assert lower_bound(table, 5).error < 0.1 * exact.value


@pytest.mark.parametrize("model", CROWD_MODELS)
def test_nothing_must_be_lost_among_copies(model: type[Model]) -> None:
    frame = pl.DataFrame({"age": [1, 1, 2, 2]})
    loss = anonymize(frame, Schema.infer(frame, quasi=["age"]), model(k=2)).loss
    assert (loss.bound, loss.ratio) == (0, None)


def test_diversity_only_costs_more() -> None:
    frame = pl.DataFrame({"age": list(range(8)), "ill": ["a", "a", "a", "a", "b", "b", "b", "b"]})
    schema = Schema.infer(frame, quasi=["age"], sensitive=["ill"])
    diverse = anonymize(frame, schema, KAnonymity(k=2, l=2)).loss
    assert diverse.bound == anonymize(frame, schema, KAnonymity(k=2)).loss.bound < diverse.gcp
