"""`shoal audit original.csv out/`: the certificate says what to check, and is contradicted where wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.kinds.hierarchy_rules import Prefixes
from shoal.samples import hospital

FRAME = hospital(150, seed=5)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    FRAME.write_csv(tmp_path / "patients.csv")
    frame = shoal.read_table(tmp_path / "patients.csv")
    schema = shoal.Schema.infer(
        frame,
        quasi=["age", "sex", "zip", "admitted", "marital", "occupation"],
        sensitive=["diagnosis"],
        drop=["patient", "name", "days"],
        hierarchies={"zip": Prefixes((3, 2))},
        domains={"age": (0, 120)},
        weights={"age": 2.0},
    )
    shoal.anonymize(frame, schema, shoal.KAnonymity(k=4, l=2)).save(tmp_path / "out")
    return tmp_path


def audited(folder: Path, *more: str) -> tuple[int, dict[str, Any], str]:
    done = CliRunner().invoke(
        app, ["audit", str(folder / "patients.csv"), str(folder / "out"), "--json", *more]
    )
    return (
        done.exit_code,
        json.loads(done.stdout) if done.stdout else {"error": str(done.exception)},
        done.stderr,
    )


def test_nothing_has_to_be_repeated(folder: Path) -> None:
    code, found, _ = audited(folder)
    assert code == 0
    assert found["promise"] == {"model": "k-anonymity", "k": 4, "l": 2.0}
    assert found["holds"]
    assert found["disagreements"] == []
    shown = CliRunner().invoke(app, ["audit", str(folder / "patients.csv"), str(folder / "out")])
    assert "says the same" in " ".join(shown.output.split())


def test_a_changed_file_is_noticed_and_fails(folder: Path) -> None:
    file = folder / "out" / "release.csv"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:-1], ""]))
    code, found, told = audited(folder)
    assert code == 1  # a record has no row
    assert any("digest differs" in each for each in found["disagreements"])
    assert any("released rows: 150 by the certificate, 149" in each for each in found["disagreements"])
    assert "Warning: release.csv is not the file" in told


def test_a_certificate_that_boasts_is_contradicted(folder: Path) -> None:
    file = folder / "out" / "certificate.json"
    said = json.loads(file.read_text())
    said["model"]["k"] = 60
    said["audit"]["k"] = 60
    file.write_text(json.dumps(said))
    code, found, _ = audited(folder)
    assert code == 1
    assert found["promise"]["k"] == 60
    assert any("smallest class: 60 by the certificate" in each for each in found["disagreements"])


def test_the_call_takes_precedence_and_differences_are_said(folder: Path) -> None:
    code, found, told = audited(folder, "--quasi", "age,sex", "--sensitive", "diagnosis", "--k", "2")
    assert found["promise"] == {"model": "freeform", "k": 2}
    assert any(
        "column 'zip' has the role quasi by the certificate, other by this call" in d
        for d in found["disagreements"]
    )
    assert any("promises something else" in each for each in found["disagreements"])
    assert code == 0  # what was asked for holds
    assert "Warning:" in told


def test_a_folder_without_a_certificate_is_explained(folder: Path) -> None:
    (folder / "out" / "codebook.json").unlink()
    code, found, _ = audited(folder)
    assert code != 0
    assert "codebook.json" in found["error"]


def test_blocks_agree_with_their_certificate(tmp_path: Path) -> None:
    FRAME.write_csv(tmp_path / "patients.csv")
    frame = shoal.read_table(tmp_path / "patients.csv")
    schema = shoal.Schema.infer(
        frame, quasi=["age", "sex"], sensitive=["diagnosis"], drop=["patient", "name"]
    )
    shoal.anonymize_file(
        tmp_path / "patients.csv", schema, shoal.KAnonymity(k=2), tmp_path / "out", block_rows=60, jobs=1
    )
    code, found, _ = audited(tmp_path)
    assert code == 0
    assert found["disagreements"] == []


def test_marks_of_other_tools_for_suppressed_cells(tmp_path: Path) -> None:
    original = pl.DataFrame({"age": ["1", "2", "3", "4"], "sex": ["m", "m", "f", "f"]})
    released = pl.DataFrame({"age": ["NA"] * 4, "sex": ["m", "m", "f", "f"]})
    schema = shoal.Schema.infer(original, quasi=["age", "sex"])
    with pytest.raises(shoal.InputError, match="'NA'"):
        shoal.audit(original, released, schema, shoal.KAnonymity(k=2))
    assert shoal.audit(original, released, schema, shoal.KAnonymity(k=2), suppressed_marks=["NA"]).holds
    original.write_csv(tmp_path / "a.csv")
    released.write_csv(tmp_path / "b.csv")
    call = ["audit", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--quasi", "age,sex", "--k", "2"]
    assert CliRunner().invoke(app, call).exit_code != 0
    assert CliRunner().invoke(app, [*call, "--suppressed-mark", "NA"]).exit_code == 0
