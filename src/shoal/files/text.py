"""Delimited text: which delimiter and encoding a file has, and its rows, at once or in batches."""

from __future__ import annotations

import codecs
import csv
import io
import re
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import InputError, Reason
from shoal.files.access import PACKED, chunks_of, refusal, unpacked
from shoal.files.formats import FileFormat, Reading, register
from shoal.files.local_numbers import notation_of
from shoal.files.parsing import is_blank, lines, parse_text
from shoal.files.titles import advice_on_titles, header_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

BYTES = 1 << 25
"""The number of bytes of a text file in a batch, and a little more to the end of a record."""
_DELIMITERS = (",", ";", "\t", "|")
_LOOKS_LIKE = {
    b"PK\x03\x04": "a zip archive or an Excel workbook; let the name of the latter end in .xlsx",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; let its name end in .xls",
    b"%PDF-": "a PDF document; export the table as CSV",
    b"\x1f\x8b": "compressed with gzip; let its name end in .gz",
    b"PAR1\x15": "a Parquet file; let its name end in .parquet",
    b"BZh91AY&SY": "compressed with bzip2; let its name end in .bz2",
    b"\xfd7zXZ": "compressed with xz; let its name end in .xz",
    b"\x28\xb5\x2f\xfd": "compressed with Zstandard; let its name end in .zst",
    b"ARROW1\0\0": "an Arrow file; let its name end in .arrow",
}
_NUL_BYTES = (
    "is not text: it holds NUL bytes, like a binary file or UTF-16 without a byte order mark; "
    "for the latter, the encoding is utf-16-le"
)
_CONTROL_CHARACTERS = bytes(set(range(32)) - set(b"\t\n\r"))
_SNIFFED_RECORDS = 100
_HEAD = 1 << 20
_LINE_END = re.compile(rb"\r\n|\n|\r")
_SEPARATOR_LINE = re.compile(rb'"?sep=([ -~\t])"?[ \t]*(?:\r\n|\n|\r|$)', re.IGNORECASE)  # by Excel


@dataclass(frozen=True)
class Dialect:
    """How a delimited text file is written.

    Parameters
    ----------
    delimiter
        The character between two fields.
    encoding
        Name of the codec that turns its bytes into text.
    """

    delimiter: str
    encoding: str


def sniff(
    path: str | Path, *, delimiter: str | None = None, encoding: str | None = None, skip_rows: int = 0
) -> Dialect:
    """Find out how a delimited text file is written.

    Parameters
    ----------
    path
        The file; one whose name ends in ``.gz`` is unpacked.
    delimiter
        Used if given; otherwise that of a first line such as ``sep=;``, or the one of ``,`` ``;`` tab and
        ``|`` that splits most of the first records into the same number of fields, and ``,`` where there is
        only one column.
    encoding
        If given, the only one tried; otherwise what the byte order mark says, or UTF-8, or Windows-1252.
    skip_rows
        Number of rows above the header.

    Returns
    -------
    Dialect
        The delimiter and the encoding to read the file with.

    Raises
    ------
    InputError
        If the file cannot be read, is empty, is not text, or is not written in the encoding.
    """
    return load_text(Path(path), delimiter, encoding, skip_rows=skip_rows)[1]


def load_text(
    path: Path,
    delimiter: str | None,
    encoding: str | None,
    most_bytes: int | None = None,
    skip_rows: int = 0,
) -> tuple[bytes, Dialect]:
    """Return the text of a file as UTF-8 without byte order mark, and how it was written.

    A line that names the delimiter, and lines above the header, are empty in it: others keep their numbers.
    """
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n\0'):
        message = f"delimiter {delimiter!r} is not a single character, or one that means something else"
        raise InputError(message, reason=Reason.PARAMETER, parameter="delimiter")
    data = unpacked(path, most_bytes)
    for magic, description in _LOOKS_LIKE.items():
        if data.startswith(magic):
            raise refusal(path, f"is not text: it looks like {description}", Reason.FILE_FORMAT)
    text, encoding = _decode(path, data, encoding)
    if b"\0" in text:
        raise refusal(path, _NUL_BYTES, Reason.FILE_FORMAT, "encoding")
    text, named = _below(text, skip_rows)
    if not text or text.isspace():
        raise refusal(path, "is empty", Reason.EMPTY_FILE)
    return text, Dialect(delimiter or named or delimiter_of(text), encoding)


