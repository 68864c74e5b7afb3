"""Type checkers know that the same type of frame comes out that went in."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PANDAS = """
class DataFrame:
    @property
    def columns(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def drop(self, *args: object, **kwargs: object) -> DataFrame: ...
    def join(self, *args: object, **kwargs: object) -> DataFrame: ...
"""
"""As much of pandas as its stubs must say; these are not installed with it."""
RIGHT = """
from typing import Any, assert_type

import pandas as pd
import polars as pl

import shoal


def in_polars(frame: pl.DataFrame, schema: shoal.Schema, model: shoal.Freeform) -> None:
    release = shoal.anonymize(frame, schema, model)
    assert_type(release, shoal.Release[pl.DataFrame])
    assert_type(release.table, pl.DataFrame)
    assert_type(shoal.collect_items(frame, "visit", "drug"), pl.DataFrame)
    shoal.audit(frame, release.table, schema, model)


def in_pandas(frame: pd.DataFrame, schema: shoal.Schema, model: shoal.Freeform) -> None:
    assert_type(shoal.anonymize(frame, schema, model).table, pd.DataFrame)
    shoal.Schema.infer(frame, quasi=["age"])
    shoal.compare(frame, schema)
    shoal.scan(frame)


def without_a_type(frame: Any, release: shoal.Release) -> None:
    assert_type(release.table, Any)
"""
WRONG = """
import shoal


def of_a_list(schema: shoal.Schema) -> None:
    shoal.anonymize([1, 2, 3], schema, shoal.Freeform(k=2))
"""


def checked(folder: Path, code: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, int]:
    api = pytest.importorskip("mypy.api")
    (folder / "pandas").mkdir(exist_ok=True)
    (folder / "pandas" / "__init__.pyi").write_text(PANDAS)
    (folder / "code.py").write_text(code)
    known = ROOT / ".mypy_cache"  # `make check` leaves it: Shoal and its libraries are not checked again
    if known.is_dir() and not (folder / "cache").exists():
        shutil.copytree(known, folder / "cache")
    monkeypatch.setenv("MYPYPATH", str(folder))
    words = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(folder / "cache")]
    monkeypatch.chdir(ROOT)
    out, err, status = api.run([*words, str(folder / "code.py")])
    return out + err, status


@pytest.mark.slow
def test_frames_keep_their_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said, status = checked(tmp_path, RIGHT, monkeypatch)
    assert status == 0, said
    said, status = checked(tmp_path, WRONG, monkeypatch)
    assert status == 1, said
    assert 'cannot be "list[int]"' in said
