"""Persons as numbers, so that no temporary file names them."""

from __future__ import annotations

import hashlib

import narwhals.stable.v2 as nw
import polars as pl

from shoal.kinds.encoding import sensitive
from shoal.kinds.normalization import normalized_text
from shoal.schema import Column

BYTES = 8
"""The length of a number. Two persons who get the same by chance count as one, which protects no less."""


def numbered(frame: pl.DataFrame, column: Column, key: bytes) -> pl.DataFrame:
    """Return a table in which numbers that depend on a secret key stand for the persons.

    Parameters
    ----------
    frame
        Some records.
    column
        The column that says whose record each is. Spellings that count as one person get one number, and a
        missing value stays missing.
    key
        Random bytes, up to 64; the same for all records of a table.
    """
    persons = sensitive(nw.from_native(frame[column.name], series_only=True), column)
    numbers = [None if each is None else _number(each, column, key) for each in persons.values]
    cells = pl.Series(column.name, numbers, dtype=pl.Int64).gather(persons.codes)
    return frame.with_columns(cells)


def _number(person: object, column: Column, key: bytes) -> int:
    text = str(person)
    if column.normalize and isinstance(person, str):
        text = normalized_text(text)
    digest = hashlib.blake2b(text.encode(), digest_size=BYTES, key=key).digest()
    return int.from_bytes(digest, "big", signed=True)
