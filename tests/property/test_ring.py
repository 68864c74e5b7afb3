"""Chains and rings on random tables: an audit that passes, and the order of rows does not matter."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import tables

from shoal import Freeform, Hierarchy, InputError, KAnonymity, Schema, anonymize
from shoal.methods import Circumstances, Effort
from shoal.methods.chain import chain
from shoal.methods.refinement import EXCHANGES as EFFORTS
from shoal.methods.ring import ring, ring_graph
from shoal.recoding import Recoding
from shoal.table import Table


def is_regular_and_simple(graph: NDArray[np.int32], k: int) -> bool:
    n = len(graph)
    simple = all(len(set(row)) == k for row in graph.tolist())
    return graph.shape == (n, k) and simple and bool((np.bincount(graph.ravel(), minlength=n) == k).all())


@given(tables(min_rows=2, max_rows=14, sensitive=True), st.data())
def test_ring_passes_the_audit(drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    frame, schema = drawn
    n = len(nw.from_native(frame))
    k = data.draw(st.integers(2, n))
    effort = data.draw(st.sampled_from(list(EFFORTS)))
    whole = data.draw(st.booleans())
    release = anonymize(frame, schema, Freeform(k=k), method="ring", effort=effort, whole=whole)
    graph = release.recoding.graph
    assert graph is not None
    assert is_regular_and_simple(graph, k)
    if effort == "fast":
        assert (graph[:, 0] == np.arange(n)).all()  # each row begins with its own record
    assert release.audit.holds
    assert release.audit.consistency.rows_per_record >= k
    assert release.audit.consistency.records_of_row.min() >= k
    secrets = nw.from_native(frame)["secret"].to_list()
    assert nw.from_native(release.table)["secret"].to_list() == [secrets[i] for i in release.key]


@given(tables(min_rows=2, max_rows=14, sensitive=True), st.data())
def test_chain_passes_the_audit(drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    frame, schema = drawn
    k = data.draw(st.integers(2, len(nw.from_native(frame))))
    effort = data.draw(st.sampled_from(["fast", "balanced", "best"]))
    release = anonymize(frame, schema, KAnonymity(k=k), method="chain", effort=effort)
    assert release.audit.holds
    assert release.audit.k >= k
    if effort == "fast":
        assert np.bincount(release.recoding.box).max() < 2 * k
    if effort == "best":
        balanced = anonymize(frame, schema, KAnonymity(k=k), method="chain")
        assert release.loss.gcp <= balanced.loss.gcp + 1e-12


@given(tables(flavours=("polars",), min_rows=2, max_rows=14), st.data())
def test_the_order_of_rows_does_not_matter(drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    frame, schema = drawn
    k = data.draw(st.integers(2, len(frame)))
    way = data.draw(st.sampled_from(["chain", "best chain", "ring", "whole ring"]))

    def rows(records: pl.DataFrame) -> Counter[tuple[str, ...]]:
        table = Table.encode(records, schema)
        if way.endswith("chain"):
            effort: Effort = "best" if way == "best chain" else "balanced"
            recoding = chain(table, KAnonymity(k=k), Circumstances(), effort=effort)
        else:
            recoding = ring(table, Freeform(k=k), Circumstances(), effort="fast", whole=way == "whole ring")
        texts = list(zip(*(values.texts() for values in recoding.values), strict=True))
        return Counter(texts[box] for box in recoding.box)

    other = frame[data.draw(st.permutations(range(len(frame))))]
    assert rows(frame) == rows(other)


@given(st.lists(st.integers(3, 9), min_size=1, max_size=6), st.integers(1, 3), st.randoms())
def test_any_classes_give_a_regular_graph(sizes: list[int], k: int, random: Any) -> None:
    n = sum(sizes)
    order = np.array(random.sample(range(n), n))
    classes = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)[random.sample(range(n), n)]
    graph = ring_graph(order, classes, k)
    assert is_regular_and_simple(graph, k)
    number = np.empty(n, dtype=int)
    number[order] = classes
    assert (number[graph] == number[:, None]).all()  # no record is covered by a row of another ring


@given(st.integers(2, 6), st.integers(1, 5))
def test_copies_cost_nothing(k: int, kinds: int) -> None:
    frame = pl.DataFrame({"age": [v for v in range(kinds) for _ in range(k)], "sex": ["f", "m"][k % 2]})
    release = anonymize(frame, Schema.infer(frame, quasi=["age", "sex"]), Freeform(k=k), method="ring")
    assert release.loss.gcp == 0


def test_on_a_line_the_ring_is_the_line() -> None:
    """Ages 0 to 9 in any order: the best whole ring goes up and down again, or wraps once."""
    ages = np.random.default_rng(1).permutation(10)
    frame = pl.DataFrame({"age": ages})
    table = Table.encode(frame, Schema.infer(frame, quasi=["age"]))
    recoding = ring(table, Freeform(k=2), Circumstances(), effort="fast", whole=True)
    widths = sum(values.ncp().sum() for values in recoding.values)
    assert widths == pytest.approx(2.0)  # from 0 to 9 and back
    cut = ring(table, Freeform(k=2), Circumstances(), effort="fast")
    assert sum(values.ncp().sum() for values in cut.values) == pytest.approx(10 / 9)  # pairs


TREE = Hierarchy.from_levels(
    [[leaf, group, "all"] for leaf, group in [("a", "x"), ("b", "x"), ("c", "x"), ("d", "y"), ("e", "y")]]
)


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize(
    ("values", "hierarchies"),
    [([1, 1, 2, 5, 5, 5, 9], {}), (list("aabcccd"), {}), (list("aabcddde"), {"v": TREE})],
)
def test_expected_costs(k: int, values: list[Any], hierarchies: dict[str, Hierarchy]) -> None:
    """Against all choices of one, two, ..., k - 1 records; a constant for the attribute does not count."""
    frame = pl.DataFrame({"v": values})
    table = Table.encode(frame, Schema.infer(frame, quasi=["v"], hierarchies=hierarchies))
    (attribute,) = table.attributes

    def cost(codes: list[int]) -> float:
        return float(attribute.domain.closure(np.array(codes, np.int32), np.array([0, len(codes)])).ncp()[0])

    present = sorted(set(attribute.codes.tolist()))
    exact = []
    for code in present:
        total = 0.0
        for size in range(1, k):
            choices = list(product(attribute.codes.tolist(), repeat=size))
            total += sum(cost([*choice, code]) - cost([*choice]) for choice in choices) / len(choices)
        exact.append(total)
    found = attribute.domain.expected_costs(attribute.counts, k)[present]
    assert found - found.mean() == pytest.approx(np.array(exact) - np.mean(exact))


def test_unknown_effort_and_k_above_n() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3]})
    schema = Schema.infer(frame, quasi=["age"])
    with pytest.raises(InputError, match="k = 4"):
        anonymize(frame, schema, Freeform(k=4), method="ring")
    with pytest.raises(InputError, match="did you mean 'fast'"):
        anonymize(frame, schema, Freeform(k=2), method="ring", effort="fsat")


def test_chain_promises_nothing_about_sensitive_values() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "secret": ["a", "b", "a", "b"]})
    schema = Schema.infer(frame, quasi=["age"], sensitive=["secret"])
    with pytest.raises(InputError, match="'mondrian'"):
        anonymize(frame, schema, KAnonymity(k=2, l=2), method="chain")


def test_whole_and_cut_cover_the_same_records() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"age": rng.integers(0, 90, 400), "job": rng.choice(list("abcdefgh"), 400)})
    table = Table.encode(frame, Schema.infer(frame, quasi=["age", "job"]))
    losses = {}
    for whole in (True, False):
        recoding: Recoding = ring(table, Freeform(k=5), Circumstances(), effort="fast", whole=whole)
        assert recoding.covers().all()
        losses[whole] = np.mean([values.ncp().mean() for values in recoding.values])
    assert losses[False] < losses[True]