def _below(text: bytes, skip_rows: int) -> tuple[bytes, str | None]:
    """Return a text with empty lines above its header, and the delimiter that its first line may name."""
    found = _SEPARATOR_LINE.match(text)
    above = skip_rows + (found is not None)
    if not above:
        return text, None
    ends = [end.end() for end in islice(_LINE_END.finditer(text), above)]
    rest = text[ends[-1] :] if len(ends) == above else b""
    return b"\n" * above + rest, None if found is None else found[1].decode()


def _decode(path: Path, data: bytes, encoding: str | None) -> tuple[bytes, str]:
    """Return the text as UTF-8 without byte order mark, and the encoding it was found to have."""
    candidates = [encoding] if encoding is not None else candidate_encodings(data)
    failures = []
    for candidate in candidates:
        try:
            return data.decode(candidate).encode("utf-8").removeprefix(codecs.BOM_UTF8), candidate
        except UnicodeDecodeError as error:
            failures.append(error)
        except (LookupError, ValueError) as error:
            message = f"cannot be read as {candidate!r}, which is no encoding of text; utf-8 or latin-1 are"
            raise refusal(path, message, Reason.ENCODING, "encoding") from error
    if encoding is None and candidates[0] == "utf-8" and b"\0" in data:
        raise refusal(path, _NUL_BYTES, Reason.FILE_FORMAT, "encoding")
    # The codec for UTF-8 with a byte order mark counts from behind the mark.
    offset = len(data) - len(failures[0].object) + failures[0].start
    line = data[:offset].decode(candidates[0], "replace").count("\n") + 1
    message = (
        f"is not valid {candidates[0]} at byte offset {offset} (line {line}); "
        "name its encoding, for instance latin-1"
    )
    raise refusal(path, message, Reason.ENCODING, "encoding")


def candidate_encodings(data: bytes) -> list[str]:
    """Return the encodings that a text may have, judged by its bytes; the likeliest first."""
    if data.startswith(codecs.BOM_UTF8):
        return ["utf-8-sig"]
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ["utf-16"]
    # Windows-1252 gives a meaning to nearly every byte: it must not make text of binary files.
    has_controls = len(data.translate(None, _CONTROL_CHARACTERS)) < len(data)
    return ["utf-8"] if has_controls else ["utf-8", "windows-1252"]


def delimiter_of(text: bytes) -> str:
    """Return what separates the fields of a text, judged by its first records; see `sniff`.

    A delimiter that leaves a quote in the wrong place is taken only if all of them do.
    """
    for strict in (True, False):
        scores = {each: _regularity(text, each, strict=strict) for each in _DELIMITERS}
        best = max(scores, key=lambda delimiter: scores[delimiter])
        if scores[best] > (0.0, 0):
            return best
    return ","


def _regularity(text: bytes, delimiter: str, *, strict: bool) -> tuple[float, int]:
    """Return the share of records that have as many fields as the header, and this number.

    Both are 0 if it does not separate the names of the columns, or leaves most records as they are. The
    number of such records would mislead: with a wrong delimiter, a quoted field with line breaks becomes
    several.
    """
    widths: list[int] = []
    with suppress(csv.Error):
        reader = csv.reader(lines(text), delimiter=delimiter, strict=strict)
        for record in islice(reader, _SNIFFED_RECORDS):
            widths += [] if is_blank(record) else [len(record)]
    if not widths or widths[0] == 1 or 2 * sum(width > 1 for width in widths) <= len(widths):
        return 0.0, 0
    return widths.count(widths[0]) / len(widths), widths[0]


def _read(path: Path, reading: Reading) -> pl.DataFrame:
    notation = notation_of(reading.decimal, reading.thousands)
    data, dialect = load_text(
        path, reading.delimiter, reading.encoding, reading.most_bytes, reading.skip_rows
    )
    frame = _parsed(path, data, dialect.delimiter, reading)
    return frame if notation is None else notation.made_plain(frame, notation.columns([frame]))


