"""Methods on set-valued records: promises kept, never worse than where they start from, odd inputs, too."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from examples import examples
from hypothesis import event, given
from hypothesis import strategies as st
from itemset_strategies import check_regular, packed, records
from numpy.typing import NDArray

from shoal import Schema, anonymize
from shoal.base.ragged import Subsets
from shoal.base.randomness import Randomness
from shoal.errors import InfeasibleError, InputError
from shoal.kernels import itemsets
from shoal.methods.baselines.sets import broken, cahd, gray_ring, literal
from shoal.methods.method import Circumstances, method_for, require_options
from shoal.methods.setdiversity import Diverse, diverse, diverse_groups, require_eligible
from shoal.methods.setgraphs import error_rate, freeform, ring
from shoal.methods.setorder import gray_order, segments_of
from shoal.models import SetAnonymity, SetDiversity


def circumstances(seed: int = 1) -> Circumstances:
    return Circumstances(Randomness(seed))


@given(records(max_size=30), st.integers(1, 6), st.integers(0, 2**32))
@examples(50)
def test_each_graph_errs_no_more_than_the_one_before(drawn: Any, k: int, seed: int) -> None:
    sets, arrays = drawn
    k = min(k, len(sets))
    gray, improved = gray_ring(arrays, k), ring(arrays, k)
    free = freeform(arrays, k, circumstances(seed), effort="fast")
    for graph in (gray, improved, free):
        check_regular(graph)
    errors = [error_rate(arrays, graph) for graph in (gray, improved, free)]
    assert errors[1] <= errors[0] + 1e-12
    assert errors[2] <= errors[1] + 1e-12
    event("freeform errs less" if errors[2] < errors[1] - 1e-12 else "as much")


@given(records(max_size=30), st.integers(2, 5), st.integers(0, 2**32), st.data())
@examples(50)
def test_published_labels_differ_around_everybody(
    drawn: Any,
    different: int,
    seed: int,
    data: st.DataObject,
) -> None:
    sets, arrays = drawn
    n = len(sets)
    labels = np.array(data.draw(st.lists(st.integers(0, 8), min_size=n, max_size=n)))
    if max(Counter(labels.tolist()).values()) * different > n:
        event("not achievable")
        for method in (
            lambda: diverse(arrays, labels, different, circumstances()),
            lambda: literal(arrays, labels, different, Randomness(seed)),
            lambda: cahd(arrays, labels, different),
        ):
            with pytest.raises(InfeasibleError, match="is not achievable"):
                method()
        return
    found = diverse(arrays, labels, different, circumstances(seed), effort="fast")
    check_regular(found.graph)
    assert sorted(found.assignment.tolist()) == list(range(n))
    for record in range(n):
        rows = np.flatnonzero((found.graph == record).any(axis=1))
        assert len({int(labels[found.assignment[row]]) for row in rows}) == different
    assert not broken(found, labels).any()


@given(st.lists(st.integers(0, 8), min_size=1, max_size=60), st.integers(1, 5))
def test_groups_of_neighbours_have_different_labels(labels: list[int], different: int) -> None:
    codes = np.array(labels)
    largest = len(labels) // max(Counter(labels).values())
    if different > largest:
        with pytest.raises(InfeasibleError, match=f"allows l = {largest} at most"):
            require_eligible(codes, different)
        return
    require_eligible(codes, different)
    groups = diverse_groups(codes, different)
    assert set(groups.tolist()) == set(range(int(groups.max()) + 1))
    for group in range(int(groups.max()) + 1):
        inside = codes[groups == group].tolist()
        assert len(inside) >= different
        assert len(set(inside)) == len(inside)


def test_the_literal_procedure_breaks_the_promise_and_the_default_keeps_it() -> None:
    rng = np.random.default_rng(8)
    sets = packed((set(rng.integers(0, 40, 15).tolist()) for _ in range(600)), 40)
    labels = np.minimum(rng.geometric(0.12, 600) - 1, 30)
    made = literal(sets, labels, 5, Randomness(1))
    assert made is not None
    check_regular(made.graph)
    own = np.sort(labels[np.argsort(made.graph.ravel(), kind="stable").reshape(600, 5) // 5], axis=1)
    assert (own[:, 1:] != own[:, :-1]).all()  # what it promises: own labels of the rows differ
    assert broken(made, labels).mean() > 0.1  # those that are published do not
    found = diverse(sets, labels, 5, circumstances())
    assert not broken(found, labels).any()
    assert error_rate(sets, found.graph) < _error_rate_of_groups(sets, cahd(sets, labels, 5))


def _error_rate_of_groups(sets: Subsets, groups: NDArray[np.int32]) -> float:
    members = np.argsort(groups, kind="stable").astype(np.int32)
    voted = itemsets.vote(sets, np.append(0, np.cumsum(np.bincount(groups))), members)
    return float((voted.distances / np.maximum(np.diff(sets.starts), 1)[members]).mean())


def test_broken_sees_what_is_published() -> None:
    graph = np.array([[0, 1], [1, 2], [2, 3], [3, 0]], dtype=np.int32)
    labels = np.array([0, 1, 0, 1])
    assert not broken(Diverse(graph, np.array([0, 1, 2, 3], dtype=np.int32)), labels).any()
    labels = np.array([0, 0, 1, 1])
    assert broken(Diverse(graph, np.array([0, 1, 2, 3], dtype=np.int32)), labels).tolist() == [
        *(False, True, False, True)
    ]


def test_segments_are_as_the_paper_has_them_or_about_equal() -> None:
    rng = np.random.default_rng(2)
    for n in (1, 2, 299, 351, 400, 650, 1_000, 2_000):
        sets = packed((set(rng.integers(0, 9, 4).tolist()) for _ in range(n)), 9)
        order = gray_order(sets)
        starts = segments_of(sets, order).tolist()
        sizes = [end - begin for begin, end in pairwise([*starts, n])]
        assert sum(sizes) == n
        assert max(sizes) <= 350
        if n >= 1_800:  # any such number can be divided so
            assert min(sizes) >= 300
        assert min(sizes) >= n // -(-n // 350) or min(sizes) >= 300


@pytest.mark.parametrize(
    "items",
    [
        [set()] * 7,
        [{0}] * 7,
        [set(range(70)), set(), {3}, {3}, {69}, set(range(69)), {0, 69}],
    ],
    ids=["nothing", "one item", "all items and none"],
)
def test_odd_sets(items: list[set[int]]) -> None:
    sets = packed(items, 70)
    labels = np.arange(7)
    for k in (1, 3, 7):
        for graph in (gray_ring(sets, k), ring(sets, k), freeform(sets, k, circumstances())):
            check_regular(graph)
            assert 0 <= error_rate(sets, graph) <= 70
        assert not broken(diverse(sets, labels, k, circumstances()), labels).any()


def test_one_record() -> None:
    sets = Subsets(np.array([0, 2]), np.array([0, 2], dtype=np.int32), 3)
    for graph in (ring(sets, 1), freeform(sets, 1, circumstances())):
        assert graph.tolist() == [[0]]
        assert error_rate(sets, graph) == 0


@pytest.mark.parametrize("model", [SetAnonymity(k=2), SetDiversity(l=2)])
def test_an_unknown_effort(model: SetAnonymity | SetDiversity) -> None:
    with pytest.raises(InputError, match="fast"):
        require_options(*method_for(model), {"effort": "fastt"})


def test_the_procedure_as_printed_is_a_method_that_says_how_often_it_breaks_the_guarantee() -> None:
    rng = np.random.default_rng(8)
    frame = pl.DataFrame(
        {
            "items": [sorted(set(rng.integers(0, 12, 5).tolist())) for _ in range(120)],
            "label": np.minimum(rng.geometric(0.15, 120) - 1, 15).astype(str),
        }
    )
    schema = Schema.infer(frame, quasi=["items"], sensitive=["label"])
    with pytest.raises(InfeasibleError, match=r"breaks its guarantee for \d+ of 120 records \(\d"):
        anonymize(frame, schema, SetDiversity(l=5), method="printed_diversity", seed=1)
    # With as many labels as records, nothing can be broken.
    alone = frame.with_columns(label=pl.Series([str(i) for i in range(120)]))
    release = anonymize(alone, schema, SetDiversity(l=5), method="printed_diversity", seed=1)
    assert release.audit.holds
    assert release.certificate["method"] == "printed_diversity"
