"""`shoal query` and `shoal read` on the release of the demo."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import polars as pl
import pytest
from calling import call


def shoal(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return call(folder, *words)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    done = shoal("demo", "--patients", "600", "-q", folder=folder)
    assert done.returncode == 0, done.stderr
    return folder


RELEASE = "shoal-demo/release"


def test_a_question_is_answered(demo: Path) -> None:
    done = shoal("query", RELEASE, "age 30..39, sex=female", "--json", folder=demo)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    patients = pl.read_csv(demo / "shoal-demo" / "patients.csv", infer_schema=False)
    age = pl.col("age").cast(pl.Int64, strict=False)
    truth = patients.filter(age.is_between(30, 39) & (pl.col("sex") == "female")).height
    assert answer["certain"] <= truth <= answer["possible"]
    shown = shoal("query", RELEASE, "age 30..39", folder=demo)
    assert "95% interval" in shown.stdout


def test_groups_and_means(demo: Path) -> None:
    done = shoal("query", RELEASE, "--by", "sex", "--json", folder=demo)
    assert sum(group["estimate"] for group in json.loads(done.stdout)) == pytest.approx(600)
    done = shoal("query", RELEASE, "--by", "sex", "--mean", "days", folder=demo)
    assert done.returncode == 0, done.stderr
    assert "mean of days" in done.stdout


def test_drawn_and_typed_tables_are_written(demo: Path) -> None:
    done = shoal("read", RELEASE, "--draw", "2", "--seed", "1", "-o", "drawn", folder=demo)
    assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in (demo / "drawn").iterdir()) == ["drawn-1.csv", "drawn-2.csv"]
    done = shoal("read", RELEASE, "--as", "low-high", "--format", "parquet", "-o", "typed", folder=demo)
    assert done.returncode == 0, done.stderr
    assert {"age_low", "age_high"} <= set(
        pl.read_parquet(demo / "typed" / "release-low-high.parquet").columns
    )
    again = shoal("read", RELEASE, "--draw", "2", "-o", "drawn", folder=demo)
    assert again.returncode == 2


def test_mistakes_are_explained(demo: Path) -> None:
    done = shoal("query", RELEASE, "sexx=female", folder=demo)
    assert done.returncode == 2
    assert "did you mean 'sex'" in done.stderr
    done = shoal("read", RELEASE, "-o", "nothing", folder=demo)
    assert done.returncode == 2
    assert "either --draw or --as" in done.stderr
