"""The steps of docs/how-to/add-a-file-format.md give a format that works everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from how_to import files_of, run

from shoal.samples import hospital

pytestmark = pytest.mark.processes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "add-a-file-format.md"
CALL = "import avro; from shoal.cli import main; main()"
COLUMNS = ["--quasi", "age,sex", "--sensitive", "diagnosis", "--drop", "patient,name"]
PAGE_OF_THE_WEB = """
import avro
from pathlib import Path
from shoal.methods import silent
from shoal.web.data import tables_in
from shoal.web.tasks import Source, look

assert tables_in(Path.cwd()) == ["patients.avro"]
source = Source(Path("patients.avro"), "patients.avro", most_bytes=10**7)
assert not source.is_text
assert look(source, silent)["rows"] == 1000
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the page and a table."""
    made = tmp_path_factory.mktemp("how-to-format")
    files_of(PAGE, made)
    hospital(1000).write_avro(made / "patients.avro")
    return made


def test_the_library_reads_the_format(folder: Path) -> None:
    done = run(folder, code=(folder / "use.py").read_text())
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(hospital(1000).shape)


def test_the_command_line_scans_the_format(folder: Path) -> None:
    done = run(folder, "scan", "patients.avro", code=CALL)
    assert done.returncode == 0, done.stderr
    assert "1000 rows" in done.stdout
    assert "Avro" in run(folder, "scan", "--help", code=CALL).stdout


@pytest.mark.parametrize("engine", ["memory", "blocks"])
def test_the_command_line_anonymizes_and_audits_the_format(folder: Path, engine: str) -> None:
    out = f"out-{engine}"
    blocks = ["--block-rows", "300"] if engine == "blocks" else []
    call = ["anonymize", "patients.avro", *COLUMNS, "--k", "5", "-o", out, "--engine", engine, *blocks]
    made = run(folder, *call, "--json", code=CALL)
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["audit"]["status"] != "broken"
    held = run(folder, "audit", "patients.avro", f"{out}/release.csv", *COLUMNS, "--k", "5", code=CALL)
    assert held.returncode == 0, held.stderr + held.stdout


def test_a_broken_file_is_refused_without_quoting_it(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.jsonl").write_text('{"a": 1}\nsecret\n')
    done = run(folder, "scan", str(tmp_path / "broken.jsonl"), "-o", "never.toml", code=CALL)
    assert done.returncode == 2
    assert "not a JSON object" in done.stderr.replace("\n", " ")
    assert "secret" not in done.stderr


def test_the_page_reads_the_format(folder: Path) -> None:
    done = run(folder, code=PAGE_OF_THE_WEB)
    assert done.returncode == 0, done.stderr


def test_an_ending_that_is_taken_is_refused(folder: Path) -> None:
    code = "import avro; from shoal.files.formats import register; register(avro.AVRO)"
    done = run(folder, code=code)
    assert done.returncode == 1
    assert "another format has the ending .avro" in done.stderr
