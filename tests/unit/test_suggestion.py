"""Columns are given sensible roles and kinds, for reasons that never quote the table."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from shoal.errors import InputError, Reason
from shoal.files.reading import read_table
from shoal.samples import hospital
from shoal.schema import Kind, Role, Schema
from shoal.schema.column_names import FEW
from shoal.schema.suggesting import Suggestion, suggest, warnings

I, Q, S, O = Role.IDENTIFIER, Role.QUASI, Role.SENSITIVE, Role.OTHER  # noqa: E741
NUMERIC, CATEGORICAL, DATE = Kind.NUMERIC, Kind.CATEGORICAL, Kind.DATE
RECORDS = 200


def by_name(frame: Any) -> dict[str, Suggestion]:
    found = suggest(frame)
    assert [each.name for each in found] == list(nw.from_native(frame, eager_only=True).columns)
    return {each.name: each for each in found}


def of_values(values: Any, name: str = "x", **others: Any) -> Suggestion:
    """Return the suggestion for one column, which is not the table's last."""
    return by_name(pl.DataFrame({name: values, **others}).with_columns(pl.lit(1).alias("end")))[name]


def test_hospital() -> None:
    found = by_name(hospital())
    assert {name: (each.role, each.kind) for name, each in found.items()} == {
        "patient": (I, CATEGORICAL),
        "name": (I, CATEGORICAL),
        "age": (Q, NUMERIC),
        "sex": (Q, CATEGORICAL),
        "zip": (Q, CATEGORICAL),
        "admitted": (Q, DATE),
        "marital": (Q, CATEGORICAL),
        "occupation": (Q, CATEGORICAL),
        "diagnosis": (S, CATEGORICAL),
        "days": (O, NUMERIC),
    }
    assert found["patient"].unique_share == 1.0
    assert found["marital"].missing == hospital()["marital"].null_count() > 0
    assert found["sex"].distinct == 3


def test_adult(shared_data: Path) -> None:
    found = by_name(read_table(shared_data / "adult_train.csv.gz"))
    roles = dict.fromkeys(found, Q)
    roles |= dict.fromkeys(["capital-gain", "capital-loss", "income"], S)
    roles |= {"hours-per-week": O, "fnlwgt": Role.WEIGHT}
    assert {name: each.role for name, each in found.items()} == roles
    assert "looks identifying: together with 'age'" in found["fnlwgt"].reason
    assert "identifying" not in found["hours-per-week"].reason
    numbers = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}
    assert {name for name, each in found.items() if each.kind is NUMERIC} == numbers


def test_contraceptive_method_choice(shared_data: Path) -> None:
    found = by_name(read_table(shared_data / "cmc.csv"))
    assert found["contraceptive_method"].role is S
    assert {name for name, each in found.items() if each.role is O} == {
        "standard_of_living",
        "media_exposure",
    }
    assert {name for name, each in found.items() if each.kind is CATEGORICAL} == {
        "wife_religion",
        "wife_working",
        "husband_occupation",
        "contraceptive_method",
    }


def test_american_community_survey(shared_data: Path) -> None:
    found = by_name(read_table(shared_data / "nist_acs_national2019.csv.gz"))
    sensitive = {"PINCP", "PINCP_DECILE", "POVPIP", "DVET", "DREM", "DPHY", "DEYE", "DEAR"}
    other = {"DENSITY", "WGTP"}
    assert {name for name, each in found.items() if each.role is S} == sensitive
    assert {name for name, each in found.items() if each.role is O} == other
    assert found["PWGTP"].role is Role.WEIGHT
    others = sensitive | other | {"PWGTP"}
    assert {name for name, each in found.items() if each.role is Q} == set(found) - others
    assert found["AGEP"].kind is NUMERIC
    assert {found[name].kind for name in ("PUMA", "SEX", "HISP", "RAC1P", "INDP")} == {CATEGORICAL}
    assert "it gives away 'PUMA'" in found["DENSITY"].reason
    assert "missing mark" in found["PINCP"].reason
    assert "missing mark" not in found["MSP"].reason


