"""Claims in the documentation against the figures in the tables of results that they rest on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from claim_tables import Claim, claims, compared, is_about, number, tables

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
CLAIMS = claims(RESULTS / "claims.toml")
CHECKS = [(claim, check) for claim in CLAIMS for check in claim.checks]


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def page(check: dict[str, Any]) -> str:
    return (RESULTS / f"{check['results']}.md").read_text()


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: words(claim.text)[:50])
def test_each_claim_is_on_its_page(claim: Claim) -> None:
    assert words(claim.text) in words((ROOT / claim.page).read_text())
    assert claim.checks


@pytest.mark.parametrize(("claim", "check"), CHECKS, ids=lambda each: getattr(each, "text", "")[:50])
def test_each_claim_is_supported_by_its_figures(claim: Claim, check: dict[str, Any]) -> None:
    found = compared(check, page(check))
    assert len(found) >= check.get("figures", 1), f"no figures for: {claim.text}"
    wrong = [each for each in found if not each.holds]
    assert not wrong, f"{claim.page} says {claim.text!r}, but {wrong}"


@pytest.mark.parametrize(("claim", "check"), CHECKS, ids=lambda each: getattr(each, "text", "")[:50])
def test_a_figure_that_contradicts_is_noticed(claim: Claim, check: dict[str, Any]) -> None:
    """Each column in turn is replaced by figures that no claim survives."""
    condition = next(name for name in ("at_most", "below", "at_least", "above", "equals") if name in check)
    if "says" in check:
        before, after = check["says"].split("{}")
        far = "1000000000" if condition in ("at_most", "below", "equals") else "-1000000000"
        text = words(page(check))
        assert any(not each.holds for each in compared(check, f"{text} {before}{far}{after}")), claim.text
        return
    for column in check["columns"]:
        rows_changed = 0
        text = page(check)
        for table in tables(text):
            if not is_about(check, table) or column not in table.columns:
                continue
            kept = check.get("against", {}).items()
            for place, row in enumerate(table.rows):
                value = number(row[column])
                if value is None or (kept and all(row.get(name) == cell for name, cell in kept)):
                    continue
                far = 1e9 if condition in ("at_most", "below", "equals") else -1e9
                worse = f"{far * 10**place:.0f}" if far > 0 else f"{far:.0f}"
                old = "| " + " | ".join(row.values()) + " |"
                new = "| " + " | ".join({**row, column: worse}.values()) + " |"
                text = text.replace(old, new, 1)
                rows_changed += 1
        assert rows_changed, claim.text
        assert any(not each.holds for each in compared(check, text)), claim.text


PAPERS = ("concealment", "heterogeneous", "patterns", "proximity", "sets")


def statements() -> list[tuple[str, str]]:
    """Return all that pages say was measured: points of the first page, rows of targets and of papers."""
    first = (ROOT / "README.md").read_text()
    first = first[first.index("## Why Shoal") : first.index("## Guarantees")]
    found = [("README.md", each) for each in first.split("\n- ")[1:]]
    for name in ("results/index", *(f"papers/{paper}" for paper in PAPERS)):
        text = (ROOT / "docs" / f"{name}.md").read_text()
        if name.startswith("papers"):
            begin = text.index("## What we measured")
            text = text[begin : text.index("\n## ", begin + 1)]
        found += [(f"docs/{name}.md", line) for line in text.splitlines() if line.startswith("| ")]
    return [(where, words(text)) for where, text in found]


FIGURE = re.compile(r"\d[.,]\d|\d%|\d (?:s|times|minutes|GiB|MiB|records)\b|n\^\d")
"""What is measured, unlike the number of a table, a definition or a record of a decision."""


@pytest.mark.parametrize(("where", "text"), [each for each in statements() if FIGURE.search(each[1])])
def test_each_measured_figure_is_a_claim_or_a_test(where: str, text: str) -> None:
    claimed = any(claim.page == where and words(claim.text) in text for claim in CLAIMS)
    assert claimed or "tests/" in text, f"{where} has figures without a claim: {text}"


MEASURED = re.compile(r"\d%|\d (?:s|times|minutes|GiB|MiB)\b|[nk]\^\d|(?<![\w.])0\.\d\d")
"""A share, a time, an exponent, a loss; not the size of a table, the number of a section or a parameter."""


def blocks(text: str) -> list[str]:
    """Return the rows of tables, points of lists and paragraphs of a page, without code."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"^(?=\| |- |\d+\. )", "\n", text, flags=re.MULTILINE)
    return [words(each) for each in re.split(r"\n\s*\n", text)]


@pytest.mark.parametrize(
    "where", ["README.md", "docs/results/index.md", *(f"docs/papers/{p}.md" for p in PAPERS)]
)
def test_no_measured_figure_of_a_page_is_outside_a_claim(where: str) -> None:
    """What papers claim is theirs, also in the first cell of a row; where a test is named, it checks."""
    text = re.sub(r"## What the paper claims.*?(?=\n## )", "", (ROOT / where).read_text(), flags=re.DOTALL)
    claimed = [words(claim.text) for claim in CLAIMS if claim.page == where]
    for block in blocks(text):
        left = re.sub(r"^\| .*? \| ", "", block) if "papers" in where else block
        for claim in claimed:
            left = left.replace(claim, "")
        left = re.sub(r"`[^`]*`|\]\([^)]*\)", "", left)
        assert "tests/" in block or not MEASURED.search(left), f"{where} has a figure without a claim: {left}"


def test_figures_in_texts_and_in_other_rows() -> None:
    text = "# P\n\nIt took 4.5 s and\n703 MiB.\n\n| m | k = 1 |\n| --- | --- |\n| a | 2 |\n| b | 8 |\n"
    found = compared({"says": "took {} s", "at_most": 5}, text)
    found += compared({"says": "and {} MiB", "at_most": 700}, text)
    found += compared(
        {"columns": ["k = 1"], "rows": {"m": ["a"]}, "against": {"m": "b"}, "equals": 0.25}, text
    )
    assert [(each.found, each.holds) for each in found] == [(4.5, True), (703, False), (0.25, True)]


def test_reading_tables() -> None:
    text = "# P\n\n## A\n\n### B\n\n| k | s | s |\n| --- | --- | --- |\n| 2 | 1,000 | 5.5% / 3% |\n"
    (table,) = tables(text)
    assert table.section == "A > B"
    assert table.columns == ["k", "s", "s #2"]
    assert number(table.rows[0]["s"]) == 1000
    assert number(table.rows[0]["s #2"]) == 0.055
    assert number("refused") is None


def test_growth_from_row_to_row() -> None:
    text = "# P\n\n| n | s |\n| --- | --- |\n| 10 | 1 |\n| 20 | 2 |\n| 40 | 8 |\n"
    found = compared({"columns": ["s"], "growth": "n", "at_most": 1.5}, text)
    assert [(round(each.found, 9), each.holds) for each in found] == [(1.0, True), (2.0, False)]
