"""The auditor: what it counts, what it reads, and what it refuses."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from shoal import Column, Freeform, Hierarchy, InputError, KAnonymity, PromiseError, Schema, anonymize, audit
from shoal.auditing import audit_table
from shoal.errors import Reason
from shoal.table import Table


def ages(*values: int | None) -> pl.DataFrame:
    return pl.DataFrame({"age": values}, schema={"age": pl.Int64})


def schema_of(frame: pl.DataFrame, **options: object) -> Schema:
    return Schema.infer(frame, quasi=["age"], **options)  # type: ignore[arg-type]


def test_a_ring_has_no_classes_but_two_rows_cover_each_record() -> None:
    original = ages(1, 2, 3, 4)
    released = pl.DataFrame({"age": ["1..2", "2..3", "3..4", "*"]})
    found = audit(original, released, schema_of(original))
    assert found.k == 1
    assert found.consistency.rows_per_record == 2
    assert found.consistency.records_of_row.tolist() == [2, 2, 2, 4]
    assert found.holds  # nothing was promised
    assert not audit(original, released, schema_of(original), KAnonymity(k=2)).holds


def test_a_record_with_a_missing_value_is_never_dropped() -> None:
    original = pl.DataFrame({"age": [30, 30, 30, 30, None]}, schema={"age": pl.Int64})
    released = pl.DataFrame({"age": ["30", "30", "30", "30", None]})
    found = audit(original, released, schema_of(original), KAnonymity(k=2))
    assert found.k == 1
    assert found.records == found.rows == 5
    assert found.consistency.rows_of_record.tolist() == [4, 4, 4, 4, 1]
    assert not found.holds


def test_a_suppressed_cell_covers_missing_values_and_an_interval_does_not() -> None:
    original = pl.DataFrame({"age": [30, 40, None]}, schema={"age": pl.Int64})
    assert audit(original, pl.DataFrame({"age": ["*"] * 3}), schema_of(original), KAnonymity(k=3)).holds
    found = audit(original, pl.DataFrame({"age": ["30..40"] * 3}), schema_of(original), KAnonymity(k=3))
    assert found.consistency.rows_of_record.tolist() == [3, 3, 0]
    assert not found.holds


@pytest.mark.parametrize(
    ("cell", "fits"),
    [
        ("20", [20]),
        ("20..30", [20, 25, 30]),
        ("[20, 30[", [20, 25]),
        ("[20,30)", [20, 25]),
        ("]20, 30]", [25, 30]),
        ("(20; 30]", [25, 30]),
        ("[20, 30]", [20, 25, 30]),
        ("20-30", [20, 25, 30]),
        ("-5..25", [-5, 20, 25]),
        ("-5--1", [-5]),
        ("19.5..20.5", [20]),
        ("21..24", []),
        ("99", []),
        ("*", [-5, 20, 25, 30]),
    ],
)
def test_intervals_of_many_hands_are_read(cell: str, fits: list[int]) -> None:
    values = [-5, 20, 25, 30]
    original = ages(*values)
    found = audit(original, pl.DataFrame({"age": [cell] * 4}), schema_of(original))
    inside = [value for value, rows in zip(values, found.consistency.rows_of_record, strict=True) if rows]
    assert inside == fits


@pytest.mark.parametrize("cell", ["young", "1|2"])
def test_a_cell_that_is_no_value_is_refused(cell: str) -> None:
    original = ages(1, 2)
    with pytest.raises(InputError, match="is neither a numeric value") as caught:
        audit(original, pl.DataFrame({"age": [cell, "1"]}), schema_of(original))
    assert caught.value.reason is Reason.RELEASE_UNREADABLE


def test_a_release_as_arx_writes_it() -> None:
    original = pl.DataFrame(
        {"age": ["34", "45", "66", "70"], "sex": ["male", "female", "male", "female"], "zip": ["81667"] * 4}
    )
    released = pl.DataFrame(
        {"age": ["[20, 60[", "[20, 60[", "[60, 80[", "[60, 80["], "sex": ["*"] * 4, "zip": ["816**"] * 4}
    )
    tree = Hierarchy.from_levels([["81667", "8166*", "816**", "*"], ["81500", "8150*", "815**", "*"]])
    schema = Schema.infer(
        original, quasi=["age", "sex", "zip"], hierarchies={"zip": tree}, kinds={"age": "numeric"}
    )
    found = audit(original, released, schema, KAnonymity(k=2))
    assert found.holds, found.verdict
    assert found.k == 2


def test_sets_of_many_hands_are_read() -> None:
    original = pl.DataFrame({"job": ["a", "b", "a|b", "c,d", "*", "\\"]})
    schema = Schema.infer(original, quasi=["job"])

    def members(cell: str) -> list[str]:
        found = audit(original, pl.DataFrame({"job": [cell] * 6}), schema)
        return [
            job for job, rows in zip(original["job"], found.consistency.rows_of_record, strict=True) if rows
        ]

    assert members("a|b") == ["a", "b"]
    assert members("a\\|b") == ["a|b"]
    assert members("\\*") == ["*"]
    assert members("\\\\") == ["\\"]
    assert members("{a, b}") == ["a", "b"]
    assert members("c,d") == ["c,d"]
    assert members("*") == original["job"].to_list()
    assert members("z") == []


def test_rows_that_match_nobody_are_found_and_explained() -> None:
    original = pl.DataFrame({"school": ["BSc", "MSc", "BSc", "MSc"]})
    schema = Schema.infer(original, quasi=["school"])
    found = audit(original, pl.DataFrame({"school": ["Higher"] * 4}), schema, KAnonymity(k=2))
    assert not found.holds
    assert found.consistency.rows_without_record == 4
    assert "'Higher'" in found.verdict
    assert "hierarchy" in found.verdict


def test_identifiers_in_the_release_are_found() -> None:
    original = pl.DataFrame({"name": ["x", "y"], "age": [1, 1]})
    schema = Schema.infer(original, quasi=["age"], drop=["name"])
    found = audit(original, original, schema, KAnonymity(k=2))
    assert not found.holds
    assert "'name'" in found.verdict
    assert audit(original, original.drop("name"), schema, KAnonymity(k=2)).holds


def test_too_many_rows_are_found_and_records_are_left_out_only_on_purpose() -> None:
    original = ages(1, 1, 1, 5)
    schema = schema_of(original)
    assert not audit(original, ages(1, 1, 1, 1, 5, 5), schema, KAnonymity(k=2)).holds
    few = audit(original, ages(1, 1, 1), schema, KAnonymity(k=3))  # the last one was left out
    assert not few.holds
    assert "3 rows, the original 4 records" in few.verdict
    assert audit(original, ages(1, 1, 1), schema, KAnonymity(k=3), may_leave_out=True).holds
    replaced = ages(1, 1, 1, 1)  # but not replaced
    assert not audit(original, replaced, schema, KAnonymity(k=3), may_leave_out=True).holds


def test_k_equal_rows_and_a_unique_one() -> None:
    original = ages(1, 1, 1, 9)
    found = audit(original, original, schema_of(original), KAnonymity(k=3))
    assert found.k == 1
    assert not found.holds


def test_the_key_shows_rows_that_strayed() -> None:
    original = ages(1, 1, 2, 2)
    table = Table.encode(original, schema_of(original))
    straight, crossed = np.array([0, 1, 2, 3]), np.array([0, 2, 1, 3])
    assert audit_table(table, original, KAnonymity(k=2), key=straight).holds
    found = audit_table(table, original, KAnonymity(k=2), key=crossed)
    assert found.consistency.strayed == 2
    assert not found.holds


def test_diversity_of_the_worst_class() -> None:
    original = pl.DataFrame({"age": [1, 1, 1, 1, 2, 2], "ill": ["a", "a", "b", None, "a", "c"]})
    schema = Schema.infer(original, quasi=["age"], sensitive=["ill"])
    found = audit(original, original, schema, KAnonymity(k=2, l=2, p=2, entropy_l=2))
    (ill,) = found.diversity
    assert ill.distinct.tolist() == [3, 2]
    assert ill.p == 2
    assert ill.l == pytest.approx(2.0)
    assert ill.entropy_l == pytest.approx(2.0)
    assert found.holds
    assert not audit(original, original, schema, KAnonymity(k=2, l=2.1)).holds
    assert not audit(original, original, schema, KAnonymity(k=2, p=3)).holds
    assert not audit(original, original, schema, KAnonymity(k=2, entropy_l=2.1)).holds


def test_diversity_of_the_rows_that_cover_a_record() -> None:
    original = pl.DataFrame({"age": [1, 2, 3, 4], "ill": ["a", "b", "a", "b"]})
    schema = Schema.infer(original, quasi=["age"], sensitive=["ill"])
    released = pl.DataFrame({"age": ["1..2", "2..3", "3..4", "*"], "ill": ["a", "a", "b", "b"]})
    found = audit(original, released, schema, Freeform(k=2, l=2))
    (ill,) = found.diversity_around
    # Rows with a, b cover 1; a, a, b cover 2; a, b, b cover 3; b, b cover 4
    assert ill.distinct.tolist() == [2, 2, 2, 1]
    assert ill.highest.tolist() == pytest.approx([1 / 2, 2 / 3, 2 / 3, 1])
    assert not found.holds
    assert "'ill' has only l = 1 instead of 2 among the rows that cover some record" in found.verdict
    assert found.as_dict()["diversity_around"][0]["p"] == 1
    better = released.with_columns(ill=pl.Series(["a", "b", "a", "b"]))
    held = audit(original, better, schema, Freeform(k=2, l=1.5, p=2))
    assert held.holds
    assert (
        "in the rows that cover a record, no sensitive value is more frequent than 1 in 1.5" in held.verdict
    )
    assert audit(original, better, schema, Freeform(k=2)).diversity_around[0].p == 2
    assert not audit(original, better.drop("ill"), schema, Freeform(k=2, l=1.5)).holds


def test_diversity_of_a_release_that_leaves_records_out() -> None:
    original = pl.DataFrame({"age": [1, 1, 9], "ill": ["a", "b", "a"]})
    schema = Schema.infer(original, quasi=["age"], sensitive=["ill"])
    assert audit(original, original[:2], schema, Freeform(k=2, l=2), may_leave_out=True).holds
    strangers = pl.DataFrame({"age": ["5", "5"], "ill": ["a", "b"]})
    assert not audit(original, strangers, schema, Freeform(k=2, l=2), may_leave_out=True).holds


def test_diversity_cannot_be_certified_without_the_column() -> None:
    original = pl.DataFrame({"age": [1, 1], "ill": ["a", "b"]})
    schema = Schema.infer(original, quasi=["age"], sensitive=["ill"])
    assert audit(original, original.drop("ill"), schema, KAnonymity(k=2)).holds
    assert not audit(original, original.drop("ill"), schema, KAnonymity(k=2, l=2)).holds


def test_a_missing_quasi_identifier_is_an_error_not_a_pass() -> None:
    original = pl.DataFrame({"age": [1, 1], "sex": ["f", "m"]})
    schema = Schema.infer(original, quasi=["age", "sex"])
    with pytest.raises(InputError, match="'sex'"):
        audit(original, original.drop("sex"), schema, KAnonymity(k=2))


def test_marks_and_empty_cells_are_one_sensitive_value() -> None:
    original = pl.DataFrame({"age": [1, 1], "ill": ["?", ""]})
    schema = Schema.infer(original, quasi=["age"], sensitive=["ill"], missing_marks=["?"])
    (ill,) = audit(original, original, schema).diversity
    assert ill.p == 1


def test_typed_dates_are_read_whatever_their_written_form() -> None:
    original = pl.DataFrame({"born": ["01.02.2020", "03.02.2020", "05.06.2021", "05.06.2021"]})
    column = Column("born", role="quasi", kind="date", date_format="%d.%m.%Y")
    release = anonymize(original.to_arrow(), Schema((column,)), KAnonymity(k=2))
    assert audit(original, release.table, Schema((column,)), KAnonymity(k=2)).holds


def test_an_interval_is_not_taken_for_a_value_of_that_name() -> None:
    original = pl.DataFrame({"size": ["1", "2", "1..2", "1"]})
    column = Column("size", role="quasi", kind="ordinal", domain=("1", "2", "1..2"))
    found = audit(original, pl.DataFrame({"size": ["1..2", "1..2", "1.\\.2", "1..2"]}), Schema((column,)))
    assert found.consistency.rows_of_record.tolist() == [3, 3, 1, 3]


def test_require_stops_a_pipeline() -> None:
    original = ages(1, 2)
    with pytest.raises(PromiseError, match="fewer than k = 2"):
        audit(original, original, schema_of(original), KAnonymity(k=2)).require()
    audit(original, pl.DataFrame({"age": ["*", "*"]}), schema_of(original), KAnonymity(k=2)).require()


def test_proximity_in_classes_and_around_records() -> None:
    original = pl.DataFrame({"age": [1, 1, 2, 2], "pay": [100, 110, 120, 500]})
    schema = Schema.infer(original, quasi=["age"], sensitive=["pay"])
    found = audit(original, original, schema, KAnonymity(k=2), epsilon=10, delta=0.5)
    (pay,) = found.proximity
    assert pay.risks.tolist() == [1.0, 0.0]
    assert pay.vulnerability == 0.5
    wider = original.with_columns(age=pl.Series(["1", "1..2", "1..2", "2"]))
    (around,) = audit(original, wider, schema, epsilon=10).proximity_around
    # rows with 100, 110 and 120 cover age 1; those with 110, 120 and 500 cover age 2
    assert sorted(around.risks.tolist()) == [0.5, 1.0]
    assert around.vulnerability is None
    assert audit(original, original, schema).proximity == ()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"delta": 0.5}, "need an epsilon"), ({"epsilon": -1}, "not a distance"), ({"epsilon": 1}, "numeric")],
)
def test_proximity_refuses_what_means_nothing(parameters: dict[str, float], words: str) -> None:
    original = pl.DataFrame({"age": [1, 1], "ill": ["a", "b"], "pay": [1, 2]})
    sensitive = ["pay"] if parameters.get("epsilon") == -1 else ["ill"]
    schema = Schema.infer(original, quasi=["age"], sensitive=sensitive)
    with pytest.raises(InputError, match=words):
        audit(original, original, schema, **parameters)


def test_a_population_tells_how_often_a_stranger_is_picked_right() -> None:
    original = pl.DataFrame({"age": [1, 1, 2, 2]})
    schema = Schema.infer(original, quasi=["age"])
    everybody = pl.DataFrame({"age": [1, 1, 1, 1, 2, 2, 2, 2, 3]})
    found = audit(original, original, schema, population=everybody)
    assert found.risks.population == 9
    assert found.risks.journalist.highest == pytest.approx(1 / 4)
    assert found.risks.prosecutor.highest == pytest.approx(1 / 2)


def test_the_least_chance_is_in_the_audit() -> None:
    table = pl.DataFrame({"age": [20, 21, 30]})
    schema = Schema.infer(table, quasi=["age"])
    released = pl.DataFrame({"age": ["20..21", "20..30", "20..30"]})
    found = audit(table, released, schema)
    assert found.chance is not None
    assert found.chance.least == Fraction(1, 2)
    assert found.as_dict()["chance"] == {"least": 0.5, "fraction": "1/2"}
    assert dict(found.facts())["least chance"].startswith("0.5: ")


def test_the_audit_says_if_the_least_chance_was_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.auditing.chance.MOST_EDGES", 2)
    table = pl.DataFrame({"age": [20, 21, 30]})
    schema = Schema.infer(table, quasi=["age"])
    released = pl.DataFrame({"age": ["20..21", "20..30", "20..30"]})
    found = audit(table, released, schema)
    assert found.chance is not None
    assert found.chance.least is None
    assert "more than 2 pairs" in found.as_dict()["chance"]["not_computed"]


def test_a_release_of_another_table_has_no_least_chance() -> None:
    table = pl.DataFrame({"age": [20, 21, 30]})
    schema = Schema.infer(table, quasi=["age"])
    assert audit(table, pl.DataFrame({"age": ["20..21"] * 3}), schema).chance is None
