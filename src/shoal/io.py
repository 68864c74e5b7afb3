"""Tables in files: reading delimited text, Parquet and Arrow strictly, and writing them plainly."""

from __future__ import annotations

import codecs
import csv
import gzip
import stat
import tomllib
import zlib
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from io import BytesIO, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.errors import InputError, Reason, did_you_mean, listing

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
TRANSACTION_ENDINGS = (".dat", ".dat.gz")
BINARY_ENDINGS = (".parquet", ".arrow", ".feather")
ENDINGS = (*TEXT_ENDINGS, *TRANSACTION_ENDINGS, *BINARY_ENDINGS)
"""How the names of files end that can be read."""
ITEMS = "items"
"""The column of a transaction file."""
_DELIMITERS = (",", ";", "\t", "|")
_LOOKS_LIKE = {
    b"PK\x03\x04": "a zip archive or an Excel workbook; export it as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; export it as CSV",
    b"%PDF-": "a PDF document; export the table as CSV",
    b"\x1f\x8b": "compressed with gzip; let its name end in .gz",
    b"PAR1\x15": "a Parquet file; let its name end in .parquet",
    b"ARROW1\0\0": "an Arrow file; let its name end in .arrow",
}
_NUL_BYTES = (
    "is not text: it holds NUL bytes, like a binary file or UTF-16 without a byte order mark; "
    "for the latter, pass --encoding utf-16-le"
)
_CONTROL_CHARACTERS = bytes(set(range(32)) - set(b"\t\n\r"))
_SNIFFED_RECORDS = 100
_ROWS_AT_ONCE = 50_000
_BYTES_AT_ONCE = 1 << 23
_FIRST_ROWS, _ROWS_FACTOR = 10_000, 8  # of a packed table whose size is not known yet
_QUOTE, _NEWLINE, _RETURN = b'"\n\r'


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


def sniff(path: str | Path, *, delimiter: str | None = None, encoding: str | None = None) -> Dialect:
    """Find out how a delimited text file is written.

    Parameters
    ----------
    path
        The file; one whose name ends in ``.gz`` is unpacked.
    delimiter
        Taken as it is where given; else the one of ``,`` ``;`` tab and ``|`` that splits most of the
        first records into the same number of fields, and ``,`` where there is only one column.
    encoding
        Where given, the only one tried; else what the byte order mark says, or UTF-8, or Windows-1252.

    Returns
    -------
    Dialect
        The delimiter and the encoding to read the file with.

    Raises
    ------
    InputError
        If the file cannot be read, is empty, is not text, or is not written in the encoding.
    """
    return _load_text(Path(path), delimiter, encoding)[1]


def read_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    most_bytes: int | None = None,
) -> pl.DataFrame:
    """Read a table from a file of any format Shoal knows, told by the ending of its name.

    The cells of a text file are read as strings exactly as they are written, so that a ZIP code keeps its
    leading zero; an empty cell is null, blank lines are skipped, names of columns lose the space around them.

    Parameters
    ----------
    path
        ``.csv``, ``.tsv``, ``.txt``, each also with ``.gz``; ``.parquet``; ``.arrow`` or ``.feather``; or the
        transactions of ``.dat``, also with ``.gz``: a line for each record, its items separated by white
        space, which become the lists of a column `ITEMS`. There, a blank line is a record without items.
    delimiter, encoding
        For text files, see `sniff`; the delimiter also for transactions whose items stand apart otherwise.
    most_bytes
        How large the table may be, unpacked, for files of others; None for any size. No more than a part of
        what is above it is ever unpacked.

    Returns
    -------
    polars.DataFrame
        At least one row; the names of columns are unique and not empty.

    Raises
    ------
    InputError
        If there is no such file, its format is unknown or broken, it has no rows or is too large, its columns
        are not named properly, or a row has more or fewer fields than the header. No cell is ever quoted in
        the message.
    """
    path = Path(path)
    require_file(path)
    name = path.name.lower()
    if name.endswith(TEXT_ENDINGS):
        data, dialect = _load_text(path, delimiter, encoding, most_bytes)
        frame = parse_text(path, data, dialect.delimiter)
    elif name.endswith(BINARY_ENDINGS):
        frame = _read_binary(path, most_bytes)
    elif holds_transactions(path):
        frame = _read_transactions(path, delimiter, encoding, most_bytes)
    else:
        message = f"has no ending that tells a format: {', '.join(ENDINGS)}"
        raise refusal(path, message, Reason.FILE_FORMAT)
    if frame.height == 0:
        raise refusal(path, "has column names but no rows", Reason.NO_ROWS)
    return frame


