"""Blocks: what each keeps, the whole keeps, as the ordinary auditor sees it; and losses add up."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from blockwise import agreed, blocks_of, released
from examples import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import tables

import shoal
from shoal import KK, Concealment, Dissimilarity, Freeform, KAnonymity, KOne, OneK, Patterned, Schema
from shoal.auditing.reading import read_release
from shoal.engines.blocks import digest_of, release_schema, total_digest
from shoal.engines.joining import Check
from shoal.errors import InfeasibleError
from shoal.measures import Loss
from shoal.models import Model, SetAnonymity, SetDiversity
from shoal.schema import Column, Kind, Role, as_frame
from shoal.table import Table

MODELS: tuple[Model, ...] = (
    KAnonymity(k=2),
    KAnonymity(k=2, l=1.5, p=2, entropy_l=1.3),
    Freeform(k=2),
    Freeform(k=2, p=2),
    Freeform(k=2, l=1.5),
    Freeform(k=2, entropy_l=1.3),
    Concealment(k=2),
    Concealment(k=2, two_sided=True, p=2),
    Concealment(k=2, l=1.5),
    OneK(k=2),
    KOne(k=2),
    KK(k=2, p=2),
    KK(k=2, l=1.5),
    Patterned(k=2),
    Dissimilarity(k=2, epsilon=0, delta=0.3),
)
frames = tables(flavours=("polars",), sensitive=True, min_rows=6, max_rows=26, max_columns=3)


@pytest.mark.parametrize("model", MODELS, ids=repr)
@examples(12)
@given(data=st.data())
def test_the_whole_keeps_what_each_block_promises(model: Model, data: st.DataObject) -> None:
    frame, schema = data.draw(frames)
    block_rows = data.draw(st.integers(2, 8))
    try:
        release, facts = released(
            frame, schema, model, block_rows=block_rows, least=data.draw(st.integers(2, 4))
        )
    except InfeasibleError:
        assume(False)
    found = shoal.audit(frame, release, schema, model)
    assert found.holds, found.verdict
    assert sum(each.rows for each in facts) == frame.height
    # What the blocks say of the whole is never better than it is.
    assert min(each.audit.concealment for each in facts) <= found.concealment


@examples(20)
@given(frame_and_schema=frames, block_rows=st.integers(2, 8), typed=st.booleans())
def test_the_loss_of_the_whole_is_the_mean_of_the_blocks(
    frame_and_schema: tuple[pl.DataFrame, Schema], block_rows: int, typed: bool
) -> None:
    frame, schema = frame_and_schema
    form: Any = "parquet" if typed else "csv"
    release, facts = released(frame, schema, Freeform(k=2), block_rows=block_rows, least=2, form=form)
    whole = Table.encode(frame, schema)
    shown = read_release(as_frame(release), whole)
    by_attribute = [float(column.values.ncp()[column.cell].mean()) for column in shown]
    joined = Loss.merge([each.loss for each in facts], [each.rows for each in facts])
    assert list(joined.by_attribute.values()) == pytest.approx(by_attribute)
    assert joined.gcp == pytest.approx(float(whole.weights @ by_attribute))


@given(frame_and_schema=frames, block_rows=st.integers(2, 8))
def test_no_value_is_divided_and_every_record_has_a_block(
    frame_and_schema: tuple[pl.DataFrame, Schema], block_rows: int
) -> None:
    frame, schema = frame_and_schema
    model = Freeform(k=2, l=2)  # blocks lie apart: nothing is divided at random
    _, tree, table, blocks = blocks_of(frame, schema, model, block_rows=block_rows, least=2)
    assert set(blocks) <= set(range(len(tree)))
    block_of: dict[tuple[int, ...], int] = {}
    for record, block in zip(table.codes.tolist(), blocks, strict=True):
        assert block_of.setdefault(tuple(record), block) == block


@given(frame_and_schema=frames, rows_at_once=st.integers(1, 9))
def test_parts_agree_on_what_the_whole_table_has(
    frame_and_schema: tuple[pl.DataFrame, Schema], rows_at_once: int
) -> None:
    frame, schema = frame_and_schema
    in_parts, at_once = agreed(frame, schema, rows_at_once), agreed(frame, schema, frame.height)
    assert in_parts.schema == at_once.schema
    assert in_parts.missing == at_once.missing
    for name, domain in at_once.domains.items():
        assert in_parts.domains[name].labels == domain.labels
        assert in_parts.domains[name].missing == domain.missing
        assert in_parts.domains[name].cardinality == domain.cardinality


@examples(20)
@given(frame_and_schema=frames, typed=st.booleans())
def test_the_check_of_the_whole_passes_what_blocks_release_and_nothing_less(
    frame_and_schema: tuple[pl.DataFrame, Schema], typed: bool
) -> None:
    frame, schema = frame_and_schema
    form: Any = "parquet" if typed else "csv"
    model = KAnonymity(k=2)
    release, facts = released(frame, schema, model, block_rows=4, least=2, form=form)
    known = agreed(frame, schema)
    digests = [each.digest for each in facts]
    assert total_digest(digests) == digest_of(release.reverse())

    def seen(rows: pl.DataFrame) -> Check:
        check = Check(model, known, release_schema(frame.schema, known, form))
        for start in range(0, rows.height, 5):
            check.see(rows[start : start + 5])
        return check

    classes = seen(release).passed(frame.height, digests)
    assert classes is not None
    assert classes.count == len(shoal.audit(frame, release, schema).classes.sizes)
    with pytest.raises(shoal.InternalError):
        seen(release[1:]).passed(frame.height, digests)
    if release[0].rows() != release[1].rows():
        twice = pl.concat([release[:1], release[:1], release[2:]])
        with pytest.raises(shoal.InternalError):
            seen(twice).passed(frame.height, digests)


@pytest.mark.parametrize("model", [SetAnonymity(k=2), SetDiversity(l=2)], ids=repr)
@examples(15)
@given(
    baskets=st.lists(st.sets(st.integers(0, 9), max_size=5), min_size=8, max_size=24),
    block_rows=st.integers(3, 8),
    data=st.data(),
)
def test_sets_of_items_keep_their_promise_in_ranges_of_the_gray_order(
    model: Model, baskets: list[set[int]], block_rows: int, data: st.DataObject
) -> None:
    labels = data.draw(st.lists(st.sampled_from("stuv"), min_size=len(baskets), max_size=len(baskets)))
    frame = pl.DataFrame({"basket": [sorted(map(str, basket)) for basket in baskets], "secret": labels})
    schema = Schema((Column("basket", Role.QUASI, Kind.ITEMS), Column("secret", Role.SENSITIVE)))
    try:
        release, facts = released(frame, schema, model, block_rows=block_rows, least=4)
    except InfeasibleError:
        assume(False)
    found = shoal.audit(frame, release, schema, model)
    assert found.holds, found.verdict
    whole = Table.encode(frame, schema)
    (shown,) = read_release(as_frame(release), whole)
    assert Loss.merge([each.loss for each in facts], [each.rows for each in facts]).gcp == pytest.approx(
        float(np.mean(shown.values.ncp()[shown.cell]))
    )
