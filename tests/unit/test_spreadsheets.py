"""Workbooks of Excel and OpenDocument: what is in the cells is read, and nothing written is a formula."""

from __future__ import annotations

import shutil
import subprocess
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import shoal
from shoal.errors import InputError, Reason
from shoal.files.formats import Reading
from shoal.files.reading import read_as
from shoal.files.spreadsheets import write_excel
from shoal.samples import hospital

if TYPE_CHECKING:
    from pathlib import Path

openpyxl = pytest.importorskip("openpyxl", reason="openpyxl writes the workbooks that are read here")
pytest.importorskip("fastexcel", reason="the extra excel is not installed")

HEADER = ("name", "zip", "age", "born", "seen")
ROWS = [
    ("Jürgen", "02134", 44, date(1980, 1, 2), datetime(2024, 5, 6, 7, 8)),
    ("Zoë", "10115", 31, date(1993, 12, 31), datetime(2024, 5, 7, 9, 10)),
    (None, "00007", None, None, None),
]
TABLE = pl.DataFrame(ROWS, schema=HEADER, orient="row")


def workbook(path: Path, rows: list[tuple[Any, ...]], title: str = "people") -> Any:
    """Write rows into the first sheet of a workbook, and return it, open."""
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    book.save(path)
    return book


def read(path: Path, **how: Any) -> pl.DataFrame:
    table = shoal.read_table(path, **how)
    return table.with_columns(pl.col(pl.Datetime).cast(pl.Datetime("us")))


