"""Warnings about a release: one list, made in the library, that reaches everyone who decides."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.samples import hospital

QUASI = ["age", "sex", "zip", "admitted", "marital", "occupation"]


def schema_of(frame: pl.DataFrame, **more: Any) -> shoal.Schema:
    return shoal.Schema.infer(frame, **{"quasi": QUASI, "sensitive": ["diagnosis"], **more})


@pytest.fixture
def patients() -> pl.DataFrame:
    return hospital(200, seed=3).drop("days")


def test_python_warns_of_identifiers_that_are_released(patients: pl.DataFrame) -> None:
    with pytest.warns(shoal.ShoalWarning, match="Column 'name' could identify records") as told:
        release = shoal.anonymize(patients, schema_of(patients), shoal.Freeform(k=5, l=2))
    assert [str(each.message) for each in told] == list(release.warnings)
    assert all(Path(each.filename) == Path(__file__) for each in told)  # the line of the caller
    assert len(release.warnings) == 2  # patient and name
    assert release.certificate["warnings"] == list(release.warnings)
    assert release.publishable
    assert release.certificate["publishable"] is True


def test_warnings_can_be_turned_into_errors(patients: pl.DataFrame) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", shoal.ShoalWarning)
        with pytest.raises(shoal.ShoalWarning):
            shoal.anonymize(patients, schema_of(patients), shoal.KAnonymity(k=5, l=2))
        clean = shoal.anonymize(
            patients, schema_of(patients, drop=["patient", "name"]), shoal.KAnonymity(k=5, l=2)
        )
    assert clean.warnings == ()
    assert clean.report.status == "holds"


def test_a_column_is_warned_of_once(patients: pl.DataFrame) -> None:
    schema = schema_of(patients, quasi=["age", "sex"], drop=["patient"])
    release = shoal.anonymize(patients, schema, shoal.KAnonymity(k=5, l=2))
    named = [each.split("'")[1] for each in release.warnings if each.startswith("Column ")]
    assert sorted(named) == ["admitted", "marital", "name", "occupation", "zip"]


def test_blocks_warn_like_memory(patients: pl.DataFrame, tmp_path: Path) -> None:
    patients.write_csv(tmp_path / "patients.csv")
    frame = shoal.read_table(tmp_path / "patients.csv")
    schema = schema_of(frame, quasi=["age", "sex"])
    with pytest.warns(shoal.ShoalWarning) as told:
        release = shoal.anonymize_file(
            tmp_path / "patients.csv", schema, shoal.KAnonymity(k=5, l=2), tmp_path / "out", jobs=1
        )
    assert {str(each.message) for each in told} == set(release.warnings)
    named = {each.split("'")[1] for each in release.warnings if each.startswith("Column ")}
    assert named == {"patient", "name", "admitted", "marital", "occupation", "zip"}
    with pytest.raises(shoal.PromiseError, match="'name'"):
        shoal.anonymize_file(
            tmp_path / "patients.csv", schema, shoal.KAnonymity(k=5, l=2), tmp_path / "strict", strict=True
        )
    assert not (tmp_path / "strict").exists()


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (shoal.Freeform(k=5, l=2), {"seed": 1}, "seed"),
        (shoal.Concealment(k=3), {"randomized": False}, "not randomized"),
        (shoal.OneK(k=3), {}, "1k is for comparison"),
        (shoal.KOne(k=3), {}, "k1 is for comparison"),
    ],
)
def test_what_must_not_be_published_says_so_first(
    patients: pl.DataFrame, model: Any, options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    schema = schema_of(patients, sensitive=[], drop=["patient", "name", "diagnosis"])
    if isinstance(model, shoal.Freeform):
        schema = schema_of(patients, drop=["patient", "name"])
    release = shoal.anonymize(patients, schema, model, **options)
    assert not release.publishable
    assert release.certificate["publishable"] is False
    assert words in release.certificate["reasons_not_to_publish"][0]
    assert release.warnings[0].startswith("Do not publish this release.")
    assert words in release.warnings[0]
    page = release.report.html()
    head = page[page.index("<body>") :][:2000]
    assert "Do not publish" in head
    assert 'class="verdict broken"' in head
    assert "Audit passed" not in page
    assert "Do not publish" in release._repr_html_()
    release.save(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "certificate.json").read_text())["publishable"] is False


def test_tiles_state_the_strongest_attacker(patients: pl.DataFrame) -> None:
    schema = schema_of(patients, sensitive=[], drop=["patient", "name", "diagnosis"])
    release = shoal.anonymize(patients, schema, shoal.OneK(k=3))
    assert release.audit.concealment == 1
    assert release.report.tiles[2][0] == "100%"


def test_certain_sensitive_values_are_counted() -> None:
    frame = pl.DataFrame({"age": [20] * 10 + [60] * 10, "ill": ["flu"] * 10 + ["cold", "gout"] * 5})
    schema = shoal.Schema.infer(frame, quasi=["age"], sensitive=["ill"])
    release = shoal.anonymize(frame, schema, shoal.KAnonymity(k=10, l=1))
    assert release.audit.nearly_certain() == {"ill": 10}
    assert any("For 10 of 20 records, an attacker is certain of 'ill'" in each for each in release.warnings)


def test_the_command_line_shows_them_and_strict_refuses(patients: pl.DataFrame, tmp_path: Path) -> None:
    table = tmp_path / "patients.csv"
    patients.write_csv(table)
    call = ["anonymize", str(table), "--quasi", "age,sex", "--k", "5", "--model", "1k"]
    done = subprocess.run(
        [sys.executable, "-m", "shoal", *call, "-o", str(tmp_path / "out")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "Warning: Do not publish this release. The model 1k is for comparison" in done.stderr
    assert "Warning: Column 'name' could identify records" in done.stderr
    assert "ShoalWarning" not in done.stderr
    assert "do not publish" in done.stdout
    refused = CliRunner().invoke(app, [*call, "--strict", "-o", str(tmp_path / "strict")])
    assert isinstance(refused.exception, shoal.PromiseError)
    assert refused.exception.reason == "caution"
    assert not (tmp_path / "strict").exists()


def test_an_audit_warns_of_names_that_repeat() -> None:
    frame = pl.DataFrame({"age": [30] * 20, "surname": ["Meier", "Huber"] * 10, "mail": ["a@b.de"] * 20})
    found = shoal.audit(frame, frame, shoal.Schema.infer(frame, quasi=["age"]), shoal.KAnonymity(k=5))
    assert found.status == "caution"
    assert any("'surname' could identify records: its name suggests" in each for each in found.warnings)
    assert any("its values look like e-mail addresses" in each for each in found.warnings)
