"""An attacker looks for numbers too long for a float: rounded, their rows no longer cover their people."""

from __future__ import annotations

import datetime
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import blockwise
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from exact_reader import covers, fits, fraction, levels
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from shoal import (
    Column,
    Dissimilarity,
    Freeform,
    InputError,
    KAnonymity,
    Schema,
    anonymize,
    anonymize_file,
    audit,
    read_table,
)
from shoal.engines.blocks import release_schema
from shoal.engines.joining import Check
from shoal.models import Model
from shoal.release import Format
from shoal.table import Table

LATITUDES = ["48.13743000000000000001", "48.13743000000000000002", "52.5", "-0.00000000000000000001"]
LONG = ["9007199254740993", "9007199254740992", "9007199254740994", "9007199254740995"]
BEYOND = ["18446744073709551615", "18446744073709551614", "-9223372036854775809", "1", "2", "3"]
FORTY = ["1234567890123456789012345678901234567890", "1234567890123456789012345678901234567891", "0.5", "-7"]


def numeric(*names: str, **more: Any) -> Schema:
    return Schema(tuple(Column(name, role="quasi", kind="numeric", **more) for name in names))


def texts(frame: Any, name: str) -> list[str | None]:
    return list(pl.DataFrame(frame)[name])


@pytest.mark.parametrize(
    "cells", [LATITUDES, LONG, BEYOND, FORTY, ["9007199254740993.0", "0.1", "1e-5", "7"]]
)
@pytest.mark.parametrize("model", [KAnonymity(k=2), Freeform(k=2)])
def test_the_row_of_each_person_contains_the_number_as_written(cells: list[str], model: Model) -> None:
    frame = pl.DataFrame({"x": cells})
    release = anonymize(frame, numeric("x"), model)
    rows = texts(release.table, "x")
    for row, record in zip(rows, release.key, strict=True):
        assert covers(row, fraction(cells[record])), (row, cells[record])
    found = levels([[cell] for cell in cells], [[row] for row in rows])
    assert found["rows_per_record"] == release.audit.consistency.rows_per_record >= 2
    assert audit(frame, release.table, numeric("x"), model, key=release.key).holds


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("x", [2**64 - 1, 2**64 - 2, 2**53 + 1, 5], dtype=pl.UInt64),
        pl.Series("x", [2**120 + 1, 2**120, -(2**100), 5], dtype=pl.Int128),
        pl.Series(
            "x", [Decimal("123456789012345678.91"), Decimal("123456789012345678.90"), Decimal(1), Decimal(2)]
        ),
        pl.Series("x", [Decimal("9" * 36 + ".99"), Decimal("9" * 36 + ".98"), Decimal(1), Decimal(2)]),
        pl.Series("x", [2**53 + 1, 2**53, 2**53 + 3, 2**63 - 1]),
        pl.Series("x", [0.1, 1e23, 5e-324, 1.7976931348623157e308]),
        pl.Series("x", [0.1, 3.4e38, 1e-40, 7.0], dtype=pl.Float32),
    ],
)
@pytest.mark.parametrize("flavour", ["polars", "pandas", "pyarrow"])
def test_typed_numbers_stay_exact(column: pl.Series, flavour: str) -> None:
    frame: Any = column.to_frame()
    if flavour == "pandas":
        frame = pd.DataFrame({"x": pd.Series(column.to_list(), dtype=object)})
        if column.dtype.is_float():
            frame = pd.DataFrame({"x": column.to_numpy()})
    elif flavour == "pyarrow":
        if column.dtype == pl.Int128:
            frame = pa.table({"x": pa.array([Decimal(v) for v in column], type=pa.decimal256(50, 0))})
        else:
            frame = frame.to_arrow()
    release = anonymize(frame, numeric("x"), KAnonymity(k=2))
    assert release.audit.holds
    written = release.written("csv")["x"].to_list()
    if flavour != "pyarrow":
        exact = [str(np.float32(v)) if column.dtype == pl.Float32 else str(v) for v in column]
        for row, record in zip(written, release.key, strict=True):
            assert covers(row, fraction(exact[record]))
    typed = release.written("parquet")
    assert audit(frame, typed, numeric("x"), KAnonymity(k=2), key=release.key).holds


def test_a_rounded_release_does_not_pass() -> None:
    frame = pl.DataFrame({"x": ["9007199254740993", "9007199254740993"]})
    rounded = pl.DataFrame({"x": ["9007199254740992", "9007199254740992"]})
    assert not audit(frame, rounded, numeric("x"), KAnonymity(k=2)).holds
    digits = pl.DataFrame({"x": ["0.12345678901234567890", "0.12345678901234567890"]})
    rounded = pl.DataFrame({"x": ["0.12345678901234568", "0.12345678901234568"]})
    assert not audit(digits, rounded, numeric("x"), KAnonymity(k=2)).holds


