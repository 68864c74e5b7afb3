"""The examples of docs/how-to/migrate.md run, and the pages know every model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
from calling import called
from test_how_to_add_a_model import files_of

from shoal.models import MODELS

DOCS = Path(__file__).resolve().parents[2] / "docs" / "how-to"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the page."""
    made = tmp_path_factory.mktemp("migrate")
    (made / "hierarchies").mkdir()
    files_of(DOCS / "migrate.md", made)
    return made


def commands(folder: Path, name: str) -> list[list[str]]:
    return [line.split()[1:] for line in (folder / name).read_text().splitlines() if line]


def test_a_schema_from_hierarchies_of_arx(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    exec((folder / "from_arx.py").read_text(), {})
    assert "The guarantee holds" in capsys.readouterr().out
    (command,) = commands(folder, "arx.sh")
    called(folder, *command)
    made = [json.loads((folder / out / "certificate.json").read_text()) for out in ("out", "out-arx")]
    assert made[0]["model"] == made[1]["model"]
    assert made[0]["loss"]["gcp"] == made[1]["loss"]["gcp"]
    cells = pl.read_csv(folder / "out-arx" / "release.csv", infer_schema=False)
    labels = re.split(r"[;\n]", (folder / "hierarchies" / "age.csv").read_text())
    assert set(cells["age"]) <= set(labels)


def test_the_settings_of_a_script_of_sdcmicro(folder: Path) -> None:
    release, audit = commands(folder, "sdc.sh")
    called(folder, *release)
    assert set(pl.read_csv(folder / "out-sdc" / "release.csv")["w"]) == {166.0}  # one group of nine
    found = json.loads(called(folder, *audit, "--json").stdout)["sample"]
    assert found["individual_released"]["highest"] < found["individual"]["highest"]
    assert found["population_uniques"]["population"] == pytest.approx(1500)
    shown = called(folder, *audit).stdout
    assert "re-identifications by survey weights" in " ".join(shown.split())


def test_every_model_that_the_page_names_exists() -> None:
    text = (DOCS / "models-of-other-tools.md").read_text()
    named = set(re.findall(r"\[?`([a-z0-9-]+)`", text)) & {name for name in MODELS if "-" in name}
    expected = {"k-anonymity", "k-map", "t-closeness", "beta-likeness", "delta-disclosure", "delta-presence"}
    assert expected <= named