def _batches(file: Path, reading: Reading) -> Iterator[pl.DataFrame]:
    notation = notation_of(reading.decimal, reading.thousands)
    if notation is None:
        yield from _written(file, reading)
        return
    columns = notation.columns(_written(file, reading))
    for batch in _written(file, reading):
        yield notation.made_plain(batch, columns)


def _written(file: Path, reading: Reading) -> Iterator[pl.DataFrame]:
    """Yield the rows of a file with all cells as they are written, some at a time."""
    dialect = dialect_of(file, reading.delimiter, reading.encoding, reading.skip_rows)
    header = b""
    before = 0
    for text in _records_of(file, dialect.encoding, reading.skip_rows):
        if header:
            before_text = before - header.count(b"\n")
            frame = parse_text(file, header + text, dialect.delimiter, lines_before=before_text)
        else:
            frame = _parsed(file, text, dialect.delimiter, reading)
        yield frame
        before += text.count(b"\n")
        if not header:
            header = _header(frame.columns, dialect.delimiter)


def _parsed(path: Path, text: bytes, delimiter: str, reading: Reading) -> pl.DataFrame:
    """Return the table at the beginning of a file; refuse one with titles above its header."""
    wrong: InputError | None = None
    try:
        frame = parse_text(path, text, delimiter)
        if frame.width > 1 or reading.delimiter is not None:
            return frame
    except InputError as error:
        wrong = error
    # The only column of a table may well hold sets such as a|b.
    may_be: tuple[str, ...] = _DELIMITERS if wrong is not None else (";", "\t")
    may_be = may_be if reading.delimiter is None else (reading.delimiter,)
    header = header_line(text, may_be) if reading.skip_rows == 0 else None
    if header is not None:
        advice = advice_on_titles(header, before=names_delimiter(path))
        raise refusal(path, advice, Reason.FILE_FORMAT if wrong is None else wrong.reason, "skip_rows")
    if wrong is not None:
        raise wrong
    return frame


def _header(names: list[str], delimiter: str) -> bytes:
    line = io.StringIO()
    csv.writer(line, delimiter=delimiter, lineterminator="\n").writerow(names)
    return line.getvalue().encode()


def dialect_of(file: Path, delimiter: str | None, encoding: str | None, skip_rows: int = 0) -> Dialect:
    """Return how a text file is written, as `load_text` would say, without holding it all."""
    head = next(chunks_of(file, _HEAD), b"")
    if not head.strip() or not _decodes(file, encoding or candidate_encodings(head)[0]):
        # Judged by all its bytes, with all that may be said against them.
        return load_text(file, delimiter, encoding, skip_rows=skip_rows)[1]
    encoding = encoding or candidate_encodings(head)[0]
    text = codecs.getincrementaldecoder(encoding)().decode(head).encode().removeprefix(codecs.BOM_UTF8)
    text, named = _below(text, skip_rows)
    return Dialect(delimiter or named or delimiter_of(text[: text.rfind(b"\n") + 1] or text), encoding)


def names_delimiter(file: Path) -> bool:
    """Return whether a file begins with a line such as ``sep=;``, which is not its header."""
    head = next(chunks_of(file, _HEAD), b"").removeprefix(codecs.BOM_UTF8)
    return _SEPARATOR_LINE.match(head) is not None


def _decodes(file: Path, encoding: str) -> bool:
    try:
        return not any(b"\0" in text for text in _decoded(file, encoding))
    except (UnicodeDecodeError, LookupError):
        return False


def _records_of(file: Path, encoding: str, skip_rows: int) -> Iterator[bytes]:
    """Yield the text of a file as UTF-8, in pieces that end where a record does."""
    rest = b""
    begun = False
    for chunk in _decoded(file, encoding):
        text = rest + chunk
        if not begun:
            if chunk and text.count(b"\n") <= skip_rows + 1:
                rest = text
                continue
            text, begun = _below(text, skip_rows)[0], True
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
    for chunk in chunks_of(file, BYTES):
        yield decoder.decode(chunk).encode().removeprefix(mark)
        mark = b""
    yield decoder.decode(b"", final=True).encode()


DELIMITED = register(
    FileFormat(
        "CSV or other delimited text",
        tuple(each + packing for packing in ("", *PACKED) for each in (".csv", ".tsv", ".txt")),
        _read,
        batches=_batches,
    )
)