def test_neighbours_beyond_floats_are_two_values() -> None:
    table = Table.encode(pl.DataFrame({"x": [*LONG, "0.5"]}), numeric("x"))
    assert table.attributes[0].domain.labels == ("0.5", *sorted(LONG))


@pytest.mark.parametrize(
    ("same", "label"),
    [
        (["0.10", "0.1", ".1", "+0.1", " 0.1 ", "1e-1", "1E-1", "0.1000000000000000000000000"], "0.1"),
        (["5", "5.", "5.0", "+5", "05", "0.5e1", "5e0"], "5"),
        (["0", "-0", "-0.0", "0e5", ".0"], "0"),
        (["100000", "1e5", "1E+5", "100000.000"], "100000"),
        (["9007199254740993", "9007199254740993.0", "9.007199254740993e15"], "9007199254740993"),
        (["1" * 40, "1" * 40 + ".00", "0" + "1" * 40], "1" * 40),
    ],
)
def test_a_number_is_the_same_however_it_is_written(same: list[str], label: str) -> None:
    for start in range(2):  # numbers alone that are whole, and among fractions
        cells = [*same, *["0.25"] * start]
        table = Table.encode(pl.DataFrame({"x": cells}), numeric("x"))
        labels = table.attributes[0].domain.labels
        assert {labels[code] for code in table.attributes[0].codes[: len(same)]} == {label}
        released = pl.DataFrame({"x": ["*"] * len(cells)})
        assert audit(pl.DataFrame({"x": cells}), released, numeric("x"), KAnonymity(k=2)).holds
    swapped = pl.DataFrame({"x": same[::-1]})
    assert audit(pl.DataFrame({"x": same}), swapped, numeric("x")).consistency.rows_per_record == len(same)


@pytest.mark.parametrize(
    "cell", ["1_000", "0x10", "1,000", "1 000", "٣", "\uff11", "1e", "1e5.5", "--1", ".", "+", "1d5"]
)
def test_original_and_release_are_read_alike(cell: str) -> None:
    good, bad = pl.DataFrame({"x": ["3", "1000"]}), pl.DataFrame({"x": [cell, "1000"]})
    with pytest.raises(InputError, match="not a number"):
        Table.encode(bad, numeric("x"))
    with pytest.raises(InputError, match="neither"):
        audit(good, bad, numeric("x"))


@pytest.mark.parametrize("cell", ["1e999999999", "1e-999999999", "-1e99999", "1e99999999999999999999"])
def test_a_number_of_a_billion_digits_is_refused_at_once(cell: str) -> None:
    with pytest.raises(InputError):
        Table.encode(pl.DataFrame({"x": [cell, "1"]}), numeric("x"))
    frame = pl.DataFrame({"x": ["1", "2"]})
    with suppress(InputError):
        assert not audit(frame, pl.DataFrame({"x": [f"-5..{cell}", cell]}), numeric("x")).holds


number = st.one_of(
    st.integers(1, 40).flatmap(lambda n: st.integers(10 ** (n - 1), 10**n - 1)).map(str),
    st.builds(
        lambda sign, whole, part: f"{sign}{whole}.{part}",
        st.sampled_from(["", "-"]),
        st.text("0123456789", min_size=1, max_size=20),
        st.text("0123456789", min_size=1, max_size=20),
    ),
    st.sampled_from([*LONG, *LATITUDES, *BEYOND, *FORTY]),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)


@examples(60)
@given(st.lists(st.tuples(number, st.one_of(number, st.just(""))), min_size=3, max_size=9), st.integers(2, 3))
def test_the_certificate_has_the_levels_of_an_exact_reader(cells: list[tuple[str, str]], k: int) -> None:
    frame = pl.DataFrame(cells, schema=["x", "y"], orient="row")
    schema = numeric("x", "y")
    model: Model
    for model in (KAnonymity(k=k), Freeform(k=k)):
        release = anonymize(frame, schema, model)
        rows = release.table.rows()
        for row, record in zip(rows, release.key, strict=True):
            assert all(map(covers, row, [None if c == "" else fraction(c) for c in cells[record]]))
        found = levels(cells, rows)
        certified = release.certificate["audit"]
        assert found["k"] == certified["k"]
        assert found["rows_per_record"] == certified["consistency"]["rows_per_record"]
        assert found["records_per_row"] == certified["consistency"]["records_per_row"]
        again = audit(frame, release.written("parquet"), schema, model, key=release.key)
        assert again.holds
        assert again.consistency.rows_per_record == found["rows_per_record"]