def holds_transactions(path: str | Path) -> bool:
    """Return whether a file is one of transactions, by the ending of its name."""
    return Path(path).name.lower().endswith(TRANSACTION_ENDINGS)


def read_rows(path: str | Path) -> list[list[str]]:
    """Read all records of a small delimited text file: no header, and some may be longer than others.

    Parameters
    ----------
    path
        The file, whatever the ending of its name; delimiter and encoding are found out as in `sniff`.

    Returns
    -------
    list of list of str
        The cells of each record that is not blank, without the white space around them.

    Raises
    ------
    InputError
        If the file cannot be read, is empty, is not text, or a quote is misplaced.
    """
    path = Path(path)
    data, dialect = _load_text(path, None, None)
    records = [[cell.strip() for cell in record] for _, record in _records(path, data, dialect.delimiter)]
    return [record for record in records if not _is_blank(record)]


def read_toml(
    path: str | os.PathLike[str], what: str, *, parse_float: Callable[[str], Any] = float
) -> dict[str, Any]:
    """Read a TOML file.

    Parameters
    ----------
    path
        Where it is.
    what
        What it is, in the words of an error.
    parse_float
        What to make of the text of a number that is not whole.

    Raises
    ------
    InputError
        If it is not there or is not TOML.
    """
    path = Path(path)
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"), parse_float=parse_float)
    except FileNotFoundError:
        raise InputError(f"there is no {what} {path}", reason=Reason.MISSING_FILE) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}", reason=Reason.MISSING_FILE) from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not a TOML file: {error}", reason=Reason.SCHEMA) from None


def write_csv(frame: pl.DataFrame, path: str | Path, *, header: bool = True) -> None:
    """Write a table as UTF-8 with commas, a line feed after each row, and quotes only where they are needed.

    Parameters
    ----------
    frame
        The table; null and the empty string both become an empty cell.
    path
        The file to write.
    header
        Whether it begins with the names of the columns.

    Raises
    ------
    InputError
        If the file cannot be written, or a date is too far away to be written as text.
    """
    # A lone empty cell would be a blank line, which readers skip.
    empty = '""' if frame.width == 1 else ""
    with writing(path):
        try:
            plain = frame.with_columns(pl.col(pl.String).replace("", None))
            plain.write_csv(path, null_value=empty, include_header=header)
        except pl.exceptions.PanicException:
            dates = [name for name, dtype in frame.schema.items() if dtype.is_temporal()]
            raise InputError(
                f"a date in {listing(dates)} is too far away to be written as text; correct it or leave it "
                "empty",
                reason=Reason.BAD_VALUE,
            ) from None


def write_parquet(frame: pl.DataFrame, path: str | Path) -> None:
    """Write a table as Parquet.

    Parameters
    ----------
    frame
        The table.
    path
        The file to write.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    with writing(path):
        frame.write_parquet(path)


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Turn what the operating system refuses while a file is written into an error that names the file."""
    try:
        yield
    except OSError as error:
        raise refusal(path, f"cannot be written: {_cause(error)}", Reason.OUTPUT_UNWRITABLE) from error
    except pl.exceptions.ComputeError as error:
        _, found, cause = str(error).rpartition("IO error: ")
        if not found:
            raise
        # Polars tells of a full disk in this way when it writes Parquet.
        raise refusal(path, f"cannot be written: {cause.lower()}", Reason.OUTPUT_UNWRITABLE) from error


