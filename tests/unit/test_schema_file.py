"""Schemas in files: what is written is read back, and what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from strategies import tables

from shoal import Column, Hierarchy, InputError, Intervals, Prefixes, Schema
from shoal.errors import Reason


def test_everything_survives_the_file(tmp_path: Path) -> None:
    schema = Schema(
        (
            Column("name", role="identifier"),
            Column("age", role="quasi", kind="numeric", weight=2.5, domain=(0, 120), missing="error"),
            Column(
                "born", role="quasi", kind="date", domain=("1900-01-01", "2020-12-31"), date_format="%d.%m.%Y"
            ),
            Column("zip", role="quasi", hierarchy=Prefixes((3, 2))),
            Column("pay", role="quasi", kind="numeric", hierarchy=Intervals((10.0, 100.0), origin=5.0)),
            Column("school", role="quasi", hierarchy=Hierarchy.from_levels([["a", "x", "*"], ["b", "*"]])),
            Column("size", role="quasi", kind="ordinal", domain=("S", "M", "L"), missing_marks=("?", "N/A")),
            Column("od d.ä|=[x]", role="sensitive"),
            Column("basket", kind="items"),
        )
    )
    schema.write(tmp_path / "schema.toml")
    assert Schema.read(tmp_path / "schema.toml") == schema
    with pytest.raises(InputError) as refused:
        schema.write(tmp_path / "schema.toml")
    assert refused.value.reason is Reason.OUTPUT_EXISTS
    schema.write(tmp_path / "schema.toml", overwrite=True)


@given(tables())
def test_random_schemas_survive(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[object, Schema]
) -> None:
    path = tmp_path_factory.mktemp("schema") / "schema.toml"
    drawn[1].write(path)
    assert Schema.read(path) == drawn[1]


def test_hierarchies_are_looked_up_beside_the_schema(tmp_path: Path) -> None:
    (tmp_path / "levels.csv").write_text("a;x;*\nb;x;*\n")
    (tmp_path / "schema.toml").write_text('[columns.school]\nrole = "quasi"\nhierarchy = "levels.csv"\n')
    (column,) = Schema.read(tmp_path / "schema.toml")
    assert column.hierarchy == Hierarchy.from_levels([["a", "x", "*"], ["b", "x", "*"]])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "[columns.NAME]"),
        ("columns = 3", "[columns.NAME]"),
        ('title = "x"\n[columns.age]\nrole = "quasi"', "'title'"),
        ("[columns]\nage = 3", "'age'"),
        ('[columns.age]\nrole = "quasy"', "did you mean 'quasi'"),
        ("[columns.age]\nwieght = 2", "did you mean 'weight'"),
        ('[columns.age]\nweight = "2"', "'2'"),
        ('[columns.age]\ndomain = "0..120"', "must be a list"),
        ('[columns.age]\nkind = "numeric"\ndomain = ["a", 3]', "two numbers"),
        ('[columns.age]\nkind = "date"\ndomain = [1, 2]', "two dates"),
        ("[columns.age]\ndate_format = 5", "date_format"),
        ('[columns.age]\nhierarchy = {intervals = ["five"]}', "not understood"),
        ('[columns.age]\nhierarchy = {prefixes = ["3"]}', "not understood"),
        ("[columns.age]\nhierarchy = {levels = [5]}", "not understood"),
        ("[columns.age]\nhierarchy = {steps = [5]}", "not understood"),
        ("[columns.age]\nhierarchy = 7", "not understood"),
        ('[columns.age]\nmissing_marks = "?"', "must be a list"),
    ],
)
def test_what_is_wrong_is_named(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        Schema.read(path)
    assert refused.value.reason is Reason.SCHEMA
    assert says in str(refused.value)


def test_frames_that_are_none_are_refused() -> None:
    with pytest.raises(InputError, match="not a table"):
        Schema.infer([[1, 2]])
    assert Schema.infer(pl.LazyFrame({"a": [1]}), quasi=["a"]).names == ("a",)  # it is computed
    with pytest.raises(InputError, match="not a text"):
        Schema.infer(pl.DataFrame({"a": [1]}).to_pandas().rename(columns={"a": 0}))
    with pytest.raises(InputError, match="'NA'"):
        Schema.infer(pl.DataFrame({"a": [1]}), missing_marks="NA")
    with pytest.raises(InputError, match="the same name"):
        Schema.infer(pl.DataFrame({"a": [1], "b": [2]}).to_pandas().rename(columns={"b": "a"}))


def test_columns_of_wrong_types_are_refused() -> None:
    for wrong in ({"missing_marks": "?"}, {"domain": "abc"}, {"name": 3}):
        with pytest.raises(InputError):
            Column(**{"name": "x", **wrong})  # type: ignore[arg-type]


def test_numbers_too_long_to_keep_stay_texts() -> None:
    frame = pl.DataFrame(
        {"a": ["12345678901234567890", "1"], "b": ["1e400", "1"], "c": ["123456789012345678", "1e9"]}
    )
    assert [column.kind.value for column in Schema.infer(frame)] == ["categorical", "categorical", "numeric"]
