"""Tables that need not fit into memory: one or several files of one schema, read in batches, again and again.

Cells mean what they mean to `read_table`: those of text files are strings, an empty one is null.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import polars as pl

from shoal.errors import InputError, Reason, listing
from shoal.files.reading import (
    BINARY_ENDINGS,
    TEXT_ENDINGS,
    TRANSACTION_ENDINGS,
    Dialect,
    candidate_encodings,
    delimiter_of,
    parse_text,
    read_table,
    refusal,
    require_file,
    sniff,
)

ROWS = 200_000
"""So many rows of a binary file make a batch."""
BYTES = 1 << 25
"""So many bytes of a text file make a batch, and a little more to the end of a record."""
_HEAD = 1 << 20
_SHOWN = 1_000


@dataclass(frozen=True)
class Source:
    """A table in files.

    Parameters
    ----------
    files
        The files, one after the other.
    delimiter, encoding
        Of text files, where these are not to be found out; see `sniff`.
    """

    files: tuple[Path, ...]
    delimiter: str | None = None
    encoding: str | None = None

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
                yield batch.select(columns.names())

    @cached_property
    def head(self) -> pl.DataFrame:
        """The first rows, if there are any."""
        return next(iter(self.batches())).head(_SHOWN)

    @property
    def size(self) -> int:
        """How many bytes all files have."""
        return sum(file.stat().st_size for file in self.files)

    def rows_about(self) -> int:
        """Return how many rows there are, about, without reading them all."""
        rows = 0.0
        for file in self.files:
            if file.name.lower().endswith(".parquet"):
                rows += _scanned(file).select(pl.len()).collect().item()
            else:
                packed = 4 if file.name.lower().endswith(".gz") else 1
                head = next(_chunks(file, _HEAD), b"")
                rows += packed * file.stat().st_size * head.count(b"\n") / max(len(head), 1)
        return int(rows)

    @property
    def fingerprint(self) -> list[tuple[str, int, int]]:
        """What changes when the files do: their names, sizes and times."""
        stats = [(str(file.resolve()), file.stat()) for file in self.files]
        return [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]

    def _batches_of(self, file: Path) -> Iterator[pl.DataFrame]:
        name = file.name.lower()
        if name.endswith(TEXT_ENDINGS):
            yield from _text_batches(file, self.delimiter, self.encoding)
        elif name.endswith(BINARY_ENDINGS) and not _is_arrow_stream(file):
            yield from _binary_batches(file)
        else:
            yield from read_table(file, delimiter=self.delimiter, encoding=self.encoding).iter_slices(ROWS)


def open_source(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Source:
    """Return a table in a file, in several files, or in all files of a folder.

    Parameters
    ----------
    path
        The file, the files or the folder. In a folder, files with an ending that `read_table` does not know,
        and those whose names begin with a dot or an underscore, are passed over.
    delimiter, encoding
        As for `read_table`.

    Raises
    ------
    InputError
        If there is no such file, or none in the folder.
    """
    named = [path] if isinstance(path, str | os.PathLike) else list(path)
    files: list[Path] = []
    for each in map(Path, named):
        files += _files_in(each) if each.is_dir() else [each]
    for file in files:
        require_file(file)
    if not files:
        raise InputError("no file is named", reason=Reason.MISSING_FILE)
    return Source(tuple(files), delimiter, encoding)


def _files_in(folder: Path) -> list[Path]:
    endings = (*TEXT_ENDINGS, *TRANSACTION_ENDINGS, *BINARY_ENDINGS)
    files = [
        file
        for file in sorted(folder.iterdir())
        if file.is_file() and file.name[0] not in "._" and file.name.lower().endswith(endings)
    ]
    if not files:
        message = f"is a folder without a table; there is no file that ends in {', '.join(endings)}"
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


def _is_arrow_stream(file: Path) -> bool:
    if file.name.lower().endswith(".parquet"):
        return False
    with file.open("rb") as opened:
        return opened.read(6) != b"ARROW1"


def _binary_batches(file: Path) -> Iterator[pl.DataFrame]:
    try:
        lazy = _scanned(file)
        rows = int(lazy.select(pl.len()).collect().item())
        for start in range(0, max(rows, 1), ROWS):  # an empty file has its columns to show
            yield lazy.slice(start, ROWS).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        message = f"is broken, or not what its name says ({str(error).partition(chr(10))[0]})"
        raise refusal(file, message, Reason.FILE_FORMAT) from error


def _scanned(file: Path) -> pl.LazyFrame:
    if file.name.lower().endswith(".parquet"):
        return pl.scan_parquet(file, glob=False)
    return pl.scan_ipc(file)


def _text_batches(file: Path, delimiter: str | None, encoding: str | None) -> Iterator[pl.DataFrame]:
    dialect = dialect_of(file, delimiter, encoding)
    header = b""
    lines = 0
    for text in _records_of(file, dialect.encoding):
        frame = parse_text(file, header + text, dialect.delimiter, lines_before=lines - header.count(b"\n"))
        yield frame
        lines += text.count(b"\n")
        if not header:
            header = _header(frame.columns, dialect.delimiter)


def _header(names: list[str], delimiter: str) -> bytes:
    line = io.StringIO()
    csv.writer(line, delimiter=delimiter, lineterminator="\n").writerow(names)
    return line.getvalue().encode()


def dialect_of(file: Path, delimiter: str | None, encoding: str | None) -> Dialect:
    """Return how a text file is written, as `sniff` would say, without holding it all."""
    head = next(_chunks(file, _HEAD), b"")
    if not head.strip() or not _decodes(file, encoding or candidate_encodings(head)[0]):
        # Judged by all its bytes, with all that may be said against them.
        return sniff(file, delimiter=delimiter, encoding=encoding)
    encoding = encoding or candidate_encodings(head)[0]
    text = codecs.getincrementaldecoder(encoding)().decode(head).encode()
    return Dialect(delimiter or delimiter_of(text[: text.rfind(b"\n") + 1] or text), encoding)


def _decodes(file: Path, encoding: str) -> bool:
    try:
        return not any(b"\0" in text for text in _decoded(file, encoding))
    except (UnicodeDecodeError, LookupError):
        return False


def _records_of(file: Path, encoding: str) -> Iterator[bytes]:
    """Yield the text of a file as UTF-8, in pieces that end where a record does."""
    rest = b""
    for chunk in _decoded(file, encoding):
        text = rest + chunk
        codes = np.frombuffer(text, dtype=np.uint8)
        # A newline ends a record if the number of quotes before it is even.
        ends = np.flatnonzero(codes == ord("\n"))
        quotes = np.flatnonzero(codes == ord('"'))
        outside = ends[np.searchsorted(quotes, ends) % 2 == 0]
        if not len(outside):
            rest = text
            continue
        cut = int(outside[-1]) + 1
        rest = text[cut:]
        yield text[:cut]
    if rest.strip():
        yield rest


def _decoded(file: Path, encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    mark = codecs.BOM_UTF8
    for chunk in _chunks(file, BYTES):
        yield decoder.decode(chunk).encode().removeprefix(mark)
        mark = b""
    yield decoder.decode(b"", final=True).encode()


def _opened(file: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(file)) if file.name.lower().endswith(".gz") else file.open("rb")


def _chunks(file: Path, size: int) -> Iterator[bytes]:
    try:
        with _opened(file) as opened:
            while chunk := opened.read(size):
                yield chunk
    except (OSError, EOFError, zlib.error) as error:
        raise refusal(file, f"cannot be read ({error})", Reason.FILE_FORMAT) from error
