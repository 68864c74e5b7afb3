"""Freeform releases of random tables: regular graphs, covered records, and an audit that passes."""

from __future__ import annotations

import time
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from strategies import tables

from shoal import Column, Freeform, InputError, Release, Role, Schema, anonymize, audit
from shoal.measures.gcp import gcp
from shoal.methods import METHODS as KNOWN
from shoal.methods import Circumstances, Effort, matching
from shoal.methods.copies import share_with_copies
from shoal.methods.refinement import EXCHANGES as EFFORTS
from shoal.methods.refinement import refined
from shoal.recoding import Recoding
from shoal.table import Table

NAMES = ["matching", "sort_greedy", "greedy", "ring"]
METHODS = pytest.mark.parametrize("method", NAMES)
EFFORT = pytest.mark.parametrize("effort", EFFORTS)
ROUNDING = 1e-9


def released(frame: pl.DataFrame, k: int, method: str, effort: str, **described: Any) -> Release:
    """Return a release of all columns, which the audit must have passed."""
    schema = Schema.infer(frame, quasi=frame.columns, **described)
    release = anonymize(frame, schema, Freeform(k=k), method=method, effort=effort)
    assert release.audit.holds
    assert release.audit.consistency.rows_per_record >= k
    assert release.audit.consistency.records_of_row.min() >= k
    return release


