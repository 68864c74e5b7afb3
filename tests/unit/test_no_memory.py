"""A table that does not fit into memory is no bug of Shoal: the command says so and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from calling import called


def test_a_command_without_memory_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: object, **__: object) -> None:
        raise MemoryError

    (tmp_path / "people.csv").write_text("age\n1\n2\n")
    monkeypatch.setattr("shoal.engines.local.anonymize_table", no_memory)
    done = called(tmp_path, "anonymize", "people.csv", "--quasi", "age", "--k", "2", "-o", "out", code=2)
    assert "there is not enough memory for this table; use a machine with more" in done.stderr
    assert not (tmp_path / "out").exists()
