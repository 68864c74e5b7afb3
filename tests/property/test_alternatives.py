"""Alternative labellings: all labels of a record differ, and the true labelling does not stand out."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import shoal
from shoal import Schema, SetDiversity
from shoal.base.randomness import Randomness
from shoal.methods.alternatives import _blocks, alternatives, coloured


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=60))
def test_edges_at_a_vertex_have_different_colours(edges: list[tuple[int, int]]) -> None:
    ones, others = [one for one, _ in edges], [other for _, other in edges]
    most = max([0, *Counter(ones).values(), *Counter(others).values()])
    colours = coloured(ones, others, most)
    assert all(0 <= colour < most for colour in colours)
    assert len(set(zip(ones, colours, strict=True))) == len(edges)
    assert len(set(zip(others, colours, strict=True))) == len(edges)


@given(st.integers(2, 5), st.integers(0, 60), st.integers(2, 9), st.integers(0, 2**32))
def test_alternatives_differ_for_each_record_and_have_the_same_labels(
    different: int, more: int, names: int, seed: int
) -> None:
    labels, order = dealt(different + more, names, different, seed)
    found = alternatives(labels, order, different, Randomness(seed))
    assert (found.labels[:, found.true] == labels).all()
    assert all(len(set(row)) == different for row in found.labels.tolist())
    counts = np.bincount(labels)
    assert all((np.bincount(column, minlength=len(counts)) == counts).all() for column in found.labels.T)


@pytest.mark.parametrize(("n", "different", "names"), [(64, 2, 3), (81, 3, 4), (64, 4, 5), (162, 3, 5)])
@pytest.mark.parametrize("skewed", [False, True])
def test_blocks_would_be_the_same_with_each_alternative(
    n: int, different: int, names: int, skewed: bool
) -> None:
    for seed in range(20):
        labels, order = dealt(n, names, different, seed)
        if skewed:  # neighbours have the same labels, so that hardly any block can be cut
            order = np.argsort(labels, kind="stable")
        found = alternatives(labels, order, different, Randomness(seed))
        cuts = [list(_blocks(column[order].astype(np.int64), different)) for column in found.labels.T]
        assert all(each == cuts[0] for each in cuts)
        assert not skewed or len(cuts[0]) == 1


@pytest.mark.parametrize(("names", "different"), [("aabbcc", 2), ("aaabbb", 2), ("aabbcd", 3)])
def test_the_true_labelling_does_not_stand_out(names: str, different: int) -> None:
    """Each set of labellings occurs equally often with each of them as the true one."""
    rng = np.random.default_rng(1)
    randomness = Randomness(1)
    codes = np.unique(list(names), return_inverse=True)[1].astype(np.int32)
    order = np.arange(len(codes))
    seen: dict[tuple[bytes, ...], Counter[bytes]] = defaultdict(Counter)
    for _ in range(12_000):
        found = alternatives(rng.permutation(codes), order, different, randomness)
        columns = [found.labels[:, column].tobytes() for column in range(different)]
        seen[tuple(sorted(columns))][columns[found.true]] += 1
    distance = freedom = 0.0
    for columns, true in seen.items():
        expected = true.total() / different
        distance += sum((true[column] - expected) ** 2 / expected for column in columns)
        freedom += different - 1
    assert abs(distance - freedom) < 5 * np.sqrt(2 * freedom)


def test_running_the_method_again_tells_no_label_of_a_set() -> None:
    rng = np.random.default_rng(7)
    sets = [sorted({str(item) for item in rng.integers(0, 8, 3)}) for _ in range(40)]
    frame = pl.DataFrame({"items": sets, "diagnosis": list("abcd" * 10)})
    schema = Schema.infer(frame, quasi=["items"], sensitive=["diagnosis"])
    found = shoal.repeated_attack(frame, schema, SetDiversity(l=3), training=60, tests=30, seed=1)
    guesses = found.values["diagnosis"]
    assert guesses.right <= 1 / 3 + guesses.error
    assert found.row.right <= 1 / 3 + found.row.error


def dealt(n: int, names: int, different: int, seed: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return labels none of which is more frequent than 1 / l, and an order of the records."""
    rng = np.random.default_rng(seed)
    most = n // different
    names = max(names, -(-n // most))
    labels = rng.choice(np.repeat(np.arange(names), most), n, replace=False)
    return labels.astype(np.int32), rng.permutation(n)
