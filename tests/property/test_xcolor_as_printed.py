"""The start ``paper`` of XColor against a transcription of the paper, and on what the paper leaves open."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from printed_xcolor import initialize, xcolor

from shoal import Dissimilarity, InfeasibleError, Schema, anonymize
from shoal.methods import Circumstances, method_for
from shoal.recoding import Recoding
from shoal.table import Table


@st.composite
def frames(draw: st.DrawFn) -> pl.DataFrame:
    """Draw two columns of numbers whose ranges are powers of 2, so that losses are exact."""
    n = draw(st.integers(4, 20))
    columns = {
        name: [0, most, *draw(st.lists(st.integers(0, most), min_size=n - 2, max_size=n - 2))]
        for name, most in (("age", 16), ("height", 8))
    }
    return pl.DataFrame({**columns, "pay": draw(st.lists(st.integers(0, 12), min_size=n, max_size=n))})


def classes_of(groups: list[list[int]]) -> NDArray[np.int32]:
    class_of = np.empty(sum(map(len, groups)), dtype=np.int32)
    for number, group in enumerate(groups):
        class_of[group] = number
    return class_of


@given(
    frames(),
    st.integers(2, 5),
    st.sampled_from([0.0, 1.0, 2.0]),
    st.sampled_from([0.0, 0.25, 0.5, 2 / 3, 0.8, 1.0]),
)
def test_it_is_the_paper_s_algorithm(frame: pl.DataFrame, k: int, epsilon: float, delta: float) -> None:
    n = len(frame)
    k = min(k, n)
    if n - n // k * k > n // k:
        return  # more records are left over than there are classes, of which the paper says nothing
    schema = Schema.infer(frame, quasi=["age", "height"], sensitive=["pay"])
    table, model = Table.encode(frame, schema), Dissimilarity(k=k, epsilon=epsilon, delta=delta)
    expected = xcolor(frame["age", "height"].rows(), frame["pay"].to_list(), k, epsilon, delta)
    method = method_for(model)[1]
    if expected is None:
        event("refused")
        with pytest.raises(InfeasibleError):
            method(table, model, Circumstances(), start="paper")
        return
    try:
        found = method(table, model, Circumstances(), start="paper")
    except InfeasibleError:
        event("classes look identical")
        assert len(np.unique(Recoding.of_classes(table, classes_of(expected)).types)) < len(expected)
        return
    event("released")
    assert isinstance(found, Recoding)
    assert found.types.tolist() == Recoding.of_classes(table, classes_of(expected)).types.tolist()


@pytest.mark.parametrize("seed", range(12))
def test_many_exchanges(seed: int) -> None:
    """In larger tables, where the first classes break the guarantee and several exchanges follow."""
    generator = np.random.default_rng(seed)
    n, k, epsilon, delta = 60, 6, 2, 0.8
    ages, heights = generator.integers(0, 17, n), generator.integers(0, 9, n)
    ages[:2], heights[:2] = (0, 16), (0, 8)
    pays = np.round(generator.exponential(9, n))
    frame = pl.DataFrame({"age": ages, "height": heights, "pay": pays})
    schema = Schema.infer(frame, quasi=["age", "height"], sensitive=["pay"])
    table, model = Table.encode(frame, schema), Dissimilarity(k=k, epsilon=epsilon, delta=delta)
    near = np.abs(np.subtract.outer(pays, pays)) <= epsilon
    expected = xcolor(frame["age", "height"].rows(), pays.tolist(), k, epsilon, delta)
    assert expected is None or expected != initialize((near.sum(axis=1) - 1).tolist(), k)
    method = method_for(model)[1]
    if expected is None:
        with pytest.raises(InfeasibleError, match=r"no partition was found|not achievable"):
            method(table, model, Circumstances(), start="paper")
        return
    found = method(table, model, Circumstances(), start="paper")
    assert isinstance(found, Recoding)
    assert found.types.tolist() == Recoding.of_classes(table, classes_of(expected)).types.tolist()


def test_a_release_as_printed() -> None:
    frame = pl.DataFrame({"age": [0, 1, 15, 16, 0, 16], "height": [0, 8] * 3, "pay": [1, 1, 1, 9, 9, 9]})
    schema = Schema.infer(frame, quasi=["age", "height"], sensitive=["pay"])
    release = anonymize(frame, schema, Dissimilarity(k=2, epsilon=1, delta=1), start="paper")
    assert release.audit.holds
    assert release.audit.k == 2


def test_where_the_paper_ends() -> None:
    """A star: one value is close to all others, so that no class can be without a neighbour of it."""
    frame = pl.DataFrame({"age": range(6), "height": range(6), "pay": [0, 1, 2, 3, 4, 5]})
    schema = Schema.infer(frame, quasi=["age", "height"], sensitive=["pay"])

    def star(one: int, other: int) -> float:
        return 0.0 if one == other else 1.0 + (one > 0 and other > 0)

    model = Dissimilarity(k=3, epsilon=1, delta=1, distance=star)
    with pytest.raises(InfeasibleError, match="no partition was found"):
        anonymize(frame, schema, model, start="paper")
