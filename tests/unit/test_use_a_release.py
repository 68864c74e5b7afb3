"""The code of the how-to "Use a release" runs as it is printed, and its SQL and R find their columns."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calling import called

import shoal
from shoal.samples import hospital

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "use-a-release.md"
QUASI = ["age", "sex", "marital"]


def blocks(language: str) -> list[str]:
    found = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a release where the page expects it."""
    folder = tmp_path_factory.mktemp("used")
    (folder / "shoal-demo").mkdir()
    release = shoal.anonymize(*patients(), shoal.Freeform(k=10), seed=1)
    release.save(folder / "shoal-demo" / "release")
    (folder / "release.csv").write_bytes((folder / "shoal-demo" / "release" / "release.csv").read_bytes())
    return folder


def patients() -> tuple[pl.DataFrame, shoal.Schema]:
    frame = pl.DataFrame(hospital(250, seed=3)).drop("patient", "name", "zip", "occupation")
    return frame, shoal.Schema.infer(frame, quasi=QUASI, sensitive=["diagnosis"])


def test_the_python_examples_run(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    names: dict[str, Any] = {"schema": patients()[1]}
    skipped = () if "sklearn" in sys.modules or _has_sklearn() else ("HistGradient",)
    for code in blocks("python"):
        if "anonymize(" not in code and not any(word in code for word in skipped):
            exec(compile(code, str(PAGE), "exec"), names)
    assert len(names["tables"]) == 5
    assert len(names["inside"]) <= names["reader"].count(age=(30, 39)).possible == len(names["touching"])
    if not skipped:
        assert ((names["chance"] >= 0) & (names["chance"] <= 1)).all()


def _has_sklearn() -> bool:
    try:
        import sklearn.ensemble  # noqa: F401
    except ImportError:
        return False
    return True


def test_sql_and_r_find_their_columns(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.chdir(place)
    folder = "shoal-demo/release"
    called(place, "read", folder, "--as", "low-high", "--format", "parquet", "-o", "typed/")
    called(place, "read", folder, "--as", "long", "--format", "parquet", "-o", "long/")
    answer = shoal.open_release(folder).count(age=(30, 39))
    (sql,) = blocks("sql")
    bounds, groups = (duckdb.sql(each).fetchall() for each in sql.split(";") if each.strip())
    assert bounds == [(answer.certain, answer.possible)]
    total = sum(weight for _, weight in groups)
    assert answer.certain - 1 <= total <= answer.possible + 1
    (r,) = blocks("r")
    file = re.search(r'read_parquet\("(.*?)"\)', r)
    assert file is not None
    columns = pl.read_parquet(place / file[1]).columns
    assert set(re.findall(r"release\$(\w+)", r)) <= set(columns)
