"""Names of files that are longer than a file system takes: an error of the input, wherever they are given."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from calling import called

import shoal

LONG = "x" * 300


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    people = pl.DataFrame({"age": [30, 31, 40, 41]})
    people.write_csv(tmp_path / "people.csv")
    schema = shoal.Schema.infer(people, quasi=["age"])
    shoal.anonymize(people, schema, shoal.KAnonymity(k=2)).save(tmp_path / "out")
    return tmp_path


ANONYMIZE = ("anonymize", "people.csv", "--quasi", "age", "--k", "2", "-o", "new")
CALLS = {
    "table": ("anonymize", f"{LONG}.csv", *ANONYMIZE[2:]),
    "table in blocks": ("anonymize", f"{LONG}.csv", *ANONYMIZE[2:], "--engine", "blocks"),
    "output": (*ANONYMIZE[:-1], LONG),
    "schema": (*ANONYMIZE, "--schema", f"{LONG}.toml"),
    "ledger": (*ANONYMIZE, "--ledger", f"{LONG}.json"),
    "hierarchy": (*ANONYMIZE, "--hierarchy", f"age={LONG}.csv"),
    "original": ("audit", f"{LONG}.csv", "out"),
    "release": ("audit", "people.csv", LONG),
    "key": ("audit", "people.csv", "out", "--key", f"{LONG}.csv"),
    "attacked": ("attack", "people.csv", LONG),
    "scanned": ("scan", f"{LONG}.csv"),
    "compared": ("compare", f"{LONG}.csv", "--quasi", "age"),
    "advised": ("advise", f"{LONG}.csv", "--quasi", "age"),
    "asked": ("query", LONG, "age=30"),
    "read": ("read", LONG, "--draw", "1", "-o", "drawn"),
    "drawn": ("read", "out", "--draw", "1", "-o", LONG),
    "page": ("ui", "--folder", LONG),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_name_that_is_too_long_is_an_error_of_the_input(folder: Path, call: tuple[str, ...]) -> None:
    found = called(folder, *call, code=2)
    assert LONG in "".join(found.stderr.split())
    assert "Traceback" not in found.stderr
    assert not (folder / "new").exists()
