"""The optimum of small tables: equal to brute force, below every other method, and never unproven."""

from __future__ import annotations

import importlib
import math
from functools import cache
from itertools import combinations
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pytest
import twins
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from strategies import tables

from shoal import Freeform, InputError, KAnonymity, Schema, anonymize
from shoal.errors import Reason
from shoal.measures.gcp import gcp
from shoal.measures.geometry import geometry
from shoal.methods import METHODS, Circumstances, is_baseline
from shoal.table import Table

module = importlib.import_module("shoal.methods.exact")  # the package has the function of the same name
TOLERANCE = 1e-6


def least_cost(costs: dict[tuple[int, ...], float], n: int, k: int) -> float:
    """Return the least cost of all regular graphs, by trying them all."""

    @cache
    def rest(missing: tuple[int, ...]) -> float:
        """Return the least cost of rows in which each record is as often as it is missing."""
        if not any(missing):
            return 0.0
        first = next(record for record in range(n) if missing[record])
        return min(
            (
                cost + rest(tuple(often - (record in row) for record, often in enumerate(missing)))
                for row, cost in costs.items()
                if first in row and all(missing[record] for record in row)
            ),
            default=math.inf,
        )

    return rest((k,) * n)


@given(tables(min_rows=2, max_rows=6), st.data())
def test_it_is_the_best_of_all_regular_graphs(drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    table = Table.encode(*drawn)
    n, attributes = len(table), geometry(table)
    k = data.draw(st.integers(2, n))
    costs = {
        row: sum(
            a.weight * twins.cost(a, set(table.codes[list(row), c].tolist()))
            for c, a in enumerate(attributes)
        )
        for row in combinations(range(n), k)
    }
    found = module.exact(table, Freeform(k=k), Circumstances())
    assert gcp(found) == pytest.approx(least_cost(costs, n, k) / n, abs=TOLERANCE)


@given(st.sampled_from([(4, 2), (5, 2), (5, 3), (6, 3), (6, 4), (7, 3)]), st.integers(0, 2**32), st.data())
def test_the_proof_counts_the_rows_that_were_left_out(
    size: tuple[int, int], seed: int, data: st.DataObject
) -> None:
    """Prices of 0 are possible, too, but so bad that the first solution is often not the best."""
    n, k = size
    rows = list(combinations(range(n), k))
    costs = np.random.default_rng(seed).integers(0, data.draw(st.sampled_from([2, 10, 1000])), len(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FIRST_ROWS", data.draw(st.integers(1, len(rows) + 1)))
        if data.draw(st.booleans()):
            patch.setattr(module._RowProgram, "_excess", lambda program: (program._costs, 0.0))
        program = module._RowProgram(
            np.array(rows), costs.astype(np.float64), np.ones(n, dtype=np.int64), 60.0
        )
        excess, bound = program._excess()
        often = program.optimum()
    assert excess.min() >= 0
    assert costs @ often == pytest.approx(bound + excess @ often)
    assert [sum(often[r] for r, row in enumerate(rows) if record in row) for record in range(n)] == [k] * n
    least = least_cost(dict(zip(rows, costs.tolist(), strict=True)), n, k)
    assert costs @ often == pytest.approx(least, abs=TOLERANCE)


@given(tables(min_rows=2, max_rows=10, sensitive=True), st.data())
def test_nothing_is_below_it(drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    frame, schema = drawn
    n = len(nw.from_native(frame))
    k = data.draw(st.integers(2, n))
    release = anonymize(frame, schema, Freeform(k=k), method="exact")
    graph = release.recoding.graph
    assert graph is not None
    assert graph.shape == (n, k)
    assert all(len(set(row)) == k for row in graph.tolist())  # simple
    assert (np.bincount(graph.ravel(), minlength=n) == k).all()  # regular
    assert release.audit.holds
    assert release.audit.consistency.rows_per_record >= k
    others = [
        # Algorithms exactly as printed may end without a release of so small a table.
        *(
            anonymize(frame, schema, Freeform(k=k), method=name)
            for name, method in METHODS[Freeform].items()
            if not is_baseline(method)
        ),
        anonymize(frame, schema, Freeform(k=k), method="sort_greedy", effort="fast"),
        anonymize(frame, schema, KAnonymity(k=k), method="mondrian", relaxed=True),
    ]
    assert release.loss.gcp <= min(other.loss.gcp for other in others) + TOLERANCE


@examples(25)
@given(tables(min_rows=2, max_rows=10, flavours=["polars"]), st.data())
def test_the_order_of_the_records_does_not_matter(
    drawn: tuple[pl.DataFrame, Schema], data: st.DataObject
) -> None:
    frame, schema = drawn
    k = data.draw(st.integers(2, len(frame)))
    order = data.draw(st.permutations(range(len(frame))))
    one, other = (anonymize(f, schema, Freeform(k=k), method="exact") for f in (frame, frame[order]))
    assert one.loss.gcp == pytest.approx(other.loss.gcp, abs=TOLERANCE)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.data())
def test_every_possible_row_is_listed_once(copies: list[int], data: st.DataObject) -> None:
    kinds = [kind for kind, copy in enumerate(copies) for _ in range(copy)]
    k = data.draw(st.integers(1, len(kinds)))
    listed = module._possible_rows(np.array(copies), k)
    assert sorted(map(tuple, listed.tolist())) == sorted(set(combinations(kinds, k)))
    assert module._count(np.array(copies), k) == len(listed)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_equal_records_lose_nothing(k: int) -> None:
    frame = pl.DataFrame({"age": [4] * 7 + [9] * 200, "sex": ["f"] * 207})
    release = anonymize(frame, Schema.infer(frame, quasi=["age", "sex"]), Freeform(k=k), method="exact")
    assert release.loss.gcp == 0


def test_a_crowd_of_all_loses_everything() -> None:
    frame = pl.DataFrame({"age": range(6), "job": list("abcdef")})
    release = anonymize(frame, Schema.infer(frame, quasi=["age", "job"]), Freeform(k=6), method="exact")
    assert release.loss.gcp == 1


@pytest.mark.parametrize("n", [26, 30_000])
def test_large_tables_are_refused_at_once(n: int) -> None:
    frame = pl.DataFrame({"age": range(n)})
    with pytest.raises(
        InputError, match=rf"small tables: {n} records, {n} of them different.*matching"
    ) as caught:
        anonymize(frame, Schema.infer(frame, quasi=["age"]), Freeform(k=12), method="exact")
    assert caught.value.reason is Reason.TOO_LARGE


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([0.0], r"not proven within 5 s; allow more time"),
        ([5.0, 0.0], r"not proven within 5 s; no GCP can be below 0\.\d{6}.*; allow more time"),
    ],
)
def test_without_a_proof_nothing_is_released(
    stages: list[float], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First the time is over before the linear program is solved, then before the integer program is."""
    remaining = iter(stages)
    monkeypatch.setattr(module._RowProgram, "_remaining", lambda _: next(remaining))
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(rng.integers(0, 99, (20, 3)), schema=["a", "b", "c"])
    with pytest.raises(InputError, match=message) as caught:
        anonymize(frame, Schema.infer(frame, quasi=frame.columns), Freeform(k=4), method="exact", seconds=5)
    assert caught.value.reason is Reason.TOO_LARGE


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), True, "60"])
def test_impossible_times_are_refused(seconds: Any) -> None:
    frame = pl.DataFrame({"age": [1, 2, 3]})
    with pytest.raises(InputError, match="seconds = ") as caught:
        anonymize(frame, Schema.infer(frame, quasi=["age"]), Freeform(k=2), method="exact", seconds=seconds)
    assert caught.value.reason is Reason.PARAMETER
