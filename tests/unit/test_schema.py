"""Roles, kinds and what else a schema says of a table."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal.errors import InputError, Reason
from shoal.kinds.hierarchy_rules import Intervals, Prefixes
from shoal.schema import Column, Kind, Missing, Role, Schema, infer_kind

DAY = datetime.date(2020, 2, 29)
NOON = datetime.datetime(2020, 2, 29, 12)


@pytest.fixture
def patients() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "name": ["Ann", "Bo"],
            "age": [31, 47],
            "zip": ["02139", "10001"],
            "admitted": [DAY, DAY],
            "diagnosis": ["flu", "cold"],
        }
    )


def kind_of(cells: Any, flavour: str, *marks: str) -> Kind:
    match flavour:
        case "pandas":
            frame: Any = pd.DataFrame({"x": cells})
        case "polars":
            frame = pl.DataFrame({"x": cells}, strict=False)
        case _:
            frame = pa.table({"x": cells})
    return infer_kind(nw.from_native(frame, eager_only=True)["x"], marks)


# Columns


def test_a_column_is_carried_along_unless_something_else_is_said() -> None:
    assert Column("x") == Column(
        "x",
        role=Role.OTHER,
        kind=Kind.CATEGORICAL,
        weight=1.0,
        hierarchy=None,
        domain=None,
        missing=Missing.CATEGORY,
        missing_marks=(),
        date_format=None,
    )


def test_names_of_roles_kinds_and_policies_are_understood_as_text() -> None:
    column = Column("x", role="quasi", kind="items", missing="suppress")  # type: ignore[arg-type]
    assert (column.role, column.kind, column.missing) == (Role.QUASI, Kind.ITEMS, Missing.SUPPRESS)
    assert isinstance(column.role, Role)


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        (
            {"role": "quazi"},
            ["role 'quazi' is unknown", "did you mean 'quasi'?", "'identifier'", "'sensitive'"],
        ),
        ({"kind": "number"}, ["kind 'number' is unknown", "'numeric'", "'items'"]),
        ({"missing": "drop"}, ["missing 'drop' is unknown", "'category', 'suppress', 'error'"]),
        ({"weight": 0}, ["weight 0 must be a positive number"]),
        ({"weight": -1.5}, ["weight -1.5 must be a positive number"]),
        ({"weight": float("nan")}, ["weight nan must be a positive number"]),
        ({"weight": float("inf")}, ["weight inf must be a positive number"]),
        ({"weight": "2"}, ["weight '2' is not a number"]),
        ({"weight": True}, ["weight True is not a number"]),
        ({"kind": "ordinal"}, ["ordinal column needs its domain"]),
        ({"kind": "ordinal", "domain": ("a", "b", "a")}, ["names a value twice"]),
        ({"domain": ()}, ["the domain is empty"]),
        ({"kind": "numeric", "domain": (1, 2, 3)}, ["[1, 2, 3] must be two numbers"]),
        ({"kind": "numeric", "domain": (5, 1)}, ["[5, 1] must be two numbers, the lowest and the highest"]),
        ({"kind": "numeric", "domain": (float("nan"), 1)}, ["must be two numbers"]),
        ({"kind": "date", "domain": ("2020-01-01",)}, ["must be two dates"]),
    ],
)
def test_a_column_that_cannot_be_is_refused_and_named(properties: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(InputError) as refused:
        Column("age", **properties)
    assert refused.value.reason is Reason.SCHEMA
    assert str(refused.value).startswith("column 'age': ")
    for word in words:
        assert word in str(refused.value)


def test_a_domain_may_be_any_sequence_and_may_be_one_point() -> None:
    assert Column("x", kind=Kind.ORDINAL, domain=["low", "high"]).domain == ("low", "high")  # type: ignore[arg-type]
    assert Column("x", kind=Kind.NUMERIC, domain=(3, 3)).domain == (3, 3)


# Schemas


def test_a_schema_finds_its_columns(patients: pl.DataFrame) -> None:
    schema = Schema.infer(patients, quasi=["zip", "age"], sensitive=["diagnosis"], drop=["name"])
    assert schema.names == ("name", "age", "zip", "admitted", "diagnosis")
    assert len(schema) == len(list(schema)) == 5
    assert [column.name for column in schema.quasi] == ["age", "zip"]
    assert [column.name for column in schema.sensitive] == ["diagnosis"]
    assert [column.name for column in schema.having(Role.IDENTIFIER)] == ["name"]
    assert [column.name for column in schema.having(Role.OTHER)] == ["admitted"]
    assert schema["zip"].kind is Kind.CATEGORICAL
    with pytest.raises(InputError, match=r"column 'Zip' is not in the schema \(did you mean 'zip'\?\)"):
        schema["Zip"]


def test_a_schema_describes_each_column_once() -> None:
    with pytest.raises(InputError, match="describes 'x' more than once") as refused:
        Schema((Column("x"), Column("y"), Column("x")))
    assert refused.value.reason is Reason.DUPLICATE_COLUMN


def test_changing_one_column_leaves_the_others_and_the_original() -> None:
    schema = Schema((Column("x"), Column("y")))
    changed = schema.changed("y", role="quasi", weight=2.0)
    assert changed == Schema((Column("x"), Column("y", role=Role.QUASI, weight=2.0)))
    assert schema["y"].role is Role.OTHER
    with pytest.raises(InputError) as refused:
        schema.changed("z", weight=2.0)
    assert refused.value.reason is Reason.UNKNOWN_COLUMN
    with pytest.raises(InputError, match="weight"):
        schema.changed("x", weight=-1)


def test_a_schema_is_completed_in_the_order_of_the_table() -> None:
    schema = Schema((Column("b", role=Role.QUASI), Column("a", role=Role.SENSITIVE)))
    completed = schema.completed(["a", "new", "b"])
    assert completed.names == ("a", "new", "b")
    assert completed["new"] == Column("new")
    assert completed["b"] is schema["b"]


def test_a_schema_with_a_column_that_the_table_lacks_is_refused() -> None:
    schema = Schema((Column("age", role=Role.QUASI), Column("zipcode")))
    with pytest.raises(InputError) as refused:
        schema.completed(["age", "zip_code"])
    assert refused.value.reason is Reason.UNKNOWN_COLUMN
    assert "column 'zipcode' is not in the table (did you mean 'zip_code'?)" in str(refused.value)


def test_a_schema_without_quasi_identifiers_is_refused() -> None:
    with pytest.raises(InputError, match="no column is a quasi-identifier") as refused:
        Schema((Column("age"),)).completed(["age", "zip"])
    assert refused.value.reason is Reason.NO_QUASI_IDENTIFIER
    assert "'age', 'zip'" in str(refused.value)


# Roles


def test_a_column_cannot_have_two_roles(patients: pl.DataFrame) -> None:
    with pytest.raises(InputError, match="column 'age' has two roles, quasi and sensitive") as refused:
        Schema.infer(patients, quasi=["age"], sensitive=["age"])
    assert refused.value.reason is Reason.ROLE_CONFLICT
    with pytest.raises(InputError, match="sensitive and identifier"):
        Schema.infer(patients, sensitive=["name"], drop=["name"])


def test_a_column_may_be_named_twice_for_one_role(patients: pl.DataFrame) -> None:
    assert [c.name for c in Schema.infer(patients, quasi=["age", "age"]).quasi] == ["age"]


@pytest.mark.parametrize(
    "argument",
    [
        {"quasi": ["agee"]},
        {"sensitive": ["agee"]},
        {"drop": ["agee"]},
        {"kinds": {"agee": "numeric"}},
        {"weights": {"agee": 2}},
        {"hierarchies": {"agee": Prefixes((1,))}},
        {"domains": {"agee": (0, 1)}},
        {"missing": {"agee": "error"}},
    ],
)
def test_an_unknown_column_is_refused_with_a_suggestion(
    patients: pl.DataFrame, argument: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match=r"'agee' is not in the table \(did you mean 'age'\?\)") as refused:
        Schema.infer(patients, **argument)
    assert refused.value.reason is Reason.UNKNOWN_COLUMN
    assert "'diagnosis'" in str(refused.value)


def test_one_name_in_place_of_a_list_is_refused(patients: pl.DataFrame) -> None:
    with pytest.raises(InputError, match="expected a list of names, not the text 'age'"):
        Schema.infer(patients, quasi="age")


def test_what_is_known_better_overrides_what_is_inferred(patients: pl.DataFrame) -> None:
    schema = Schema.infer(
        patients,
        quasi=["age"],
        kinds={"age": "ordinal", "zip": Kind.NUMERIC},
        weights={"zip": 3},
        hierarchies={"age": Intervals((5.0, 10.0))},
        domains={"age": ["31", "47"]},
        missing={"zip": "suppress"},
        missing_marks=["?", "n/a"],
    )
    assert schema["age"] == Column(
        "age",
        role=Role.QUASI,
        kind=Kind.ORDINAL,
        hierarchy=Intervals((5.0, 10.0)),
        domain=("31", "47"),
        missing_marks=("?", "n/a"),
    )
    assert schema["zip"].kind is Kind.NUMERIC
    assert schema["zip"].weight == 3
    assert schema["zip"].missing is Missing.SUPPRESS
    assert schema["admitted"].kind is Kind.DATE


# Kinds


@pytest.mark.parametrize("flavour", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1, 2], Kind.NUMERIC),
        ([1, None], Kind.NUMERIC),
        ([1.5, float("nan")], Kind.NUMERIC),
        ([True, False], Kind.CATEGORICAL),
        ([True, None], Kind.CATEGORICAL),
        ([NOON, None], Kind.DATE),
        (["a", "b", None], Kind.CATEGORICAL),
        ([["a"], ["b", "c"]], Kind.ITEMS),
        ([[], ["b"], None], Kind.ITEMS),
        ([None, None], Kind.CATEGORICAL),
        # Text that reads as numbers
        (["1", "-2", "30"], Kind.NUMERIC),
        (["1.5", "0", "0.25", "-0.5"], Kind.NUMERIC),
        (["1e3", "2E-4", "1.5e+10"], Kind.NUMERIC),
        ([" 1", "2 ", " 3 "], Kind.NUMERIC),
        (["1", "", None], Kind.NUMERIC),
        # Text that does not, or would lose something
        (["02139", "10001"], Kind.CATEGORICAL),
        (["00", "01"], Kind.CATEGORICAL),
        (["1", "a"], Kind.CATEGORICAL),
        (["1", "?"], Kind.CATEGORICAL),
        (["+1"], Kind.CATEGORICAL),
        ([".5"], Kind.CATEGORICAL),
        (["5."], Kind.CATEGORICAL),
        (["1,000"], Kind.CATEGORICAL),
        (["1 000"], Kind.CATEGORICAL),
        (["0x10"], Kind.CATEGORICAL),
        (["inf"], Kind.CATEGORICAL),
        (["nan"], Kind.CATEGORICAL),
        (["", ""], Kind.CATEGORICAL),
        ([" "], Kind.CATEGORICAL),
        # Dates
        (["2020-02-29", "1999-12-31", ""], Kind.DATE),
        (["2020-02-29T12:30", "2020-02-29 12:30:59.5"], Kind.DATE),
        (["2020-13-01"], Kind.CATEGORICAL),
        (["29.02.2020"], Kind.DATE),
        (["2020-2-9"], Kind.CATEGORICAL),
        (["2020-02-29", "20200229"], Kind.CATEGORICAL),
    ],
)
def test_kinds_are_inferred_from_all_values(cells: list[Any], kind: Kind, flavour: str) -> None:
    assert kind_of(cells, flavour) is kind


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (pd.DataFrame({"x": pd.Categorical([1, 2])}), Kind.CATEGORICAL),
        (pd.DataFrame({"x": pd.array([1, None], dtype="Int64")}), Kind.NUMERIC),
        (pd.DataFrame({"x": pd.array([True, None], dtype="boolean")}), Kind.CATEGORICAL),
        (pd.DataFrame({"x": pd.to_datetime(["2020-01-01", None])}), Kind.DATE),
        (pd.DataFrame({"x": pd.to_datetime(["2020-01-01"], utc=True)}), Kind.DATE),
        (pd.DataFrame({"x": pd.Series(["1", None], dtype=object)}), Kind.NUMERIC),
        (pd.DataFrame({"x": pd.Series([1, "a"], dtype=object)}), Kind.CATEGORICAL),
        (pl.DataFrame({"x": pl.Series(["1"], dtype=pl.Categorical)}), Kind.CATEGORICAL),
        (pl.DataFrame({"x": pl.Series(["1"], dtype=pl.Enum(["1"]))}), Kind.ORDINAL),
        (pl.DataFrame({"x": [Decimal("1.5")]}), Kind.NUMERIC),
        (pl.DataFrame({"x": [DAY]}), Kind.DATE),
        (pa.table({"x": pa.array(["1"]).dictionary_encode()}), Kind.CATEGORICAL),
        (pa.table({"x": pa.array([DAY])}), Kind.DATE),
        (pa.table({"x": pa.array([Decimal("1.5")])}), Kind.NUMERIC),
        (pa.table({"x": pa.array([1], pa.uint8())}), Kind.NUMERIC),
    ],
)
def test_kinds_are_inferred_from_types(frame: Any, kind: Kind) -> None:
    assert Schema.infer(frame)["x"].kind is kind


@pytest.mark.parametrize("flavour", ["pandas", "polars", "pyarrow"])
def test_marks_of_missing_values_do_not_hide_numbers(flavour: str) -> None:
    assert kind_of(["1", "?", "n/a"], flavour, "?", "n/a") is Kind.NUMERIC
    assert kind_of(["?", "?"], flavour, "?") is Kind.CATEGORICAL
    assert kind_of(["2020-01-01", "-"], flavour, "-") is Kind.DATE
