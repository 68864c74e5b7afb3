"""What the benchmark of readers keeps: cells of the present reader, each release read once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import reading_cells
from benchmarks.reading_page import page_text
from benchmarks.reading_releases import LONGEST


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(reading_cells, "FILE", tmp_path / "reading.jsonl")
    return tmp_path / "reading.jsonl"


def test_a_cell_is_measured_once_and_kept_with_few_digits(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured: list[int] = []

    def measure() -> dict[str, Any]:
        measured.append(1)
        return {"mean": 0.123456789, "parts": {"all": [1 / 3]}, "questions": 12}

    expected = {"mean": 0.12346, "parts": {"all": [0.33333]}, "questions": 12}
    assert reading_cells.kept("a") is None
    assert reading_cells.kept("a", measure) == expected
    assert reading_cells.kept("a", measure) == expected
    assert len(measured) == 1
    assert len(file.read_text().splitlines()) == 1
    assert capsys.readouterr().out == "a\n"


def test_cells_of_other_readers_do_not_count(file: Path) -> None:
    old = json.dumps({"name": "a", "reader": "another", "figures": {"mean": 1.0}})
    file.write_text(old + "\n")
    assert reading_cells.kept("a") is None
    for name in ("b", "a"):
        reading_cells.kept(name, lambda: {"mean": 2.0})
    reading_cells.tidy(["a", "b", "c"])
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["name"] for line in lines] == ["a", "b"]
    assert {line["figures"]["mean"] for line in lines} == {2.0}


def test_cells_of_a_reader_that_answers_alike_are_adopted(file: Path) -> None:
    figures = {
        "cmc-a-5": {"release": "r", "mean": 0.5, "commit": "x"},
        "cmc-b-5": {"same": "a"},
        "cmc-c-5": {"release": "s", "mean": 2.0},
    }
    lines = [{"name": name, "reader": "before", "figures": each} for name, each in figures.items()]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    again = {"release": "r", "mean": 0.5, "commit": "y", "processor_seconds": 3.0}
    with pytest.raises(ValueError, match="cmc-a-5 has other figures than with reader before"):
        reading_cells.adopt("before", ["cmc-a-5"], lambda _: {**again, "mean": 0.6})
    with pytest.raises(ValueError, match="only 1 of 3 cells can be compared"):
        reading_cells.adopt("before", ["cmc-a-5", "cmc-c-5", "cmc-d-5"], lambda _: again)
    assert reading_cells.every_cell() == {}
    reading_cells.adopt("before", ["cmc-a-5", "cmc-b-5", "cmc-c-5"], lambda _: again)
    assert reading_cells.every_cell() == figures
    assert reading_cells.every_cell("before") == {}


def cell(mean: float, even: float) -> dict[str, Any]:
    """Return the figures of a release; the intervals of counts hold in 9 of 10 questions."""
    asked = {"median": 0.01, "coverage": 0.9, "bounded": 1.0, "questions": 10}
    tight = {"mean": mean, **asked, "gain": even - mean, "gain_error": 0.01}
    means = {"coverage": 0.8, "mean": 0.1, "questions": 5}
    return {
        "commit": "abc",
        "tight": {"2 0.1": tight, "means": means, "processor_seconds": 1.0},
        "even": {"2 0.1": {"mean": even, **asked}},
    }


def test_the_page_says_what_is_missing_and_why() -> None:
    found: dict[tuple[str, str, int], dict[str, Any]] = {
        ("cmc", "ring", 2): cell(0.1, 0.2),
        ("cmc", "matching", 2): {**cell(0.1, 0.2), "same": "ring"},
        ("cmc", "greedy", 2): cell(0.3, 0.2),
        ("cmc", "k1", 100): {"state": "late"},
        ("cmc", "forest", 100): {"state": "infeasible"},
    }
    text = page_text(found, {})
    assert "270 combinations of data set, method and k, 3 were measured. 1 of them" in text
    assert f"Not made within {LONGEST} s of processor time: cmc `k1` (k = 100)." in text
    assert "No such release exists: cmc `forest` (k = 100)." in text
    assert "cmc `greedy` (k = 5, 10, 25, 50, 100)" in text
    assert "In 1 it is larger by more: cmc `greedy` 2." in text
    assert "| cmc | all | 86.7% | 90.0% | 80.0% |" in text
