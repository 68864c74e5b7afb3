"""Delimited text to tables: strictly, with nothing guessed."""

from __future__ import annotations

import codecs
import csv
from collections import Counter
from io import BytesIO, TextIOWrapper
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.errors import InputError, Reason, listing
from shoal.files.access import refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_ROWS_AT_ONCE = 50_000
_BYTES_AT_ONCE = 1 << 23
_QUOTE, _NEWLINE, _RETURN = b'"\n\r'


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
    numbered = ((line + lines_before, record) for line, record in records(path, text, delimiter))
    line, header = next((each for each in numbered if not is_blank(each[1])), (0, []))
    if not header:
        raise refusal(path, "is empty", Reason.EMPTY_FILE)
    names = [name.strip() for name in header]
    check_names(path, names)
    above = len(text) - len(text.lstrip(b"\n"))  # lines that were emptied by `load_text`
    frame = _parse_fast(text[above:], delimiter, names) if line == 1 + lines_before + above else None
    return _parse_strict(path, numbered, names) if frame is None else frame


def check_names(path: Path | str, names: Sequence[str]) -> None:
    """Refuse columns without a name, or with the name of another."""
    if "" in names:
        message = (
            f"has no name for column {names.index('') + 1} of {len(names)}; give each column a name, or skip "
            "the rows above the header if there are any"
        )
        raise refusal(path, message, Reason.FILE_FORMAT)
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        message = f"has more than one column called {listing(repeated)}; rename all but one"
        raise refusal(path, message, Reason.DUPLICATE_COLUMN)


def lines(text: bytes) -> TextIOWrapper:
    """Return a text as the csv module reads it."""
    return TextIOWrapper(BytesIO(text), encoding="utf-8", newline="")


def records(path: Path, text: bytes, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each record that is not a blank line, with the number of the line it starts on."""
    reader = csv.reader(lines(text), delimiter=delimiter, strict=True)
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


def is_blank(record: list[str]) -> bool:
    """Return whether a record is a blank line."""
    return not record or (len(record) == 1 and not record[0].strip())


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
        elif not is_blank(record):
            message = (
                f"line {line} has {len(record)} field{'s' * (len(record) > 1)}, the header has {width}; "
                "correct the line, name the delimiter if the wrong one was detected, or skip the rows above "
                "the header if there are any"
            )
            raise InputError(f"{path}: {message}", reason=Reason.RAGGED_ROW, parameter="delimiter")