def refused(path: Path, **how: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        shoal.read_table(path, **how)
    assert str(path) in str(caught.value)
    return caught.value


def test_cells_keep_their_types(tmp_path: Path) -> None:
    workbook(tmp_path / "a.xlsx", [HEADER, *ROWS])
    assert_frame_equal(read(tmp_path / "a.xlsx"), TABLE)


@pytest.mark.parametrize("ending", ["ods", "xls"])
def test_other_programs_files(tmp_path: Path, ending: str) -> None:
    office = shutil.which("soffice") or shutil.which("libreoffice")
    if office is None:
        pytest.skip("LibreOffice is not installed")
    workbook(tmp_path / "a.xlsx", [HEADER, *ROWS])
    home = f"-env:UserInstallation=file://{tmp_path / 'home'}"
    call = [
        office,
        home,
        "--headless",
        "--convert-to",
        ending,
        "--outdir",
        str(tmp_path),
        str(tmp_path / "a.xlsx"),
    ]
    subprocess.run(call, check=True, capture_output=True, timeout=300)
    assert_frame_equal(read(tmp_path / f"a.{ending}"), TABLE)


def test_a_late_text_keeps_its_zeros(tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [("code",), *((number,) for number in range(2_000)), ("0042",)]
    workbook(tmp_path / "a.xlsx", rows)
    codes = read(tmp_path / "a.xlsx")["code"]
    assert codes[-1] == "0042"
    assert codes[7] == "7"


def test_a_sheet_and_rows_above_the_header(tmp_path: Path) -> None:
    book = workbook(tmp_path / "a.xlsx", [("nothing",), (1,)])
    sheet = book.create_sheet("visits")
    for row in [("Visits of 2024",), (), HEADER, *ROWS]:
        sheet.append(row)
    book.save(tmp_path / "a.xlsx")
    assert_frame_equal(read(tmp_path / "a.xlsx", sheet="visits", skip_rows=2), TABLE)
    assert read(tmp_path / "a.xlsx").columns == ["nothing"]
    error = refused(tmp_path / "a.xlsx", sheet="visit")
    assert error.parameter == "sheet"
    assert "did you mean 'visits'" in str(error)


def test_titles_above_the_header_are_noticed(tmp_path: Path) -> None:
    workbook(tmp_path / "a.xlsx", [("Visits of 2024",), HEADER, *ROWS])
    error = refused(tmp_path / "a.xlsx")
    assert error.reason is Reason.SCHEMA
    assert error.parameter == "skip_rows"
    assert "(1 row)" in str(error)
    assert read(tmp_path / "a.xlsx", skip_rows=1).columns == list(HEADER)


def test_merged_cells_are_refused(tmp_path: Path) -> None:
    book = workbook(tmp_path / "a.xlsx", [("region", "age"), ("north", 1), (None, 2), ("south", 3)])
    book.active.merge_cells("A2:A3")
    book.create_sheet("plain").append(("age",))
    book["plain"].append((5,))
    book.save(tmp_path / "a.xlsx")
    assert "merged cells" in str(refused(tmp_path / "a.xlsx"))
    assert read(tmp_path / "a.xlsx", sheet="plain").rows() == [(5,)]


def test_bad_files(tmp_path: Path) -> None:
    file = tmp_path / "a.xlsx"
    file.write_bytes(b"PK\x03\x04 nothing else")
    assert refused(file).reason is Reason.FILE_FORMAT
    workbook(file, [])
    assert refused(file).reason in (Reason.FILE_FORMAT, Reason.NO_ROWS)
    workbook(file, [("age",)])
    assert refused(file).reason is Reason.NO_ROWS
    workbook(file, [("age", "age"), (1, 2)])
    assert refused(file).reason is Reason.DUPLICATE_COLUMN


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    workbook(tmp_path / "a.xlsx", [("text",), *(("a" * 10_000,) for _ in range(500))])
    assert (tmp_path / "a.xlsx").stat().st_size < 100_000
    assert refused(tmp_path / "a.xlsx", most_bytes=100_000).reason is Reason.TOO_LARGE


def test_no_cell_is_written_as_a_formula(tmp_path: Path) -> None:
    texts = ["=1+1", "+cmd", "-2..3", "@sum", "http://example.org", "007"]
    write_excel(pl.DataFrame({"cell": texts, "days": [1, 2, 3, 4, 5, 6]}), tmp_path / "a.xlsx")
    cells = openpyxl.load_workbook(tmp_path / "a.xlsx").active["A"][1:]
    assert [(cell.data_type, cell.value, cell.hyperlink) for cell in cells] == [("s", t, None) for t in texts]
    assert shoal.read_table(tmp_path / "a.xlsx")["cell"].to_list() == texts


def test_a_release_for_excel(tmp_path: Path) -> None:
    patients = hospital(200)
    schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["patient", "name"])
    release = shoal.anonymize(patients, schema, shoal.KAnonymity(k=5))
    folder = release.save(tmp_path / "out", format="xlsx")
    text, copy = shoal.read_table(folder / "release.csv"), shoal.read_table(folder / "release.xlsx")
    assert copy.select(pl.all().cast(pl.String)).drop("admitted").equals(text.drop("admitted"))
    assert shoal.audit(patients, copy, schema, shoal.KAnonymity(k=5)).holds
    assert set(release.certificate.get("files", {})) == set()
    assert {file.name for file in folder.iterdir()} >= {"release.csv", "release.xlsx", "codebook.json"}


def test_a_copy_without_formulas(tmp_path: Path) -> None:
    people = pl.DataFrame({"age": [30, 31] * 10, "note": ["=1+1", "-5", "'=x", "plain", None] * 4})
    schema = shoal.Schema.infer(people, quasi=["age"])
    release = shoal.anonymize(people, schema, shoal.KAnonymity(k=5))
    folder = release.save(tmp_path / "out", safe_for_spreadsheets=True)
    notes = shoal.read_table(folder / "release-for-spreadsheets.csv")["note"]
    assert set(notes) == {"'=1+1", "-5", "'=x", "plain", None}
    assert set(shoal.read_table(folder / "release.csv")["note"]) == {"=1+1", "-5", "'=x", "plain", None}


def test_a_damaged_workbook_is_refused_or_read(tmp_path: Path) -> None:
    """Each byte in turn is changed; parts of the file are read by different libraries."""
    file = tmp_path / "a.xlsx"
    write_excel(pl.DataFrame({"age": ["30", "40"]}), file)
    content = file.read_bytes()
    refused = 0
    for place in range(0, len(content), 3):
        damaged = bytearray(content)
        damaged[place] ^= 0x55
        file.write_bytes(damaged)
        for most_bytes in (None, 10**6):
            try:
                read_as(file, Reading(most_bytes=most_bytes))
            except InputError:
                refused += 1
    assert refused
