"""The formats of files that tables are read from. A new one is one file that registers itself here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl

ROWS = 200_000
"""The number of rows in a batch, unless a format has reasons to choose otherwise."""


@dataclass(frozen=True)
class Reading:
    """How a file is to be read.

    Parameters
    ----------
    delimiter, encoding
        Delimiter and encoding of text; detected if None.
    most_bytes
        Maximum size of the table, unpacked; None for any size.
    sheet
        Name of the sheet of a workbook; its first one if None.
    skip_rows
        Number of rows above the header of a sheet or a text file.
    missing_codes
        Whether the codes of a statistics package that stand for missing values are values of their own.
    table, query
        Of a database: the name of the table, or a query instead of it.
    decimal, thousands
        Of text: the decimal mark, and what separates groups of three digits.
    """

    delimiter: str | None = None
    encoding: str | None = None
    most_bytes: int | None = None
    sheet: str | None = None
    skip_rows: int = 0
    missing_codes: bool = False
    table: str | None = None
    query: str | None = None
    decimal: str | None = None
    thousands: str | None = None


@dataclass(frozen=True)
class FileFormat:
    """A format of files that hold a table.

    Parameters
    ----------
    name
        What users call it.
    endings
        How the names of such files end, in lower case, each with its dot.
    read
        Return the whole table. A file that cannot be read is an `InputError`.
    batches
        Yield the table, some rows at a time, without holding it all; at least one frame, which may have no
        rows. Without it the table is read at once.
    rows
        Return the number of rows, where a file tells it without being read; otherwise it is estimated from
        the number of lines.
    only_column
        The only column of such files, if there is just one: it is the quasi-identifier unless the user says
        otherwise.
    labels
        Return what the columns are about, by name, in the words of the file.
    """

    name: str
    endings: tuple[str, ...]
    read: Callable[[Path, Reading], pl.DataFrame]
    batches: Callable[[Path, Reading], Iterator[pl.DataFrame]] | None = None
    rows: Callable[[Path], int] | None = None
    only_column: str | None = None
    labels: Callable[[Path], dict[str, str]] | None = None


FORMATS: list[FileFormat] = []
"""All formats, in the order of their registration."""


def register(new: FileFormat) -> FileFormat:
    """Make a format known; `read_table`, the engines, the command line and the page read it from then on."""
    taken = sorted(set(endings()) & set(new.endings))
    if taken:
        raise ValueError(f"another format has the ending {', '.join(taken)}")
    FORMATS.append(new)
    return new


def endings() -> tuple[str, ...]:
    """Return how the names of files end that can be read."""
    return tuple(ending for known in FORMATS for ending in known.endings)


def ending_of(path: str | Path) -> str | None:
    """Return the ending of a file's name that tells its format, if any does."""
    name = Path(path).name.lower()
    return max((ending for ending in endings() if name.endswith(ending)), key=len, default=None)


def format_of(path: str | Path) -> FileFormat | None:
    """Return the format of a file, by the ending of its name; None if no format has that ending."""
    ending = ending_of(path)
    return next((known for known in FORMATS if ending in known.endings), None)
