"""Models that are trained on a release: how well they predict original records, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calling import called

import shoal
from shoal.base import distribution
from shoal.samples import hospital


@pytest.fixture(scope="module")
def patients() -> pl.DataFrame:
    frame = pl.DataFrame(hospital(400, seed=4)).drop("patient", "name", "zip")
    # The outcome follows from age and sex, so that there is something to learn.
    old = (pl.col("age") > 50) | (pl.col("sex") == "male")
    return frame.with_columns(outcome=pl.when(old).then(pl.lit("late")).otherwise(pl.lit("early")))


@pytest.fixture(scope="module")
def schema(patients: pl.DataFrame) -> shoal.Schema:
    return shoal.Schema.infer(patients, quasi=["age", "sex", "occupation"], sensitive=["outcome"])


def scores(release: shoal.Release[Any]) -> dict[str, tuple[float, float]]:
    return {
        each["learner"]: (each["original"], each["release"])
        for each in release.certificate["learned"]["learners"]
    }


def test_classes_are_learned_from_a_release(patients: pl.DataFrame, schema: shoal.Schema) -> None:
    pytest.importorskip("sklearn")
    release = shoal.anonymize(patients, schema, shoal.Freeform(k=4), predict="outcome", seed=1)
    found = release.certificate["learned"]
    assert (found["target"], found["score"]) == ("outcome", "AUC")
    assert (found["trained"], found["tested"]) == (300, 100)
    for original, read in scores(release).values():
        assert original > 0.95
        assert 0.85 < read <= 1
    assert "What a model would learn" in release.report.html()


def test_numbers_are_learned_from_a_release(patients: pl.DataFrame, schema: shoal.Schema) -> None:
    pytest.importorskip("sklearn")
    release = shoal.anonymize(patients, schema, shoal.KAnonymity(k=4), predict="age", seed=1)
    assert release.certificate["learned"]["score"] == "R2"
    for original, read in scores(release).values():
        assert original > 0.1
        assert read < original + 0.1


def test_a_release_that_says_nothing_teaches_nothing(patients: pl.DataFrame) -> None:
    """All rows are identical, so that nothing is left to predict the outcome from."""
    pytest.importorskip("sklearn")
    few = patients.select("age", "sex", "occupation", "outcome")
    described = shoal.Schema.infer(few, quasi=["age", "sex", "occupation"], sensitive=["outcome"])
    release = shoal.anonymize(few, described, shoal.KAnonymity(k=400), predict="outcome", seed=1)
    assert all(read < 0.75 < original for original, read in scores(release).values())


def test_the_command_line_takes_the_column(patients: pl.DataFrame, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    patients.write_csv(tmp_path / "patients.csv")
    words = ["anonymize", str(tmp_path / "patients.csv"), "--quasi", "age,sex", "--sensitive", "outcome"]
    words += ["--k", "3", "--l", "1", "--predict", "outcome", "-o", str(tmp_path / "out"), "--json"]
    done = called(tmp_path, *words)
    assert json.loads(done.stdout)["learned"]["target"] == "outcome"


def test_what_cannot_be_learned_is_said_before_the_release_is_made(
    patients: pl.DataFrame, schema: shoal.Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(shoal.InputError, match="outcom"):
        shoal.anonymize(patients, schema, shoal.Freeform(k=4), predict="outcom")
    monkeypatch.setattr(distribution, "find_spec", lambda _: None)
    with pytest.raises(shoal.InputError, match=r"shoal-privacy\[learning\]"):
        shoal.anonymize(patients, schema, shoal.Freeform(k=4), predict="outcome")
    monkeypatch.setattr(distribution, "find_spec", lambda name: name)
    with pytest.raises(shoal.InputError, match="two different values"):
        shoal.anonymize(
            patients.with_columns(outcome=pl.lit("same")), schema, shoal.Freeform(k=4), predict="outcome"
        )