def _load_text(
    path: Path, delimiter: str | None, encoding: str | None, most_bytes: int | None = None
) -> tuple[bytes, Dialect]:
    """Return the text of a file as UTF-8 without byte order mark, and how it was written."""
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n\0'):
        message = f"delimiter {delimiter!r} is not a single character, or one that means something else"
        raise InputError(message, reason=Reason.PARAMETER)
    data = _read_bytes(path, most_bytes)
    if path.name.lower().endswith(".gz"):
        try:
            with gzip.open(BytesIO(data)) as packed:
                data = packed.read(-1 if most_bytes is None else most_bytes + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise refusal(path, f"is not a sound gzip file ({error})", Reason.FILE_FORMAT) from error
        _require_size(path, len(data), most_bytes)
    for magic, description in _LOOKS_LIKE.items():
        if data.startswith(magic):
            raise refusal(path, f"is not text: it looks like {description}", Reason.FILE_FORMAT)
    text, encoding = _decode(path, data, encoding)
    if b"\0" in text:
        raise refusal(path, _NUL_BYTES, Reason.FILE_FORMAT)
    if not text or text.isspace():
        raise refusal(path, "is empty", Reason.EMPTY_FILE)
    return text, Dialect(delimiter or delimiter_of(text), encoding)


def _read_transactions(
    path: Path, delimiter: str | None, encoding: str | None, most_bytes: int | None
) -> pl.DataFrame:
    """Return one list of items for each line."""
    text = _load_text(path, delimiter, encoding, most_bytes)[0].decode("utf-8")
    lines = pl.Series(ITEMS, text.removesuffix("\n").split("\n"), dtype=pl.String)
    if delimiter is None or delimiter.isspace():
        return lines.str.extract_all(r"\S+").to_frame()
    parts = lines.str.split(delimiter).list.eval(pl.element().str.strip_chars())
    return parts.list.eval(pl.element().filter(pl.element() != "")).to_frame()


def require_file(path: Path) -> None:
    """Refuse a file that is not there or is a folder."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise _missing(path) from None
    except (OSError, ValueError) as error:
        raise refusal(path, f"cannot be read: {_cause(error)}", Reason.MISSING_FILE) from error
    if stat.S_ISDIR(mode):
        raise refusal(path, "is a folder; name a file in it", Reason.MISSING_FILE)


def _missing(path: Path) -> InputError:
    if not path.parent.is_dir():
        return refusal(path, "does not exist, nor does its folder", Reason.MISSING_FILE)
    names: list[str] = []
    with suppress(OSError):
        names = [each.name for each in path.parent.iterdir() if each.is_file()]
    return refusal(path, f"does not exist{did_you_mean(path.name, names)}", Reason.MISSING_FILE)


def _require_size(path: Path, size: float, most_bytes: int | None) -> None:
    if most_bytes is not None and size > most_bytes:
        message = f"is larger than {most_bytes / 1e6:g} MB when it is unpacked, which is the limit"
        raise refusal(path, message, Reason.TOO_LARGE)


def _read_bytes(path: Path, most_bytes: int | None = None) -> bytes:
    require_file(path)
    try:
        _require_size(path, path.stat().st_size, most_bytes)
        data = path.read_bytes()
    except OSError as error:
        raise refusal(path, f"cannot be read: {_cause(error)}", Reason.MISSING_FILE) from error
    if not data:
        raise refusal(path, "is empty", Reason.EMPTY_FILE)
    return data


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
            raise refusal(path, message, Reason.ENCODING) from error
    if encoding is None and candidates[0] == "utf-8" and b"\0" in data:
        raise refusal(path, _NUL_BYTES, Reason.FILE_FORMAT)
    # The codec for UTF-8 with a byte order mark counts from behind the mark.
    offset = len(data) - len(failures[0].object) + failures[0].start
    line = data[:offset].decode(candidates[0], "replace").count("\n") + 1
    message = (
        f"is not valid {candidates[0]} at byte offset {offset} (line {line}); "
        "say how it is encoded, for instance with --encoding latin-1"
    )
    raise refusal(path, message, Reason.ENCODING)


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
    """Return what separates the fields of a text, judged by its first records; see `sniff`."""
    scores = {}
    for delimiter in _DELIMITERS:
        widths: list[int] = []
        with suppress(csv.Error):
            for record in islice(csv.reader(_lines(text), delimiter=delimiter), _SNIFFED_RECORDS):
                widths += [] if _is_blank(record) else [len(record)]
        # A delimiter also separates the names of the columns, and most records as they are.
        agreeing = widths.count(widths[0]) if widths else 0
        if agreeing and widths[0] > 1 and 2 * sum(width > 1 for width in widths) > len(widths):
            scores[delimiter] = (agreeing, widths[0])
    return max(scores, key=lambda delimiter: scores[delimiter], default=",")


def _lines(text: bytes) -> TextIOWrapper:
    return TextIOWrapper(BytesIO(text), encoding="utf-8", newline="")


def _records(path: Path, text: bytes, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each record that is not a blank line, with the number of the line it starts on."""
    reader = csv.reader(_lines(text), delimiter=delimiter, strict=True)
    line = 1
    try:
        for record in reader:
            if record:
                yield line, record
            line = reader.line_num + 1
    except csv.Error as error:
        message = (
            f"has a misplaced quote in the record that starts on line {line} ({error}); "
            "a quoted field must end in a quote, and a quote inside it must be doubled"
        )
        raise refusal(path, message, Reason.FILE_FORMAT) from None


def _is_blank(record: list[str]) -> bool:
    return not record or (len(record) == 1 and not record[0].strip())


def parse_text(path: Path, text: bytes, delimiter: str, *, lines_before: int = 0) -> pl.DataFrame:
    """Return the table in a text with a header.

    Parameters
    ----------
    path
        Where it comes from, for error messages.
    text
        The text, as UTF-8 without byte order mark.
    delimiter
        What separates fields.
    lines_before
        How many lines of the file come before it, for error messages.

    Raises
    ------
    InputError
        As `read_table`.
    """
    records = ((line + lines_before, record) for line, record in _records(path, text, delimiter))
    line, header = next((each for each in records if not _is_blank(each[1])), (0, []))
    if not header:
        raise refusal(path, "is empty", Reason.EMPTY_FILE)
    names = [name.strip() for name in header]
    _check_names(path, names)
    frame = _parse_fast(text, delimiter, names) if line == 1 + lines_before else None
    return _parse_strict(path, records, names) if frame is None else frame


def _check_names(path: Path, names: Sequence[str]) -> None:
    if "" in names:
        message = f"has no name for column {names.index('') + 1} of {len(names)}; give each column a name"
        raise refusal(path, message, Reason.FILE_FORMAT)
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        message = f"has more than one column called {listing(repeated)}; rename all but one"
        raise refusal(path, message, Reason.DUPLICATE_COLUMN)


def _parse_fast(text: bytes, delimiter: str, names: list[str]) -> pl.DataFrame | None:
    """Return the rows of a table whose header is the first record, or None if it is not plainly regular.

    Polars pads short rows and guesses at stray quotes, so it is given only what leaves nothing to guess.
    """
    text = text.rstrip(b"\r\n") + b"\n"
    if not delimiter.isascii() or text.count(b"\r") != text.count(b"\r\n"):
        return None
    if len(names) == 1 and (b"\n\n" in text or b"\n\r\n" in text):
        return None
    layout = _layout(text, delimiter, len(names))
    if layout is None:
        return None
    header_end, records = layout
    body = text[header_end:]
    if body.startswith(codecs.BOM_UTF8):
        return None
    schema = dict.fromkeys(names, pl.String)
    try:
        frame = pl.read_csv(body, has_header=False, schema=schema, separator=delimiter, null_values="")
    except pl.exceptions.PolarsError:
        return None
    return frame if frame.height == records - 1 else None


def _layout(text: bytes, delimiter: str, width: int) -> tuple[int, int] | None:
    """Return where the first record ends and how many there are, or None if the text is irregular.

    It is regular if each record has `width` fields and quotes stand only around whole fields, or doubled
    inside them. Then a byte is outside of quotes exactly if the number of quotes up to it is even. The text
    must end in a newline.
    """
    codes = np.frombuffer(text, dtype=np.uint8)
    separator = ord(delimiter)
    special = np.zeros(256, dtype=np.bool_)
    special[[separator, _QUOTE, _NEWLINE]] = True
    may_follow_quote = special.copy()
    may_follow_quote[_RETURN] = True
    header_end = quotes = separators = records = 0
    for start in range(0, len(codes), _BYTES_AT_ONCE):
        places = np.flatnonzero(special[codes[start : start + _BYTES_AT_ONCE]]) + start
        if places.size == 0:
            continue
        found = codes[places]
        is_quote = found == _QUOTE
        quotes_so_far = quotes + np.cumsum(is_quote)
        outside = quotes_so_far % 2 == 0
        # The byte "before" the first one is the last one, a newline.
        before_opening = codes[places[is_quote & ~outside] - 1]
        after_closing = codes[places[is_quote & outside] + 1]
        if not (special[before_opening].all() and may_follow_quote[after_closing].all()):
            return None
        separators_so_far = separators + np.cumsum(outside & (found == separator))
        ends = np.flatnonzero(outside & (found == _NEWLINE))
        expected = (width - 1) * np.arange(records + 1, records + ends.size + 1)
        if not np.array_equal(separators_so_far[ends], expected):
            return None
        if records == 0 and ends.size:
            header_end = int(places[ends[0]]) + 1
        records += ends.size
        quotes, separators = int(quotes_so_far[-1]), int(separators_so_far[-1])
    return (header_end, records) if quotes % 2 == 0 else None


def _parse_strict(path: Path, records: Iterator[tuple[int, list[str]]], names: list[str]) -> pl.DataFrame:
    """Return the rows as the csv module reads them: the reference that `_parse_fast` must agree with."""
    schema = dict.fromkeys(names, pl.String)
    rows = _regular_rows(path, records, len(names))
    frames = [pl.DataFrame(schema=schema)]
    while block := list(islice(rows, _ROWS_AT_ONCE)):
        frames.append(pl.DataFrame(dict(zip(names, zip(*block, strict=True), strict=True)), schema=schema))
    return pl.concat(frames).with_columns(pl.all().replace("", None))


def _regular_rows(path: Path, records: Iterator[tuple[int, list[str]]], width: int) -> Iterator[list[str]]:
    for line, record in records:
        if len(record) == width:
            yield record
        elif not _is_blank(record):
            message = (
                f"line {line} has {len(record)} field{'s' * (len(record) > 1)}, the header has {width}; "
                "correct the line, or pass --delimiter if the wrong one was found"
            )
            raise InputError(f"{path}: {message}", reason=Reason.RAGGED_ROW)


def _read_binary(path: Path, most_bytes: int | None) -> pl.DataFrame:
    """Read a Parquet file, or an Arrow file in its file or its stream format."""
    data = _read_bytes(path, most_bytes)
    try:
        if path.name.lower().endswith(".parquet"):
            frame = _within(path, partial(pl.read_parquet, data), most_bytes)
        elif data.startswith(b"ARROW1"):
            frame = _within(path, partial(pl.read_ipc, data), most_bytes)
        else:
            frame = _within(path, partial(pl.read_ipc_stream, data), most_bytes)
    except pl.exceptions.DuplicateError as error:
        raise refusal(path, f"has a {error}; rename all but one", Reason.DUPLICATE_COLUMN) from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        message = f"is broken, or not what its name says ({str(error).partition(chr(10))[0]})"
        raise refusal(path, message, Reason.FILE_FORMAT) from error
    _check_names(path, frame.columns)
    return frame


def _within(path: Path, read: Callable[..., pl.DataFrame], most_bytes: int | None) -> pl.DataFrame:
    """Return all rows of a packed table, if they are not too large: ever more of them are unpacked."""
    if most_bytes is None:
        return read()
    rows = _FIRST_ROWS
    while True:
        frame = read(n_rows=rows)
        _require_size(path, frame.estimated_size(), most_bytes)
        if frame.height < rows:
            return frame
        rows *= _ROWS_FACTOR


def refusal(path: str | Path, problem: str, reason: Reason) -> InputError:
    """Return the error that a file cannot be used, and why."""
    return InputError(f"{path} {problem}", reason=reason)


def _cause(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