@examples(100)
@given(st.lists(number, min_size=1, max_size=6), st.lists(st.tuples(number, number), min_size=1, max_size=6))
def test_the_audit_of_any_release_has_the_levels_of_an_exact_reader(
    cells: list[str], ends: list[tuple[str, str]]
) -> None:
    rows = ["..".join(sorted(pair, key=fraction)) for pair in ends]
    found = audit(pl.DataFrame({"x": cells}), pl.DataFrame({"x": rows}), numeric("x"))
    of_record, of_row = fits([[cell] for cell in cells], [[row] for row in rows])
    assert found.consistency.rows_of_record.tolist() == of_record
    assert found.consistency.records_of_row.tolist() == of_row


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize(
    "more", [[], ["0.25"], ["48.13743000000000000001"], ["1" * 40], ["18446744073709551615"], ["1e300"]]
)
def test_blocks_keep_long_numbers(more: list[str], form: Format) -> None:
    cells = [str(9007199254740990 + i) for i in range(60)] + more * 3 + [str(i) for i in range(60)]
    frame = pl.DataFrame({"x": cells, "s": ["a"] * len(cells)})
    schema = numeric("x")
    model = KAnonymity(k=3)
    released, facts = blockwise.released(frame, schema, model, block_rows=30, least=6, form=form)
    known = blockwise.agreed(frame, schema)
    check = Check(model, known, release_schema(frame.schema, known, form))
    check.see(released)
    assert check.passed(frame.height, [each.digest for each in facts]) is not None
    found = audit(frame, released, schema, model)
    assert found.holds
    if form == "csv":
        exact = levels([[cell] for cell in cells], released.select("x").rows())
        assert exact["rows_per_record"] == found.consistency.rows_per_record >= 3
        assert exact["k"] == found.k >= 3


@pytest.mark.parametrize(
    ("domain", "cell", "inside"),
    [
        ((0, 9007199254740992), "9007199254740993", False),
        ((0, 9007199254740993), "9007199254740993", True),
        ((0, Decimal("0.12345678901234567890")), "0.12345678901234567891", False),
        ((0, Decimal("0.12345678901234567890")), "0.12345678901234567889", True),
        ((0, 10**40), "1" + "0" * 40, True),
        ((0, 10**40), "1" + "0" * 39 + "1", False),
        ((0.1, 5), "0.1", True),
        ((0.1, 5), "0.0999999999999999999999", False),
        ((0, 9007199254740992.0), "9007199254740993", False),
    ],
)
def test_bounds_are_compared_exactly(tmp_path: Path, domain: Any, cell: str, inside: bool) -> None:
    schema = numeric("x", domain=domain)
    schema.write(tmp_path / "schema.toml")
    for each in (schema, Schema.read(tmp_path / "schema.toml")):
        frame = pl.DataFrame({"x": [cell, cell, "0.1", "0.1"]})
        if inside:
            assert anonymize(frame, each, KAnonymity(k=2)).audit.holds
        else:
            with pytest.raises(InputError, match="outside"):
                Table.encode(frame, each)


