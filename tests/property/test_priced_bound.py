"""The bound with prices: what brute force finds, and never above the best regular graph."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import tables
from test_bounds import cost, regular_graphs

from shoal import Freeform, KAnonymity, Schema, anonymize, kernels
from shoal.measures import lower_bound, priced_bound
from shoal.measures.geometry import geometry
from shoal.measures.priced_bound import prices_of
from shoal.table import Table


@given(tables(min_rows=1, max_rows=8, flavours=["polars"]), st.data())
def test_the_search_finds_the_best_crowd(drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    table = Table.encode(*drawn)
    n = len(table)
    k = data.draw(st.integers(1, n))
    groups, first = kernels.group_rows(table.codes)
    tree = kernels.BoxTree(table.codes[first], geometry(table), 1)
    copies = np.bincount(groups)[tree.order]
    some = st.floats(-1, 1, allow_subnormal=False)
    prices = np.array(data.draw(st.lists(some, min_size=len(first), max_size=len(first))))
    place = np.argsort(tree.order)[groups]
    values = {
        crowd: cost(table, crowd) - prices[place[list(crowd)]].sum() for crowd in combinations(range(n), k)
    }
    for record in range(n):
        best = min(value for crowd, value in values.items() if record in crowd)
        found = tree.priced_crowds(place[[record]], copies, prices, k, steps=100_000)
        assert found.least[0] == pytest.approx(best, abs=1e-9)
        assert found.found[0] == pytest.approx(best, abs=1e-9)
        early = tree.priced_crowds(place[[record]], copies, prices, k, steps=data.draw(st.integers(0, 3)))
        assert early.least[0] <= best + 1e-9
        assert early.found[0] >= best - 1e-9
        near = tree.priced_crowds(place[[record]], copies, prices, k, steps=100_000, tolerance=0.1)
        assert best - 0.1 - 1e-9 <= near.least[0] <= best + 1e-9


@given(tables(min_rows=2, max_rows=5, flavours=["polars"]), st.data())
def test_the_bound_is_not_above_the_best_regular_graph(
    drawn: tuple[Any, Schema], data: st.DataObject
) -> None:
    table = Table.encode(*drawn)
    n = len(table)
    k = data.draw(st.integers(2, n))
    costs = {crowd: cost(table, crowd) for crowd in combinations(range(n), k)}
    graphs = list(regular_graphs(n, k))
    best = min(sum(costs[row] for row in rows) for rows in graphs) / n
    graph = np.array(data.draw(st.sampled_from(graphs)), dtype=np.int32)
    steps = data.draw(st.sampled_from([0, 2, 100_000]))
    assert priced_bound(table, graph, sample=n, steps=steps).value <= best + 1e-9


@pytest.mark.parametrize("k", [2, 12, 40])
def test_the_search_finds_the_best_interval(k: int) -> None:
    """More heights than a ladder has rungs: the best crowd is in an interval, and all intervals are tried."""
    rng = np.random.default_rng(k)
    frame = pl.DataFrame({"x": rng.choice(3_000, 500, replace=False)})
    table = Table.encode(frame, Schema.infer(frame, quasi=["x"]))
    tree = kernels.BoxTree(table.codes, geometry(table), 1)
    prices = rng.exponential(0.002, 500)
    order = np.argsort(frame["x"].to_numpy())
    spots = frame["x"].to_numpy()[order] / np.ptp(frame["x"].to_numpy())
    paid = prices[np.argsort(tree.order)[order]]
    for spot in (3, 250):
        best = np.inf
        for low in range(spot + 1):
            for high in range(max(spot, low + k - 1), 500):
                others = np.sort(np.delete(paid[low : high + 1], spot - low))
                crowd = paid[spot] + others[len(others) - (k - 1) :].sum()
                best = min(best, spots[high] - spots[low] - crowd)
        asked = np.argsort(tree.order)[order[[spot]]]
        ones = np.ones(500, dtype=np.int32)
        for steps in (0, 5, 50, 20_000):
            found = tree.priced_crowds(asked, ones, prices, k, steps=steps)
            assert found.least[0] <= best + 1e-9 <= found.found[0] + 2e-9
        assert found.least[0] == pytest.approx(best, abs=1e-9)


def people(rows: int) -> tuple[pl.DataFrame, Schema]:
    rng = np.random.default_rng(7)
    age = np.minimum(rng.exponential(20, rows), 99).astype(int)
    frame = pl.DataFrame({"age": age, "job": rng.geometric(0.2, rows).astype(str)})
    return frame, Schema.infer(frame, quasi=["age", "job"], kinds={"job": "categorical"})


def test_records_pay_what_rows_cost() -> None:
    frame, schema = people(300)
    recoding = anonymize(frame, schema, Freeform(k=4), seed=1).recoding
    assert recoding.graph is not None
    prices = prices_of(recoding.table, recoding.graph)
    rows = [cost(recoding.table, tuple(row)) for row in recoding.graph.tolist()]
    assert 4 * prices.sum() == pytest.approx(sum(rows))
    assert prices.min() >= 0


def test_the_bound_is_tighter_and_holds_for_other_releases() -> None:
    frame, schema = people(400)
    release = anonymize(frame, schema, Freeform(k=5), seed=1)
    graph = release.recoding.graph
    assert graph is not None
    table = Table.encode(frame, schema)
    bound = priced_bound(table, graph, sample=len(table))
    assert bound.error == 0
    assert lower_bound(table, 5, sample=len(table)).value < bound.value <= release.loss.gcp
    for other in (
        anonymize(frame, schema, Freeform(k=5), effort="best"),
        anonymize(frame, schema, KAnonymity(k=5)),
    ):
        assert bound.value <= other.loss.gcp
    estimate = priced_bound(table, graph, sample=60)
    assert abs(estimate.value - bound.value) < 4 * estimate.error


@pytest.mark.parametrize(("rows", "k"), [(40, 3), (16, 4)])
def test_the_bound_is_not_above_the_optimum_of_exact(rows: int, k: int) -> None:
    frame, schema = people(rows)
    optimum = anonymize(frame, schema, Freeform(k=k), method="exact", seed=1)
    graph = anonymize(frame, schema, Freeform(k=k), seed=1).recoding.graph
    assert graph is not None
    table = Table.encode(frame, schema)
    bound = priced_bound(table, graph, sample=rows).value
    assert 0.6 * optimum.loss.gcp < bound <= optimum.loss.gcp + 1e-9
    for share, cap, steps in [(1.0, 0.3, 4_000), (1.0, 8.0, 3), (3.0, 2.0, 4_000), (0.0, 1.0, 4_000)]:
        other = priced_bound(table, graph, sample=rows, steps=steps, shares=[share], caps=[cap]).value
        assert other <= optimum.loss.gcp + 1e-9
