"""An attacker declares missing marks that look like released values: a mark must never read as both."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pytest

from shoal import Column, Hierarchy, InputError, KAnonymity, Schema, anonymize, audit
from shoal.table import Table

TREE = Hierarchy.from_levels(
    [["a", "vowel", "any"], ["e", "vowel", "any"], ["b", "other", "any"], ["c", "other", "any"]]
)


def column(kind: str, *marks: str, **more: Any) -> Schema:
    return Schema((Column("x", role="quasi", kind=kind, missing_marks=marks, **more),))


@pytest.mark.parametrize(
    ("schema", "cells"),
    [
        (column("numeric", "*"), ["1", "2", "3", "*"]),
        (column("numeric", "1..2"), ["1", "2", "3", "1..2"]),
        (column("numeric", "[1, 2["), ["1", "2", "3", "4"]),
        (column("numeric", "1-2"), ["1", "2", "3", "4"]),
        (column("date", "*"), ["2020-01-01", "2020-01-02", "*", "2020-01-03"]),
        (column("date", "2020-01-01..2020-01-02"), ["2020-01-01", "2020-01-02", "2020-01-03"]),
        (column("categorical", "*"), ["a", "b", "*", "c"]),
        (column("categorical", "a|b"), ["a", "b", "a|b", "c"]),
        (column("categorical", "\\*"), ["a", "b", "\\*", "*"]),
        (column("categorical", "{a, b}"), ["a", "b", "c", "{a, b}"]),
        (column("ordinal", "low..high", domain=("low", "mid", "high")), ["low", "mid", "high", "low..high"]),
        (column("ordinal", "*", domain=("low", "mid", "high")), ["low", "mid", "high", "*"]),
        (column("categorical", "vowel", hierarchy=TREE), ["a", "e", "b", "vowel"]),
        (column("categorical", "any", hierarchy=TREE), ["a", "e", "b", "any"]),
        (column("categorical", "*", hierarchy=TREE), ["a", "e", "b", "*"]),
        (column("items", "*"), ["a b", "b c", "*", "a"]),
    ],
)
def test_a_mark_that_looks_like_a_released_value_is_refused(schema: Schema, cells: list[str]) -> None:
    frame = pl.DataFrame({"x": cells})
    with pytest.raises(InputError, match="missing mark"):
        anonymize(frame, schema, KAnonymity(k=2))
    with pytest.raises(InputError, match="missing mark"):
        audit(frame, frame, schema)


def test_a_star_is_fine_where_nothing_is_generalized() -> None:
    frame = pl.DataFrame({"x": ["1", "2"], "s": ["*", "5"], "o": ["*", "b"]})
    schema = Schema(
        (Column("x", role="quasi", kind="numeric"), Column("s", role="sensitive", missing_marks=("*",)))
    )
    assert anonymize(frame, schema, KAnonymity(k=2)).audit.holds


@pytest.mark.parametrize(
    ("schema", "cells"),
    [
        (column("numeric", "99"), [1, 2, 99, 99]),
        (column("numeric", "99"), [1.5, 2.0, 99.0, 99.0]),
        (column("numeric", "99.0"), [1, 2, 99, 99]),
        (column("numeric", "99"), ["1", "2", "99.0", " 99 "]),
        (column("numeric", "9007199254740993"), ["1", "2", "9007199254740993", "9007199254740993.0"]),
        (column("categorical", "99"), [1, 2, 99, 99]),
        (column("categorical", "?"), ["a", "b", "?", "?"]),
        (column("categorical", "x", hierarchy=Hierarchy.from_levels([["1", "*"], ["2", "*"], ["x", "*"]])),
         ["1", "2", "x", "x"]),
        (column("ordinal", "99", domain=(1, 2, 3)), [1, 2, 99, 99]),
        (column("date", "1900-01-01"), ["2020-01-01", "2020-01-02", "1900-01-01", "1900-01-01"]),
        (column("date", "1900-01-01"), ["2020-01-01", "2020-01-02", "1900-01-01T00:00", " 1900-01-01"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("flavour", ["polars", "pandas"])
def test_a_mark_is_a_mark_in_every_type(schema: Schema, cells: list[Any], flavour: str) -> None:
    frame: Any = pl.DataFrame({"x": cells}) if flavour == "polars" else pd.DataFrame({"x": cells})
    for k in (2, 4):
        release = anonymize(frame, schema, KAnonymity(k=k))
        assert release.audit.holds
        assert audit(frame, release.written("parquet"), schema, KAnonymity(k=k), key=release.key).holds


def test_a_number_that_is_a_mark_is_missing() -> None:
    for cells in (["1", "2", "99", "99.0"], [1, 2, 99, 99], [1.0, 2.0, 99.0, 99.0]):
        table = Table.encode(pl.DataFrame({"x": cells}), column("numeric", "99"))
        assert table.attributes[0].domain.labels == ("1", "2", "")
        left = Table.encode(pl.DataFrame({"x": cells}), column("numeric", "99", missing="suppress"))
        assert left.left_out == 2


def test_another_tool_may_leave_the_mark() -> None:
    frame = pl.DataFrame({"x": ["1", "2", "?", "?"]})
    released = pl.DataFrame({"x": ["1..2", "1..2", "?", "?"]})
    assert audit(frame, released, column("numeric", "?"), KAnonymity(k=2)).holds
