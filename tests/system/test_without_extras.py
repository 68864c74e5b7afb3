"""The core works without any extra, and says which one is missing where one is needed."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = ("altair", "vl_convert", "shiny", "pyspark", "scipy", "pandas", "pyarrow", "fastexcel", "xlsxwriter",
          "pyreadstat", "duckdb", "adbc_driver_manager", "sklearn")  # fmt: skip
HIDDEN = f"""
import sys
for name in {EXTRAS!r}:
    sys.modules[name] = None
"""
RELEASE = """
import shoal
from shoal.samples import hospital

frame = hospital(300, seed=1)
schema = shoal.Schema.infer(
    frame, quasi=["age", "sex", "zip"], sensitive=["diagnosis"], drop=["patient", "name"]
)
for model in (shoal.Freeform(k=5, l=2), shoal.KAnonymity(k=5), shoal.Concealment(k=5), shoal.Patterned(k=5)):
    release = shoal.anonymize(frame, schema, model)
    release.save(model.name)
    told = shoal.open_release(model.name).count(sex="female")
    assert told.certain <= (frame["sex"] == "female").sum() <= told.possible
    assert shoal.open_release(model.name).draw(1, seed=1)
"""
PROOF = """
import shoal
from shoal.samples import hospital

frame = hospital(12, seed=1)
schema = shoal.Schema.infer(frame, quasi=["age"], drop=["patient", "name"])
try:
    shoal.anonymize(frame, schema, shoal.Freeform(k=2), method="exact")
except shoal.InputError as error:
    assert error.reason == "missing-extra", error.reason
    assert "pip install 'shoal-privacy[exact]'" in str(error), error
else:
    raise AssertionError("no error")
"""


def run(code: str, folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", HIDDEN + code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_releases_are_made_and_read_without_extras(tmp_path: Path) -> None:
    run(RELEASE, tmp_path)


def test_a_proof_of_the_optimum_names_its_extra(tmp_path: Path) -> None:
    run(PROOF, tmp_path)


def test_the_hidden_packages_are_none_of_the_core() -> None:
    core = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert not {each.split(">")[0].replace("-", "_") for each in core} & set(EXTRAS)
