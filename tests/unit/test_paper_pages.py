"""Each page on a paper lists all that the paper has, with a verdict, and with code and results that exist."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "docs" / "papers"
ROMAN = ("I", "II", "III", "IV", "V")
CONTENTS: dict[str, dict[str, tuple[int, ...]]] = {
    "heterogeneous": {
        "Definition": (1, 2, 3),
        "Problem": (1,),
        "Algorithm": (1, 2),
        "Table": (1,),
        "Figure": (1, 2),
    },
    "concealment": {
        "Definition": (1, 2, 3, 4, 6, 9, 11, 12, 14),
        "Proposition": (5, 7, 8, 10, 13),
        "Algorithm": tuple(range(1, 9)),
        "Table": (1,),
        "Figure": tuple(range(1, 11)),
    },
    "patterns": {"Theorem": (1, 2, 3), "Algorithm": (1,), "Table": (1,), "Figure": (1,)},
    "proximity": {
        "Definition": tuple(range(1, 16)),
        "Lemma": (1, 2, 3),
        "Theorem": (1, 2, 3),
        "Example": tuple(range(1, 6)),
        "Algorithm": (1, 2),
        "Table": (1, 2, 3),
        "Figure": tuple(range(1, 7)),
    },
    "sets": {
        "Definition": (1, 2, 3),
        "Problem": (1,),
        "Theorem": (4,),
        "Equation": (1,),
        "Algorithm": (1, 2),
        "Table": tuple(range(1, 7)),
        "Figure": tuple(range(1, 8)),
    },
}
"""The numbered parts of each paper; definitions and propositions share their numbers in one of them."""
VERDICTS = ("exactly", "with differences", "not reproducible: ")
CODE = re.compile(r"`([\w./-]+(?:\.py|\.cpp|\.hpp|/))`")
LINK = re.compile(r"\]\(([^)#]*)(?:#([^)]*))?\)")


def rows(name: str) -> list[list[str]]:
    """Return the rows of the list of everything in a paper."""
    text = (PAPERS / f"{name}.md").read_text(encoding="utf-8").split("## Everything in the paper")[1]
    lines = [line for line in text.split("\n## ")[0].splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def listed(name: str) -> set[tuple[str, int]]:
    """Return the numbered parts that the list names: `Figures 5 to 8`, `Tables 1 and 3`, `Table II`."""
    found = set()
    for item, *_ in rows(name):
        pieces = re.split(
            r"\b(Definition|Problem|Proposition|Lemma|Theorem|Example|Equation|Algorithm|Table|Figure)s? ",
            item,
        )
        for kind, numbers in zip(pieces[1::2], pieces[2::2], strict=True):
            head = re.match(r"(?:(?:\d+|[IVX]+)(?:\.\d+)?|, | and | to )+", numbers)
            assert head, f"{name} lists a {kind} without a number: {item}"
            tokens = re.findall(r"\d+(?:\.\d+)?|[IVX]+|to", head.group())
            values = [
                None if t == "to" else ROMAN.index(t) + 1 if t in ROMAN else int(float(t)) for t in tokens
            ]
            found |= {(kind, value) for value in values if value is not None}
            for before, (between, after) in zip(values, pairwise(values[1:]), strict=False):
                if between is None and before is not None and after is not None:
                    found |= {(kind, value) for value in range(before, after)}
    return found


def existing(path: str) -> bool:
    return any((root / path).exists() for root in (ROOT, ROOT / "src" / "shoal"))


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", head.lower())).strip("-") for head in heads}


@pytest.mark.parametrize("name", CONTENTS)
def test_nothing_is_missing(name: str) -> None:
    expected = {(kind, number) for kind, numbers in CONTENTS[name].items() for number in numbers}
    assert expected - listed(name) == set()


@pytest.mark.parametrize("name", CONTENTS)
def test_everything_has_a_verdict_and_names_where_it_is(name: str) -> None:
    for item, verdict, *where in rows(name):
        assert verdict.startswith(VERDICTS), f"{item}: {verdict}"
        assert CODE.search(" ".join(where)) or LINK.search(" ".join(where)), (
            f"{item} names no file and no page"
        )


@pytest.mark.parametrize("name", CONTENTS)
def test_all_files_and_pages_that_are_named_exist(name: str) -> None:
    page = PAPERS / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    assert [path for path in CODE.findall(text) if not existing(path)] == []
    for address, anchor in LINK.findall(text):
        if "://" in address:
            continue
        target = (page.parent / address).resolve() if address else page
        assert target.is_file(), address
        assert not anchor or anchor in anchors(target), f"{address}#{anchor}"


def test_reading_of_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PAPERS", tmp_path)
    table = "| item | reproduced | where |\n| --- | --- | --- |\n"
    table += "| Figures 5 to 8, Table II, Theorem 4.1 | x | y |\n"
    (tmp_path / "toy.md").write_text(
        f"## Everything in the paper\n\n{table}| Tables 1, 3 and 4 (s) | x | y |\n"
    )
    expected = {("Figure", n) for n in (5, 6, 7, 8)} | {("Table", n) for n in (1, 2, 3, 4)} | {("Theorem", 4)}
    assert listed("toy") == expected
