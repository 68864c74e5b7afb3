"""Sets of items in frames: lists, sets and arrays in, lists out; in text files the same as before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import shoal

N = 40
BASKETS = [["olive oil", "bread", "tea"][: 1 + number % 3] for number in range(N)]
BASKETS[3] = []
AGES = [20 + number % 7 for number in range(N)]
MODEL = shoal.SetAnonymity(k=4)

FRAMES: dict[str, Callable[[], Any]] = {
    "polars": lambda: pl.DataFrame({"x": BASKETS, "age": AGES}),
    "polars-categories": lambda: pl.DataFrame({"x": BASKETS, "age": AGES}).with_columns(
        pl.col("x").cast(pl.List(pl.Categorical))
    ),
    "polars-sets": lambda: pl.DataFrame(
        {"x": pl.Series([set(basket) for basket in BASKETS], dtype=pl.Object), "age": AGES}
    ),
    "pandas-lists": lambda: pd.DataFrame({"x": BASKETS, "age": AGES}),
    "pandas-sets": lambda: pd.DataFrame({"x": [set(basket) for basket in BASKETS], "age": AGES}),
    "pandas-frozen": lambda: pd.DataFrame({"x": [frozenset(basket) for basket in BASKETS], "age": AGES}),
    "pandas-tuples": lambda: pd.DataFrame({"x": [tuple(basket) for basket in BASKETS], "age": AGES}),
    "pandas-arrays": lambda: pd.DataFrame({"x": [np.array(b, dtype=object) for b in BASKETS], "age": AGES}),
    "pyarrow": lambda: pl.DataFrame({"x": BASKETS, "age": AGES}).to_arrow(),
}


def lists_in(frame: Any, name: str) -> list[list[str]]:
    column = frame[name]
    return [list(cell) for cell in (column.to_pylist() if hasattr(column, "to_pylist") else column.to_list())]


@pytest.mark.parametrize("flavour", FRAMES)
def test_lists_come_back_as_lists(flavour: str) -> None:
    frame = FRAMES[flavour]()
    schema = shoal.Schema.infer(frame, quasi=["x", "age"])
    assert schema["x"].kind is shoal.Kind.ITEMS
    assert shoal.scan(frame).schema["x"].kind is shoal.Kind.ITEMS
    release = shoal.anonymize(frame, schema, MODEL, seed=3)
    names = {"olive oil", "bread", "tea"}
    for name in ("x", "x_uncertain"):
        found = lists_in(release.table, name)
        assert {item for cell in found for item in cell} <= names
    assert shoal.audit(frame, release.table, schema, MODEL).holds
    for form in ("csv", "parquet"):
        written = release.written(form)  # type: ignore[arg-type]
        assert shoal.audit(frame, written, schema, MODEL).holds
        reader = shoal.open_release(written, codebook=release.certified.codebook())
        assert reader.count().estimate == N
    texts = release.written("csv")["x"]
    assert texts.str.contains("olive\\ oil", literal=True).any()  # a space inside a name is escaped


def test_texts_come_back_as_texts() -> None:
    frame = pl.DataFrame({"x": ["tea;bread", "tea"] * 20})
    schema = shoal.Schema.infer(frame, quasi=["x"], separators={"x": ";"})
    assert shoal.anonymize(frame, schema, MODEL).table.schema["x"] == pl.String


def test_lists_are_written_as_texts_are() -> None:
    """The same sets give the same file, whether they were lists or texts."""
    lists = pl.DataFrame({"x": BASKETS})
    texts = pl.DataFrame({"x": [";".join(basket) for basket in BASKETS]})
    found = []
    for frame, how in ((lists, {}), (texts, {"separators": {"x": ";"}})):
        schema = shoal.Schema.infer(frame, quasi=["x"], **how)  # type: ignore[arg-type]
        found.append(shoal.anonymize(frame, schema, MODEL, seed=1).written("csv"))
    assert found[0].equals(found[1])


def test_blocks_of_a_file_with_lists(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": BASKETS * 3, "age": AGES * 3})
    frame.write_parquet(tmp_path / "t.parquet")
    schema = shoal.Schema.infer(frame, quasi=["x", "age"])
    for form in ("csv", "parquet"):
        made = shoal.anonymize_file(
            tmp_path / "t.parquet",
            schema,
            MODEL,
            tmp_path / form,
            format=form,  # type: ignore[arg-type]
            jobs=1,
        )
        assert made.certified.audit.holds
        saved = shoal.read_table(tmp_path / form / f"release.{form}")
        assert shoal.audit(frame, saved, schema, MODEL).holds
