"""The steps of docs/how-to/add-a-measure.md give a measure and a panel that work everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from how_to import files_of, run

from shoal.samples import hospital

pytestmark = pytest.mark.processes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "add-a-measure.md"
CALL = "import empty_cells; from shoal.cli import main; main()"
WITH_PANEL = "import empty_panel; from shoal.cli import main; main()"
COLUMNS = ["--quasi", "age,sex", "--sensitive", "diagnosis", "--drop", "patient,name"]
MODEL = ["--model", "k-anonymity", "--method", "mondrian"]
COMPARED = """
import shoal
from shoal.samples import hospital

patients = hospital(300)
schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["patient", "name"])
(found,) = shoal.compare(patients, schema, k=5, model="k-anonymity", method="mondrian").runs
"""
LEFT_OUT = """
assert found.gcp is not None and found.figure("empty_cells") is None
assert found.as_dict()["empty_cells"] is None
"""
REFUSALS = """
from shoal.measures import loss_measure

for name in ("gcp", "ratio", "k", "two words"):
    try:
        loss_measure(help="", name=name)(lambda recoding: 0.0)
    except ValueError as error:
        assert repr(name) in str(error)
    else:
        raise AssertionError(name)

from shoal.report import report_panel

for name in ("loss", "certificate"):
    try:
        report_panel(name, "Twice")(lambda material: None)
    except ValueError as error:
        assert repr(name) in str(error)
    else:
        raise AssertionError(name)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the page and a table."""
    made = tmp_path_factory.mktemp("how-to-measure")
    files_of(PAGE, made)
    hospital(1000).write_csv(made / "patients.csv")
    return made


def anonymized(folder: Path, out: str, *more: str, code: str = CALL) -> str:
    words = ["anonymize", "patients.csv", *COLUMNS, *MODEL, "--k", "10", "-o", out, "--seed", "1", *more]
    done = run(folder, *words, code=code)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_library_and_comparisons_have_the_measure(folder: Path) -> None:
    done = run(folder, code=(folder / "use.py").read_text())
    assert done.returncode == 0, done.stderr
    attribute, certificate, compared = done.stdout.splitlines()
    assert 0 <= float(attribute) == float(certificate) < 1
    assert [0 <= figure < 1 for figure in json.loads(compared)] == [True, True]


@pytest.mark.parametrize("engine", ["memory", "blocks"])
def test_the_command_line_blocks_and_the_report_have_the_measure(folder: Path, engine: str) -> None:
    out = f"out-{engine}"
    blocks = ["--block-rows", "300"] if engine == "blocks" else []
    printed = anonymized(folder, out, "--engine", engine, *blocks)
    assert "cells that say nothing" in printed
    certificate = json.loads((folder / out / "certificate.json").read_text())
    assert ("engine" in certificate) is (engine == "blocks")
    release = (folder / out / "release.csv").read_text().splitlines()[1:]
    empty = [cell == "*" for row in release for cell in row.split(",")[:2]]
    assert certificate["loss"]["empty_cells"] == pytest.approx(sum(empty) / len(empty))
    assert "<dt>cells that say nothing</dt>" in (folder / out / "report.html").read_text()


def test_comparisons_on_the_command_line_have_its_column(folder: Path) -> None:
    words = ["compare", "patients.csv", *COLUMNS, *MODEL, "--k", "5,10"]
    done = run(folder, *words, "-o", "compare.html", "--json", code=CALL)
    assert done.returncode == 0, done.stderr
    for row in json.loads(done.stdout)["runs"]:
        assert row["empty_cells"] == row["certificate"]["loss"]["empty_cells"]
    assert ">empty cells</th>" in (folder / "compare.html").read_text()
    assert " empty cells " in run(folder, *words, "-o", "again.html", code=CALL).stdout


def test_the_web_page_has_its_line(folder: Path) -> None:
    code = """
import empty_cells, json, shoal
from types import SimpleNamespace
from shoal.web.result import _comparison

certificate = json.load(open("out-memory/certificate.json"))
source = SimpleNamespace(name="patients.csv")
plan = SimpleNamespace(model=shoal.KAnonymity(k=10), choices={}, source=source, schema=shoal.Schema(()))
runs = tuple(SimpleNamespace(number=n, plan=plan, result={"certificate": certificate}) for n in (1, 2))
print(_comparison(runs, 1))
"""
    if not (folder / "out-memory").exists():
        anonymized(folder, "out-memory")
    done = run(folder, code=code)
    assert done.returncode == 0, done.stderr
    assert "empty cells" in done.stdout


def test_a_report_has_the_panel_only_where_it_applies(folder: Path) -> None:
    anonymized(folder, "with-panel", "--engine", "memory", code=WITH_PANEL)
    page = (folder / "with-panel" / "report.html").read_text()
    assert page.index('id="loss"') < page.index('id="empty"') < page.index('id="making"')
    told = json.loads((folder / "with-panel" / "report.json").read_text())
    assert set(told["empty"]) == {"age", "sex"}
    assert told["keep_in_mind"]
    anonymized(folder, "without", "--engine", "blocks", "--block-rows", "300", code=WITH_PANEL)
    assert 'id="empty"' not in (folder / "without" / "report.html").read_text()


def test_processes_import_the_module_from_its_file(folder: Path, tmp_path: Path) -> None:
    found = f"import sys\nsys.path.insert(0, {str(folder)!r})\nimport empty_cells\n"
    done = run(tmp_path, code=f"{found}{COMPARED}assert 0 <= found.figure('empty_cells') < 1")
    assert done.returncode == 0, done.stderr


def test_without_the_module_processes_leave_the_figure_out(folder: Path, tmp_path: Path) -> None:
    declared_here = (folder / "empty_cells.py").read_text()
    done = run(tmp_path, code=f"{declared_here}{COMPARED}{LEFT_OUT}")
    assert done.returncode == 0, done.stderr


def test_names_that_are_taken_are_refused(folder: Path) -> None:
    done = run(folder, code=REFUSALS)
    assert done.returncode == 0, done.stderr
