"""An attacker reads what typed cells show besides intervals: single bounds, other fields, odd types."""

from __future__ import annotations

import datetime
from contextlib import suppress
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal import Freeform, InputError, KAnonymity, OneK, audit
from shoal.errors import Reason
from shoal.kinds.hierarchy_rules import Prefixes
from shoal.schema import Column, Kind, Role, Schema

AGES = [20, 30, 40, 50, 60, 70]
NAN = float("nan")
NUMERIC = Schema((Column("age", Role.QUASI, Kind.NUMERIC),))
MODELS = [KAnonymity(k=6), KAnonymity(k=2), Freeform(k=2), OneK(k=2)]


def flavours(cells: list[Any], inner: pa.DataType | None = None) -> list[Any]:
    table = pa.table({"age": pa.array(cells, inner)})
    frames: list[Any] = [table, pl.DataFrame(table)]
    return frames if inner is not None else [*frames, pd.DataFrame({"age": cells})]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize(
    "cells",
    [
        [{"low": age, "high": None} for age in AGES],
        [{"low": None, "high": age} for age in AGES],
        [{"low": float(age), "high": NAN} for age in AGES],
        [{"low": 20, "high": 90, "exact": age} for age in AGES],
        [{"low": None, "high": None, "exact": age} for age in AGES],
        [{"low": 20, "high": 90, "name": {"first": "Ann", "born": age}} for age in AGES],
        [{"low": 20, "high": 90, "seen": [age]} for age in AGES],
        [{"low": 20, "high": 90, "on": datetime.date(2024, 1, age // 10)} for age in AGES],
    ],
)
def test_structs_that_show_more_or_are_not_understood_are_found(cells: list[Any], model: Any) -> None:
    original = pl.DataFrame({"age": AGES})
    for released in flavours(cells):
        found = audit(original, released, NUMERIC, model)
        assert not found.holds
        assert found.consistency.rows_without_record == 6
        assert found.consistency.rows_per_record == 0
        if len(set(map(repr, cells))) > 1:
            assert found.k == 1


def test_one_row_that_shows_its_value_is_found() -> None:
    cells: list[Any] = [{"low": 20, "high": 70, "exact": None}] * 5 + [{"low": 20, "high": 70, "exact": 47}]
    original = pl.DataFrame({"age": AGES})
    for released in flavours(cells):
        found = audit(original, released, NUMERIC, KAnonymity(k=5))
        assert not found.holds
        assert found.k == 1
        assert found.consistency.records_of_row.tolist() == [6] * 5 + [0]
        assert "exact: 47" in found.verdict


def test_only_a_struct_without_both_bounds_says_nothing() -> None:
    original = pl.DataFrame({"age": AGES})
    inner = pa.struct({"low": pa.int64(), "high": pa.int64()})
    for released in flavours([{"low": None, "high": None}] * 6, inner):
        found = audit(original, released, NUMERIC, KAnonymity(k=6))
        assert found.holds, found.verdict
    floats = pa.struct({"low": pa.float64(), "high": pa.float64()})
    for released in flavours([{"low": NAN, "high": NAN}] * 6, floats):
        assert not audit(original, released, NUMERIC, KAnonymity(k=6)).holds
    for released in flavours([None] * 6, inner):  # a missing value, which no record has
        assert not audit(original, released, NUMERIC, KAnonymity(k=6)).holds


@pytest.mark.parametrize(
    "cell",
    [
        {"from": 20, "to": 70},
        {"low": 20},
        {"high": 70},
        {"low": {"a": 1}, "high": {"a": 2}},
        {"low": [1], "high": [2]},
    ],
)
def test_structs_without_bounds_are_refused_by_name(cell: Any) -> None:
    for released in flavours([cell] * 6):
        with pytest.raises(InputError, match="column 'age' of the release") as caught:
            audit(pl.DataFrame({"age": AGES}), released, NUMERIC, KAnonymity(k=2))
        assert caught.value.reason is Reason.RELEASE_UNREADABLE


@pytest.mark.parametrize(
    "cells",
    [
        pl.Series([b"20"] * 6),
        pl.Series([b"\xff"] * 6),
        pl.Series([datetime.time(20)] * 6),
        pl.Series([datetime.timedelta(20)] * 6),
        pl.Series([[[20]]] * 6),
        pl.Series([[{"low": 20, "high": 70}]] * 6),
        pl.Series([[b"\xff"]] * 6),
        pl.Series([float("inf")] * 6),
        pl.Series([{"low": float("-inf"), "high": float("inf")}] * 6),
    ],
)
@pytest.mark.parametrize("kind", ["numeric", "date", "categorical", "ordinal", "tree"])
def test_types_that_are_not_understood_never_pass(cells: pl.Series, kind: str) -> None:
    texts = {"date": [f"20{age}-01-01" for age in AGES]}.get(kind, [str(age) for age in AGES])
    properties: dict[str, Any] = {"kind": "categorical" if kind == "tree" else kind}
    if kind == "ordinal":
        properties["domain"] = texts
    if kind == "tree":
        properties["hierarchy"] = Prefixes((1,))
    schema = Schema((Column("age", Role.QUASI, **properties),))
    found = None
    with suppress(InputError):
        found = audit(pl.DataFrame({"age": texts}), pl.DataFrame({"age": cells}), schema, KAnonymity(k=2))
    # All numbers lie between the infinities.
    assert found is None or not found.holds or isinstance(cells[0], dict)


def test_structs_and_empty_lists_in_a_column_of_categories() -> None:
    schema = Schema((Column("age", Role.QUASI, Kind.CATEGORICAL),))
    labels = ["a", "b", "a..b", "a", "b", "a..b"]
    original = pl.DataFrame({"age": labels})
    for cell in ({"low": "a", "high": "b"}, []):
        released = pl.DataFrame(
            {"age": pl.Series([cell] * 6, dtype=pl.List(pl.String) if cell == [] else None)}
        )
        found = audit(original, released, schema, KAnonymity(k=6))
        assert not found.holds
        assert found.consistency.rows_without_record == 6
    with_missing = pl.DataFrame({"age": [*labels[:5], None]})
    empty = pl.DataFrame({"age": pl.Series([[]] * 6, dtype=pl.List(pl.String))})
    assert not audit(with_missing, empty, schema, KAnonymity(k=6)).holds


def test_typed_labels_that_look_like_intervals_are_single_values() -> None:
    levels = ["1", "1..2", "2", "3"]
    schema = Schema((Column("age", Role.QUASI, Kind.ORDINAL, domain=levels),))
    original = pl.DataFrame({"age": levels})
    released = pl.DataFrame({"age": [{"low": level, "high": level} for level in levels]})
    found = audit(original, released, schema, OneK(k=2))
    assert found.consistency.rows_of_record.tolist() == [1, 1, 1, 1]


def test_single_precision_is_read_as_the_original_is() -> None:
    frame = pl.DataFrame({"age": pl.Series([0.1, 0.1, 0.7, 0.7], dtype=pl.Float32)})
    found = audit(frame, frame, NUMERIC, KAnonymity(k=2))
    assert found.holds, found.verdict
