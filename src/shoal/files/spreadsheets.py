"""Spreadsheets: Excel workbooks and OpenDocument tables, one sheet of which is a table."""

from __future__ import annotations

import lzma
import re
import zipfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.files.access import installed, read_bytes, refusal, require_size
from shoal.files.formats import FileFormat, Reading, register
from shoal.files.parsing import check_names
from shoal.files.titles import LOOKED_AT, advice_on_titles, header_among
from shoal.files.whole_numbers import as_whole
from shoal.files.writing import writing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_ROWS = 1_048_575
"""The number of rows that a sheet can have below its header."""

_MERGED = {
    ".xlsx": rb"<mergeCell[\s>]",
    ".xlsm": rb"<mergeCell[\s>]",
    ".ods": rb"number-(?:rows|columns)-spanned",
}
_CHUNK = 1 << 20


def _read(path: Path, reading: Reading) -> pl.DataFrame:
    """Return the cells of a sheet with the types they have there."""
    fastexcel = installed("fastexcel", "excel", f"{path}, a spreadsheet,")
    data = read_bytes(path, reading.most_bytes)
    _require_unpacked_size(path, reading.most_bytes)
    try:
        workbook = fastexcel.read_excel(data)
    except fastexcel.FastExcelError as error:
        raise _broken(path, error) from error
    sheet = _sheet(path, workbook.sheet_names, reading.sheet)
    _refuse_merged(path, workbook.sheet_names.index(sheet))
    try:
        # Types are judged by all rows: a code with a leading zero may come late.
        loaded = workbook.load_sheet(sheet, header_row=reading.skip_rows, schema_sample_rows=None)
        frame = loaded.to_polars()
        header = workbook.load_sheet(
            sheet, header_row=None, skip_rows=reading.skip_rows, n_rows=1, dtypes="string"
        ).to_polars()
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError) as error:
        raise _broken(path, error) from error
    if any(map(_is_unnamed, frame.columns)) and reading.skip_rows == 0:
        _refuse_titles(path, workbook.load_sheet(sheet, header_row=None, n_rows=LOOKED_AT, dtypes="string"))
    check_names(path, [name.strip() for name in header.row(0) if name] if header.height else [])
    return _tidy(path, sheet, frame)


def sheet_names(path: Path) -> list[str]:
    """Return the names of the sheets of a workbook."""
    fastexcel = installed("fastexcel", "excel", f"{path}, a spreadsheet,")
    try:
        names: list[str] = fastexcel.read_excel(path).sheet_names
    except fastexcel.FastExcelError as error:
        raise _broken(path, error) from error
    return names


def _sheet(path: Path, names: list[str], wanted: str | None) -> str:
    """Return the name of the sheet to read: the first, unless another is wanted."""
    if not names:
        raise refusal(path, "has no sheet", Reason.FILE_FORMAT)
    if wanted is None:
        return names[0]
    if wanted not in names:
        message = f"has no sheet {wanted!r}{did_you_mean(wanted, names)}; choose one of {listing(names)}"
        raise refusal(path, message, Reason.PARAMETER, "sheet")
    return wanted


