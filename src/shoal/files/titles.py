"""Titles above the header of a table: recognized, so that an error can say how many rows to skip."""

from __future__ import annotations

import csv
import re
from collections import Counter
from contextlib import suppress
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from shoal.base.wording import plural
from shoal.files.parsing import is_blank, lines

if TYPE_CHECKING:
    from collections.abc import Sequence

LOOKED_AT = 100
"""The number of records from which titles are recognized."""
_FEWEST = 2  # records below the header that show what its columns hold
_QUANTITY = re.compile(r"\s*(?:-?[\d.,' ]*\d|\d{1,4}[./-]\d{1,2}[./-]\d{1,4}.*)\s*")


def advice_on_titles(header: int, before: int = 0) -> str:
    """Return the end of an error message about a table with titles.

    Parameters
    ----------
    header
        The position of the header among the rows or lines, counted from 0.
    before
        How many of those above it do not count among the rows to skip.
    """
    return (
        f"seems to have a title: its header is probably in row {header + 1}; skip the rows above the header "
        f"({plural(header - before, 'row')})"
    )


def header_line(text: bytes, delimiters: Sequence[str]) -> int | None:
    """Return the position of the line with the header in a text that has titles above it.

    Parameters
    ----------
    text
        The text, as UTF-8.
    delimiters
        What may separate its fields.

    Returns
    -------
    int or None
        The position, counted from 0; None if nothing shows that there are titles.
    """
    for delimiter in delimiters:
        starts, records = [], []
        reader = csv.reader(lines(text), delimiter=delimiter)
        with suppress(csv.Error):
            line = 0
            for record in islice(reader, LOOKED_AT):
                if not is_blank(record):
                    starts.append(line)
                    records.append(record)
                line = reader.line_num
        found = header_among(records)
        if found is not None:
            return starts[found]
    return None


def header_among(records: Sequence[Sequence[str | None]]) -> int | None:
    """Return which of the first records of a table is its header, if there are titles above it.

    At most half of the fields of a title are filled. A header names all columns, none by a number, and at
    least one column below it holds numbers or dates only.
    """
    filled = [[(field or "").strip() for field in record] for record in records]
    width = Counter(map(len, filled)).most_common(1)[0][0] if filled else 0
    titles = len(list(takewhile(lambda record: 2 * sum(map(bool, record)) <= width, filled)))
    if width < 2 or titles == 0 or titles + _FEWEST >= len(filled):
        return None
    header, body = filled[titles], [record for record in filled[titles + 1 :] if len(record) == width]
    named = len(header) == width and all(header) and len(set(header)) == width
    if not named or len(body) < _FEWEST or any(map(_QUANTITY.fullmatch, header)):
        return None
    columns = [[field for field in column if field] for column in zip(*body, strict=True)]
    return titles if any(column and all(map(_QUANTITY.fullmatch, column)) for column in columns) else None
