"""Tables that need not fit into memory: one or several files of one schema, read in batches, repeatedly.

Cells mean what they mean to `read_table`: those of text files are strings, an empty one is null.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from shoal.errors import InputError, Reason, listing
from shoal.files.access import cause_of, chunks_of, is_file, is_folder, packing_of, refusal, require_file
from shoal.files.databases import DatabaseTable, is_database, opened, query_of
from shoal.files.formats import ROWS, Reading, endings, format_of
from shoal.files.reading import read_as

_HEAD = 1 << 20
_SHOWN = 1_000


@dataclass(frozen=True)
class StreamedTable:
    """A table in files.

    Parameters
    ----------
    files
        The files, one after the other.
    reading
        How they are to be read.
    """

    files: tuple[Path, ...]
    reading: Reading = Reading()  # noqa: RUF009 - it is frozen

    def batches(self) -> Iterator[pl.DataFrame]:
        """Yield the rows in order, some at a time.

        Raises
        ------
        InputError
            If a file cannot be read, or has other columns than the first.
        """
        columns: pl.Schema | None = None
        for file in self.files:
            for batch in self._batches_of(file):
                columns = columns or batch.schema
                _require_same(file, batch.schema, columns, self.files[0])
                yield batch[columns.names()]  # not `select`: it takes a name such as * for all columns

    @cached_property
    def head(self) -> pl.DataFrame:
        """The first rows, if there are any."""
        return next(iter(self.batches())).head(_SHOWN)

    @property
    def size(self) -> int:
        """The number of bytes of all files."""
        return sum(file.stat().st_size for file in self.files)

    def rows_about(self) -> int:
        """Return the approximate number of rows, without reading them all."""
        rows = 0.0
        for file in self.files:
            known = format_of(file)
            if known is not None and known.rows is not None:
                rows += known.rows(file)
            else:
                packed = 4 if packing_of(file) else 1
                head = next(chunks_of(file, _HEAD), b"")
                rows += packed * file.stat().st_size * head.count(b"\n") / max(len(head), 1)
        return int(rows)

    @property
    def fingerprint(self) -> list[Any]:
        """What changes when the files or the way to read them do: names, sizes and times."""
        stats = [(str(file.resolve()), file.stat()) for file in self.files]
        return [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats] + [str(self.reading)]

    def _batches_of(self, file: Path) -> Iterator[pl.DataFrame]:
        known = format_of(file)
        if known is not None and known.batches is not None:
            return known.batches(file, self.reading)
        return read_as(file, self.reading).iter_slices(ROWS)


class BatchedTable(Protocol):
    """A table that can be read in batches, any number of times."""

    @property
    def head(self) -> pl.DataFrame:
        """The first rows, if there are any."""

    @property
    def size(self) -> int:
        """The approximate number of bytes."""

    @property
    def fingerprint(self) -> list[Any]:
        """What changes when the table does."""

    def batches(self) -> Iterator[pl.DataFrame]:
        """Yield the rows in order, some at a time."""

    def rows_about(self) -> int:
        """Return the approximate number of rows."""


@contextmanager
def opened_source(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    reading: Reading = Reading(),  # noqa: B008 - it is frozen
) -> Iterator[BatchedTable]:
    """Open a table in files, as `open_source` does, or in a database, of which all is read in one state."""
    if not isinstance(path, str) or not is_database(path):
        yield open_source(path, reading=reading)
        return
    with opened(path) as database:
        yield DatabaseTable(database, query_of(reading.table, reading.query))


def open_source(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    reading: Reading = Reading(),  # noqa: B008 - it is frozen
) -> StreamedTable:
    """Return a table in a file, in several files, or in all files of a folder.

    Parameters
    ----------
    path
        The file, the files or the folder. In a folder, files with an ending that `read_table` does not know,
        and those whose names begin with a dot or an underscore, are skipped.
    reading
        How the files are to be read.

    Raises
    ------
    InputError
        If there is no such file, or none in the folder.
    """
    named = [path] if isinstance(path, str | os.PathLike) else list(path)
    files: list[Path] = []
    for each in map(Path, named):
        files += _files_in(each) if is_folder(each) else [each]
    for file in files:
        require_file(file)
    if not files:
        raise InputError("no file is named", reason=Reason.MISSING_FILE)
    return StreamedTable(tuple(files), reading)


def _files_in(folder: Path) -> list[Path]:
    try:
        found = sorted(folder.iterdir())
    except OSError as error:
        raise refusal(folder, f"cannot be read: {cause_of(error)}", Reason.MISSING_FILE) from error
    files = [f for f in found if is_file(f) and f.name[0] not in "._" and format_of(f) is not None]
    if not files:
        message = f"is a folder without a table; there is no file that ends in {', '.join(endings())}"
        raise refusal(folder, message, Reason.MISSING_FILE)
    return files


def _require_same(file: Path, given: pl.Schema, wanted: pl.Schema, first: Path) -> None:
    """Refuse a file whose columns differ from those of the first; their order may."""
    if dict(given) == dict(wanted):
        return
    missing = [name for name in wanted if name not in given]
    more = [name for name in given if name not in wanted]
    other = [f"{n} ({given[n]}, not {wanted[n]})" for n in wanted if n in given and given[n] != wanted[n]]
    problems = [
        *([f"lacks {listing(missing)}"] if missing else []),
        *([f"also has {listing(more)}"] if more else []),
        *([f"has other types in {', '.join(other[:5])}"] if other else []),
    ]
    message = f"does not have the columns of {first}: it {' and '.join(problems)}; make them the same"
    raise refusal(file, message, Reason.SCHEMA)
