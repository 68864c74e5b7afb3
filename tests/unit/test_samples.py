"""The made-up hospital is plausible and repeatable."""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from shoal.errors import InputError, Reason
from shoal.samples import MISSING, hospital

SCHEMA = {
    "patient": pl.String,
    "name": pl.String,
    "age": pl.Int64,
    "sex": pl.String,
    "zip": pl.String,
    "admitted": pl.Date,
    "marital": pl.String,
    "occupation": pl.String,
    "diagnosis": pl.String,
    "days": pl.Int64,
}


@pytest.fixture(scope="module")
def small() -> pl.DataFrame:
    return hospital()


@pytest.fixture(scope="module")
def large() -> pl.DataFrame:
    return hospital(100_000, seed=7)


def test_hospital_is_repeatable_and_depends_on_the_seed(small: pl.DataFrame) -> None:
    assert_frame_equal(small, hospital(5_000, seed=2026))
    assert not small.equals(hospital(5_000, seed=2027))


@pytest.mark.parametrize("patients", [0, 1, 17])
def test_hospital_has_the_asked_size_and_types(patients: int) -> None:
    frame = hospital(patients)
    assert frame.height == patients
    assert dict(frame.schema) == SCHEMA


def test_hospital_refuses_a_negative_size() -> None:
    with pytest.raises(InputError, match="patients is -1") as caught:
        hospital(-1)
    assert caught.value.reason is Reason.PARAMETER


def test_hospital_ranges(large: pl.DataFrame) -> None:
    assert large["age"].is_between(0, 104).all()
    assert large["days"].min() == 0
    assert large["admitted"].is_between(date(2025, 1, 1), date(2025, 12, 31)).all()
    assert large["admitted"].n_unique() == 365
    assert large["zip"].str.contains(r"^\d{5}$").all()
    assert 30 <= large["zip"].n_unique() <= 50
    assert "02139" in large["zip"]
    assert large["name"].str.contains(r"^[A-Z][a-z]+ [A-Z][a-z]+$").all()
    assert set(large["sex"]) == {"female", "male", "other"}
    assert set(large["marital"].drop_nulls()) == {"single", "married", "widowed", "divorced", "separated"}
    assert {"student", "retired", "child", "unemployed"} <= set(large["occupation"])


def test_patient_numbers_are_unique_and_shuffled(small: pl.DataFrame) -> None:
    assert small["patient"].is_unique().all()
    assert small["patient"].str.contains(r"^P-\d{6}$").all()
    assert not small["patient"].is_sorted()


def test_no_impossible_combination(large: pl.DataFrame) -> None:
    age, sex, diagnosis = pl.col("age"), pl.col("sex"), pl.col("diagnosis")
    impossible = {
        "birth": diagnosis.is_in(["Childbirth", "Miscarriage"])
        & ((sex != "female") | ~age.is_between(15, 50)),
        "prostate": (diagnosis == "Prostate cancer") & ((sex != "male") | (age < 40)),
        "newborn": diagnosis.is_in(["Preterm birth", "Neonatal jaundice", "Neonatal infection"]) & (age > 0),
        "hip": (diagnosis == "Hip fracture") & (age < 45),
        "appendix": (diagnosis == "Appendicitis") & (age >= 75),
        "married child": (pl.col("marital") != "single") & (age < 18),
        "working child": ~pl.col("occupation").is_in(["child", "student"]) & (age < 16),
        "old child": (pl.col("occupation") == "child") & (age >= 16),
        "young retired": (pl.col("occupation") == "retired") & (age < 35),
    }
    found = large.select(condition.sum().alias(name) for name, condition in impossible.items())
    assert found.row(0, named=True) == dict.fromkeys(impossible, 0)


def test_frequencies_are_plausible(small: pl.DataFrame) -> None:
    diagnoses = small["diagnosis"].value_counts(sort=True, normalize=True)["proportion"]
    assert len(diagnoses) >= 30
    assert diagnoses[0] < 0.15
    assert diagnoses[0] > 10 * diagnoses[-1]
    age = pl.col("age")
    shares = small.select(
        mean=age.mean(),
        newborn=(age == 0).mean(),
        school=age.is_between(5, 14).mean(),
        old=age.is_between(60, 85).mean(),
        other=(pl.col("sex") == "other").mean(),
    ).row(0, named=True)
    assert 45 < shares["mean"] < 60
    assert shares["school"] < shares["newborn"] < shares["old"]
    assert 0.3 < shares["old"] < 0.6
    assert 0 < shares["other"] < 0.02
    areas = small["zip"].str.slice(0, 3).value_counts(sort=True)["count"]
    assert 4 <= len(areas) <= 8
    assert areas[0] > 5 * areas[-1]


def test_admissions_follow_week_and_season(large: pl.DataFrame) -> None:
    weekdays = large["admitted"].dt.weekday().value_counts().sort("admitted")["count"]
    assert weekdays[0] > 1.3 * weekdays[5]
    january, july = ((large["admitted"].dt.month() == month).sum() for month in (1, 7))
    assert january > 1.1 * july


def test_stays_are_skewed_and_depend_on_the_diagnosis(large: pl.DataFrame) -> None:
    means = dict(large.group_by("diagnosis").agg(pl.col("days").mean()).iter_rows())
    assert means["Concussion"] < means["Pneumonia"] < means["Depression"]
    skew = large["days"].skew()
    assert skew is not None
    assert skew > 1


def test_missing_shares(large: pl.DataFrame) -> None:
    for name in large.columns:
        assert large[name].null_count() / large.height == pytest.approx(MISSING.get(name, 0), abs=0.002)
