"""Releases of random tables: Mondrian's pass the audit, and the audit agrees with brute force."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import tables

from shoal import InfeasibleError, InputError, KAnonymity, Schema, anonymize
from shoal.auditing import audit_table
from shoal.recoding import Recoding
from shoal.release import published
from shoal.table import Table


@given(tables(min_rows=2, max_rows=14, sensitive=True), st.data())
def test_mondrian_passes_the_audit(drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    frame, schema = drawn
    n = len(nw.from_native(frame))
    k = data.draw(st.integers(2, n))
    model = KAnonymity(
        k=k,
        l=data.draw(st.sampled_from([None, 1.2, 2.0])),
        p=data.draw(st.sampled_from([None, 2, 3])),
        entropy_l=data.draw(st.sampled_from([None, 1.5])),
    )
    try:
        release = anonymize(frame, schema, model, relaxed=data.draw(st.booleans()))
    except InfeasibleError:
        assert infeasible(frame, model)
        return
    assert release.audit.holds
    assert release.audit.rows == n
    assert type(release.table) is type(frame)
    released = nw.from_native(release.table)
    cells = [tuple(map(str, row)) for row in released.drop("secret").rows()]
    assert min(Counter(cells).values()) >= k
    secrets = sorted(nw.from_native(frame)["secret"].to_list())
    assert sorted(released["secret"].to_list()) == secrets


def infeasible(frame: Any, model: KAnonymity) -> bool:
    """Say whether the table as a whole is less diverse than promised."""
    often = Counter(nw.from_native(frame)["secret"].to_list())
    n = sum(often.values())
    entropy = -sum(c / n * math.log(c / n) for c in often.values())
    return (
        (model.l is not None and max(often.values()) * model.l > n)
        or (model.p is not None and len(often) < model.p)
        or (model.entropy_l is not None and math.exp(entropy) < model.entropy_l)
    )


@given(tables(min_rows=1, max_rows=10, sensitive=True), st.data())
def test_the_audit_agrees_with_brute_force(drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    frame, schema = drawn
    table = Table.encode(frame, schema)
    n = len(table)
    labels = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    recoding = Recoding.of_classes(table, np.unique(labels, return_inverse=True)[1].astype(np.int32))
    order = np.array(data.draw(st.permutations(range(n))))
    typed = data.draw(st.booleans())

    found = audit_table(table, published(recoding, order, order, typed=typed), key=order)

    covers = np.array(
        [
            [
                all(
                    v.covers(np.array([recoding.box[record]]), a.codes[[other]])[0]
                    for v, a in zip(recoding.values, table.attributes, strict=True)
                )
                for record in order
            ]
            for other in range(n)
        ]
    )
    assert found.consistency.rows_of_record.tolist() == covers.sum(axis=1).tolist()
    assert found.consistency.records_of_row.tolist() == covers.sum(axis=0).tolist()
    assert found.consistency.strayed == 0
    assert sorted(found.classes.sizes) == sorted(Counter(recoding.types.tolist()).values())
    secrets = table.sensitive[0].codes[order]
    members = [secrets[found.classes.of_row == c] for c in range(len(found.classes.sizes))]
    (diversity,) = found.diversity
    assert diversity.distinct.tolist() == [len(set(values)) for values in members]
    assert np.allclose(diversity.highest, [max(Counter(values).values()) / len(values) for values in members])
    shares = [np.array(list(Counter(values).values())) / len(values) for values in members]
    assert np.allclose(diversity.entropy, [-(s * np.log(s)).sum() for s in shares])


@given(tables(min_rows=4, max_rows=12, flavours=["polars"]), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_the_weights_of_copies_do_not_matter(
    drawn: tuple[Any, Schema], random: Any
) -> None:
    frame, schema = drawn
    once = anonymize(frame, schema, KAnonymity(k=2))
    order = list(range(len(frame)))
    random.shuffle(order)
    again = anonymize(frame[order], schema, KAnonymity(k=2))
    assert math.isclose(once.loss.gcp, again.loss.gcp, abs_tol=1e-12)


@given(tables(min_rows=1, max_rows=6, flavours=["polars"]), st.integers(7, 99))
def test_k_above_n_is_refused(drawn: tuple[Any, Schema], k: int) -> None:
    frame, schema = drawn
    with pytest.raises(InputError, match=f"the {len(frame)} records"):
        anonymize(frame, schema, KAnonymity(k=k))
