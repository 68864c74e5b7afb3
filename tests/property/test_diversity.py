"""Freeform with varied sensitive values: the promise holds for what is published, judged by brute force."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pytest
import twins
from hypothesis import event, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from strategies import tables

from shoal import Freeform, InfeasibleError, InputError, Schema, anonymize, audit
from shoal.auditing import audit_table
from shoal.base.randomness import Randomness
from shoal.recoding import Recoding
from shoal.recoding.assignment import random_assignment
from shoal.release import published
from shoal.table import Table


def fits(recoding: Recoding) -> NDArray[np.bool_]:
    """Return whether each record (row) lies in the box of each row (column)."""
    n = len(recoding.table)
    return np.array(
        [
            np.logical_and.reduce(
                [
                    values.covers(recoding.box, np.full(n, attribute.codes[record]))
                    for values, attribute in zip(recoding.values, recoding.table.attributes, strict=True)
                ]
            )
            for record in range(n)
        ]
    )


def levels(values: list[Any]) -> tuple[float, int, float]:
    """Return l, p and entropy_l of a crowd."""
    shares = [count / len(values) for count in Counter(values).values()]
    return 1 / max(shares), len(shares), math.exp(-sum(share * math.log(share) for share in shares))


def least(crowds: list[tuple[float, int, float]]) -> tuple[float, ...]:
    return tuple(min(level) for level in zip(*crowds, strict=True))


@pytest.mark.parametrize("method", ["sort_greedy", "greedy", "matching", "ring"])
@given(drawn=tables(min_rows=2, max_rows=14, sensitive=True), data=st.data())
def test_the_promise_holds_as_published(method: str, drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    frame, schema = drawn
    secrets = nw.from_native(frame)["secret"].to_list()
    n = len(secrets)
    model = Freeform(
        k=data.draw(st.integers(2, n)),
        l=data.draw(st.sampled_from([None, 1.2, 2.0, 3.0])),
        p=data.draw(st.sampled_from([None, 2, 3])),
        entropy_l=data.draw(st.sampled_from([None, 1.5, 2.5])),
    )
    asked = tuple(value or 1 for value in (model.l, model.p, model.entropy_l))
    possible = levels(secrets)
    effort = data.draw(st.sampled_from(["fast", "balanced"]))
    try:
        release = anonymize(frame, schema, model, method=method, effort=effort)
    except InfeasibleError as error:
        broken = [i for i in range(3) if asked[i] > possible[i] * (1 - 1e-9)]
        name, largest = re.search(r"allows at most (\w+) = ([\d.]+)", str(error)).groups()  # type: ignore[union-attr]
        place = ["l", "p", "entropy_l"].index(name)
        assert place in broken
        assert float(largest) == pytest.approx(possible[place], abs=1e-3)
        return
    recoding = release.recoding
    graph = recoding.graph
    assert graph is not None
    assert all(len(set(row)) == model.k for row in graph.tolist())  # simple
    assert (np.bincount(graph.ravel(), minlength=n) == model.k).all()  # regular
    inside = fits(recoding)
    assert inside[
        graph, np.arange(n)[:, None]
    ].all()  # rows cover what they were made for, and what they carry
    assert sorted(release.order) == list(range(n))
    assert inside[release.order, release.rows].all()
    assert inside.sum(axis=1).min() >= model.k
    assert inside.sum(axis=0).min() >= model.k
    # The labels that are published, in the order of the release.
    labels = nw.from_native(release.table)["secret"].to_list()
    assert labels == [secrets[record] for record in release.order]
    crowds = [levels([labels[row] for row in np.flatnonzero(i[release.rows])]) for i in inside]
    assert all(found >= wanted * (1 - 1e-9) for found, wanted in zip(least(crowds), asked, strict=True))
    event(f"diverse: {model.diversity is not None}")
    if model.diversity is not None:
        (around,) = release.audit.diversity_consistent
        assert (around.l, around.p, around.entropy_l) == pytest.approx(least(crowds))
    # To an attacker who knows every record, only matches count.
    matches = np.array(twins.matches(inside[:, release.rows].tolist(), n))
    crowds = [levels([labels[row] for row in np.flatnonzero(i)]) for i in matches]
    assert all(found >= wanted * (1 - 1e-9) for found, wanted in zip(least(crowds), asked, strict=True))
    if model.diversity is not None:
        (around,) = release.audit.diversity_around
        assert (around.l, around.p, around.entropy_l) == pytest.approx(least(crowds))


@given(tables(min_rows=1, max_rows=10, sensitive=True), st.data())
def test_the_audit_agrees_with_brute_force(drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    frame, schema = drawn
    table = Table.encode(frame, schema)
    n = len(table)
    degree = data.draw(st.integers(1, n))
    ring = data.draw(st.permutations(range(n)))
    graph = np.array([[ring[(row + step) % n] for step in range(degree)] for row in range(n)], dtype=np.int32)
    recoding = Recoding.of_graph(table, graph)
    order = np.array(data.draw(st.permutations(range(n))))
    found = audit_table(table, published(recoding, np.arange(n), order, typed=data.draw(st.booleans())))
    labels = [nw.from_native(frame)["secret"].to_list()[record] for record in order]
    inside = fits(recoding)
    matches = np.array(twins.matches(inside.tolist(), n))
    for crowds_of, (around,) in (
        (inside, found.diversity_consistent),
        (matches, found.diversity_around),
    ):
        crowds = [levels([labels[row] for row in np.flatnonzero(i)]) for i in crowds_of]
        assert np.allclose(1 / around.highest, [frequency_l for frequency_l, _, _ in crowds])
        assert around.distinct.tolist() == [p for _, p, _ in crowds]
        assert np.allclose(np.exp(around.entropy), [entropy_l for _, _, entropy_l in crowds])
    event(f"all are matches: {(inside == matches).all()}")


def literal_graph(ages: NDArray[np.int64], labels: NDArray[np.int64], degree: int) -> NDArray[np.int32]:
    """Return rows whose own labels differ for each record, round by round, as Xue et al. (2012) do."""
    n = len(ages)
    rows_of = np.arange(n)[:, None]  # at first, each record has its own row
    for _ in range(1, degree):
        costs = np.abs(ages[:, None] - ages[None, :]).astype(float)
        for record in range(n):
            costs[record, np.isin(labels, labels[rows_of[record]])] = 1e6
        rows_of = np.column_stack((rows_of, linear_sum_assignment(costs)[1]))
        assert all(len(set(labels[rows])) == rows_of.shape[1] for rows in rows_of)
    return (np.argsort(rows_of.ravel(), kind="stable") // degree).reshape(n, degree).astype(np.int32)


@pytest.mark.parametrize("seed", range(5))
def test_varied_matches_are_not_varied_as_published(seed: int) -> None:
    """Labels of the matches differ for every record; those that are published after the draw do not."""
    rng = np.random.default_rng(seed)
    n, degree = 60, 3
    ages, labels = np.arange(n) * 1000 + rng.integers(0, 1000, n), rng.permutation(np.arange(n) % 6)
    frame = pl.DataFrame({"age": ages, "ill": labels.astype(str)})
    schema = Schema.infer(frame, quasi=["age"], sensitive=["ill"])
    table = Table.encode(frame, schema)
    graph = literal_graph(ages, labels, degree)
    drawn = random_assignment(graph, Randomness(seed))
    rows_of = np.argsort(graph.ravel(), kind="stable").reshape(n, degree) // degree
    broken = sum(len(set(labels[drawn[rows]])) < degree for rows in rows_of)
    assert broken > n / 4
    release = published(Recoding.of_graph(table, graph), np.arange(n), drawn.astype(np.int64))
    model = Freeform(k=degree, l=degree)
    assert not audit(frame, release, schema, model).holds
    ours = anonymize(frame, schema, model)
    assert audit(frame, ours.table, schema, model).holds


def test_thousands_of_values_and_large_sets() -> None:
    rng = np.random.default_rng(2)
    n = 1500
    frame = pl.DataFrame(
        {
            "zip": rng.integers(0, 400, n).astype(str),
            "age": rng.integers(0, 60, n),
            "drug": np.minimum(rng.zipf(1.4, n), 5000).astype(str),
            "ill": rng.integers(0, 3, n).astype(str),
        }
    )
    kinds = {"zip": "categorical"}
    schema = Schema.infer(frame, quasi=["zip", "age"], sensitive=["drug", "ill"], kinds=kinds)
    share = frame["drug"].value_counts()["count"].max() / n
    release = anonymize(frame, schema, Freeform(k=4, l=min(0.9 / share, 2.5), p=3))
    assert [d.column for d in release.audit.diversity_around] == ["drug", "ill"]
    assert release.audit.holds


def test_diversity_needs_a_sensitive_column_and_a_method_that_keeps_it() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "ill": list("abab")})
    with pytest.raises(InputError, match="none is named"):
        anonymize(frame, Schema.infer(frame, quasi=["age"]), Freeform(k=2, l=2))
    schema = Schema.infer(frame, quasi=["age"], sensitive=["ill"])
    with pytest.raises(InputError, match=r"supports k alone.*matching"):
        anonymize(frame, schema, Freeform(k=2, l=2), method="exact")
    with pytest.raises(InfeasibleError, match="at most l = 2,"):
        anonymize(frame, schema, Freeform(k=2, l=2.1))


def test_a_seed_repeats_the_release() -> None:
    frame = pl.DataFrame({"age": range(40), "ill": list("aaab") * 10})
    schema = Schema.infer(frame, quasi=["age"], sensitive=["ill"])
    once, again = (anonymize(frame, schema, Freeform(k=3, l=1.3), seed=7) for _ in range(2))
    assert once.table.equals(again.table)
    assert once.table["ill"].value_counts(sort=True).equals(frame["ill"].value_counts(sort=True))