def _tidy(path: Path, sheet: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return a sheet without empty rows and columns around the table, its midnights as dates."""
    frame = pl.DataFrame(
        [
            column
            for column in frame.iter_columns()
            if not (_is_unnamed(column.name) and column.null_count() == frame.height)
        ]
    )
    unnamed = [place for place, name in enumerate(frame.columns, 1) if _is_unnamed(name)]
    if unnamed:
        message = (
            f"has columns without a name in sheet {sheet!r} (the first is number {unnamed[0]}); if there are "
            "titles above the header, skip these rows (skip_rows); of several header rows, leave one"
        )
        raise refusal(path, message, Reason.SCHEMA, "skip_rows")
    frame = frame.rename({name: name.strip() for name in frame.columns if name != name.strip()})
    check_names(path, frame.columns)
    frame = frame.with_columns(pl.col(pl.String).replace("", None))
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    frame = frame.with_columns(as_whole(series) for series in frame.iter_columns())
    days = [
        name
        for name, dtype in frame.schema.items()
        if isinstance(dtype, pl.Datetime)
        and (frame[name].drop_nulls().dt.truncate("1d") == frame[name].drop_nulls()).all()
    ]
    return frame.with_columns(frame[name].cast(pl.Date) for name in days)


def _refuse_titles(path: Path, sheet: Any) -> None:
    """Refuse a sheet with titles above its header, given its first rows, with what to do."""
    rows = sheet.to_polars().rows()
    filled = [(place, row) for place, row in enumerate(rows) if any(row)]
    header = header_among([row for _, row in filled])
    if header is not None:
        raise refusal(path, advice_on_titles(filled[header][0]), Reason.SCHEMA, "skip_rows")


def _is_unnamed(name: str) -> bool:
    return name.startswith("__UNNAMED__")


def _refuse_merged(path: Path, number: int) -> None:
    """Refuse a sheet with merged cells: all but the first of them look empty."""
    ending = path.suffix.lower()
    if ending not in _MERGED or not zipfile.is_zipfile(path):
        return
    with _unzipped(path) as packed:
        part = "content.xml" if ending == ".ods" else _part_of_sheet(packed, number)
        if part is None or part not in packed.namelist():
            return
        before = b""
        with packed.open(part) as opened:
            while chunk := opened.read(_CHUNK):
                found = re.search(_MERGED[ending], before + chunk)
                if found:
                    message = (
                        "has merged cells, and only the first cell of each group has a value; undo the "
                        "merging, fill in the others, and save the file"
                    )
                    raise refusal(path, message, Reason.FILE_FORMAT)
                before = chunk[-64:]


def _part_of_sheet(packed: zipfile.ZipFile, number: int) -> str | None:
    """Return which part of a workbook holds its sheet with a number, counted from 0."""
    try:
        book = packed.read("xl/workbook.xml").decode("utf-8", "replace")
        links = packed.read("xl/_rels/workbook.xml.rels").decode("utf-8", "replace")
    except KeyError:
        return None
    sheets = re.findall(r"<(?:\w+:)?sheet\s[^>]*?\br:id=\"([^\"]+)\"", book)
    targets = {
        _attribute(link, "Id"): _attribute(link, "Target")
        for link in re.findall(r"<Relationship\s[^>]*>", links)
    }
    target = targets.get(sheets[number]) if number < len(sheets) else None
    return None if target is None else target.lstrip("/") if target.startswith("/") else f"xl/{target}"


def _attribute(tag: str, name: str) -> str:
    found = re.search(rf'\b{name}="([^"]*)"', tag)
    return found.group(1) if found else ""


def _require_unpacked_size(path: Path, most_bytes: int | None) -> None:
    """Refuse a packed workbook that would be too large, before it is unpacked."""
    if most_bytes is not None and zipfile.is_zipfile(path):
        with _unzipped(path) as packed:
            require_size(path, sum(each.file_size for each in packed.infolist()), most_bytes)


@contextmanager
def _unzipped(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a packed workbook; whatever is wrong with it is an error of the input."""
    try:
        with zipfile.ZipFile(path) as packed:
            yield packed
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError) as error:
        raise _broken(path, error) from error
    except RuntimeError as error:  # a part is encrypted, or packed in a way that is not known
        raise _broken(path, error) from error


def _broken(path: Path, error: BaseException) -> InputError:
    message = f"is not a workbook that can be read ({str(error).partition(chr(10))[0]})"
    return refusal(path, message, Reason.FILE_FORMAT)


def write_excel(frame: pl.DataFrame, path: str | Path) -> None:
    """Write a table as an Excel workbook in which no cell is a formula or a link.

    Parameters
    ----------
    frame
        The table.
    path
        The file to write.

    Raises
    ------
    InputError
        If the table has more rows than a sheet, or the file cannot be written.
    """
    xlsxwriter: Any = installed("xlsxwriter", "excel", "an Excel file")
    if frame.height > MOST_ROWS:
        raise InputError(
            f"a sheet has room for {MOST_ROWS:,} rows, and the table has {frame.height:,}; choose another "
            "format",
            reason=Reason.PARAMETER,
            parameter="format",
        )
    plain = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with writing(path), xlsxwriter.Workbook(str(path), plain) as workbook:
        frame.write_excel(workbook, worksheet="release", autofilter=False, table_style="Table Style Light 1")


EXCEL = register(
    FileFormat("Excel and OpenDocument sheets", (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"), _read)
)
