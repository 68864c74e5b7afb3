"""Methods in modules of users on Spark: workers import them, or say why they cannot."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import test_spark
from blockwise import PEOPLE as SCHEMA
from blockwise import people
from how_to import files_of
from test_how_to_add_a_method import PAGE
from test_spark import check

import shoal
from shoal import InputError, KAnonymity
from shoal.errors import Reason
from shoal.methods import METHODS

pytestmark = test_spark.pytestmark

MODEL = KAnonymity(k=3)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a folder with the modules of the how-to page, which can be imported."""
    files_of(PAGE, tmp_path)
    monkeypatch.setitem(METHODS, KAnonymity, dict(METHODS[KAnonymity]))
    monkeypatch.syspath_prepend(tmp_path)
    people(600).write_parquet(tmp_path / "in.parquet")
    yield tmp_path
    for name in ("runs", "either_runs"):
        sys.modules.pop(name, None)


def released_by(method: str, folder: Path, session: Any) -> shoal.SparkRelease:
    return shoal.anonymize_spark(
        folder / "in.parquet", SCHEMA, MODEL, folder / method, method=method, session=session, block_rows=300
    )


def test_workers_know_a_method_in_a_module_of_its_own(folder: Path, session: Any) -> None:
    import_module("runs")
    assert released_by("runs", folder, session).certificate["method"] == "runs"
    check(people(600), folder / "runs", MODEL)


def test_a_module_that_workers_cannot_import_is_named(folder: Path, session: Any) -> None:
    import_module("either_runs")
    (folder / "either_runs.py").write_text("import a_module_that_workers_lack\n")
    with pytest.raises(InputError, match=r"^a worker process cannot import module 'either_runs'") as caught:
        released_by("either_runs", folder, session)
    assert caught.value.reason is Reason.SPARK