@METHODS
@given(drawn=tables(min_rows=2, max_rows=14, sensitive=True), data=st.data())
def test_growing_rows_pass_the_audit(method: str, drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    frame, schema = drawn
    n = len(nw.from_native(frame))
    k = data.draw(st.integers(2, n))
    effort = data.draw(st.sampled_from(list(EFFORTS)))
    release = anonymize(frame, schema, Freeform(k=k), method=method, effort=effort)
    graph = release.recoding.graph
    assert graph is not None
    assert graph.shape == (n, k)
    if effort == "fast":
        assert (graph[:, 0] == np.arange(n)).all()  # each row grew around its own record
    assert all(len(set(row)) == k for row in graph.tolist())  # simple
    assert (np.bincount(graph.ravel(), minlength=n) == k).all()  # regular
    assert release.audit.holds
    assert release.audit.consistency.rows_per_record >= k
    assert release.audit.consistency.records_of_row.min() >= k
    # The row of a released record is one of those made to cover it.
    assert all(record in graph[row] for row, record in zip(release.rows, release.order, strict=True))
    secrets = nw.from_native(frame)["secret"].to_list()
    assert nw.from_native(release.table)["secret"].to_list() == [secrets[i] for i in release.key]


@METHODS
@given(k=st.integers(2, 6), kinds=st.integers(1, 5))
def test_copies_cost_nothing(method: str, k: int, kinds: int) -> None:
    frame = pl.DataFrame({"age": [v for v in range(kinds) for _ in range(k)], "sex": ["f", "m"][k % 2]})
    schema = Schema.infer(frame, quasi=["age", "sex"])
    release = anonymize(frame, schema, Freeform(k=k), method=method, effort="fast")
    assert release.loss.gcp == 0


@METHODS
def test_thousands_of_copies_take_no_longer_than_other_records(method: str) -> None:
    # All pairs of copies, or all of them for each, would take minutes.
    rng = np.random.default_rng(3)
    n = 30_000
    frame = pl.DataFrame({"age": np.where(rng.random(n) < 0.9, 40, rng.integers(20, 80, n)), "sex": "f"})
    began = time.process_time()
    assert released(frame, 10, method, "balanced").loss.gcp < 0.001
    assert time.process_time() - began < 20


@METHODS
@EFFORT
@pytest.mark.parametrize(("n", "k"), [(3, 3), (4, 3), (12, 11), (12, 12), (40, 7)])
def test_small_tables_and_large_k(method: str, effort: str, n: int, k: int) -> None:
    frame = pl.DataFrame({"age": list(range(n)), "job": [f"j{i % 5}" for i in range(n)]})
    release = released(frame, k, method, effort)
    if n == k:
        assert release.loss.gcp == 1


@METHODS
@EFFORT
def test_equal_records_lose_nothing(method: str, effort: str) -> None:
    frame = pl.DataFrame({"age": [40] * 30, "job": ["nurse"] * 30})
    assert released(frame, 7, method, effort).loss.gcp == 0


@METHODS
@EFFORT
@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_one_attribute(method: str, effort: str, kind: str) -> None:
    frame = pl.DataFrame({"x": np.random.default_rng(2).integers(0, 30, 100)})
    releases = [released(frame, k, method, effort, kinds={"x": kind}) for k in (2, 9)]
    assert releases[0].loss.gcp < releases[1].loss.gcp


@METHODS
@EFFORT
def test_sixty_attributes(method: str, effort: str) -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({f"c{i}": rng.integers(0, 4, 120).astype(str) for i in range(60)})
    released(frame, 4, method, effort, kinds=dict.fromkeys(frame.columns, "categorical"))


@METHODS
@EFFORT
def test_a_category_with_a_hundred_thousand_values(method: str, effort: str) -> None:
    rng = np.random.default_rng(5)
    names = [f"n{i:06}" for i in range(100_000)]
    frame = pl.DataFrame({"name": rng.choice(names, 1_500), "sex": rng.choice(["f", "m"], 1_500)})
    columns = (Column("name", role=Role.QUASI, domain=tuple(names)), Column("sex", role=Role.QUASI))
    release = anonymize(frame, Schema(columns), Freeform(k=3), method=method, effort=effort)
    assert release.audit.holds
    assert release.loss.by_attribute["sex"] < 0.01  # every name costs the same, so who mixes sexes?


@METHODS
@EFFORT
@given(drawn=tables(min_rows=2, max_rows=12), data=st.data())
@examples(20)
def test_seeded_releases_repeat(
    method: str, effort: str, drawn: tuple[Any, Schema], data: st.DataObject
) -> None:
    frame, schema = drawn
    model = Freeform(k=data.draw(st.integers(2, len(nw.from_native(frame)))))
    seed = data.draw(st.integers(0, 2**32))
    one, other = (anonymize(frame, schema, model, method=method, effort=effort, seed=seed) for _ in range(2))
    assert one.recoding.graph is not None
    assert other.recoding.graph is not None
    assert (one.recoding.graph == other.recoding.graph).all()
    assert (one.key == other.key).all()
    assert nw.from_native(one.table).to_dict(as_series=False) == nw.from_native(other.table).to_dict(
        as_series=False
    )


@METHODS
@EFFORT
@given(drawn=tables(min_rows=2, max_rows=12, flavours=["polars"], sensitive=True), data=st.data())
@examples(20)
def test_the_order_of_the_records_does_not_matter_to_the_promise(
    method: str, effort: str, drawn: tuple[pl.DataFrame, Schema], data: st.DataObject
) -> None:
    frame, schema = drawn
    k = data.draw(st.integers(2, len(frame)))
    order = data.draw(st.permutations(range(len(frame))))
    release = anonymize(frame[order], schema, Freeform(k=k), method=method, effort=effort)
    assert release.audit.holds
    assert audit(frame, release.table, schema, Freeform(k=k)).holds


@METHODS
@given(drawn=tables(min_rows=2, max_rows=14), data=st.data())
def test_refinement_never_costs_more(method: str, drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    table = Table.encode(*drawn)
    model = Freeform(k=data.draw(st.integers(2, len(table))))
    effort = data.draw(st.sampled_from(["balanced", "best"]))
    fast = KNOWN[Freeform][method](table, model, Circumstances(), effort="fast")
    assert fast.graph is not None
    after = refined(table, fast.graph, EFFORTS[effort], Circumstances())
    assert gcp(Recoding.of_graph(table, after)) <= gcp(fast) + ROUNDING
    assert (np.bincount(after.ravel(), minlength=len(table)) == model.k).all()
    assert all(len(set(row)) == model.k for row in after.tolist())


def test_what_is_refused() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3]})
    for method in NAMES:
        with pytest.raises(InputError, match="k = 4"):
            anonymize(frame, Schema.infer(frame, quasi=["age"]), Freeform(k=4), method=method)
        with pytest.raises(InputError, match="did you mean 'fast'"):
            anonymize(frame, Schema.infer(frame, quasi=["age"]), Freeform(k=2), method=method, effort="fsat")


@pytest.mark.parametrize("alone", [1.0, 0.75])
def test_balanced_loses_no_more_than_fast_where_most_records_have_copies(
    monkeypatch: pytest.MonkeyPatch, alone: float
) -> None:
    """Rows that grow lose more than rings on such tables: a million records like Adult's, or these."""
    monkeypatch.setattr(matching, "MANY_COPIES", alone)
    rng = np.random.default_rng(1)
    columns = {f"q{i}": np.minimum(rng.geometric(p, 8_000), 15) for i, p in enumerate((0.2, 0.4, 0.5, 0.6))}
    frame = pl.DataFrame(columns).with_columns(pl.col("q1", "q2", "q3").cast(pl.String))
    table = Table.encode(frame, Schema.infer(frame, quasi=frame.columns))
    assert share_with_copies(table.codes) > matching.COPIES

    def loss(effort: Effort) -> float:
        return gcp(matching.matching(table, Freeform(k=25), Circumstances(), effort=effort))

    assert loss("balanced") < loss("fast")
