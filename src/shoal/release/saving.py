"""The files of a release: their names, the documents beside the released table, and the secret key."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, Reason, listing
from shoal.files.reading import read_table

if TYPE_CHECKING:
    from shoal.report import Report

Format = Literal["csv", "parquet"]

RELEASE_FILES = (
    "release.csv",
    "release.parquet",
    "certificate.json",
    "codebook.json",
    "report.html",
    "report.json",
    "key.csv",
)
"""All files that a saved release may consist of."""


KEY_COLUMNS = ("released_row", "original_row")
"""The columns of ``key.csv``; rows are counted from 1, without the header."""


def require_format(form: str) -> None:
    """Refuse a format that releases are not written in."""
    if form not in ("csv", "parquet"):
        raise InputError(f"format {form!r} is unknown; it is csv or parquet", reason=Reason.PARAMETER)


def sha256(file: Path) -> str:
    """Return the digest of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def write_documents(report: Report, codebook: Mapping[str, Any], write: Callable[[str, str], object]) -> None:
    """Write the documents beside the released table: report, certificate and codebook.

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
