"""The algorithms of the papers exactly as printed, as a user runs them from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from calling import called

from shoal.samples import hospital

RECORDS = ("--quasi", "age,sex", "--sensitive", "diagnosis", "--drop", "patient,name,zip,admitted")
BASKETS = ("--quasi", "basket", "--kind", "basket=items", "--sensitive", "label")
PRINTED = {
    "greedy": ("people.csv", *RECORDS, "--k", "3", "--l", "1", "--method", "printed_greedy"),
    "sort-greedy": ("people.csv", *RECORDS, "--k", "3", "--l", "1", "--method", "printed_sort_greedy"),
    "xcolor": (
        *("people.csv", *RECORDS, "--model", "dissimilarity", "--k", "3", "--epsilon", "0"),
        *("--delta", "0.2", "--start", "paper"),
    ),
    "gray-tsp": (
        *("baskets.csv", *BASKETS, "--model", "set-anonymity", "--k", "3"),
        *("--method", "ring", "--order", "gray-tsp"),
    ),
    "closed-walk": (
        *("baskets.csv", *BASKETS, "--model", "set-anonymity", "--k", "3"),
        *("--method", "ring", "--walk", "paper"),
    ),
    "diversity": (
        *("baskets.csv", *BASKETS, "--model", "set-diversity", "--l", "2"),
        *("--method", "printed_diversity"),
    ),
}
"""Each with its option; the pages on the papers name them."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small table of records and one of sets."""
    place = tmp_path_factory.mktemp("printed")
    people = hospital(60)
    people.write_csv(place / "people.csv")
    baskets = people.select(
        basket=pl.format("{} {} {}", "sex", "marital", "occupation"), label=pl.Series(list("abcd") * 15)
    )
    baskets.write_csv(place / "baskets.csv")
    return place


@pytest.mark.parametrize("name", PRINTED)
def test_printed_methods_run_and_are_named_in_the_certificate(folder: Path, name: str) -> None:
    asked = PRINTED[name]
    called(folder, "anonymize", *asked, "-q", "-o", name)
    certificate = json.loads((folder / name / "certificate.json").read_text(encoding="utf-8"))
    named, value = asked[-2].removeprefix("--"), asked[-1]
    shown = certificate["method"] if named == "method" else certificate["options"][named]
    assert shown == value
    assert certificate["audit"]["holds"]


def test_the_pages_on_the_papers_name_each_option() -> None:
    pages = Path(__file__).parents[2] / "docs" / "papers"
    text = " ".join(page.read_text(encoding="utf-8") for page in pages.glob("*.md"))
    for *_, option, value in PRINTED.values():
        assert (f"`{value}`" if option == "--method" else f"`{option} {value}`") in text
