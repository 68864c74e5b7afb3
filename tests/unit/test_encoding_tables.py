"""From tables to codes: missing values, types, whole tables and sensitive columns."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from one_column import FLAVOURS, NAN, encoded, frame_of, refused

from shoal.errors import InputError, Reason
from shoal.kinds import encoding
from shoal.kinds.hierarchy_rules import Intervals, Prefixes
from shoal.schema import Column, Role, Schema
from shoal.table import Table

# Missing values

PLAIN: list[tuple[dict[str, Any], Any]] = [
    ({"kind": "numeric"}, 5),
    ({"kind": "numeric"}, 5.5),
    ({"kind": "numeric"}, "5"),
    ({"kind": "date"}, "2020-01-01"),
    ({"kind": "date"}, datetime.datetime(2020, 1, 1)),
    ({"kind": "categorical"}, "a"),
    ({"kind": "categorical"}, True),
    ({"kind": "ordinal", "domain": ("a", "b")}, "a"),
    ({"kind": "categorical", "hierarchy": Prefixes((1,))}, "ab"),
    ({"kind": "numeric", "hierarchy": Intervals((5.0,))}, 5),
]


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(("properties", "value"), PLAIN)
def test_missing_values_under_each_policy(properties: dict[str, Any], value: Any, flavour: str) -> None:
    cells = [value, None, value, None]
    attribute = encoded(cells, flavour, **properties)
    assert attribute.domain.missing is not None
    assert attribute.domain.labels[attribute.domain.missing] == ""
    assert (attribute.codes == attribute.domain.missing).tolist() == [False, True, False, True]

    frame = frame_of(cells, flavour)
    suppressing = Schema((Column("x", role=Role.QUASI, missing="suppress", **properties),))
    table = Table.encode(frame, suppressing)
    assert table.rows.tolist() == [0, 2]
    assert table.left_out == 2
    assert len(table.frame) == 2
    assert table.attributes[0].domain.missing is None

    error = refused(cells, flavour, missing="error", **properties)
    assert error.reason is Reason.MISSING_VALUE
    assert "column 'x' must not have missing values, but 2 are missing, the first in row 2" in str(error)
    assert encoded([value, value], flavour, missing="error", **properties).domain.missing is None


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("properties", [properties for properties, _ in PLAIN])
def test_a_column_of_missing_values_has_one_value(properties: dict[str, Any], flavour: str) -> None:
    attribute = encoded([None, None], flavour, **properties)
    assert len(set(attribute.codes.tolist())) == 1
    assert attribute.domain.labels[attribute.codes[0]] == ""
    assert attribute.decode().to_list() == [None, None]
    error = refused([None, None], flavour, missing="suppress", **properties)
    assert error.reason is Reason.NO_ROWS
    assert "every row has a missing value" in str(error)


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(("properties", "value"), PLAIN)
def test_a_single_row(properties: dict[str, Any], value: Any, flavour: str) -> None:
    attribute = encoded([value], flavour, **properties)
    assert len(attribute.codes) == 1
    assert attribute.decode().null_count() == 0


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_marks_mean_missing_in_text(flavour: str) -> None:
    for properties, value in PLAIN:
        if isinstance(value, str):
            attribute = encoded([value, "?", "n/a", ""], flavour, missing_marks=("?", "n/a"), **properties)
            assert (attribute.codes == attribute.domain.missing).tolist() == [False, True, True, True]
    assert encoded(["a", "?"], flavour).domain.labels == ("?", "a")


def test_a_row_is_numbered_as_in_the_input_also_after_others_were_left_out() -> None:
    frame = pl.DataFrame({"x": [None, "1", "two"], "y": ["a", "b", "c"]})
    schema = Schema((Column("x", role=Role.QUASI, kind="numeric", missing="suppress"),))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="column 'x', row 3: 'two'"):
        Table.encode(frame, schema)
    frame = pl.DataFrame({"x": [None, "a", "b"], "y": ["a", "b", "c"]})
    columns = (
        Column("x", role=Role.QUASI, missing="suppress"),  # type: ignore[arg-type]
        Column("y", role=Role.QUASI, domain=("a", "b")),
    )
    with pytest.raises(InputError, match="column 'y', row 3: 'c' is not in the declared domain"):
        Table.encode(frame, Schema(columns))


def test_rows_are_left_out_for_any_column_that_says_so() -> None:
    frame = pl.DataFrame({"x": [None, "a", "b", "c"], "y": [1, None, 2, 3], "z": [1, 2, None, 3]})
    schema = Schema(
        (
            Column("x", role=Role.QUASI, missing="suppress"),  # type: ignore[arg-type]
            Column("y", role=Role.QUASI, kind="numeric", missing="suppress"),  # type: ignore[arg-type]
            Column("z", role=Role.QUASI, kind="numeric"),  # type: ignore[arg-type]
        )
    )
    table = Table.encode(frame, schema)
    assert table.rows.tolist() == [2, 3]
    assert table.left_out == 2
    assert table.attributes[2].domain.missing == 1


# Types


@pytest.mark.parametrize(
    ("cells", "word"),
    [
        ([["a"], ["b"]], "List"),
        ([{"a": 1}, {"a": 2}], "Struct"),
        ([b"a", b"b"], "Binary"),
        ([datetime.timedelta(1)], "Duration"),
        ([datetime.time(1)], "Time"),
    ],
)
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_what_cannot_be_a_quasi_identifier_is_refused(cells: list[Any], word: str, flavour: str) -> None:
    error = refused(cells, flavour)
    assert error.reason is Reason.BAD_VALUE
    assert re.match(rf"column 'x' holds {word}.*, which cannot be a quasi-identifier", str(error))


@pytest.mark.parametrize("cells", [[1, "a", None], ["a", 1], [True, "a"], [datetime.date(2020, 1, 1), "a"]])
def test_a_column_of_several_types_is_refused(cells: list[Any]) -> None:
    error = refused(pd.DataFrame({"x": pd.Series(cells, dtype=object)}))
    assert error.reason is Reason.BAD_VALUE
    types = sorted({type(cell).__name__ for cell in cells if cell is not None})
    assert str(error) == (
        f"column 'x' mixes values of several types ({types[0]}, {types[1]}); convert it to one"
    )


@pytest.mark.parametrize("cells", [[1 + 2j], [10**5000, 1]])
def test_values_that_cannot_be_read_are_refused(cells: list[Any]) -> None:
    error = refused(pd.DataFrame({"x": cells}))
    assert error.reason is Reason.BAD_VALUE
    assert f"column 'x' holds values that cannot be read ({type(cells[0]).__name__})" in str(error)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (pd.array([1, None, 2], dtype="Int64"), [1, None, 2]),
        (pd.array([1.5, None, 2.5], dtype="Float64"), [1.5, None, 2.5]),
        (pd.array(["a", None, "b"], dtype="string"), ["a", None, "b"]),
        (pd.array([True, None, False], dtype="boolean"), [True, None, False]),
        (pd.Series(["a", NAN, None, pd.NA], dtype=object), ["a", None, None, None]),
        (pd.Series([1, NAN], dtype=object), [1, None]),
        (pd.Series(["a", None], dtype=pd.ArrowDtype(pa.string())), ["a", None]),
        (pd.Series([1, None], dtype=pd.ArrowDtype(pa.int64())), [1, None]),
    ],
)
def test_pandas_has_many_ways_to_say_missing(cells: Any, expected: list[Any]) -> None:
    assert encoded(pd.DataFrame({"x": cells})).decode().to_list() == expected


@pytest.mark.parametrize(
    "cells",
    [
        [1, None, 2],
        [1.5, NAN],
        ["a", None, ""],
        [True, None],
        [pd.Timestamp("2020-01-01"), pd.NaT],
        [datetime.date(2020, 1, 1), None],
        pd.array([1, None], dtype="Int64"),
        pd.Categorical(["a", None]),
    ],
)
def test_pandas_is_read_the_same_without_pyarrow(cells: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    series = nw.from_native(pd.DataFrame({"x": cells}), eager_only=True)["x"]
    with_arrow = encoding.to_polars(series).to_list()
    monkeypatch.setattr(encoding, "find_spec", lambda _: None)
    without = encoding.to_polars(series)
    assert without.name == "x"
    assert without.to_list() == with_arrow


def test_mixed_types_are_refused_without_pyarrow_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "find_spec", lambda _: None)
    error = refused(pd.DataFrame({"x": [1, "a"]}))
    assert "mixes values of several types (int, str)" in str(error)


def test_views_of_text_can_be_left_out_like_other_text() -> None:
    frame = pa.table({"x": pa.array(["a", None, "b"], pa.string_view()), "y": [1, 2, 3]})
    schema = Schema((Column("x", role=Role.QUASI, missing="suppress"),))  # type: ignore[arg-type]
    table = Table.encode(frame, schema)
    assert table.frame["x"].to_list() == ["a", "b"]


# Tables


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(InputError, match="the table has no rows") as error:
        Table.encode(pl.DataFrame({"x": []}), Schema((Column("x", role=Role.QUASI),)))
    assert error.value.reason is Reason.NO_ROWS


def test_columns_that_the_schema_does_not_mention_are_carried_along() -> None:
    frame = pl.DataFrame({"y": [{"any": "thing"}, None], "x": [1, 2]})
    table = Table.encode(frame, Schema((Column("x", role=Role.QUASI),)))
    assert table.schema.names == ("y", "x")
    assert table.frame["y"].to_list() == [{"any": "thing"}, None]
    assert len(table) == 2


def test_the_index_of_a_pandas_frame_does_not_matter_and_does_not_come_back() -> None:
    frame = pd.DataFrame({"x": ["b", "a", None], "s": ["u", "v", "w"]}, index=[7, 7, "row"])
    schema = Schema(
        (Column("x", role=Role.QUASI, missing="suppress"), Column("s", role=Role.SENSITIVE))  # type: ignore[arg-type]
    )
    table = Table.encode(frame, schema)
    assert table.rows.tolist() == [0, 1]
    assert table.attributes[0].codes.tolist() == [1, 0]
    assert table.sensitive[0].values.gather(table.sensitive[0].codes).to_list() == ["u", "v"]
    decoded = table.decode()
    assert decoded.index.tolist() == [0, 1]
    assert decoded["x"].tolist() == ["b", "a"]


def test_weights_sum_to_one_and_codes_lie_side_by_side() -> None:
    frame = pl.DataFrame({"x": [1, 2], "y": ["a", "a"]})
    schema = Schema((Column("x", role=Role.QUASI, weight=3), Column("y", role=Role.QUASI)))
    table = Table.encode(frame, schema)
    assert table.weights.tolist() == [0.75, 0.25]
    assert table.codes.tolist() == [[0, 0], [1, 0]]
    assert table.codes.flags.c_contiguous


# Sensitive columns


def secret(cells: Any, flavour: str = "polars", **properties: Any) -> Table:
    count = len(cells)
    match flavour:
        case "pandas":
            frame: Any = pd.DataFrame({"x": range(count), "s": cells})
        case "polars":
            frame = pl.DataFrame({"x": range(count), "s": cells}, strict=False)
        case _:
            frame = pa.table({"x": list(range(count)), "s": cells})
    schema = Schema((Column("x", role=Role.QUASI), Column("s", role=Role.SENSITIVE, **properties)))
    return Table.encode(frame, schema)


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(
    ("cells", "values", "codes"),
    [
        (["b", "a", "b"], ["a", "b"], [1, 0, 1]),
        (["b", None, "", "b"], ["b", None], [0, 1, 1, 0]),
        ([2.5, NAN, None, 1.5], [1.5, 2.5, None], [1, 2, 2, 0]),
        ([3, 1, 3], [1, 3], [1, 0, 1]),
        ([True, False, None], ["false", "true", None], [1, 0, 2]),
        ([datetime.datetime(2020, 1, 2), None], [datetime.datetime(2020, 1, 2), None], [0, 1]),
        ([Decimal("1.5"), Decimal("1")], [Decimal("1"), Decimal("1.5")], [1, 0]),
        ([None, None], [None], [0, 0]),
    ],
)
def test_sensitive_values_are_codes_and_missing_is_one_of_them(
    cells: list[Any], values: list[Any], codes: list[int], flavour: str
) -> None:
    (column,) = secret(cells, flavour).sensitive
    assert column.name == "s"
    assert column.values.to_list() == values
    assert column.codes.tolist() == codes
    assert len(column) == len(values)


def test_marks_and_dictionary_types_in_a_sensitive_column() -> None:
    (column,) = secret(["flu", "?", ""], missing_marks=("?",)).sensitive
    assert column.codes.tolist() == [0, 1, 1]
    (column,) = secret(pd.Categorical(["b", "a", None]), "pandas").sensitive
    assert column.values.to_list() == ["a", "b", None]


def test_policies_hold_for_sensitive_columns_too() -> None:
    assert secret(["flu", "?", None], missing="suppress", missing_marks=("?",)).rows.tolist() == [0]
    with pytest.raises(InputError, match="column 's' must not have missing values, but 1 are missing"):
        secret(["flu", None], missing="error")


@pytest.mark.parametrize(("cells", "word"), [([["a"], ["b"]], "List"), ([b"\xff", b"a"], "Binary")])
def test_what_cannot_be_sensitive_is_refused(cells: list[Any], word: str) -> None:
    with pytest.raises(InputError, match=rf"column 's' holds {word}.*, which cannot be sensitive") as error:
        secret(cells)
    assert error.value.reason is Reason.BAD_VALUE
