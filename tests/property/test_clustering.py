"""Agglomerative and forest classes on random tables: audited, in any order of rows, costed as measured."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pytest
import twins
from hypothesis import event, given
from hypothesis import strategies as st
from strategies import tables

from shoal import InfeasibleError, InputError, KAnonymity, Schema, anonymize
from shoal.measures.em import em
from shoal.measures.geometry import COSTED, costs
from shoal.measures.lm import lm
from shoal.methods import METHODS, Circumstances
from shoal.recoding import Recoding
from shoal.table import Table

METHOD_NAMES = ("agglomerative", "forest")


def clustered(frame: Any, schema: Schema, model: KAnonymity, method: str, measure: str) -> Recoding:
    table = Table.encode(frame, schema)
    return METHODS[KAnonymity][method](table, model, Circumstances(), measure=measure)


@given(tables(min_rows=2, max_rows=14, sensitive=True), st.data())
def test_clusters_pass_the_audit(drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    frame, schema = drawn
    secrets = nw.from_native(frame)["secret"].to_list()
    k = data.draw(st.integers(2, len(secrets)))
    largest = len(secrets) / max(Counter(secrets).values())
    diversity = data.draw(st.none() | st.floats(1.0, largest))
    method, measure = data.draw(st.sampled_from(METHOD_NAMES)), data.draw(st.sampled_from(COSTED))
    release = anonymize(frame, schema, KAnonymity(k=k, l=diversity), method=method, measure=measure)
    assert release.audit.holds
    assert release.audit.k >= k
    sizes = np.bincount(release.recoding.box)
    if diversity is None and method == "forest":
        assert sizes.max() <= max(2 * k - 1, 3 * k - 3)
    if diversity is None and method == "agglomerative":
        assert (sizes > k).sum() < k  # only what was left at the end goes beyond
    assert nw.from_native(release.table)["secret"].to_list() == [secrets[i] for i in release.key]


@given(tables(flavours=("polars",), min_rows=2, max_rows=14), st.data())
def test_the_order_of_rows_does_not_matter(drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    frame, schema = drawn
    model = KAnonymity(k=data.draw(st.integers(2, len(frame))))
    method, measure = data.draw(st.sampled_from(METHOD_NAMES)), data.draw(st.sampled_from(COSTED))

    def rows(records: pl.DataFrame) -> Counter[tuple[str, ...]]:
        recoding = clustered(records, schema, model, method, measure)
        texts = list(zip(*(values.texts() for values in recoding.values), strict=True))
        return Counter(texts[box] for box in recoding.box)

    other = frame[data.draw(st.permutations(range(len(frame))))]
    assert rows(frame) == rows(other)


@given(tables(flavours=("polars",), min_rows=3, max_rows=14, sensitive=True), st.data())
def test_diversity_only_unites_classes(drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    frame, schema = drawn
    k = data.draw(st.integers(2, len(frame)))
    diversity = len(frame) / max(Counter(frame["secret"].to_list()).values())
    method, measure = data.draw(st.sampled_from(METHOD_NAMES)), data.draw(st.sampled_from(COSTED))
    alone = clustered(frame, schema, KAnonymity(k=k), method, measure)
    diverse = clustered(frame, schema, KAnonymity(k=k, l=diversity), method, measure)
    within = defaultdict(set)
    for before, after in zip(alone.box.tolist(), diverse.box.tolist(), strict=True):
        within[before].add(after)
    assert all(len(classes) == 1 for classes in within.values())
    if len(within) > diverse.box.max() + 1:
        event("united")


@given(tables(flavours=("polars",), max_rows=14), st.data())
def test_costs_are_what_is_measured(drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    frame, schema = drawn
    table = Table.encode(frame, schema)
    numbers = data.draw(st.lists(st.integers(0, 3), min_size=len(table), max_size=len(table)))
    classes = np.unique(numbers, return_inverse=True)[1].astype(np.int32)
    recoding = Recoding.of_classes(table, classes)
    rows = [tuple(row) for row in table.codes.tolist()]
    members = [[row for row, c in zip(rows, classes, strict=True) if c == own] for own in classes]
    by = costs(table, "lm")
    assert by.counts == []
    assert lm(recoding) == pytest.approx(np.mean([twins.box_cost(by.attributes, m) for m in members]))
    by = costs(table, "em")
    counts = [column.tolist() for column in by.counts]
    assert em(recoding) == pytest.approx(np.mean([twins.entropy(by.attributes, counts, m) for m in members]))


FRAME = pl.DataFrame({"age": [20, 21, 40, 41], "secret": ["s", "s", "s", "t"]})


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_what_cannot_be_kept_is_refused(method: str) -> None:
    schema = Schema.infer(FRAME, quasi=["age"], sensitive=["secret"])
    with pytest.raises(InfeasibleError, match=r"at most l = 1\.333"):
        anonymize(FRAME, schema, KAnonymity(k=2, l=2), method=method)
    with pytest.raises(InputError, match="'mondrian'"):
        anonymize(FRAME, schema, KAnonymity(k=2, p=2), method=method)
    with pytest.raises(InputError, match="'mondrian'"):
        anonymize(FRAME, schema, KAnonymity(k=2, entropy_l=1.5), method=method)
    with pytest.raises(InputError, match="k = 5 is above the 4 records"):
        anonymize(FRAME, schema, KAnonymity(k=5), method=method)
    with pytest.raises(InputError, match="did you mean 'lm'"):
        anonymize(FRAME, schema, KAnonymity(k=2), method=method, measure="lmm")


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_plain_cases(method: str) -> None:
    schema = Schema.infer(FRAME, quasi=["age"], sensitive=["secret"])
    release = anonymize(FRAME, schema, KAnonymity(k=2), method=method)
    assert sorted(release.table["age"].to_list()) == ["20..21", "20..21", "40..41", "40..41"]
    whole = anonymize(FRAME, schema, KAnonymity(k=2, l=4 / 3), method=method)
    assert set(whole.table["age"].to_list()) == {"*"}
