"""The files of a release: their names, the documents beside the released table, and the secret key."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, Reason, listing
from shoal.files.reading import read_table
from shoal.files.spreadsheets import write_excel
from shoal.files.statistics_packages import write_statistics

if TYPE_CHECKING:
    from shoal.report import Report

Format = Literal["csv", "parquet", "xlsx", "sav", "dta"]

COPIES: dict[Format, str] = {"xlsx": "Excel", "sav": "SPSS", "dta": "Stata"}
"""Formats for other programs, which are named: a copy beside ``release.csv``, the file that was audited."""

FOR_SPREADSHEETS = "release-for-spreadsheets.csv"
"""A copy of ``release.csv`` in which no cell can be taken for a formula."""

RELEASE_FILES = (
    "release.csv",
    "release.parquet",
    *(f"release.{each}" for each in COPIES),
    FOR_SPREADSHEETS,
    "certificate.json",
    "codebook.json",
    "report.html",
    "report.json",
    "evidence.html",
    "key.csv",
)
"""All files that a saved release may consist of."""


KEY_COLUMNS = ("released_row", "original_row")
"""The columns of ``key.csv``; rows are counted from 1, without the header."""


def require_format(form: str, *, copies: bool = False) -> None:
    """Refuse a format that releases are not written in.

    Parameters
    ----------
    form
        The format.
    copies
        Whether it may be one for other programs, which needs the whole table in memory.
    """
    if form in COPIES and not copies:
        raise InputError(
            f"format {form!r} needs the whole table in memory; blocks and Spark write csv or parquet",
            reason=Reason.PARAMETER,
            parameter="format",
        )
    if form not in get_args(Format):
        raise InputError(
            f"format {form!r} is unknown; it is {listing(get_args(Format))}",
            reason=Reason.PARAMETER,
            parameter="format",
        )


def write_copy(file: Path, text: pl.DataFrame, typed: pl.DataFrame, labels: Mapping[str, str]) -> None:
    """Write a release for another program, by the ending of the file's name.

    Parameters
    ----------
    file
        The file to write.
    text, typed
        The release with generalized values as text, and typed.
    labels
        What columns are about, by name.
    """
    if file.suffix == ".xlsx":
        write_excel(text, file)
    else:
        write_statistics(_with_bounds(text, typed), file, labels)


def _with_bounds(text: pl.DataFrame, typed: pl.DataFrame) -> pl.DataFrame:
    """Return a release with two columns, low and high, for each column of ranges; the others as text."""
    columns = []
    for series in text.iter_columns():
        form = typed.schema.get(series.name)
        if isinstance(form, pl.Struct):
            ends = typed[series.name].struct
            columns += [ends.field(end).alias(f"{series.name}_{end}") for end in ends.fields]
        else:
            columns.append(series)
    return pl.DataFrame(columns)


def sha256(file: Path) -> str:
    """Return the digest of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def write_documents(report: Report, codebook: Mapping[str, Any], write: Callable[[str, str], object]) -> None:
    """Write the documents beside the released table: report, evidence, certificate and codebook.

    Parameters
    ----------
    report
        The report, with the certificate.
    codebook
        What readers need to compute with the release.
    write
        Called with the name of each file and its text.
    """
    write("report.html", report.html())
    write("evidence.html", report.evidence())
    data = report.as_dict()
    for name, content in (("certificate", data["certificate"]), ("report", data), ("codebook", codebook)):
        write(f"{name}.json", json.dumps(content, indent=2) + "\n")


def into(folder: Path) -> Callable[[str, str], object]:
    """Return a function that writes a text to a file of a given name in a folder."""
    return lambda name, text: (folder / name).write_text(text, encoding="utf-8")


def read_key(path: str | Path) -> NDArray[np.int64]:
    """Read ``key.csv``: for each released row, the position (from 0) of its record in the input.

    Raises
    ------
    InputError
        If the file is not a key.
    """
    frame = read_table(path)
    columns = [frame[name].cast(pl.Int64, strict=False) for name in KEY_COLUMNS if name in frame.columns]
    if len(columns) != 2 or any(column.null_count() for column in columns):
        raise InputError(
            f"{path} is not a key: it must have whole numbers in the columns {listing(KEY_COLUMNS)}",
            reason=Reason.FILE_FORMAT,
        )
    return columns[1].gather(columns[0].arg_sort()).to_numpy() - 1


def write_key(path: Path, key: NDArray[np.int64]) -> None:
    """Write ``key.csv``, readable by its owner only."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(KEY_COLUMNS)
        writer.writerows(enumerate((int(row) + 1 for row in key), start=1))
