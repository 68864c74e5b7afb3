"""JSON lines: a text file with one JSON object for each record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from shoal.errors import InputError, Reason
from shoal.files.access import refusal, unpacked
from shoal.files.formats import ROWS, FileFormat, Reading, register
from shoal.files.parsing import check_names

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def _read(path: Path, reading: Reading) -> pl.DataFrame:
    """Return the whole table; types are judged by all rows."""
    data = unpacked(path, reading.most_bytes)
    try:
        frame = pl.read_ndjson(data, infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _broken(path) from error
    check_names(path, frame.columns)
    return frame.with_columns(pl.col(pl.String).replace("", None))


def _batches(path: Path, reading: Reading) -> Iterator[pl.DataFrame]:
    if path.suffix.lower() not in _PLAIN:
        yield from _read(path, reading).iter_slices(ROWS)
        return
    try:
        lazy = pl.scan_ndjson(path, infer_schema_length=None)
        for batch in lazy.collect_batches(chunk_size=ROWS, maintain_order=True):
            yield batch.with_columns(pl.col(pl.String).replace("", None))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _broken(path) from error


def _broken(path: Path) -> InputError:
    return refusal(path, "has a line that is not a JSON object", Reason.FILE_FORMAT)


_PLAIN = (".jsonl", ".ndjson")
JSON_LINES = register(
    FileFormat("JSON lines", (*_PLAIN, *(f"{each}.gz" for each in _PLAIN)), _read, batches=_batches)
)