def test_nursery(shared_data: Path) -> None:
    found = by_name(read_table(shared_data / "nursery.csv.gz"))
    assert [name for name, each in found.items() if each.role is S] == ["finance", "health", "class"]


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("Name", I),
        ("lastName", I),
        ("PatientID", I),
        ("patient-id", I),
        ("customer_ids", I),
        ("eMail", I),
        ("E-Mail", I),
        ("Straße", I),
        ("Prénom", I),
        ("nombre", I),
        ("IPAddress", I),
        ("date_of_birth", Q),
        ("DOB", Q),
        ("YearOfBirth", Q),
        ("patient_age", Q),
        ("age_at_diagnosis", Q),
        ("ZIPcode", Q),
        ("código postal", Q),
        ("Geschlecht", Q),
        ("Nationalität", Q),
        ("edad", Q),
        ("weight_kg", Q),
        ("familySize", Q),
        ("city_name", Q),
        ("state_id", Q),
        ("country2", Q),
        ("drug_name", S),
        ("diagnosis_at_admission", S),
        ("admission_diagnosis", S),
        ("HIV", S),
        ("ICD10", S),
        ("test_result", S),
        ("annual.salary", S),
        ("Einkommen", S),
        ("sample_weight", O),
        ("class", O),
        ("page", O),
        ("message", O),
        ("unisex", O),
        ("idle", O),
        ("", O),
        ("123", O),
        ("возраст", O),
    ],
)
def test_names_are_read_by_whole_words(name: str, role: Role) -> None:
    assert of_values(["a", "b"] * (RECORDS // 2), name).role is role


def test_a_class_label_stands_at_the_end() -> None:
    frame = pl.DataFrame({"class": ["a", "b"] * 50, "label": [1, 2] * 50})
    assert [(each.role, each.kind) for each in suggest(frame)] == [(O, CATEGORICAL), (S, CATEGORICAL)]


@pytest.mark.parametrize(
    ("form", "role"),
    [
        ("p{}@example.org", I),
        ("https://example.org/{}", I),
        ("10.0.0.{}", I),
        ("123-45-{:04}", I),
        ("{:02}.05.1987", Q),
        ("3/{}/87", Q),
        ("group {}", O),
    ],
)
def test_forms_of_values_tell_a_role(form: str, role: Role) -> None:
    found = of_values([form.format(1 + number % 20) for number in range(RECORDS)], color=["red"] * RECORDS)
    assert found.role is role
    assert found.kind is (DATE if found.date_format == "%d.%m.%Y" else CATEGORICAL)
    assert found.unique_share == 0.0


def test_dates_are_known_to_others_even_where_their_name_suggests_something_else() -> None:
    days = [date(2024, 1, 1 + number % 28) for number in range(RECORDS)]
    moments = [datetime(2024, 1, 1 + number % 28, 12) for number in range(RECORDS)]
    texts = [str(day) for day in days]
    for name in ("when", "diagnosis_date"):
        for values in (days, moments, texts):
            found = of_values(values, name)
            assert (found.role, found.kind) == (Q, DATE)
            assert "looks identifying" in found.reason


def test_nearly_unique_columns_are_never_passed_over() -> None:
    rng = np.random.default_rng(3)
    texts = [f"{number:x} words" for number in rng.permutation(RECORDS)]
    assert of_values(texts).role is I
    assert of_values(rng.permutation(RECORDS)).role is I
    assert of_values([str(number) for number in rng.permutation(RECORDS)]).role is I
    for name, role in (("x", O), ("income", S), ("fnlwgt", Role.WEIGHT)):
        found = of_values(rng.random(RECORDS), name)
        assert (found.role, found.kind, found.unique_share) == (role, NUMERIC, 1.0)
        assert "looks identifying: 100% of the records" in found.reason


def test_columns_that_identify_together_or_give_each_other_away() -> None:
    numbers = np.arange(RECORDS)
    together = of_values(numbers // 10, age=numbers % 10 + 20)
    assert together.role is O
    assert "together with 'age' it is unique in 100% of the records" in together.reason
    district = of_values(numbers % 5 + 0.5, county=[f"county {number}" for number in numbers % 5])
    assert "it gives away 'county'" in district.reason
    unrelated = of_values(numbers // 100, age=numbers % 10 + 20)
    assert "identifying" not in unrelated.reason


def test_numbers_that_are_codes_are_categorical() -> None:
    for name, values, kind in (
        ("zip", [2139 + number % 90 for number in range(RECORDS)], CATEGORICAL),
        ("sex", [1, 2] * 100, CATEGORICAL),
        ("race", ["1", "2"] * 100, CATEGORICAL),
        ("state", list(range(FEW)) * 10, CATEGORICAL),
        ("state", list(range(FEW + 1)) * 10, NUMERIC),
        ("age", [30, 40] * 100, NUMERIC),
        ("marriage_year", [2001, 2002] * 100, NUMERIC),
        ("year_married", [2001, 2002] * 100, NUMERIC),
        ("birth_year", ["1987", "1988"] * 100, NUMERIC),
    ):
        found = of_values(values, name)
        assert found.kind is kind, name
        assert ("codes, not quantities" in found.reason) == (kind is CATEGORICAL)
    assert of_values(["02139", "02141"] * 100, "zip").kind is CATEGORICAL


def test_lists_are_set_valued() -> None:
    found = of_values([["a"], ["a", "b"], None, ["a"]], "items")
    assert (found.kind, found.distinct, found.missing, found.unique_share) == (Kind.ITEMS, 2, 1, 0.5)


def test_missing_is_counted_and_is_a_value_that_others_may_share() -> None:
    found = of_values(["a", None, "", "b", "b"])
    assert (found.distinct, found.missing, found.unique_share) == (2, 2, 0.2)
    found = of_values([1.0, float("nan"), 2.0, 2.0])
    assert (found.distinct, found.missing, found.unique_share) == (2, 1, 0.5)


def test_frames_of_all_flavours_are_judged_alike() -> None:
    frame = hospital(300)
    expected = suggest(frame)
    assert suggest(pa.table(frame.to_dict(as_series=False))) == expected
    assert suggest(nw.from_native(frame)) == expected
    pandas = pytest.importorskip("pandas").DataFrame(frame.to_dict(as_series=False))
    assert suggest(pandas) == expected


def test_columns_of_any_type_are_judged() -> None:
    mixed = pytest.importorskip("pandas").DataFrame({"x": [1, "a", None], "sex": [True, False, True]})
    assert [(each.role, each.missing) for each in suggest(mixed)] == [(I, 1), (Q, 0)]
    odd = pl.DataFrame(
        {
            "none": [None, None],
            "flag": [True, False],
            "bytes": [b"a", b"b"],
            "struct": [{"a": 1}, {"a": 2}],
            "object": pl.Series([object(), object()], dtype=pl.Object),
            "enum": pl.Series(["a", "a"], dtype=pl.Categorical),
        }
    )
    assert len(suggest(odd)) == odd.width
    assert [each.unique_share for each in suggest(odd.clear())] == [0.0] * odd.width
    assert suggest(pl.DataFrame()) == ()


def test_no_value_of_the_table_is_quoted() -> None:
    frame = pl.DataFrame(
        {
            "x": [f"secret{number}" for number in range(50)],
            "y": ["7777"] * 20 + ["8888"] * 29 + ["secret"],
            "contact": [f"secret{number}@example.org" for number in range(50)],
            "when": ["31.12.2031"] * 50,
            "age": [7777 + number % 7 for number in range(50)],
            "z": [7777 + number // 7 for number in range(50)],
        }
    )
    told = [each.reason for each in suggest(frame)] + warnings(frame, Schema.infer(frame, quasi=["age"]))
    assert not [line for line in told for value in ("secret", "777", "888", "2031", "@") if value in line]


def test_warnings_name_what_would_be_released_by_mistake() -> None:
    frame = hospital()
    schema = Schema.infer(frame, quasi=["age", "sex"], sensitive=["diagnosis"], drop=["name"])
    lines = warnings(frame, schema)
    assert [line.split("'")[1] for line in lines] == ["patient", "zip", "admitted", "marital", "occupation"]
    assert "make it an identifier," in lines[0]
    assert "make it a quasi-identifier," in lines[1]
    partly = Schema(tuple(column for column in schema if column.name != "zip"))
    assert warnings(frame, partly) == lines
    quasi = ["age", "sex", "zip", "admitted", "marital", "occupation"]
    kept = Schema.infer(frame, quasi=quasi, sensitive=["diagnosis"], drop=["name", "patient"])
    assert warnings(frame, kept) == []


def test_warnings_judge_values_beside_the_declared_quasi_identifiers() -> None:
    numbers = np.arange(RECORDS)
    frame = pl.DataFrame({"a": numbers % 10 + 20, "b": numbers // 10, "c": np.sqrt(numbers)})
    lines = warnings(frame, Schema.infer(frame, quasi=["a"]))
    assert "together with 'a' it is unique in 100% of the records" in lines[0]
    assert "100% of the records have a unique value" in lines[1]
    assert all("an identifier" in line and "a quasi-identifier" in line for line in lines)


def test_warnings_refuse_a_schema_of_another_table() -> None:
    with pytest.raises(InputError) as caught:
        warnings(pl.DataFrame({"a": [1]}), Schema.infer(pl.DataFrame({"b": [1]}), quasi=["b"]))
    assert caught.value.reason is Reason.UNKNOWN_COLUMN


def test_a_number_of_persons_that_repeats_says_whose_record_each_is() -> None:
    numbers = [f"p{number // 4}" for number in range(RECORDS)]
    found = of_values(numbers, "patient_id", color=["red"] * RECORDS)
    assert found.role is Role.PERSON
    assert f"{RECORDS // 4} persons with 4 to 4 records, 4 in the median" in found.reason
    # Where another identifier is unique, each record is a person's only one.
    unique = [f"m{number}@example.org" for number in range(RECORDS)]
    assert of_values(numbers, "patient_id", mail=unique).role is I
    # Few values, or a way to reach a person, are no numbers of persons.
    assert of_values(["a", "b"] * (RECORDS // 2), "patient_id").role is I
    assert of_values([f"p{number // 4}@example.org" for number in range(RECORDS)], "mail").role is I
