"""Worker processes know what users declare in modules of their own, or say why they cannot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from how_to import files_of
from test_how_to_add_a_method import PAGE

from shoal.samples import hospital

pytestmark = pytest.mark.processes

TABLE = """
import shoal
from shoal.samples import hospital

patients = hospital(600)
schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["patient", "name"])
"""
IN_BLOCKS = """
made = shoal.anonymize_file(
    "patients.csv", schema, shoal.KAnonymity(k=5), "out", method="runs", block_rows=300, jobs=1
)
print(made.certificate["method"], made.audit.holds)
"""
COMPARED = """
(run,) = shoal.compare(patients, schema, model="k-anonymity", method="runs", k=5, jobs=1).runs
print(run.method, run.message)
"""
TASK = """
import asyncio
from pathlib import Path
from shoal.web.tasks import Source
from shoal.web.work import Job

async def messages():
    asked = {"schema": schema, "model": shoal.KAnonymity(k=5), "choices": {"method": "runs"}, "form": "csv"}
    folder = Path("made")
    folder.mkdir()
    source = Source(Path("patients.csv"), "patients.csv")
    job = Job("make", source, {**asked, "keep_key": False, "after": None, "folder": folder}, Path())
    return [message async for message in job.messages()]

*_, last = asyncio.run(messages())
print(last.get("error", "no error"))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the module of the page on methods, and a table; it is on no path."""
    files_of(PAGE, tmp_path)
    hospital(600).write_csv(tmp_path / "patients.csv")
    return tmp_path


def said_by(folder: Path, code: str) -> str:
    """Run code in the folder, as a user would; return what it says."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_a_module_beside_the_script_is_known_to_all_processes(folder: Path) -> None:
    said = said_by(folder, f"import runs\n{TABLE}{IN_BLOCKS}{COMPARED}")
    assert said.splitlines() == ["runs True", "runs None"]
    assert json.loads((folder / "out" / "certificate.json").read_text())["method"] == "runs"


def test_a_module_in_a_package_is_known_as_well(folder: Path) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "__init__.py").touch()
    (folder / "runs.py").rename(folder / "mine" / "sorting.py")
    assert said_by(folder, f"import mine.sorting\n{TABLE}{IN_BLOCKS}") == "runs True\n"


def test_only_these_modules_are_taken_from_their_folder(folder: Path) -> None:
    (folder / "trap.py").touch()
    with (folder / "runs.py").open("a") as module:
        module.write("\nimport importlib.util, os\n")
        module.write("assert ('SHOAL_PARENT' in os.environ) == (importlib.util.find_spec('trap') is None)\n")
    assert said_by(folder, f"import runs\n{TABLE}{IN_BLOCKS}") == "runs True\n"


@pytest.mark.parametrize("how", [IN_BLOCKS, COMPARED])
def test_a_method_of_a_script_is_refused_with_what_to_do(folder: Path, how: str) -> None:
    said = said_by(folder, f"{(folder / 'runs.py').read_text()}{TABLE}{how}")
    assert "method 'runs' is declared in a script or a notebook" in said
    assert "declare it at the top of a module, a file of its own, and import that" in said
    assert not (folder / "out").exists()


def test_a_method_inside_a_function_is_refused(folder: Path) -> None:
    text = (folder / "runs.py").read_text()
    start = text.index("@keeps")
    inner = text[start:].replace("\n", "\n    ")
    (folder / "runs.py").write_text(f"{text[:start]}\ndef declare():\n    {inner}\n\n\ndeclare()\n")
    said = said_by(folder, f"import runs\n{TABLE}{IN_BLOCKS}")
    assert "method 'runs' is declared inside a function" in said


def test_a_module_that_workers_cannot_import_is_named(folder: Path) -> None:
    (folder / "beside.py").touch()
    with (folder / "runs.py").open("a") as module:
        module.write("\nimport beside\n")
    said = said_by(folder, f"import runs\n{TABLE}{IN_BLOCKS}")
    assert "a worker process cannot import module 'runs' (ModuleNotFoundError: No module named 'bes" in said
    assert "add its folder to PYTHONPATH there" in said
    assert "runs None" not in said_by(folder, f"import runs\n{TABLE}{COMPARED}")


def test_tasks_of_the_page_know_the_module(folder: Path) -> None:
    assert "no error" in said_by(folder, f"import runs\n{TABLE}{TASK}")


def test_what_shoal_declares_itself_needs_no_module(folder: Path) -> None:
    asked = "import shoal\nfrom shoal.engines.additions import all_modules\nprint(dict(all_modules()))"
    assert said_by(folder, asked).strip() == "{}"
