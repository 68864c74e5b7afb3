"""The evidence page: every fact is in the certificate, and no record is on the page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.report import Material, evidence
from shoal.report.evidence import THRESHOLDS, chapters_of
from shoal.samples import hospital

PATIENTS = hospital(400).select("age", "sex", "zip", "days", "diagnosis")
SCHEMA = shoal.Schema.infer(PATIENTS, quasi=["age", "sex", "zip"], sensitive=["diagnosis"])
STATED = {"data_set": "Patients <1>", "risk_threshold": "0.1", "review_by": "2030-01-01"}


def released(**options: Any) -> shoal.Release:
    return shoal.anonymize(PATIENTS, SCHEMA, shoal.Freeform(k=5), seed=1, **options)


@pytest.fixture(scope="module")
def release() -> shoal.Release:
    """Return a release with a control group and statements."""
    return released(hold_out=0.1, about=STATED)


def field(certificate: Any, path: str) -> Any:
    """Return a field of a certificate by the path that the page gives."""
    found = certificate
    head, _, rest = path.partition(".sha256")
    parts = head.split(".", 1) if path.startswith("files.") else head.split(".")
    for part in [*parts, *(["sha256"] if _ else []), *([rest] if rest else [])]:
        name, *places = re.split(r"[\[\]]+", part.rstrip("]")) if "[" in part else [part]
        found = found[name]
        for place in places:
            found = found[int(place)]
    return found


def test_every_fact_names_a_field_of_the_certificate(release: shoal.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "out")
    for made in (release, released()):
        chapters = chapters_of(made.report.material)
        sources = [s for c in chapters for fact in c.facts for s in fact.source.split(", ") if s]
        assert len(sources) > 20
        for source in sources:
            field(made.certificate, source)


def test_facts_say_what_the_certificate_says(release: shoal.Release) -> None:
    chapters = {each.name: each for each in chapters_of(release.report.material)}
    facts = {fact.name: fact.text for chapter in chapters.values() for fact in chapter.facts}
    assert facts["maximum risk"] == "20%"
    assert facts["guarantee"] == release.certificate["model"]["promise"]
    assert facts["held out as a control group"] == "40 records"
    assert facts["known to the attacker"] == "age, sex, zip"
    rows = chapters["risk"].grids[0].rows
    assert [row[0] for row in rows] == ["0.33", "0.2", "0.1 (stated)", "0.09", "0.05"]
    assert [row[2].split(": ")[1] for row in rows] == ["not above", "not above", "above", "above", "above"]
    assert len(chapters["attacks"].grids[0].rows) == 4


def test_without_a_control_group_and_statements_the_page_says_so() -> None:
    text = released().report.evidence()
    assert "No attacks were carried out" in text
    assert "No accepted risk was stated" in text
    assert "not stated" in text
    assert all(f"<td>{threshold:g}</td>" in text for threshold in THRESHOLDS)


def test_the_page_has_a_table_of_contents_and_loads_nothing(release: shoal.Release) -> None:
    text = release.report.evidence()
    links = re.findall(r'<a href="#(\w+)">', text)
    assert links == [each.name for each in chapters_of(release.report.material)]
    assert all(f'<section id="{name}"' in text for name in links)
    assert "size: A4" in text
    assert "Patients &lt;1&gt;" in text
    assert "http" not in text.replace("http-equiv", "")


def test_no_value_of_a_record_is_on_the_page(release: shoal.Release) -> None:
    text = release.report.evidence()
    words = set(re.findall(r"[\w ]+", text))
    for name in ("zip", "diagnosis"):
        assert not set(PATIENTS[name]) & words, name


def test_the_page_is_saved_and_the_same_for_the_same_material(release: shoal.Release, tmp_path: Path) -> None:
    folder = release.save(tmp_path / "out")
    text = (folder / "evidence.html").read_text()
    assert "files.release.csv.sha256" in text
    material = release.report.material
    again = Material(material.model, material.loss, material.audit, material.certificate)
    assert len(chapters_of(again)) == 10  # also without what only a release in memory has


@pytest.mark.parametrize("threshold", ["much", "0", "-0.1", "1.5", "nan"])
def test_a_threshold_is_a_probability(threshold: str) -> None:
    with pytest.raises(shoal.InputError, match="risk_threshold"):
        released(about={"risk_threshold": threshold})


@pytest.mark.parametrize(("k", "threshold"), [(3, 0.33), (5, 0.2), (11, 0.09), (20, 0.05)])
def test_thresholds_stand_for_whole_numbers_of_records(k: int, threshold: float) -> None:
    assert evidence._met(1 / k, threshold).endswith(": not above")
    assert evidence._met(1 / (k - 1), threshold).endswith(": above")
