"""The examples of docs/how-to/pipelines.md run: the task, the model of dbt, and the check."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_how_to_add_a_model import files_of, run

import shoal
from shoal.samples import hospital

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "pipelines.md"
QUASI = ["age", "sex", "zip"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the page, a table and its schema."""
    made = tmp_path_factory.mktemp("pipelines")
    (made / "models").mkdir()
    (made / ".github" / "workflows").mkdir(parents=True)
    files_of(PAGE, made)
    patients = hospital(400).drop("days", "admitted")
    patients.write_csv(made / "patients.csv")
    shoal.Schema.infer(patients, quasi=QUASI, sensitive=["diagnosis"], drop=["patient", "name"]).write(
        made / "schema.toml"
    )
    return made


def test_the_task_can_be_repeated_and_its_check_fails_on_a_bad_release(folder: Path) -> None:
    space: dict[str, object] = {}
    exec((folder / "release_task.py").read_text(), space)
    task = space["release_patients"]
    assert callable(task)
    for _ in range(2):
        figures = task(
            str(folder / "patients.csv"), str(folder / "schema.toml"), str(folder / "release"), k=10
        )
        assert figures["rows"] == 400
        assert 0 < figures["gcp"] < 1
    workflow = (folder / ".github" / "workflows" / "release-check.yml").read_text()
    words = workflow.partition("- run: shoal ")[2].split()
    assert words[0] == "audit"
    call = "from shoal.cli import main; main()"
    assert run(folder, *words, code=call).returncode == 0
    shutil.copy(folder / "patients.csv", folder / "release" / "release.csv")
    assert run(folder, *words, code=call).returncode == 1


def test_the_model_of_dbt(folder: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="the extra duckdb is not installed")
    space: dict[str, object] = {}
    exec((folder / "models" / "visits_release.py").read_text(), space)
    model = space["model"]
    assert callable(model)
    session = duckdb.connect()
    session.register("visits", hospital(300).drop("days", "admitted").to_arrow())
    dbt = SimpleNamespace(config=lambda **_: None, ref=session.table)
    table = model(dbt, session)
    assert table.height == 300
    assert "name" not in table.columns
