"""Rows made from rows for half of k: pairs, one more record, and every k and number of records."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from shoal import Freeform, Schema, anonymize
from shoal.base.randomness import Randomness
from shoal.methods.halves import both_of_each, grow_from_halves, with_another
from shoal.methods.matching import HALVED, cheapest_together
from shoal.methods.method import Circumstances
from shoal.table import Table


def is_regular_and_simple(graph: NDArray[np.int32], n: int, k: int) -> bool:
    ordered = np.sort(graph, axis=1)
    return bool(
        graph.shape == (n, k)
        and (ordered[:, 1:] != ordered[:, :-1]).all()
        and (np.bincount(graph.ravel(), minlength=n) == k).all()
    )


def people(n: int, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "job": rng.choice(["clerk", "cook", "nurse", "smith", "tailor"], n),
            "town": rng.choice([f"town {i}" for i in range(90)], n),  # more values than a word has bits
            "pay": rng.integers(1, 5, n),
        }
    )


def table_of(frame: pl.DataFrame) -> Table:
    return Table.encode(frame, Schema.infer(frame, quasi=["age", "job", "town"], sensitive=["pay"]))


def test_both_records_of_each_pair() -> None:
    pairs = np.array([[3, 0], [1, 5], [2, 4]], dtype=np.int32)
    half = np.array([[0, 1], [1, 2], [2, 0]], dtype=np.int32)
    graph = both_of_each(half, pairs)
    assert graph.tolist() == [[3, 0, 1, 5]] * 2 + [[1, 5, 2, 4]] * 2 + [[2, 4, 3, 0]] * 2
    assert is_regular_and_simple(graph, 6, 4)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (4, 1), (4, 4), (9, 3), (9, 8)])
def test_one_more_record(n: int, k: int) -> None:
    graph = ((np.arange(n)[:, None] + np.arange(k)) % n).astype(np.int32)
    for near in range(n):
        larger = with_another(graph, n, near)
        assert is_regular_and_simple(larger, n + 1, k)
        changed = (larger[:n] != graph).any(axis=1)
        assert (changed == (graph == near).any(axis=1)).all()  # the rows that have the near record
        assert (graph < n).all()  # not changed itself


@pytest.mark.parametrize(
    ("n", "k"), [(13, 13), (27, 26), (51, 13), (60, 25), (101, 50), (130, 53), (103, 103)]
)
@pytest.mark.parametrize("effort", ["balanced", "best"])
def test_every_k_and_number_of_records(n: int, k: int, effort: str) -> None:
    table = table_of(people(n))
    chosen = HALVED[effort]
    assert chosen.halved < k
    graph = grow_from_halves(table, k, chosen, Circumstances(Randomness(1)), cheapest_together)
    assert is_regular_and_simple(graph, n, k)


def test_progress_never_goes_back() -> None:
    told: list[tuple[str, float]] = []
    circumstances = Circumstances(Randomness(1), progress=lambda stage, share: told.append((stage, share)))
    grow_from_halves(table_of(people(300)), 60, HALVED["balanced"], circumstances, cheapest_together)
    growing = [share for stage, share in told if stage == told[0][0]]
    assert growing == sorted(growing)
    assert len({stage for stage, _ in told}) == 2


def test_many_equal_records() -> None:
    frame = people(400).with_columns(pl.lit(30).alias("age"), pl.lit("cook").alias("job"), town=pl.lit("X"))
    table = table_of(frame)
    graph = grow_from_halves(table, 40, HALVED["balanced"], Circumstances(Randomness(1)), cheapest_together)
    assert is_regular_and_simple(graph, 400, 40)


def test_a_release_keeps_its_guarantee() -> None:
    frame = people(300)
    schema = Schema.infer(frame, quasi=["age", "job", "town"], sensitive=["pay"])
    release = anonymize(frame, schema, Freeform(k=40), seed=1)
    assert release.audit.holds


def test_seeds_repeat_a_release() -> None:
    table = table_of(people(200))
    one, again, other = (
        grow_from_halves(table, 33, HALVED["balanced"], Circumstances(Randomness(seed)), cheapest_together)
        for seed in (1, 1, 2)
    )
    assert (one == again).all()
    assert (one != other).any()
