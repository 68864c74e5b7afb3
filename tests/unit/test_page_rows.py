"""The page's view of rows: what is found, how it is shaded, and the crowd of a record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.release import Release
from shoal.samples import hospital
from shoal.schema import Schema
from shoal.web.looking import ON_PAGE, rows
from shoal.web.tasks import Source

QUASI = ["age", "sex", "zip"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Schema, Release[Any]]:
    folder = tmp_path_factory.mktemp("rows")
    table = hospital(80).select(*QUASI, "diagnosis")
    table.write_csv(folder / "t.csv")
    schema = Schema.infer(table, quasi=QUASI, sensitive=["diagnosis"])
    release = shoal.anonymize(table, schema, shoal.KAnonymity(k=4))
    release.write_files(folder)
    release.write_files(folder, form="parquet")
    return folder, schema, release


def ask(made: tuple[Path, Schema, Release[Any]], **changes: Any) -> dict[str, Any]:
    folder, schema, _ = made
    form = changes.pop("form", "csv")
    asked = {"column": "", "text": "", "sort": "", "page": 1, "record": None, **changes}
    nothing = lambda *_: None  # noqa: E731 - progress
    source = Source(folder / "t.csv", "t.csv")
    return rows(source, schema, folder / f"release.{form}", **asked, progress=nothing)


def test_all_rows_are_paged(made: tuple[Path, Schema, Release[Any]]) -> None:
    first, last = ask(made), ask(made, page=4)
    assert (first["original"]["total"], first["release"]["total"]) == (80, 80)
    assert first["original"]["numbers"] == list(range(1, ON_PAGE + 1))
    assert last["release"]["numbers"] == [76, 77, 78, 79, 80]
    assert [cell for cell, _ in first["original"]["rows"][0]] == [
        str(cell) for cell in hospital(80).select(*QUASI, "diagnosis").row(0)
    ]


def test_text_and_order(made: tuple[Path, Schema, Release[Any]]) -> None:
    found = ask(made, text="female", column="sex", sort="age")
    ages = [int(row[0][0]) for row in found["original"]["rows"]]
    assert ages == sorted(ages)
    assert all(row[1][0] == "female" for row in found["original"]["rows"])
    assert found["original"]["total"] == hospital(80).filter(pl.col("sex") == "female").height
    assert ask(made, text="female", column="age")["original"]["total"] == 0


def test_cells_are_shaded_by_their_loss(made: tuple[Path, Schema, Release[Any]]) -> None:
    for row in ask(made)["release"]["rows"]:
        for cell, shade in row[:3]:
            assert (shade == 0) == (".." not in cell and "|" not in cell and cell != "*")
            assert shade == 4 or cell != "*"
        assert row[3][1] == 0


def test_the_crowd_of_a_record(made: tuple[Path, Schema, Release[Any]]) -> None:
    table = hospital(80)
    for record in (1, 37, 80):
        found = ask(made, record=record)
        assert found["original"]["numbers"] == [record]
        assert found["crowd"] == {"record": record, "rows": found["release"]["total"]}
        assert found["release"]["total"] >= 4
        age = table["age"][record - 1]
        for row in found["release"]["rows"]:
            low, _, high = row[0][0].partition("..")
            assert row[0][0] == "*" or int(low) <= age <= int(high or low)
    with pytest.raises(shoal.ShoalError, match="no record 81"):
        ask(made, record=81)


def test_a_typed_release_shows_the_same(made: tuple[Path, Schema, Release[Any]]) -> None:
    for asked in ({}, {"text": "..", "column": "age"}, {"record": 5}):
        plain, typed = (ask(made, form=form, **asked)["release"] for form in ("csv", "parquet"))
        assert typed == plain
    assert ask(made, form="parquet", sort="age", text="male")["release"]["total"] > 0
