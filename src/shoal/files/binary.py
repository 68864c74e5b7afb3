"""Parquet and Arrow files."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from shoal.errors import InputError, Reason
from shoal.files.access import read_bytes, refusal, require_size
from shoal.files.formats import ROWS, FileFormat, Reading, register
from shoal.files.parsing import check_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_FIRST_ROWS, _ROWS_FACTOR = 10_000, 8  # of a packed table whose size is not known yet


def _read_parquet(path: Path, reading: Reading) -> pl.DataFrame:
    return _checked(path, partial(pl.read_parquet, read_bytes(path, reading.most_bytes)), reading.most_bytes)


def _read_arrow(path: Path, reading: Reading) -> pl.DataFrame:
    """Read an Arrow file in its file or its stream format."""
    data = read_bytes(path, reading.most_bytes)
    read = pl.read_ipc if data.startswith(b"ARROW1") else pl.read_ipc_stream
    return _checked(path, partial(read, data), reading.most_bytes)


def _checked(path: Path, read: Callable[..., pl.DataFrame], most_bytes: int | None) -> pl.DataFrame:
    try:
        frame = _within(path, read, most_bytes)
    except pl.exceptions.DuplicateError as error:
        raise refusal(path, f"has a {error}; rename all but one", Reason.DUPLICATE_COLUMN) from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise _broken(path, error) from error
    check_names(path, frame.columns)
    return frame


def _within(path: Path, read: Callable[..., pl.DataFrame], most_bytes: int | None) -> pl.DataFrame:
    """Return all rows of a packed table, if they are not too large: ever more of them are unpacked."""
    if most_bytes is None:
        return read()
    rows = _FIRST_ROWS
    while True:
        frame = read(n_rows=rows)
        require_size(path, frame.estimated_size(), most_bytes)
        if frame.height < rows:
            return frame
        rows *= _ROWS_FACTOR


def _parquet_batches(path: Path, reading: Reading) -> Iterator[pl.DataFrame]:  # noqa: ARG001
    return _slices(path, pl.scan_parquet(path, glob=False))


def _arrow_batches(path: Path, reading: Reading) -> Iterator[pl.DataFrame]:
    with path.open("rb") as opened:
        is_stream = opened.read(6) != b"ARROW1"
    return _read_arrow(path, reading).iter_slices(ROWS) if is_stream else _slices(path, pl.scan_ipc(path))


def _slices(path: Path, lazy: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    try:
        for start in range(0, max(_rows(lazy), 1), ROWS):  # an empty file has its columns to show
            yield lazy.slice(start, ROWS).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise _broken(path, error) from error


def _rows(lazy: pl.LazyFrame) -> int:
    return int(lazy.select(pl.len()).collect().item())


def _broken(path: Path, error: BaseException) -> InputError:
    message = f"is broken, or not what its name says ({str(error).partition(chr(10))[0]})"
    return refusal(path, message, Reason.FILE_FORMAT)


PARQUET = register(
    FileFormat(
        "Parquet",
        (".parquet",),
        _read_parquet,
        batches=_parquet_batches,
        rows=lambda path: _rows(pl.scan_parquet(path, glob=False)),
    )
)
ARROW = register(FileFormat("Arrow", (".arrow", ".feather"), _read_arrow, batches=_arrow_batches))
