"""Results of audits as plain data: what the campaign of mutants found no other test for."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal import Column, Dissimilarity, KAnonymity, Role, Schema
from shoal.auditing.persons import Persons
from shoal.auditing.released import ReleasedTable
from shoal.release.claims import Claims
from shoal.table import Table


def persons_in(records: list[tuple[str, int]], cells: list[str], key: list[int] | None = None) -> Persons:
    """Return how well persons are hidden in a release of their ages."""
    original = pl.DataFrame(records, schema=["person", "age"], orient="row")
    schema = Schema.infer(original, quasi=["age"], person="person")
    found = ReleasedTable(
        pl.DataFrame({"age": cells}), Table.encode(original, schema, times=True), key
    ).persons
    assert found is not None
    return found


RECORDS = [("a", 1), ("b", 2), ("b", 3)]


@pytest.mark.parametrize(
    ("cells", "key", "missing"),
    [(["1..3"] * 2, None, 1), (["1..3"] * 4, None, 0), (["1..3"] * 2, [0, 1], 0)],
)
def test_records_that_may_be_missing(cells: list[str], key: list[int] | None, missing: int) -> None:
    """With the key it is known which records are in the release, so that none may be missing."""
    assert persons_in(RECORDS, cells, key).missing == missing


def test_a_person_that_no_row_covers_has_no_share_of_them() -> None:
    records = [("a", 1), ("b", 5)]
    assert persons_in(records, ["1", "1"]).covering_share.tolist() == [0.5, 0.0]


def test_the_only_row_that_covers_a_person_is_hers() -> None:
    assert persons_in([("a", 1), ("b", 5)], ["1", "5"]).covering_share.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("sensitive", "says"), [(["income"], "'income' are not in the release"), ([], "there are none")]
)
def test_dissimilar_values_of_no_column(sensitive: list[str], says: str) -> None:
    original = pl.DataFrame({"age": [30, 30], "income": [1, 9]})
    schema = Schema.infer(original, quasi=["age"], sensitive=sensitive, drop=[] if sensitive else ["income"])
    model = Dissimilarity(k=2, epsilon=2, delta=0.5)
    verdict = shoal.audit(original, original.select("age"), schema, model).verdict
    assert f"of the sensitive columns {says}" in verdict


def test_an_audit_as_data() -> None:
    original = pl.DataFrame({"age": [30, 30, 40, 40], "illness": ["a", "b", "a", "b"]})
    schema = Schema.infer(original, quasi=["age"], sensitive=["illness"])
    found = shoal.audit(original, original, schema, KAnonymity(k=2)).as_dict()
    assert found["promise"] == {"model": "k-anonymity", "k": 2}
    assert (found["holds"], found["records"], found["rows"], found["k"]) == (
        True,
        4,
        4,
        2,
    )
    assert shoal.audit(original, original, schema).as_dict()["promise"] is None


@pytest.mark.parametrize(("limits", "broken"), [({"widest": 1}, True), ({"widest": 2}, False), ({}, False)])
def test_the_audit_counts_the_uncertain_items_of_a_row(limits: dict[str, int], broken: bool) -> None:
    original = pl.DataFrame({"basket": [["a", "b"], ["a"], ["b"]]})
    released = pl.DataFrame(
        {"basket": [[], [], []], "basket_uncertain": [["a", "b"]] * 3, "basket_max_errors": [1, 1, 1]},
        schema_overrides={"basket": pl.List(pl.String)},
    )
    schema = Schema([Column("basket", Role.QUASI, "items", **limits)])  # type: ignore[arg-type]
    verdict = shoal.audit(original, released, schema).verdict
    assert ("3 released rows break the limit of 'basket'" in verdict) is broken


def test_a_population_beside_a_release_whose_model_is_not_about_one(tmp_path: Path) -> None:
    people = pl.DataFrame({"age": [30, 31, 40, 41]})
    schema = Schema.infer(people, quasi=["age"])
    shoal.anonymize(people, schema, KAnonymity(k=2)).save(tmp_path / "out")
    assert Claims.read(tmp_path / "out").model(population=people) == KAnonymity(k=2)


def test_crowds_of_attackers_who_know_some_columns_are_a_fact() -> None:
    original = pl.DataFrame({"age": [30, 30, 40, 40], "sex": ["f", "f", "m", "m"], "town": ["a"] * 4})
    schema = Schema.infer(original, quasi=["age", "sex", "town"])
    facts = dict(shoal.audit(original, original, schema, knows=2).facts())
    assert facts["with 2 known columns"] == "each record is covered by at least 2 rows (3 combinations)"
    assert not [name for name in dict(shoal.audit(original, original, schema).facts()) if "known" in name]


def test_a_release_in_blocks_says_what_it_is(tmp_path: Path) -> None:
    people = pl.DataFrame({"age": [30, 31, 40, 41]})
    people.write_csv(tmp_path / "people.csv")
    schema = Schema.infer(people, quasi=["age"])
    found = shoal.anonymize_file(tmp_path / "people.csv", schema, KAnonymity(k=2), tmp_path / "out", jobs=1)
    assert found.model == KAnonymity(k=2)
    assert repr(found).startswith("BlockedRelease(4 rows, KAnonymity(k=2), blocks=1, gcp=0.")
    assert found.loss.gcp == found.certificate["loss"]["gcp"]
    assert found.publishable
    assert found.report is found.report
