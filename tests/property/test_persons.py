"""Persons with several records: k counts persons, by every method that can, as a plain recount confirms."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from persons_recount import Broken, recount

import shoal
from shoal import Freeform, InfeasibleError, InputError, KAnonymity, Schema
from shoal.methods import METHODS
from shoal.methods.method import COUNTING_PERSONS, NOT_COUNTING
from shoal.models import Model

QUASI = ["age", "sex", "town"]
TABLES = int(os.environ.get("SHOAL_TABLES", "3000"))
"""The number of tables in a campaign; an ordinary run has a twentieth of them."""
LAWS = ("one each", "one to three", "geometric", "few with many", "as many as possible")
ABLE = [
    (model, name)
    for model, methods in METHODS.items()
    for name, method in methods.items()
    if method in COUNTING_PERSONS and not model.needs_items and not model.needs_sensitive
]


def dealt(law: str, records: int, most: int, rng: np.random.Generator) -> list[int]:
    """Return the person of each record by a law of how many each has, none more than `most`."""
    persons: list[int] = []
    while len(persons) < records:
        many = {
            "one each": 1,
            "one to three": int(rng.integers(1, 4)),
            "geometric": int(rng.geometric(0.4)),
            "few with many": most if rng.random() < 0.1 else 1,
            "as many as possible": most,
        }[law]
        persons += [len(set(persons))] * min(many, most)
    return list(rng.permutation(persons[:records]))


def visits(law: str, records: int, k: int, *, alike: bool, seed: int) -> pl.DataFrame:
    """Return a table in which a person's records have equal quasi-identifiers, or any."""
    rng = np.random.default_rng(seed)
    persons = np.array(dealt(law, records, max(1, records // k), rng))
    of = persons if alike else np.arange(records)
    return pl.DataFrame(
        {
            "person": [f"p{person}" for person in persons],
            "age": rng.integers(20, 30, records)[of % records],
            "sex": rng.choice(["F", "M"], records)[of % records],
            "town": rng.choice(["Ulm", "Bonn", "Kiel"], records)[of % records],
            "diagnosis": rng.choice(["flu", "burn", "cold", "none"], records),
        }
    )


def texts(frame: pl.DataFrame) -> dict[str, list[str]]:
    return {name: frame[name].cast(pl.String).to_list() for name in frame.columns}


def recounted(frame: pl.DataFrame, release: shoal.Release, k: int) -> Broken:
    return recount(texts(frame), texts(release.table), QUASI, "person", release.key.tolist(), k)


def schema_of(frame: pl.DataFrame, **more: Any) -> Schema:
    return Schema.infer(frame, quasi=QUASI, person="person", **more)


def kept(frame: pl.DataFrame, model: Model, method: str, seed: int, **options: Any) -> None:
    """Make a release and count persons in it."""
    if method == "exact":
        frame = frame.head(14 if model.crowd < 4 else 10)
    try:
        release = shoal.anonymize(frame, schema_of(frame), model, method=method, seed=seed, **options)
    except InfeasibleError:
        assert frame["person"].n_unique() < model.crowd or True in (
            frame["person"].value_counts()["count"] * model.crowd > len(frame)
        )
        return
    assert "person" not in release.table.columns
    broken = recounted(frame, release, model.crowd)
    one_each = frame["person"].n_unique() == len(frame)  # these two models then promise one side alone
    assert not broken.rows or (one_each and isinstance(model, shoal.OneK))
    if not (one_each and isinstance(model, shoal.KOne)):
        assert not broken.exposed
        assert not (broken.owned if model.crowd_kind == "classes" else broken.told)
    assert release.audit.persons is not None
    assert release.audit.holds


@given(
    st.sampled_from(ABLE),
    st.sampled_from(LAWS),
    st.integers(6, 40),
    st.integers(2, 5),
    st.booleans(),
    st.integers(0, 2**32),
)
@settings(deadline=None)
def test_every_method_that_counts_persons_hides_them(
    able: tuple[type[Model], str], law: str, records: int, k: int, alike: bool, seed: int
) -> None:
    model: Any = able[0]
    kept(visits(law, records, k, alike=alike, seed=seed), model(k=k), able[1], seed)


@pytest.mark.slow
@pytest.mark.parametrize("tables", [TABLES // 20, pytest.param(TABLES, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("able", ABLE, ids=lambda able: f"{able[0].name} {able[1]}")
def test_thousands_of_tables_hide_their_persons(able: tuple[type[Model], str], law: str, tables: int) -> None:
    model: Any = able[0]
    for seed in range(tables // (len(ABLE) * len(LAWS)) + 1):
        k = 2 + seed % 4
        frame = visits(law, 4 * k + seed % 23, k, alike=seed % 2 == 0, seed=seed)
        kept(frame, model(k=k), able[1], seed)


@pytest.mark.parametrize(("model", "method"), ABLE, ids=lambda each: getattr(each, "name", each))
def test_one_record_each_gives_the_same_bytes(model: Any, method: str) -> None:
    frame = visits("one each", 60, 3, alike=False, seed=5)
    with_persons = shoal.anonymize(frame, schema_of(frame), model(k=3), method=method, seed=1)
    dropped = Schema.infer(frame, quasi=QUASI, drop=["person"])
    without = shoal.anonymize(frame, dropped, model(k=3), method=method, seed=1)
    assert with_persons.table.equals(without.table)


@pytest.mark.parametrize("model", [Freeform(k=3, l=2), KAnonymity(k=3, l=2)], ids=lambda model: model.name)
def test_promises_about_sensitive_values_hold_on_top(model: Any) -> None:
    frame = visits("one to three", 80, 3, alike=True, seed=3)
    release = shoal.anonymize(frame, schema_of(frame, sensitive=["diagnosis"]), model, seed=2)
    broken = recounted(frame, release, 3)
    assert not broken.rows
    assert not broken.exposed
    assert all(each.l >= 2 - 1e-9 for each in release.audit.diversity_around or release.audit.diversity)


@given(
    st.sampled_from(["locality", "degree"]),
    st.sampled_from(LAWS),
    st.integers(8, 60),
    st.integers(2, 4),
    st.booleans(),
    st.integers(0, 2**32),
)
@settings(deadline=None)
def test_dissimilar_values_and_persons_are_in_different_classes(
    start: str, law: str, records: int, k: int, alike: bool, seed: int
) -> None:
    frame = visits(law, records, k, alike=alike, seed=seed)
    stays = np.random.default_rng(seed).integers(0, 30, records)
    frame = frame.with_columns(stay=pl.Series(stays))
    model = shoal.Dissimilarity(k=k, epsilon=1, delta=0.5)
    schema = schema_of(frame, sensitive=["stay"], drop=["diagnosis"])
    try:
        release = shoal.anonymize(frame, schema, model, seed=seed, start=start)
    except InfeasibleError:
        return  # XColor does not always find a partition
    assert release.audit.holds
    broken = recounted(frame, release, k)
    assert not broken.rows
    assert not broken.exposed
    assert not broken.owned
    for _, members in release.table.group_by(QUASI):
        stays = members["stay"].to_numpy()
        close = (np.abs(stays[:, None] - stays) <= 1).sum(axis=1) - 1
        assert (close <= 0.5 * (len(stays) - 1)).all()


def test_classes_of_dissimilar_values_keep_persons_apart_after_all_exchanges() -> None:
    """Alike records of a person are near each other, so that exchanges for less loss would unite them."""
    frame = visits("one to three", 900, 5, alike=True, seed=4)
    frame = frame.with_columns(stay=pl.Series(np.random.default_rng(4).integers(0, 30, 900)))
    schema = schema_of(frame, sensitive=["stay"], drop=["diagnosis"])
    model = shoal.Dissimilarity(k=5, epsilon=1, delta=0.5)
    release = shoal.anonymize(frame, schema, model, effort="best", seed=1)
    assert any("some persons have several records" in note for note in release.certificate["notes"])
    assert not recounted(frame, release, 5).owned


def test_a_method_that_counts_records_refuses_persons() -> None:
    frame = visits("one to three", 40, 3, alike=False, seed=1).with_columns(stay=pl.arange(40))
    with pytest.raises(InputError, match=r"counts records, not persons, because .*matching"):
        shoal.anonymize(frame, schema_of(frame), Freeform(k=3), method="printed_greedy")
    schema = schema_of(frame, sensitive=["stay"])
    with pytest.raises(InputError, match="most_per_person = 1"):
        shoal.anonymize(frame, schema, shoal.TCloseness(k=3, t=0.5))
    dissimilar = shoal.Dissimilarity(k=3, epsilon=1, delta=0.5)
    with pytest.raises(InputError, match="takes each record for a person"):
        shoal.anonymize(frame, schema, dissimilar, start="paper")
    with pytest.raises(InputError, match="supports k alone"):
        shoal.anonymize(frame, schema_of(frame, sensitive=["stay"]), shoal.Patterned(k=3, l=2))
    with pytest.raises(InputError, match="no withheld records"):
        shoal.anonymize(frame, schema_of(frame), shoal.KK(k=3, withhold=0.1))


def test_every_method_counts_persons_or_says_why_not() -> None:
    methods = {method for each in METHODS.values() for method in each.values()}
    assert methods == COUNTING_PERSONS | set(NOT_COUNTING)
    assert not COUNTING_PERSONS & set(NOT_COUNTING)


def test_most_per_person_keeps_some_records_of_each() -> None:
    frame = visits("geometric", 60, 2, alike=True, seed=2)
    release = shoal.anonymize(frame, schema_of(frame), Freeform(k=3), most_per_person=2)
    owners = frame["person"].gather(release.key)
    assert owners.value_counts()["count"].max() == 2
    assert owners.n_unique() == frame["person"].n_unique()
    broken = recounted(frame, release, 3)
    assert not broken.exposed
    with pytest.raises(InputError, match="positive whole number"):
        shoal.anonymize(frame, schema_of(frame), Freeform(k=3), most_per_person=0)
    with pytest.raises(InputError, match="whose record"):
        shoal.anonymize(frame, Schema.infer(frame, quasi=QUASI), Freeform(k=3), most_per_person=1)


def test_a_person_with_too_many_records_is_infeasible() -> None:
    frame = visits("one each", 30, 3, alike=False, seed=1)
    frame = frame.with_columns(person=pl.Series(["p0"] * 11 + [f"p{i}" for i in range(1, 20)]))
    with pytest.raises(InfeasibleError, match=r"1 person has more than 10 of the 30 records.*k = 2"):
        shoal.anonymize(frame, schema_of(frame), Freeform(k=3))
    alone = frame.with_columns(person=pl.lit("p0"))
    with pytest.raises(InfeasibleError, match="no k is achievable"):
        shoal.anonymize(alone, schema_of(alone), Freeform(k=2))


def test_bad_person_columns_are_refused() -> None:
    frame = visits("one to three", 30, 3, alike=False, seed=1)
    holes = frame.with_columns(person=pl.Series([None, *frame["person"][1:]]))
    with pytest.raises(InputError, match="must not have missing values"):
        shoal.anonymize(holes, schema_of(holes), Freeform(k=2))
    left_out = shoal.anonymize(holes, schema_of(holes, missing={"person": "suppress"}), Freeform(k=2))
    assert len(left_out.table) == 29
    with pytest.raises(InputError, match="two roles"):
        Schema.infer(frame, quasi=[*QUASI, "person"], person="person")
    with pytest.raises(InputError, match="both have the role person"):
        schema_of(frame).changed("town", role="person")


@given(st.sampled_from(LAWS), st.integers(8, 40), st.integers(2, 4), st.booleans(), st.integers(0, 2**32))
@settings(deadline=None)
def test_the_auditor_finds_what_the_recount_finds(
    law: str, records: int, k: int, alike: bool, seed: int
) -> None:
    """A release made for records, and one for fewer persons, held against a guarantee of k persons."""
    frame = visits(law, records, k, alike=alike, seed=seed)
    dropped = Schema.infer(frame, quasi=QUASI, drop=["person"])
    model: Any
    for model in (Freeform(k=k), KAnonymity(k=k)):
        release = shoal.anonymize(frame, dropped, model, seed=seed)
        broken = recounted(frame, release, k)
        found = shoal.audit(frame, release.table, schema_of(frame), model, key=release.key.tolist())
        if found.persons is None:
            continue
        assert int((found.persons.persons_of_row < k).sum()) == len(broken.rows)
        exposed = found.persons.rows_of_person < k * found.persons.records_of_person
        assert int(exposed.sum()) == len(broken.exposed)
        told = found.persons.covering_share * k > 1 + 1e-9
        assert set(np.flatnonzero(told)) == broken.told
        crowds = broken.owned if model.crowd_kind == "classes" else broken.told
        if model.crowd_kind == "rows" or not broken.owned:
            assert found.holds == (not broken.rows and not broken.exposed and not crowds)


def test_the_auditor_refuses_a_release_that_hides_visits_behind_each_other() -> None:
    """Twelve visits of one patient were published exactly: they are rows of one person."""
    rng = np.random.default_rng(1)
    patients = [(patient, 12 if patient == 0 else int(rng.integers(1, 8))) for patient in range(120)]
    rows = [
        (
            f"p{patient}",
            47 if patient == 0 else 20 + patient % 50,
            "F" if patient % 2 else "M",
            f"z{patient % 7}",
        )
        for patient, many in patients
        for _ in range(many)
    ]
    frame = pl.DataFrame(rows, schema=["person", "age", "sex", "town"], orient="row")
    without = shoal.anonymize(frame, Schema.infer(frame, quasi=QUASI, drop=["person"]), Freeform(k=5))
    assert any("name it as the person column" in each for each in without.certificate["warnings"])
    found = shoal.audit(frame, without.table, schema_of(frame), Freeform(k=5))
    assert not found.holds
    assert "cover records of fewer than 5 persons" in found.verdict
    assert " persons: the rows that cover any of their records" in found.verdict
    release = shoal.anonymize(frame, schema_of(frame), Freeform(k=5))
    assert release.audit.holds
    broken = recounted(frame, release, 5)
    assert not broken.rows
    assert not broken.exposed
    assert not broken.told
    again = shoal.audit(frame, release.table, schema_of(frame), Freeform(k=5))
    assert again.holds
    assert again.as_dict()["persons"]["records_not_seen"] > 0


def test_the_report_counts_persons_and_records_apart() -> None:
    frame = visits("one to three", 60, 3, alike=True, seed=4)
    release = shoal.anonymize(frame, schema_of(frame), Freeform(k=3))
    panel = release.report.as_dict()["persons"]
    assert panel["persons"] == frame["person"].n_unique()
    assert panel["highest_chance"] <= 1 / 3 + 1e-9
    assert "Records per person" in release.report.html()
    counted = f"{frame['person'].n_unique()} persons with 60 records"
    assert f"k counts persons, not records: there are {counted}" in release.report.html()
    assert "released rows of" in release.report.html()
    assert "persons above 20%" in release.report.html()
    assert counted.replace(" persons", "") in dict(release.audit.facts())["persons"]
    dropped = Schema.infer(frame, quasi=QUASI, drop=["person"])
    assert "persons" not in shoal.anonymize(frame, dropped, Freeform(k=3)).report.as_dict()
