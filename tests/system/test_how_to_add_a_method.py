"""The steps of docs/how-to/add-a-method.md give a method that the library, commands and page have."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from how_to import files_of, run

from shoal.samples import hospital

pytestmark = pytest.mark.processes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "add-a-method.md"
CALL = "import either_runs; from shoal.cli import main; main()"
COLUMNS = ["--quasi", "age,sex", "--sensitive", "diagnosis", "--drop", "patient,name"]
METHOD = ["--model", "k-anonymity", "--method", "either_runs", "--k", "5"]
ON_THE_PAGE = """
import either_runs
from shoal.web.planning import options_for

assert options_for("k-anonymity")["backwards"].help == "Cut from the end of the order."
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the page and a table."""
    made = tmp_path_factory.mktemp("how-to-method")
    files_of(PAGE, made)
    hospital(1000).write_csv(made / "patients.csv")
    return made


def test_the_library_has_the_method_as_the_page_says(folder: Path) -> None:
    done = run(folder, code=(folder / "try_runs.py").read_text())
    assert done.returncode == 0, done.stderr
    shown = re.search(r"```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert shown is not None
    assert done.stdout == shown[1]


def test_the_command_line_has_the_method_and_its_option(folder: Path) -> None:
    words = ["anonymize", "patients.csv", *COLUMNS, *METHOD, "--backwards", "-o", "out"]
    made = run(folder, *words, "--engine", "memory", "--json", code=CALL)
    assert made.returncode == 0, made.stderr
    certificate = json.loads(made.stdout)
    assert certificate["method"] == "either_runs"
    assert certificate["options"]["backwards"] is True
    assert certificate["audit"]["k"] >= 5
    assert "l" not in certificate["model"]  # the method supports k alone
    assert "either_runs" in (folder / "out" / "report.html").read_text()
    held = run(folder, "audit", "patients.csv", "out", code=CALL)
    assert held.returncode == 0, held.stderr + held.stdout


def test_diversity_is_refused(folder: Path) -> None:
    words = ["anonymize", "patients.csv", *COLUMNS, *METHOD, "--l", "2", "-o", "never", "--engine", "memory"]
    done = run(folder, *words, code=CALL)
    assert done.returncode == 2
    assert "supports k alone" in done.stderr


def test_a_comparison_and_the_page_have_the_method(folder: Path) -> None:
    words = [
        "compare",
        "patients.csv",
        *COLUMNS,
        "--model",
        "k-anonymity",
        "--method",
        "either_runs,mondrian",
    ]
    done = run(folder, *words, "--k", "5", "--jobs", "1", "-o", "compared.html", "--json", code=CALL)
    assert done.returncode == 0, done.stderr
    assert [each["method"] for each in json.loads(done.stdout)["runs"]] == ["mondrian", "either_runs"]
    shown = run(folder, code=ON_THE_PAGE)
    assert shown.returncode == 0, shown.stderr
