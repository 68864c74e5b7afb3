"""Files of SPSS, Stata and SAS: labels are values, codes for missing values are missing, dates are dates."""

from __future__ import annotations

import shutil
import subprocess
from datetime import date
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import shoal
from shoal.errors import InputError, Reason
from shoal.files.formats import format_of
from shoal.samples import hospital

if TYPE_CHECKING:
    from pathlib import Path

pyreadstat = pytest.importorskip("pyreadstat", reason="the extra statistics is not installed")

RAW = pl.DataFrame(
    {
        "sex": [1.0, 2.0, 2.0, 1.0],
        "health": [1.0, 3.0, 2.0, None],
        "age": [44.0, 31.0, -9.0, 70.0],
        "zip": ["02134", "10115", "00007", ""],
        "born": [date(1980, 1, 2), date(1993, 12, 31), None, date(1954, 2, 28)],
        "city": ["Köln", "Zürich", "Århus", "Łódź"],
        "income": [1200.5, None, 3.25, 0.0],
    }
)
LABELS = {"sex": {1.0: "männlich", 2.0: "weiblich"}, "health": {1.0: "good", 2.0: "fair", 3.0: "poor"}}
ABOUT = {"sex": "Sex of the person", "age": "Age in years"}
READ = pl.DataFrame(
    {
        "sex": ["männlich", "weiblich", "weiblich", "männlich"],
        "health": pl.Series(["good", "poor", "fair", None], dtype=pl.Enum(["good", "fair", "poor"])),
        "age": [44, 31, None, 70],
        "zip": ["02134", "10115", "00007", None],
        "born": RAW["born"],
        "city": RAW["city"],
        "income": RAW["income"],
    }
)


def spss(path: Path) -> Path:
    pyreadstat.write_sav(
        RAW,
        str(path),
        column_labels=ABOUT,
        variable_value_labels={**LABELS, "age": {-9.0: "refused"}},
        missing_ranges={"age": [-9]},
        variable_measure={"health": "ordinal", "sex": "nominal"},
    )
    return path


@pytest.mark.parametrize("ending", ["sav", "zsav"])
def test_spss(tmp_path: Path, ending: str) -> None:
    assert_frame_equal(shoal.read_table(spss(tmp_path / f"a.{ending}")), READ)


def test_codes_for_missing_values_can_be_told_apart(tmp_path: Path) -> None:
    ages = shoal.read_table(spss(tmp_path / "a.sav"), missing_codes=True)["age"]
    assert ages.to_list() == [44, 31, -9, 70]


def test_what_variables_are_about(tmp_path: Path) -> None:
    file = spss(tmp_path / "a.sav")
    known = format_of(file)
    assert known is not None
    assert known.labels is not None
    assert known.labels(file) == ABOUT


def test_stata(tmp_path: Path) -> None:
    whole = RAW.with_columns(pl.col("sex", "health", "age").cast(pl.Int32))
    labels = {name: {int(code): text for code, text in known.items()} for name, known in LABELS.items()}
    pyreadstat.write_dta(whole, str(tmp_path / "a.dta"), column_labels=ABOUT, variable_value_labels=labels)
    expected = READ.with_columns(pl.col("health").cast(pl.String), pl.Series("age", [44, 31, -9, 70]))
    read = shoal.read_table(tmp_path / "a.dta")
    assert_frame_equal(read.with_columns(pl.col(pl.Int32).cast(pl.Int64)), expected)


def test_sas_transport(tmp_path: Path) -> None:
    pyreadstat.write_xport(RAW.select("age", "zip", "income"), str(tmp_path / "a.xpt"))
    expected = pl.DataFrame({"age": [44, 31, -9, 70], "zip": READ["zip"], "income": RAW["income"]})
    assert_frame_equal(shoal.read_table(tmp_path / "a.xpt"), expected)


def test_files_of_r(tmp_path: Path) -> None:
    program = shutil.which("Rscript")
    code = f"""
    age <- haven::labelled_spss(c(44, 31, -9), c(refused = -9), na_values = -9)
    d <- data.frame(age = age, zip = c("02134", "10115", "x"))
    d$sex <- haven::labelled(c(1, 2, 2), c("männlich" = 1, "weiblich" = 2))
    haven::write_sav(d, "{tmp_path / "a.sav"}")
    haven::write_dta(data.frame(age = c(44, NA, 9), sex = d$sex), "{tmp_path / "a.dta"}")
    """
    if program is None or subprocess.run([program, "-e", "library(haven)"], capture_output=True).returncode:
        pytest.skip("R with haven is not installed")
    subprocess.run([program, "-e", code], check=True, capture_output=True, timeout=120)
    read = shoal.read_table(tmp_path / "a.sav")
    assert read.rows() == [(44, "02134", "männlich"), (31, "10115", "weiblich"), (None, "x", "weiblich")]
    assert shoal.read_table(tmp_path / "a.dta")["age"].to_list() == [44, None, 9]


@pytest.mark.parametrize("ending", ["sav", "dta", "sas7bdat", "xpt"])
def test_broken_files(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"a.{ending}"
    file.write_bytes(b"this is no such file" * 50)
    with pytest.raises(InputError) as caught:
        shoal.read_table(file)
    assert caught.value.reason is Reason.FILE_FORMAT


def test_a_damaged_stata_file(tmp_path: Path) -> None:
    file = tmp_path / "a.dta"
    pyreadstat.write_dta(pl.DataFrame({"age": [44.0, 31.0], "sex": ["m", "f"]}), str(file))
    data = bytearray(file.read_bytes())
    data[data.index(b"<N>") + 7] = 1  # of the number of rows: four billion more than there are
    file.write_bytes(data)
    with pytest.raises(IndexError):
        pyreadstat.read_dta(str(file), output_format="dict")
    with pytest.raises(InputError, match="is broken, or not what its name says"):
        shoal.read_table(file)


def test_a_stata_file_that_claims_to_be_huge(tmp_path: Path) -> None:
    """The memory of all rows would be taken before the first is read: 8 GiB for each column."""
    file = tmp_path / "a.dta"
    pyreadstat.write_dta(pl.DataFrame({"age": [44.0, 31.0], "sex": ["m", "f"]}), str(file))
    data = bytearray(file.read_bytes())
    data[data.index(b"<N>") + 6] = 0x40
    file.write_bytes(data)
    with pytest.raises(InputError, match=r"claims to have 1,073,741,826 rows, which is more than its size"):
        shoal.read_table(file)


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_a_release_for_statistics_packages(tmp_path: Path, ending: Any) -> None:
    patients = hospital(300)
    schema = shoal.Schema.infer(patients, quasi=["age", "sex", "zip"], drop=["patient", "name"])
    schema = schema.changed("age", label="Age in years")
    release = shoal.anonymize(patients, schema, shoal.KAnonymity(k=5))
    folder = release.save(tmp_path / "out", format=ending)
    read = getattr(pyreadstat, f"read_{ending}")
    back, meta = read(str(folder / f"release.{ending}"), output_format="polars", apply_value_formats=True)
    typed = release.written("parquet")["age"].struct
    assert back["age_low"].cast(pl.Int64).to_list() == typed.field("low").cast(pl.Int64).to_list()
    assert back["age_high"].cast(pl.Int64).to_list() == typed.field("high").cast(pl.Int64).to_list()
    assert back["diagnosis"].cast(pl.String).to_list() == release.table["diagnosis"].to_list()
    assert back["sex"].cast(pl.String).to_list() == release.written("csv")["sex"].to_list()
    assert meta.column_names_to_labels["age_low"] == "age_low"
