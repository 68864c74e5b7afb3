"""Worker processes are new ones, never forks of a process in which Polars has begun threads."""

from __future__ import annotations

import multiprocessing.process
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal


@pytest.mark.processes
def test_blocks_and_comparisons_start_new_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"age": [i % 50 for i in range(400)], "zip": [i % 7 for i in range(400)]})
    frame.write_csv(tmp_path / "t.csv")
    assert frame["age"].sort().sum() > 0  # Polars has been used in this process

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a process was forked")

    started: list[list[str]] = []
    popen = subprocess.Popen

    def noted(command: list[str], **how: Any) -> Any:
        assert how.get("preexec_fn") is None
        started.append(command)
        return popen(command, **how)

    monkeypatch.setattr(os, "fork", refuse)
    monkeypatch.setattr(multiprocessing.process.BaseProcess, "start", refuse)
    monkeypatch.setattr("shoal.engines.workers.subprocess.Popen", noted)
    schema = shoal.Schema.infer(frame, quasi=["age", "zip"])
    model = shoal.KAnonymity(k=5)
    made = shoal.anonymize_file(tmp_path / "t.csv", schema, model, tmp_path / "out", block_rows=300, jobs=1)
    assert made.audit.holds
    assert started
    begun = len(started)
    assert (
        shoal.compare(frame, schema, model="k-anonymity", method="mondrian", k=5, jobs=1).runs[0].reason
        is None
    )
    assert len(started) > begun
    assert all(command[0] == sys.executable for command in started)


def test_no_part_of_the_package_forks() -> None:
    package = Path(shoal.__file__).parent
    forbidden = re.compile(r"^\s*(?:import|from) multiprocessing|ProcessPoolExecutor|os\.fork", re.MULTILINE)
    assert not [file for file in package.rglob("*.py") if forbidden.search(file.read_text("utf-8"))]
