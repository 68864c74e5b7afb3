"""Sets of items on the command line: transaction files, delimited texts, long tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from calling import called

ITEMS = ("--quasi", "basket", "--kind", "basket=items")
NAMES = ["milk", "red wine", "bread", "eggs, large", "*"]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the same baskets as transactions, as texts and as a long table."""
    folder = tmp_path_factory.mktemp("shop")
    random = np.random.default_rng(4)
    baskets = [[name for name in NAMES if random.random() < 0.4] for _ in range(40)]
    labels = [str(random.choice(["p", "q", "r", "s"])) for _ in baskets]
    (folder / "baskets.dat").write_text("".join(",".join(b).replace(", ", "_") + "\n" for b in baskets))
    texts = pl.DataFrame({"basket": ["|".join(basket) for basket in baskets], "label": labels})
    texts.write_csv(folder / "texts.csv")
    long = pl.DataFrame({"who": range(40), "what": baskets, "label": labels}).explode("what")
    long.write_csv(folder / "long.csv")
    return folder


def test_transaction_files_need_no_more_than_a_k(shop: Path, tmp_path: Path) -> None:
    lines = (shop / "baskets.dat").read_text().replace(" ", "_").replace(",", " ")
    (tmp_path / "baskets.dat").write_text(lines)
    done = called(tmp_path, "anonymize", "baskets.dat", "--k", "3", "-o", "out", "--keep-key", "--json")
    certificate = json.loads(done.stdout)
    assert certificate["model"]["name"] == "set-anonymity"
    assert set(certificate["loss"]["items"]["items"]) == {
        "error_rate",
        "uncertain",
        "bits",
        "query_error_present",
        "query_error_absent",
    }
    header = (tmp_path / "out" / "release.csv").read_text().splitlines()[0]
    assert header == "items,items_uncertain,items_max_errors"
    called(tmp_path, "audit", "baskets.dat", "out/release.csv", "--k", "3", "--key", "out/key.csv")
    called(tmp_path, "audit", "baskets.dat", "out/release.csv", "--k", "40", code=1)
    called(tmp_path, "scan", "baskets.dat")
    called(tmp_path, "anonymize", "baskets.dat", "--schema", "schema.toml", "--k", "3", "-o", "again")


def test_a_delimiter_cuts_transactions_whose_items_have_spaces(shop: Path, tmp_path: Path) -> None:
    call = ("anonymize", str(shop / "baskets.dat"), "--delimiter", ",", "--k", "3", "-o", "out")
    assert "red\\ wine" in (called(tmp_path, *call), (tmp_path / "out" / "release.csv").read_text())[1]


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize(
    "table",
    [
        ("texts.csv", "--separator", "basket=|", "--quasi", "basket"),
        ("long.csv", "--long", "who,what", "--quasi", "what"),
    ],
)
def test_labels_are_varied_around_everybody(
    shop: Path, tmp_path: Path, table: tuple[str, ...], form: str
) -> None:
    original = (str(shop / table[0]), *table[1:], "--sensitive", "label")
    promise = ("--model", "set-diversity", "--l", "2")
    called(tmp_path, "anonymize", *original, *promise, "-o", "out", "--format", form)
    released = str(tmp_path / "out" / f"release.{form}")
    called(tmp_path, "audit", *original[:1], released, *original[1:], *promise)
    called(
        tmp_path,
        "audit",
        *original[:1],
        released,
        *original[1:],
        "--model",
        "set-diversity",
        "--l",
        "4",
        code=1,
    )


@pytest.mark.parametrize(
    "call",
    [
        ("--k", "3", "--method", "ring"),
        ("--k", "3", "--effort", "fast"),
        ("--model", "set-diversity", "--l", "2", "--method", "cahd"),
        ("--model", "set-diversity", "--l", "2", "--effort", "fast"),
    ],
)
def test_methods_and_efforts_are_certified(shop: Path, tmp_path: Path, call: tuple[str, ...]) -> None:
    original = (
        str(shop / "texts.csv"),
        "--separator",
        "basket=|",
        "--quasi",
        "basket",
        "--sensitive",
        "label",
    )
    certificate = json.loads(called(tmp_path, "anonymize", *original, *call, "-o", "out", "--json").stdout)
    option, value = call[-2:]
    if option == "--method":
        assert (certificate["method"], certificate["options"]) == (value, {})
    else:
        assert (certificate["method"], certificate["options"]) == ("freeform", {"effort": value})
    called(tmp_path, "audit", original[0], "out/release.csv", *original[1:], *call[:-2])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (("anonymize", "texts.csv", *ITEMS), "The option is --k."),
        (("anonymize", "texts.csv", "--quasi", "basket", "--long", "who"), "RECORD,ITEM"),
        (
            ("anonymize", "long.csv", "--long", "whom,what", "--quasi", "what", "--k", "2"),
            "did you mean 'who'",
        ),
        (("anonymize", "texts.csv", "--separator", "basket", "--k", "2"), "COLUMN=VALUE"),
        (
            ("anonymize", "texts.csv", *ITEMS, "--k", "2", "--l", "2"),
            "has no parameter 'l'",
        ),
        (
            ("anonymize", "texts.csv", "--quasi", "basket", "--model", "set-diversity", "--l", "2.5"),
            "whole number",
        ),
        (
            ("anonymize", "texts.csv", *ITEMS, "--k", "2", "--method", "rings"),
            "did you mean 'ring'",
        ),
        (
            ("anonymize", "texts.csv", *ITEMS, "--k", "2", "--method", "ring", "--effort", "best"),
            "has no option 'effort'",
        ),
    ],
)
def test_a_wrong_call_is_explained(shop: Path, tmp_path: Path, call: tuple[str, ...], words: str) -> None:
    done = called(shop, *call, "-o", str(tmp_path / "out"), code=2)
    assert words in done.stderr
    assert not (tmp_path / "out").exists()
