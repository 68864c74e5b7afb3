"""The steps of docs/how-to/add-a-model.md give a model that works everywhere; nothing else has to change."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from how_to import files_of
from how_to import run as run_code

from shoal.samples import hospital

pytestmark = pytest.mark.processes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "add-a-model.md"
CALL = "import alpha_k; from shoal.cli import main; main()"
COLUMNS = ["--quasi", "age,sex", "--sensitive", "diagnosis", "--drop", "patient,name"]
MODEL = ["--model", "alpha-k", "--k", "5", "--alpha", "0.5"]
run = partial(run_code, code=CALL)
CARDS = """
import alpha_k
import shoal
from shoal.models import suitable
from shoal.web.planning import parameters_of, suitable as cards

schema = shoal.Schema((shoal.Column("age", shoal.Role.QUASI), shoal.Column("ill", shoal.Role.SENSITIVE)))
assert alpha_k.AlphaK in suitable(schema)
assert "alpha-k" in cards(schema)
assert parameters_of("alpha-k", schema) == ["k", "alpha"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the page and a table."""
    made = tmp_path_factory.mktemp("how-to")
    files_of(PAGE, made)
    hospital(1000).write_csv(made / "patients.csv")
    return made


def test_the_library_has_the_model(folder: Path) -> None:
    done = run(folder, code=(folder / "use.py").read_text())
    assert done.returncode == 0, done.stderr
    assert "The guarantee holds" in done.stdout
    assert "no sensitive value has a share above 0.5" in done.stdout


@pytest.mark.parametrize("engine", ["memory", "blocks"])
def test_the_command_line_anonymizes_and_audits(folder: Path, engine: str) -> None:
    out = f"out-{engine}"
    blocks = ["--block-rows", "300"] if engine == "blocks" else []
    made = run(
        folder,
        "anonymize",
        "patients.csv",
        *COLUMNS,
        *MODEL,
        "-o",
        out,
        "--engine",
        engine,
        *blocks,
        "--json",
    )
    assert made.returncode == 0, made.stderr
    certificate = json.loads(made.stdout)
    assert certificate["model"]["name"] == "alpha-k"
    assert certificate["model"]["alpha"] == 0.5
    assert certificate["audit"]["k"] >= 5
    report = (folder / out / "report.html").read_text()
    assert "no sensitive value has a share above 0.5" in report
    held = run(folder, "audit", "patients.csv", f"{out}/release.csv", *COLUMNS, *MODEL)
    assert held.returncode == 0, held.stderr + held.stdout
    broken = run(folder, "audit", "patients.csv", "patients.csv", *COLUMNS[:-2], *MODEL)
    assert broken.returncode == 1
    assert "has a share of" in broken.stdout


def test_a_parameter_out_of_its_limits_is_refused(folder: Path) -> None:
    done = run(
        folder, "anonymize", "patients.csv", *COLUMNS, *MODEL[:-1], "1.5", "-o", "never", "--engine", "memory"
    )
    assert done.returncode == 2
    assert "alpha = 1.5 is not allowed; it must be a share from 0 to 1" in done.stderr.replace("\n", " ")


def test_the_page_has_its_card_and_field(folder: Path) -> None:
    done = run(folder, code=CARDS)
    assert done.returncode == 0, done.stderr


def test_a_model_without_a_rule_is_refused(folder: Path) -> None:
    code = (
        (folder / "use.py")
        .read_text()
        .replace("release =", "from shoal.auditing.rules import RULES\ndel RULES['alpha-k']\nrelease =")
    )
    done = run(folder, code=code)
    assert done.returncode == 1
    assert "has no audit rule and cannot be used" in done.stderr
