"""Persons with several sets of items: classes in which their records differ, as a plain recount confirms."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from test_persons import LAWS, dealt

import shoal
from shoal import InfeasibleError, InputError, Schema, SetAnonymity, SetDiversity

METHODS = [
    (SetAnonymity, "freeform"),
    (SetAnonymity, "ring"),
    (SetDiversity, "freeform"),
    (SetDiversity, "groups"),
]


def baskets(law: str, records: int, k: int, seed: int) -> pl.DataFrame:
    """Return sets of items; those of a person have most items in common."""
    rng = np.random.default_rng(seed)
    persons = np.array(dealt(law, records, max(1, records // k), rng))
    usual = rng.random((records, 8)) < 0.4
    bought = usual[persons % records] ^ (rng.random((records, 8)) < 0.1)
    return pl.DataFrame(
        {
            "person": [f"p{person}" for person in persons],
            "items": [[f"i{item}" for item in np.flatnonzero(row)] for row in bought],
            "paid": rng.choice(["cash", "card", "cheque", "coupon", "other"], records),
        }
    )


def schema_of(frame: pl.DataFrame, **more: Any) -> Schema:
    return Schema.infer(frame, quasi=["items"], kinds={"items": "items"}, person="person", **more)


def hidden(frame: pl.DataFrame, release: shoal.Release, k: int) -> None:
    """Count persons in the classes of identical rows."""
    owners = frame["person"].gather(release.key)
    rows = release.table.select(pl.exclude("paid")).with_columns(
        pl.exclude("items_max_errors").list.join(" ") if release.table["items"].dtype == pl.List else pl.all()
    )
    seen = rows.with_columns(who=owners).group_by(rows.columns)
    for _, members in seen:
        assert members["who"].value_counts()["count"].max() * k <= len(members)


@given(
    st.sampled_from(METHODS), st.sampled_from(LAWS), st.integers(6, 40), st.integers(2, 4), st.integers(0, 99)
)
@examples(30)
def test_classes_of_sets_have_records_of_different_persons(
    method: tuple[Any, str], law: str, records: int, k: int, seed: int
) -> None:
    model, name = method
    frame = baskets(law, records, k, seed)
    promised = model(k=k) if model is SetAnonymity else model(l=k)
    try:
        release = shoal.anonymize(
            frame, schema_of(frame, sensitive=["paid"]), promised, method=name, seed=seed
        )
    except InfeasibleError:
        often = [frame[column].value_counts()["count"].max() * k for column in ("person", "paid")]
        assert max(often if model is SetDiversity else often[:1]) > records
        return
    assert release.audit.holds
    assert release.audit.persons is not None
    if release.audit.persons.several:
        hidden(frame, release, k)
        assert name == "groups" or "classes of identical rows" in release.certificate["notes"][0]


def test_options_of_the_ring_are_refused_with_persons() -> None:
    frame = baskets("one to three", 30, 3, 1)
    with pytest.raises(InputError, match="leave out order and walk"):
        shoal.anonymize(frame, schema_of(frame), SetAnonymity(k=3), method="ring", walk="paper")
    with pytest.raises(InputError, match="because it follows a paper"):
        shoal.anonymize(frame, schema_of(frame), SetAnonymity(k=3), method="gray")


def test_a_person_with_too_many_sets_is_infeasible() -> None:
    frame = baskets("one each", 20, 3, 1).with_columns(
        person=pl.Series(["p"] * 8 + [f"q{i}" for i in range(12)])
    )
    with pytest.raises(InfeasibleError, match=r"l = 3 is not achievable: 1 person .* l = 2"):
        shoal.anonymize(frame, schema_of(frame, sensitive=["paid"]), SetDiversity(l=3))
