"""The pages on the papers: every numbered item of a paper is on its list, and every place it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "docs" / "papers"

ITEMS = {
    "heterogeneous": {"Definition": 3, "Algorithm": 2, "Figure": 2, "Table": ["I"], "Problem": 1},
    "concealment": {
        "Definition": [1, 2, 3, 4, 6, 9, 11, 12, 14],
        "Algorithm": 8,
        "Proposition": [5, 7, 8, 10, 13],
        "Figure": 10,
        "Table": 1,
    },
    "patterns": {"Theorem": 3, "Algorithm": 1, "Figure": 1, "Table": 1},
    "proximity": {
        "Definition": 15,
        "Theorem": 3,
        "Lemma": 3,
        "Algorithm": 2,
        "Figure": 6,
        "Table": ["I", "II", "III"],
        "Example": 5,
    },
    "sets": {
        "Definition": 3,
        "Problem": 1,
        "Algorithm": 2,
        "Theorem": ["4.1"],
        "Figure": 7,
        "Table": 6,
    },
}
"""What each paper numbers: all up to a number, or these."""
ROWS = re.compile(r"^\| (?!item|---)(.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
NOTHING_TO_RUN = ("nothing to run", "drawings", "symbols", "not repeated", "not reproducible", "not built")
FOLDERS = ("", "src/shoal/", "native/", "docs/")


def rows(paper: str) -> list[tuple[str, str, str]]:
    """Return item, verdict and place of each row of the list of a page."""
    text = (PAPERS / f"{paper}.md").read_text()
    begin = text.index("## Everything in the paper")
    return [found.groups() for found in ROWS.finditer(text[begin : text.index("\n## ", begin + 1)])]  # type: ignore[misc]


def mentioned(kind: str, item: str) -> set[str]:
    """Return the numbers of a kind that a row mentions: one, several, or a range."""
    found: set[str] = set()
    one = r"(?:\d+(?:\.\d+)?|[IVX]+)"
    for words in re.findall(rf"{kind}s? ({one}(?:(?:, | and | to ){one})*)", item):
        found.update(re.findall(one, words))
        for first, last in re.findall(r"(\d+) to (\d+)", words):
            found.update(str(number) for number in range(int(first), int(last) + 1))
    return found


@pytest.mark.parametrize("paper", ITEMS)
def test_every_numbered_item_is_on_the_list(paper: str) -> None:
    items = " | ".join(item for item, _, _ in rows(paper))
    for kind, numbers in ITEMS[paper].items():
        wanted = range(1, numbers + 1) if isinstance(numbers, int) else numbers
        missing = {str(number) for number in wanted} - mentioned(kind, items)
        assert not missing, f"{paper}: {kind} {', '.join(sorted(missing))} is missing"


@pytest.mark.parametrize("paper", ITEMS)
def test_every_item_has_a_verdict_and_a_place_that_exists(paper: str) -> None:
    for item, verdict, place in rows(paper):
        assert re.match(r"exactly|with differences|not |nothing|drawings|symbols|built", verdict), (
            f"{paper}, {item}: {verdict}"
        )
        named = re.findall(r"`([\w/.]+(?:/|\.\w+))`", place)
        for each in named:
            assert any((ROOT / folder / each).exists() for folder in FOLDERS), f"{paper}, {item}: {each}"
        linked = re.findall(r"\]\(([^)#]+)", place)
        for each in linked:
            assert (PAPERS / each).exists(), f"{paper}, {item}: {each}"
        same = place.startswith("the same")
        silent = any(words in verdict or words in place for words in NOTHING_TO_RUN)
        assert named or linked or same or silent or "`" in place, f"{paper}, {item}: no place is named"
