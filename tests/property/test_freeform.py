"""Freeform releases of random tables: regular graphs, covered records, and an audit that passes."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import tables

from shoal import Freeform, InputError, Schema, anonymize

METHODS = pytest.mark.parametrize("method", ["sort_greedy", "greedy"])


@METHODS
@given(drawn=tables(min_rows=2, max_rows=14, sensitive=True), data=st.data())
def test_growing_rows_pass_the_audit(method: str, drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    frame, schema = drawn
    n = len(nw.from_native(frame))
    k = data.draw(st.integers(2, n))
    effort = data.draw(st.sampled_from(["fast", "balanced"]))
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
@pytest.mark.parametrize(("n", "k"), [(3, 3), (4, 3), (12, 11), (40, 7)])
def test_small_tables_and_large_k(method: str, n: int, k: int) -> None:
    frame = pl.DataFrame({"age": list(range(n)), "job": [f"j{i % 5}" for i in range(n)]})
    release = anonymize(frame, Schema.infer(frame, quasi=["age", "job"]), Freeform(k=k), method=method)
    assert release.audit.holds


def test_sixty_attributes() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({f"c{i}": rng.integers(0, 4, 300).astype(str) for i in range(60)})
    schema = Schema.infer(frame, quasi=frame.columns, kinds=dict.fromkeys(frame.columns, "categorical"))
    assert anonymize(frame, schema, Freeform(k=5)).audit.holds


def test_what_is_refused() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3]})
    with pytest.raises(InputError, match="k = 4"):
        anonymize(frame, Schema.infer(frame, quasi=["age"]), Freeform(k=4))
    for method in ("sort_greedy", "greedy"):
        with pytest.raises(InputError, match="did you mean 'fast'"):
            anonymize(frame, Schema.infer(frame, quasi=["age"]), Freeform(k=2), method=method, effort="fsat")
