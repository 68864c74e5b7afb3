"""Parquet and Arrow files."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

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
    data = read_bytes(path, reading.most_bytes)
    frame = _checked(path, partial(pl.read_parquet, data), reading.most_bytes)
    return frame.cast(_declared_orders(data, frame.schema, _parquet_file))  # type: ignore[arg-type]


def _read_arrow(path: Path, reading: Reading) -> pl.DataFrame:
    """Read an Arrow file in its file or its stream format."""
    data = read_bytes(path, reading.most_bytes)
    is_file = data.startswith(b"ARROW1")
    frame = _checked(path, partial(pl.read_ipc if is_file else pl.read_ipc_stream, data), reading.most_bytes)
    opened = _arrow_file if is_file else _arrow_stream
    return frame.cast(_declared_orders(data, frame.schema, opened))  # type: ignore[arg-type]


def _declared_orders(
    source: Any, columns: pl.Schema, opened: Callable[[Any], tuple[Any, Callable[[list[str]], Any]]]
) -> dict[str, pl.DataType]:
    """Return the types of columns whose categories have an order in the file, as pandas writes them.

    Polars reads them as categories without an order. Without PyArrow, that is what they are.

    Parameters
    ----------
    source
        The bytes of the file, or its path.
    columns
        The types of the columns as Polars reads them.
    opened
        Returns the columns of the file, and a function that reads some of them.
    """
    names = [name for name, dtype in columns.items() if isinstance(dtype, pl.Categorical)]
    if not names or find_spec("pyarrow") is None:
        return {}
    import pyarrow as pa

    orders: dict[str, pl.DataType] = {}
    with suppress(pa.ArrowException, OSError, KeyError):
        schema, read = opened(source)
        names = [name for name in names if getattr(schema.field(name).type, "ordered", False)]
        for name in names:
            chunks = read([name])[name].unify_dictionaries().chunks
            if chunks and chunks[0].type.value_type in (pa.string(), pa.large_string(), pa.string_view()):
                orders[name] = pl.Enum(chunks[0].dictionary.to_pylist())
    return orders


def _parquet_file(source: Any) -> tuple[Any, Callable[[list[str]], Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(pa.BufferReader(source) if isinstance(source, bytes) else source)
    return file.schema_arrow, lambda names: file.read(columns=names)


def _arrow_file(source: Any) -> tuple[Any, Callable[[list[str]], Any]]:
    import pyarrow as pa

    table = pa.ipc.open_file(pa.BufferReader(source) if isinstance(source, bytes) else source).read_all()
    return table.schema, table.select


def _arrow_stream(source: Any) -> tuple[Any, Callable[[list[str]], Any]]:
    import pyarrow as pa

    table = pa.ipc.open_stream(pa.BufferReader(source)).read_all()
    return table.schema, table.select


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
    return _slices(path, pl.scan_parquet(path, glob=False), _parquet_file)


def _arrow_batches(path: Path, reading: Reading) -> Iterator[pl.DataFrame]:
    with path.open("rb") as opened:
        is_stream = opened.read(6) != b"ARROW1"
    if is_stream:
        return _read_arrow(path, reading).iter_slices(ROWS)
    return _slices(path, pl.scan_ipc(path), _arrow_file)


def _slices(
    path: Path, lazy: pl.LazyFrame, opened: Callable[[Any], tuple[Any, Callable[[list[str]], Any]]]
) -> Iterator[pl.DataFrame]:
    try:
        orders = _declared_orders(path, lazy.collect_schema(), opened)
        for start in range(0, max(_rows(lazy), 1), ROWS):  # an empty file has its columns to show
            yield lazy.slice(start, ROWS).collect().cast(orders)  # type: ignore[arg-type]
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
