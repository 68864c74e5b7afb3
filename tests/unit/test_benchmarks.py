"""Benchmarks: which modules are run, and pages of which parts are written by hand."""

from __future__ import annotations

import ast
from pathlib import Path

from benchmarks import harness, seconds
from benchmarks.__main__ import PARTS, benchmarks

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


def test_every_benchmark_has_a_main_and_every_other_module_is_used_by_one() -> None:
    names = benchmarks()
    text = {file.stem: file.read_text("utf-8") for file in FOLDER.glob("*.py")}
    for name in names:
        assert any(
            isinstance(each, ast.FunctionDef) and each.name == "main" for each in ast.parse(text[name]).body
        )
    for name in set(text) - set(names) - {"__init__", "__main__"}:
        assert any(name in code for other, code in text.items() if other != name), name
    assert set(text) > PARTS


def test_sections_by_hand_stay_on_the_page() -> None:
    page = "# Seconds\n\nOld.\n\n## By the clock\n\n| a |\n\n### Inside\n\nMore.\n\n## Old\n\nGone.\n"
    made = harness.with_sections("# Seconds\n\nNew.\n\n## Blocks\n\nText.", page, ["By the clock", "Memory"])
    assert made == (
        "# Seconds\n\nNew.\n\n## By the clock\n\n| a |\n\n### Inside\n\nMore.\n\n## Blocks\n\nText."
    )


def test_the_page_on_seconds_has_the_sections_by_hand() -> None:
    page = (harness.RESULTS / "seconds.md").read_text("utf-8")
    assert all(f"\n## {heading}\n" in page for heading in seconds.BY_HAND)
