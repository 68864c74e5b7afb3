"""The ledger of releases: keyed hashes, in a file of its owner alone."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from calling import called

import shoal
from shoal import InputError, KAnonymity, Ledger, Schema
from shoal.samples import hospital

DESCRIBED = ("--quasi", "age,sex", "--sensitive", "diagnosis", "--drop", "name", "--person", "patient")
PROMISED = ("--model", "k-anonymity", "--k", "4", "--l", "1", "-q")
PATIENTS = hospital(160)
RELEASE = {"created": "2026", "model": {"name": "1k"}, "sha256": None, "persons": ["a"], "records": ["b"]}
WHOLE = {"version": 1, "secret": "00" * 32, "releases": [RELEASE]}


def schema() -> Schema:
    return Schema.infer(
        PATIENTS, quasi=["age", "sex"], sensitive=["diagnosis"], drop=["name"], person="patient"
    )


def test_who_was_published(tmp_path: Path) -> None:
    first, model = PATIENTS[:100], KAnonymity(k=5)
    ledger = Ledger.read(tmp_path / "ledger.json")
    assert ledger.unpublished(first, schema()).tolist() == list(range(100))
    ledger = ledger.with_release(first, schema(), model, key=range(60), digest="abc")
    ledger.write(tmp_path / "ledger.json")
    again = Ledger.read(tmp_path / "ledger.json")
    assert again.unpublished(PATIENTS, schema()).tolist() == list(range(60, 160))
    older = PATIENTS.with_columns(age=pl.col("age") + 1)
    with pytest.raises(
        InputError, match="60 persons with 60 records were published before, according to the ledger"
    ):
        again.unpublished(older, schema())
    again.require_named(["abc"])
    with pytest.raises(InputError, match="1 release of the ledger"):
        again.require_named([])
    assert "1 release" in repr(again)


def test_it_contains_no_value_and_is_private(tmp_path: Path) -> None:
    file = tmp_path / "ledger.json"
    Ledger.read(file).with_release(PATIENTS, schema(), KAnonymity(k=5), key=range(160)).write(file)
    assert file.stat().st_mode & 0o077 == 0
    (release,) = json.loads(file.read_text())["releases"]
    assert set(release) == {"created", "model", "sha256", "persons", "records"}
    hashes = release["persons"] + release["records"]
    assert all(len(each) == 32 and set(each) <= set("0123456789abcdef") for each in hashes)
    assert hashes == sorted(release["persons"]) + sorted(release["records"])
    other = Ledger.read(tmp_path / "other.json").with_release(
        PATIENTS, schema(), KAnonymity(k=5), key=range(160)
    )
    assert not set(hashes) & {*other.releases[0]["persons"], *other.releases[0]["records"]}


def test_what_is_no_ledger(tmp_path: Path) -> None:
    for text in (
        "",
        "[]",
        '{"version": 9, "secret": "", "releases": []}',
        '{"version": 1, "secret": "", "releases": [{}]}',
    ):
        (tmp_path / "ledger.json").write_text(text)
        with pytest.raises(InputError, match="is not a ledger"):
            Ledger.read(tmp_path / "ledger.json")
    for damage in (
        {"secret": "00"},
        {"releases": [1]},
        {"releases": "text"},
        *({"releases": [{**RELEASE, name: 7}]} for name in RELEASE),
        *({"releases": [{n: each for n, each in RELEASE.items() if n != name}]} for name in RELEASE),
        {"releases": [{**RELEASE, "persons": {"a": 1}}]},
        {"releases": [{**RELEASE, "records": [["a"]]}]},
    ):
        (tmp_path / "ledger.json").write_text(json.dumps(WHOLE | damage))
        with pytest.raises(InputError, match="is not a ledger"):
            Ledger.read(tmp_path / "ledger.json")
    (tmp_path / "ledger.json").write_text(json.dumps(WHOLE))
    assert Ledger.read(tmp_path / "ledger.json").releases == (RELEASE,)
    no_person = Schema.infer(PATIENTS, quasi=["age"], drop=["name", "patient"])
    with pytest.raises(InputError, match="a ledger needs a column"):
        Ledger.read(tmp_path / "none.json").unpublished(PATIENTS, no_person)


def test_the_command_finds_what_came_before(tmp_path: Path) -> None:
    PATIENTS[:100].write_csv(tmp_path / "first.csv")
    PATIENTS.write_csv(tmp_path / "all.csv")
    PATIENTS.with_columns(age=pl.col("age") + 1).write_csv(tmp_path / "older.csv")
    kept = ("--ledger", "ledger.json", *DESCRIBED, *PROMISED)
    called(tmp_path, "anonymize", "first.csv", *kept, "--keep-key", "-o", "out1")
    shown = called(tmp_path, "anonymize", "older.csv", *kept, "-o", "none", code=2).stderr
    assert "100 persons with 100 records were published before, according to the ledger" in shown
    called(tmp_path, "anonymize", "all.csv", *kept, "--keep-key", "-o", "out2")
    assert json.loads((tmp_path / "out2" / "certificate.json").read_text())["rows"] == 60
    assert len(Ledger.read(tmp_path / "ledger.json").releases) == 2
    earlier = ("--after", "out1", "--after-table", "first.csv", "--stable")
    shown = called(tmp_path, "anonymize", "all.csv", *kept, *earlier, "-o", "out3", code=2).stderr
    assert "must be named as well" in shown
    assert not (tmp_path / "out3").exists()
    assert shoal.read_table(tmp_path / "out1" / "release.csv").height == 100


def test_losing_it_loses_convenience_only(tmp_path: Path) -> None:
    """Originals, releases and keys say the same as the ledger: who is new, and whose record changed."""
    first, model = PATIENTS[:100], KAnonymity(k=5)
    release = shoal.anonymize(first, schema(), model)
    ledger = Ledger.read(tmp_path / "ledger.json").with_release(first, schema(), model, key=release.key)
    ledger.write(tmp_path / "ledger.json")
    known = Ledger.read(tmp_path / "ledger.json").unpublished(PATIENTS, schema()).tolist()
    (tmp_path / "ledger.json").unlink()
    before = (first, release.written("csv"), release.key)
    new = shoal.anonymize_new(PATIENTS, schema(), model, after=[before])
    assert sorted(new.key.tolist()) == known
    later = (PATIENTS, new.written("csv"), new.key)
    together = shoal.joint_audit(*later[:2], schema(), model, earlier=[before], key=later[2])
    assert together.holds
    older = PATIENTS.with_columns(age=pl.col("age") + 1)
    with pytest.raises(InputError, match="100 persons with 100 records were published before"):
        shoal.anonymize_new(older, schema(), model, after=[before])


def test_no_text_of_it_is_a_value_of_a_record(tmp_path: Path) -> None:
    file = tmp_path / "ledger.json"
    Ledger.read(file).with_release(PATIENTS, schema(), KAnonymity(k=5), key=range(160)).write(file)
    data = json.loads(file.read_text())
    (release,) = data["releases"]
    texts = {data["secret"], *release["persons"], *release["records"]}
    values = {str(value) for row in PATIENTS.rows() for value in row}
    assert not texts & values
    rest = file.read_text()
    for text in texts:  # a digest may contain the digits of a value by chance
        rest = rest.replace(text, "")
    assert not [value for value in values if len(value) > 4 and value in rest]