def test_bounds_in_a_schema_file_are_not_rounded(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(
        '[columns.x]\nrole = "quasi"\nkind = "numeric"\nweight = 1.5\ndomain = [0, 0.12345678901234567890]\n'
    )
    schema = Schema.read(path)
    assert schema["x"].weight == 1.5
    with pytest.raises(InputError, match="outside"):
        Table.encode(pl.DataFrame({"x": ["0.12345678901234567891"]}), schema)


def test_sensitive_numbers_are_compared_exactly() -> None:
    frame = pl.DataFrame(
        {"x": ["1", "2", "3", "4"] * 2, "s": ["9007199254740993", "9007199254740992", "0.5", "7"] * 2}
    )
    schema = Schema(
        (Column("x", role="quasi", kind="numeric"), Column("s", role="sensitive", kind="numeric"))
    )
    same = pl.DataFrame({"x": ["*"] * 8, "s": frame["s"]})
    found = audit(frame, same, schema, epsilon=0)
    assert found.proximity[0].risk == pytest.approx(1 / 7)
    assert audit(frame, same, schema, epsilon=1).proximity[0].risk == pytest.approx(3 / 7)
    release = anonymize(frame, schema, Dissimilarity(k=4, epsilon=0.5, delta=0.5))
    assert release.audit.holds


def test_sensitive_numbers_are_told_apart_exactly() -> None:
    schema = Schema(
        (Column("x", role="quasi", kind="numeric"), Column("s", role="sensitive", kind="numeric"))
    )
    for cells, different in (
        (["9007199254740993", "9007199254740992"], 2),
        (["0.1000000000000000055511151231257827", "0.1"], 2),
        (["5", "5.0"], 1),
        (["1" * 40, "1" * 40 + ".0"], 1),
    ):
        frame = pl.DataFrame({"x": ["1", "1"], "s": cells})
        assert audit(frame, frame, schema).diversity[0].p == different


def test_numbers_with_a_hierarchy_stay_exact() -> None:
    from shoal import Intervals

    frame = pl.DataFrame({"x": [*LONG, *LATITUDES]})
    schema = numeric("x", hierarchy=Intervals((5.0, 10.0)))
    release = anonymize(frame, schema, KAnonymity(k=2))
    assert release.audit.holds
    assert set(release.recoding.table.attributes[0].domain.labels) >= {LONG[0], LATITUDES[0]}


@pytest.mark.parametrize(
    "cells",
    [
        [1, "2", 3],
        [2**80, 2**80 + 1, 5, 5],
        [Decimal("1.5"), 2, 3.5, np.int64(4)],
        [np.float32(0.1), np.float64(0.2), 1, 2],
        [Decimal("NaN"), Decimal(1), Decimal(2)],
        [Decimal("1e50"), Decimal("1e-50"), Decimal(2)],
        [Decimal("Infinity"), Decimal(2)],
        [float("inf"), 2, 2**70],
        [None, 2**70, 1],
        [object(), 1],
        [b"1", 2],
        [True, 2],
        [datetime.date(2020, 1, 1), 2],
        [{"a": 1}, 2],
        [10**5000, 1],
        [complex(1, 2), 2],
    ],
)
@pytest.mark.parametrize("flavour", ["pandas", "polars"])
@pytest.mark.parametrize("kind", ["numeric", "categorical", None])
def test_object_columns_are_read_exactly_or_refused(cells: list[Any], flavour: str, kind: str | None) -> None:
    cells = cells * 2
    frame: Any = (
        pd.DataFrame({"x": pd.Series(cells, dtype=object)})
        if flavour == "pandas"
        else pl.DataFrame({"x": pl.Series(cells, dtype=pl.Object)})
    )
    with suppress(InputError):
        schema = Schema.infer(frame, quasi=["x"], kinds={"x": kind} if kind else {})
        release = anonymize(frame, schema, KAnonymity(k=2))
        assert release.audit.holds
        assert audit(frame, release.written("parquet"), schema).holds
        assert release.report.html()


def test_long_whole_numbers_in_object_columns_are_numbers() -> None:
    frame = pd.DataFrame({"x": pd.Series([2**80, 2**80 + 1, 5, 6], dtype=object)})
    schema = Schema.infer(frame, quasi=["x"])
    assert schema["x"].kind == "numeric"
    release = anonymize(frame, schema, KAnonymity(k=2))
    assert sorted(set(release.table["x"])) == sorted({"5..6", f"{2**80}..{2**80 + 1}"})


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize(
    "cells",
    [["0.2", "0.3", "0.1000000000000000055511151231257827"], ["1E30", "2E30", "12345678901234567890.5"]],
)
def test_a_block_of_short_numbers_is_exact_beside_one_of_long_numbers(
    cells: list[str], form: Format, tmp_path: Path
) -> None:
    frame = pl.DataFrame({"x": [cell for cell in cells for _ in range(150)]})
    frame.write_csv(tmp_path / "x.csv")
    anonymize_file(
        tmp_path / "x.csv", numeric("x"), KAnonymity(k=2), tmp_path / "out", format=form, block_rows=1, jobs=1
    )
    if form == "csv":
        rows = list(read_table(tmp_path / "out" / "release.csv")["x"])
        assert sorted(map(fraction, rows)) == sorted(map(fraction, frame["x"]))
    assert audit(frame, read_table(tmp_path / "out" / f"release.{form}"), numeric("x"), KAnonymity(k=2)).holds


@pytest.mark.parametrize("cell", ["1E30", "-1e30", "0.1000000000000000055511151231257827", "1e-300"])
def test_a_joined_release_of_one_long_number_is_within_its_bounds(cell: str, tmp_path: Path) -> None:
    pl.DataFrame({"x": [cell] * 6}).write_csv(tmp_path / "x.csv")
    anonymize_file(tmp_path / "x.csv", numeric("x"), KAnonymity(k=2), tmp_path / "out", jobs=1)
    rows = read_table(tmp_path / "out" / "release.csv")["x"].unique().to_list()
    assert [fraction(row) for row in rows] == [fraction(cell)]
