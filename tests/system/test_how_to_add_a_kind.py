"""The steps of docs/how-to/add-a-kind.md give a kind that works everywhere; nothing else has to change."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from how_to import files_of, run

pytestmark = pytest.mark.processes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "add-a-kind.md"
TABLE = """
import copy, pickle
import clock, polars as pl, shoal

visits = pl.DataFrame({
    "arrived": [None if i % 50 == 0 else f"{i % 24}:{i * 7 % 60:02}" for i in range(3000)],
    "ward": ["north", "south", "east"] * 1000,
    "cost": [100 + i % 90 for i in range(3000)],
})
schema = shoal.Schema.infer(visits, quasi=["arrived", "ward"], sensitive=["cost"])
assert schema["arrived"].kind is shoal.Kind("clock") is clock.Clock.CLOCK
assert copy.deepcopy(schema) == pickle.loads(pickle.dumps(schema)) == schema
"""
CHECKS = {
    "models": """
for model in (shoal.KAnonymity(k=5), shoal.Freeform(k=5), shoal.Concealment(k=5)):
    release = shoal.anonymize(visits.head(400), schema, model, seed=1)
    assert release.audit.holds
    for form in ("csv", "parquet"):
        written = release.written(form)
        assert shoal.audit(visits.head(400), written, schema, model).holds
        spoiled = written.with_columns(arrived=pl.lit("03:00..03:01"))
        assert not shoal.audit(visits.head(400), spoiled, schema, model).holds
""",
    "schema files": """
schema.write("schema.toml")
assert shoal.Schema.read("schema.toml") == schema
""",
    "flavours": """
release = shoal.anonymize(visits.head(400).to_pandas(), schema, shoal.KAnonymity(k=5))
assert release.audit.holds
""",
    "reports": """
shoal.anonymize(visits.head(400), schema, shoal.KAnonymity(k=5)).save("out")
import pathlib
assert "arrived" in pathlib.Path("out/report.html").read_text()
""",
    "blocks": """
if __name__ == "__main__":
    visits.write_csv("visits.csv")
    for form in ("csv", "parquet"):
        done = shoal.anonymize_file(
            "visits.csv", schema, shoal.KAnonymity(k=5), f"blocks-{form}", block_rows=500, format=form
        )
        assert done.certificate["engine"]["blocks"] > 1
""",
    "refusals": """
try:
    shoal.anonymize(visits.with_columns(arrived=pl.lit("25:00")), schema, shoal.KAnonymity(k=5))
except shoal.InputError as error:
    assert "row 1: '25:00' is not a time" in str(error)
else:
    raise AssertionError
""",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the page."""
    made = tmp_path_factory.mktemp("how-to")
    files_of(PAGE, made)
    return made


def said_by(folder: Path, code: str) -> str:
    done = run(folder, code=code)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_runs_as_it_stands(folder: Path) -> None:
    kind, interval, verdict = said_by(folder, (folder / "use.py").read_text()).splitlines()
    assert kind == "clock"
    assert re.fullmatch(r"\d\d:\d\d(\.\.\d\d:\d\d)?", interval)
    assert verdict.startswith("The guarantee holds")


@pytest.mark.parametrize("what", CHECKS)
def test_the_kind_works_everywhere(folder: Path, what: str) -> None:
    said_by(folder, TABLE + CHECKS[what])
