"""An attacker releases `nan` and endless intervals, hoping that they cover every record or end the audit."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from shoal import Column, Dissimilarity, Freeform, InputError, KAnonymity, Schema, anonymize, audit
from shoal.cli.app import app

SCHEMA = Schema((Column("x", role="quasi", kind="numeric"),))
ORIGINAL = pl.DataFrame({"x": ["1", "2", "3", "4"]})


@pytest.mark.parametrize(
    "cell",
    ["nan", "NaN", "-nan", "NaN..NaN", "[nan, nan]", "1..nan", "nan..4", "[1, nan[", "sNaN", "nan123", "inf",
     "-inf", "Infinity", "inf..inf", "inf..-inf", "5..-inf", "inf..5", "[inf, 5]", "-inf..-inf", "1e5..nan"],
)  # fmt: skip
def test_no_number_and_no_interval_is_refused(cell: str) -> None:
    with pytest.raises(InputError, match="neither"):
        audit(ORIGINAL, pl.DataFrame({"x": [cell] * 4}), SCHEMA, KAnonymity(k=2))


@pytest.mark.parametrize(
    ("cell", "covered"),
    [
        ("-inf..2", 2), ("2..inf", 3), ("-inf..inf", 4), ("[2, inf[", 3), ("]2, Infinity[", 2),
        ("(-inf, 2]", 2), ("[-infinity; 3[", 2), ("[2, +inf)", 3), ("[2, ∞)", 3), ("(-∞, 3]", 3),
        ("-1e308..1e308", 4),
    ],
)  # fmt: skip
def test_intervals_without_an_end_are_read(cell: str, covered: int) -> None:
    found = audit(ORIGINAL, pl.DataFrame({"x": [cell] * 4}), SCHEMA)
    assert found.consistency.records_of_row.min() == covered


@pytest.mark.parametrize("numbers", [[math.inf] * 4, [-math.inf, 1.0, 2.0, 3.0]])
def test_a_released_column_of_floats_may_not_be_infinite(numbers: list[float]) -> None:
    with pytest.raises(InputError, match="neither"):
        audit(ORIGINAL, pl.DataFrame({"x": numbers}), SCHEMA)


def test_typed_intervals() -> None:
    nan = pl.DataFrame({"x": [{"low": math.nan, "high": math.nan}] * 4})
    assert audit(ORIGINAL, nan, SCHEMA, KAnonymity(k=2)).consistency.rows_of_record.tolist() == [0] * 4
    endless = pl.DataFrame({"x": [{"low": -math.inf, "high": 2.0}] * 4})
    assert audit(ORIGINAL, endless, SCHEMA).consistency.records_of_row.min() == 2


def test_nan_in_the_original() -> None:
    with pytest.raises(InputError, match="finite"):
        anonymize(pl.DataFrame({"x": ["nan", "1"]}), SCHEMA, KAnonymity(k=2))
    floats = pl.DataFrame({"x": [math.nan, 1.0]})
    release = anonymize(floats, SCHEMA, KAnonymity(k=2))
    assert release.table["x"].to_list() == ["*", "*"]


@pytest.mark.parametrize(
    "cells",
    [
        ["1e308", "-1e308", "1e308", "-1e308"],
        ["1.7976931348623157e308", "-1.7976931348623157e308", "0", "5e-324"],
        ["5e-324", "1e-323", "0", "-5e-324"],
        ["4.9e-324", "1e-400", "0", "1"],
        ["1e-300", "2e-300", "1e300", "2e300"],
        ["1e22", "1e23", "1e16", "0.1"],
        ["9" * 300, "1", "2", "3"],
    ],
)
@pytest.mark.parametrize("typed", [False, True])
def test_extreme_numbers_all_the_way(cells: list[str], typed: bool, tmp_path: Path) -> None:
    cells = cells * 5
    column = pl.Series("x", [float(c) for c in cells] if typed else cells)
    if typed and not column.is_finite().all():
        pytest.skip("no such float")
    frame = pl.DataFrame({"x": column, "s": column})
    schema = Schema(
        (Column("x", role="quasi", kind="numeric"), Column("s", role="sensitive", kind="numeric"))
    )
    for model in (KAnonymity(k=2), Freeform(k=2), Dissimilarity(k=2, epsilon=0, delta=0.2)):
        release = anonymize(frame, schema, model)
        assert release.audit.holds
        assert 0 <= release.loss.gcp <= 1
        release.save(tmp_path / f"{model.name}", format="parquet")
        again = audit(frame, release.written("csv"), schema, model, key=release.key, epsilon=0.5)
        assert again.holds
    if not typed and cells[0] in ("1e308", "5e-324", "9" * 300):
        frame.write_csv(tmp_path / "in.csv")
        told = CliRunner().invoke(
            app,
            ["compare", str(tmp_path / "in.csv"), "--quasi", "x", "--kind", "x=numeric", "--k", "2",
             "-o", str(tmp_path / "compare.html")],
        )  # fmt: skip
        assert told.exit_code == 0, told.output
