"""What the benchmark `reading` measured: a line for each cell in `reading.jsonl`, beside this file.

The file is kept in the repository, so that the next run measures only what is missing. A line belongs to the
reader that it was measured with; lines of other readers are dropped when the page is written, unless they
were adopted before: some cells are then measured again, and must have the same figures.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks import harness
from shoal.reading import Reader

FILE = Path(__file__).with_name("reading.jsonl")
DIGITS = 5
"""Figures are kept with this many significant digits."""

Cell = dict[str, Any]


def kept(name: str, measure: Callable[[], Cell] | None = None) -> Cell | None:
    """Return what was measured with the reader as it is now; if nothing was, measure it if that is wanted."""
    found = every_cell().get(name)
    if found is None and measure is not None:
        found = _rounded(measure())
        with FILE.open("a", encoding="utf-8") as out:
            out.write(_lines({name: found}))
        print(name, flush=True)
    return found


def every_cell(reader: str | None = None) -> dict[str, Cell]:
    """Return all that was measured with the reader as it is now, or with another one, by name."""
    lines = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
    reader = reader or reader_digest()
    return {each["name"]: each["figures"] for each in map(json.loads, lines) if each["reader"] == reader}


def adopt(reader: str, names: Sequence[str], measure: Callable[[str], Cell]) -> None:
    """Keep what was measured with another reader that gives the same answers.

    Parameters
    ----------
    reader
        Its digest.
    names
        The cells that are measured again. Where a method makes another release than it did then, there is
        nothing to compare; this must be so for fewer than half of them.
    measure
        Measures a cell.

    Raises
    ------
    ValueError
        If a figure differs, or too few cells can be compared.
    """
    old = every_cell(reader)
    compared = 0
    for name in names:
        before = old.get(name, {})
        if "same" in before:
            data, k = name.split("-", 1)[0], name.rsplit("-", 1)[1]
            before = {**old.get(f"{data}-{before['same']}-{k}", {}), **before}
        now = _rounded(measure(name))
        if not before or now.get("release") != before.get("release"):
            print(f"{name}: another release, or not measured before", flush=True)
            continue
        if _answers(now) != _answers(before):
            raise ValueError(f"{name} has other figures than with reader {reader}")
        compared += 1
        print(f"{name}: the same figures", flush=True)
    if 2 * compared <= len(names):
        raise ValueError(f"only {compared} of {len(names)} cells can be compared with reader {reader}")
    cells = {**old, **every_cell()}
    FILE.write_text(_lines(cells), encoding="utf-8")


def _answers(figures: Any) -> Any:
    """Return figures without those that differ from run to run."""
    if not isinstance(figures, dict):
        return figures
    return {
        name: _answers(each)
        for name, each in figures.items()
        if name not in ("processor_seconds", "commit", "same")
    }


def tidy(names: Iterable[str]) -> None:
    """Put the lines into the order of these names, without those of other readers."""
    cells = every_cell()
    FILE.write_text(_lines({name: cells[name] for name in names if name in cells}), encoding="utf-8")


@cache
def reader_digest() -> str:
    """Return a digest of the sources that the figures depend on, apart from the releases."""
    folder = harness.ROOT / "src" / "shoal" / "reading"
    sources = sorted(each for each in folder.glob("*.py") if each.name != "wording.py")
    return hashlib.sha256("".join(map(_code, sources)).encode()).hexdigest()[:12]


def release_digest(folder: Path, reader: Reader) -> str:
    """Return a digest of the rows of a release and of what is assumed about them.

    Releases with the same digest give the same answers.
    """
    assumed = repr((reader._tightness, reader._family, reader.codebook.k))
    return hashlib.sha256((folder / "release.csv").read_bytes() + assumed.encode()).hexdigest()[:12]


def _lines(cells: dict[str, Cell]) -> str:
    reader = reader_digest()
    lines = ({"name": name, "reader": reader, "figures": each} for name, each in cells.items())
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def _rounded(figures: Any) -> Any:
    if isinstance(figures, dict):
        return {name: _rounded(each) for name, each in figures.items()}
    if isinstance(figures, list):
        return [_rounded(each) for each in figures]
    return float(f"{figures:.{DIGITS}g}") if isinstance(figures, float) else figures


def _code(file: Path) -> str:
    """Return what a module does, apart from its comments and docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [each for each in body if not _is_text(each)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
