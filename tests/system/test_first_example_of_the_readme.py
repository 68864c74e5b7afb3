"""The first example of the README, run as written, protects the sensitive column."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl

from shoal.samples import hospital

README = Path(__file__).parents[2] / "README.md"


def commands() -> list[list[str]]:
    """Return the commands below "With your own table"."""
    text = README.read_text(encoding="utf-8")
    found = re.search(r"With your own table:\n\n```sh\n(.*?)```", text, re.DOTALL)
    assert found is not None
    lines = [shlex.split(line, comments=True) for line in found[1].splitlines()]
    return [words for words in lines if words and words[0] == "shoal"]


def test_the_first_example_protects_the_sensitive_column(tmp_path: Path) -> None:
    # In larger tables, chance decides whether rows are widened for l, and then the command says so.
    frame = hospital(120, seed=9).select("age", "zip", "sex", "diagnosis")
    frame = frame.with_columns(name=pl.Series([f"Person {number}" for number in range(frame.height)]))
    frame.write_csv(tmp_path / "patients.csv")
    said = []
    for _, *words in commands():
        call = [sys.executable, "-m", "shoal", *words]
        done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said.append(" ".join((done.stdout + done.stderr).split()))
    assert [words[1] for words in commands()] == ["scan", "anonymize", "audit"]
    made = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert made["model"]["l"] == 2
    assert made["publishable"] is True
    assert made["warnings"] == []
    (found,) = made["audit"]["diversity_consistent"]
    assert found["highest_frequency"] <= 0.5
    assert "The guarantee holds" in said[2]
    assert "says the same" in said[2]
    for text in said:
        assert not re.search(r"\b1 (rows|records|values|persons|blocks|columns)\b", text), text
        assert "Warning" not in text
