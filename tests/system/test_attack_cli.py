"""The command line: releases with a control group, and attacks on releases of any tool."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from calling import called

import shoal
from shoal.samples import hospital

COLUMNS = ["--quasi", "age,sex,zip", "--sensitive", "diagnosis"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table and a release that has a control group."""
    path = tmp_path_factory.mktemp("attack")
    hospital(600).select("age", "sex", "zip", "diagnosis").write_csv(path / "patients.csv")
    called(
        path,
        "anonymize",
        "patients.csv",
        *COLUMNS,
        "--k",
        "5",
        "--hold-out",
        "10%",
        "--keep-key",
        "-o",
        "out",
    )
    return path


def test_a_release_with_a_control_group_is_attacked(folder: Path) -> None:
    certificate = json.loads((folder / "out" / "certificate.json").read_text())
    assert certificate["held_out"] == 60
    assert certificate["rows"] == 540
    found = certificate["attacks"]
    assert found["control"] == 60
    assert [each["name"] for each in found["results"]] == [
        *("singling-out", "singling-out-narrowed", "linkability", "inference")
    ]
    assert found["results"][0]["members"]["successes"] == 0
    assert "Success rates of attacks" in (folder / "out" / "report.html").read_text()


def test_attacks_take_the_control_group_from_the_key_or_a_file(folder: Path) -> None:
    by_key = called(folder, "attack", "patients.csv", "out", "--key", "out/key.csv", "--seed", "3", "--json")
    key = pl.read_csv(folder / "out" / "key.csv")["original_row"] - 1
    patients = pl.read_csv(folder / "patients.csv", infer_schema=False).with_row_index()
    inside = patients["index"].is_in(key.implode())
    for name, which in (("members", inside), ("control", ~inside)):
        patients.filter(which).drop("index").write_csv(folder / f"{name}.csv")
    by_file = called(
        folder,
        *("attack", "members.csv", "out/release.csv", *COLUMNS, "--control", "control.csv"),
        *("--seed", "3", "--json"),
    )
    assert json.loads(by_key.stdout) == json.loads(by_file.stdout)


def test_attacks_are_shown_as_a_table_and_warn_without_a_control_group(folder: Path) -> None:
    done = called(folder, "attack", "patients.csv", "patients.csv", *COLUMNS, "--halves", "age:sex,zip")
    assert "singling out, narrowed cells" in done.stdout
    assert "knows 'age' of a record" in done.stdout
    assert "no control group" in done.stderr
    assert called(folder, "attack", "patients.csv", "out", "-q", "--targets", "20").stdout == ""


def test_a_release_with_a_control_group_is_audited_against_its_own_records(folder: Path) -> None:
    done = called(folder, "audit", "patients.csv", "out", "--key", "out/key.csv")
    assert "says the same" in done.stdout
    wrong = called(folder, "audit", "patients.csv", "out", code=2)
    assert "60 records were held out" in wrong.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["anonymize", "patients.csv", *COLUMNS, "--hold-out", "much", "-o", "x"], "must be a share"),
        (["anonymize", "patients.csv", *COLUMNS, "--hold-out", "80%", "-o", "x"], "at most 0.5"),
        (
            ["anonymize", "patients.csv", *COLUMNS, "--hold-out", "1%", "--k", "5", "-o", "x"],
            "needs 20 or more",
        ),
        (
            ["anonymize", "patients.csv", *COLUMNS, "--hold-out", "5%", "--engine", "blocks", "-o", "x"],
            "--hold-out",
        ),
        (["attack", "patients.csv", "out", "--key", "out/key.csv", "--control", "patients.csv"], "together"),
        (["attack", "patients.csv", "patients.csv", *COLUMNS, "--halves", "age"], "two lists"),
    ],
)
def test_wrong_calls_are_explained(folder: Path, words: list[str], said: str) -> None:
    assert said in called(folder, *words, code=2).stderr
    assert not (folder / "x").exists()


def test_a_key_of_every_record_leaves_no_control_group(folder: Path) -> None:
    key = pl.DataFrame({"released_row": range(1, 601), "original_row": range(1, 601)})
    key.write_csv(folder / "all.csv")
    done = called(folder, "attack", "patients.csv", "out", "--key", "all.csv", code=2)
    assert "names every record" in done.stderr
    short = folder / "members.csv"
    hospital(50).select("age", "sex", "zip", "diagnosis").write_csv(short)
    done = called(folder, "attack", "members.csv", "out", "--key", "all.csv", code=2)
    assert "does not have" in done.stderr


def test_held_out_persons_have_no_record_in_the_release() -> None:
    visits = hospital(400).select("age", "sex", "diagnosis").with_columns(who=pl.int_range(400) // 2)
    schema = shoal.Schema.infer(visits, quasi=["age", "sex"], sensitive=["diagnosis"], person="who")
    release = shoal.anonymize(visits, schema, shoal.Freeform(k=3), hold_out=0.2, seed=1)
    inside = set(visits["who"].gather(release.key).to_list())
    assert len(release.key) == 320
    assert len(inside) == 160
    assert release.certificate["held_out"] == 80
    assert release.certificate["attacks"]["results"][0]["members"]["trials"] == 160
    again = shoal.anonymize(visits, schema, shoal.Freeform(k=3), hold_out=0.2, seed=1)
    assert again.certificate["attacks"] == release.certificate["attacks"]


def test_records_of_the_release_are_those_that_were_not_held_out() -> None:
    patients = hospital(300).select("age", "sex", "diagnosis").to_pandas()
    schema = shoal.Schema.infer(patients, quasi=["age", "sex"], sensitive=["diagnosis"])
    release = shoal.anonymize(patients, schema, shoal.KAnonymity(k=3), hold_out=0.1, seed=2)
    kept = patients.iloc[sorted(release.key)]
    assert len(set(release.key)) == 270
    assert shoal.audit(kept, release.table, schema, shoal.KAnonymity(k=3)).holds
    assert "attacks" in release.report.as_dict()["certificate"]


def test_records_left_out_because_of_limits_are_neither_attacked_nor_in_the_control_group() -> None:
    patients = hospital(500).select("age", "sex", "diagnosis")
    schema = shoal.Schema.infer(patients, quasi=["age", "sex"], sensitive=["diagnosis"])
    schema = schema.changed("age", widest=3)
    release = shoal.anonymize(patients, schema, shoal.KAnonymity(k=8), hold_out=0.1, leave_out=0.5, seed=3)
    found = release.certificate["attacks"]
    assert release.certificate["held_out"] == found["control"] == 50
    assert found["records"] == found["rows"] == len(release.key) < 450
    assert found["notes"] == []
    assert "left out beyond limits of columns" in release.report.evidence()


def test_releases_of_blocks_and_spark_are_attacked(folder: Path) -> None:
    called(
        folder,
        *("anonymize", "patients.csv", *COLUMNS, "--k", "3", "--format", "parquet", "-o", "spark"),
        "--quiet",
    )
    whole = folder / "spark" / "release.parquet"
    table = pl.read_parquet(whole)
    by_file = called(folder, "attack", "patients.csv", "spark", "--seed", "1", "--targets", "50", "--json")
    whole.unlink()
    whole.mkdir()
    for number, part in enumerate((table[:200], table[200:])):  # Spark writes a folder of files
        part.write_parquet(whole / f"part-{number}.parquet")
    by_parts = called(folder, "attack", "patients.csv", "spark", "--seed", "1", "--targets", "50", "--json")
    assert json.loads(by_file.stdout) == json.loads(by_parts.stdout)
