"""Columns are called `*` or `^.*$`, which a library takes for all columns: identifiers would come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal import (
    Column,
    Freeform,
    InputError,
    KAnonymity,
    Role,
    Schema,
    anonymize,
    anonymize_file,
    audit,
    collect_items,
    read_table,
    scan,
)
from shoal.files.spreadsheets import write_excel
from shoal.files.writing import without_formulas, write_csv

NAMES = ("*", "^", "$")
PATTERNS = ("^.*$", "^(name|x)$", "^$")
"""Names that stand for all columns, or for several, in expressions of Polars."""


def people(name: str) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "name": [f"person {number}" for number in range(60)],
            name: [str(number // 2 % 3) for number in range(60)],
            "x": ["a", "=b"] * 30,
        }
    )


def schema(name: str) -> Schema:
    return Schema((Column("name", Role.IDENTIFIER), Column(name, Role.QUASI), Column("x", Role.SENSITIVE)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("flavour", ["polars", "pandas", "pyarrow"])
def test_a_column_of_any_name_is_released_alone(name: str, flavour: str) -> None:
    table = people(name)
    frame: Any = {"pandas": table.to_pandas, "pyarrow": table.to_arrow}.get(flavour, lambda: table)()
    release = anonymize(frame, schema(name), Freeform(k=2, l=2))
    assert release.written("csv").columns == [name, "x"]
    assert "name" not in release.recoding.table.frame.columns
    assert audit(frame, release.table, schema(name), Freeform(k=2), suppressed_marks=["-"]).holds
    assert release.certificate["audit"]["holds"]
    assert without_formulas(release.written("csv"))["x"].unique().sort().to_list() == ["'=b", "a"]


@pytest.mark.parametrize("name", NAMES)
def test_no_identifier_comes_back_in_blocks(name: str, tmp_path: Path) -> None:
    people(name).write_csv(tmp_path / "people.csv")
    anonymize_file(
        tmp_path / "people.csv", schema(name), KAnonymity(k=2), tmp_path / "out", block_rows=1, jobs=1
    )
    assert read_table(tmp_path / "out" / "release.csv").columns == [name, "x"]
    assert "person" not in (tmp_path / "out" / "release.csv").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_a_column_of_any_name_is_scanned_and_collected(name: str, tmp_path: Path) -> None:
    assert list(scan(people(name)).schema.names) == ["name", name, "x"]
    write_excel(people(name), tmp_path / "people.xlsx")
    assert read_table(tmp_path / "people.xlsx").columns == ["name", name, "x"]
    long = people(name).with_columns(pl.Series("name", [f"person {place // 2}" for place in range(60)]))
    assert collect_items(long, "name", "x").columns == [name, "x"]
    visits = long.with_columns(pl.Series("visit", range(60)))
    assert collect_items(visits.select("visit", "x"), "visit", "x").height == 60


@pytest.mark.parametrize("name", PATTERNS)
def test_a_name_that_is_a_pattern_is_refused(name: str, tmp_path: Path) -> None:
    other = Schema((Column("name", Role.IDENTIFIER), Column("x", Role.QUASI)))
    people(name).write_csv(tmp_path / "people.csv")
    for call in (
        lambda: Column(name),
        lambda: scan(people(name)),
        lambda: anonymize(people(name).to_pandas(), other, KAnonymity(k=2)),
        lambda: audit(people("*"), people(name), schema("*")),
        lambda: anonymize_file(tmp_path / "people.csv", other, KAnonymity(k=2), tmp_path / "out", jobs=1),
    ):
        with pytest.raises(InputError, match="rename the column"):
            call()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({"a|b": ["a\\|b", "1..2|\\\\*", "a\\|b"]}, id="one column of sets"),
        pytest.param({"a|b|c": ["x|y|z"] * 3, "d": ["1"] * 3}, id="as many signs as columns"),
        pytest.param({"a;b": ["1;2"] * 3}, id="semicolons"),
        pytest.param({"a\tb": ["1\t2"] * 3}, id="tabs"),
        pytest.param({"d": ["1"] * 3, "a|b|c": ["x|y|z"] * 3}, id="more signs than columns, in a later one"),
        pytest.param(
            {"d": ["1"] * 3, "e": ["-|a\nb"] * 3, "f": ["x|y"] * 3, "a|b": ["1"] * 3},
            id="sets with line breaks",
        ),
    ],
)
def test_names_with_other_delimiters_are_read_back(columns: dict[str, list[str]], tmp_path: Path) -> None:
    frame = pl.DataFrame(columns)
    write_csv(frame, tmp_path / "release.csv")
    assert read_table(tmp_path / "release.csv").equals(frame)
