"""Transaction files: a line for each record, its items separated by white space."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from shoal.files.access import PACKED
from shoal.files.formats import FileFormat, Reading, register
from shoal.files.text import load_text

if TYPE_CHECKING:
    from pathlib import Path

ITEMS = "items"
"""The column of a transaction file."""


def _read(path: Path, reading: Reading) -> pl.DataFrame:
    """Return one list of items for each line."""
    delimiter = reading.delimiter
    text = load_text(path, delimiter, reading.encoding, reading.most_bytes)[0].decode("utf-8")
    lines = pl.Series(ITEMS, text.removesuffix("\n").split("\n"), dtype=pl.String)
    if delimiter is None or delimiter.isspace():
        return lines.str.extract_all(r"\S+").to_frame()
    parts = lines.str.split(delimiter).list.eval(pl.element().str.strip_chars())
    return parts.list.eval(pl.element().filter(pl.element() != "")).to_frame()


TRANSACTIONS = register(
    FileFormat(
        "transactions (.dat)", tuple(f".dat{packing}" for packing in ("", *PACKED)), _read, only_column=ITEMS
    )
)
