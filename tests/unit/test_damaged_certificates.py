"""Certificates in which a value was replaced by one of another type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calling import called

import shoal

PLACES = [
    ("model",),
    ("rows",),
    ("files",),
    ("files", "release.csv"),
    ("files", "release.csv", "sha256"),
    ("audit",),
    ("audit", "records"),
    ("audit", "k"),
    ("audit", "concealment"),
    ("audit", "holds"),
]


def test_a_certificate_about_a_file_whose_name_is_too_long(tmp_path: Path) -> None:
    people = pl.DataFrame({"age": [30, 31, 40, 41]})
    people.write_csv(tmp_path / "people.csv")
    schema = shoal.Schema.infer(people, quasi=["age"])
    shoal.anonymize(people, schema, shoal.KAnonymity(k=2)).save(tmp_path / "out")
    file = tmp_path / "out" / "certificate.json"
    file.write_text(file.read_text().replace("release.csv", "release.csv" * 40))
    assert "which is not there" in called(tmp_path, "audit", "people.csv", "out").stderr


@pytest.mark.parametrize("other", ["text", ["a"], None], ids=str)
@pytest.mark.parametrize("place", PLACES, ids=".".join)
def test_a_damaged_certificate_is_an_error_of_the_input(
    place: tuple[str, ...], other: Any, tmp_path: Path
) -> None:
    people = pl.DataFrame({"age": [30, 31, 40, 41]})
    people.write_csv(tmp_path / "people.csv")
    schema = shoal.Schema.infer(people, quasi=["age"])
    shoal.anonymize(people, schema, shoal.KAnonymity(k=2)).save(tmp_path / "out")
    called(tmp_path, "audit", "people.csv", "out")
    file = tmp_path / "out" / "certificate.json"
    certificate = json.loads(file.read_text())
    inner = certificate
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = other
    file.write_text(json.dumps(certificate))
    code = 0 if place[-1] == "sha256" and other == "text" else 2  # which only differs from that of the file
    assert "certifi" in called(tmp_path, "audit", "people.csv", "out", code=code).stderr
