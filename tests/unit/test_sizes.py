"""How long source files and functions are: what is longer takes too long to read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES, MOST_OF_A_FUNCTION = 500, 60
SOURCES = {file: file.read_text(encoding="utf-8") for file in sorted((ROOT / "src").rglob("*.py"))}
NATIVE = {file: file.read_text(encoding="utf-8") for file in sorted((ROOT / "native").rglob("*.[ch]pp"))}


def lengths(text: str) -> Iterator[tuple[str, int]]:
    """Yield the functions of a module, and how many lines each has without its docstring."""
    for each in ast.walk(ast.parse(text)):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            first = each.body[0]
            described = 0 if ast.get_docstring(each) is None else (first.end_lineno or 0) - first.lineno + 1
            yield each.name, (each.end_lineno or 0) - each.lineno + 1 - described


def test_files_are_short() -> None:
    counted = {file.name: len(text.splitlines()) for file, text in (SOURCES | NATIVE).items()}
    assert not {name: lines for name, lines in counted.items() if lines > MOST_LINES}


def test_functions_are_short_without_their_docstrings() -> None:
    counted = {f"{file.name}: {name}": most for file, text in SOURCES.items() for name, most in lengths(text)}
    assert not {name: lines for name, lines in counted.items() if lines > MOST_OF_A_FUNCTION}
