"""Reading tables, and the few other files that Shoal takes as input."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError, Reason
from shoal.files.access import refusal, require_file
from shoal.files.databases import DatabaseTable, hidden, is_database, opened, query_of
from shoal.files.formats import Reading, endings, format_of
from shoal.files.parsing import is_blank, records
from shoal.files.text import load_text

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    import polars as pl


def read_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    most_bytes: int | None = None,
    sheet: str | None = None,
    skip_rows: int = 0,
    missing_codes: bool = False,
    table: str | None = None,
    query: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
) -> pl.DataFrame:
    """Read a table from a file of any supported format, recognized by the ending of its name, or a database.

    The cells of a text file are read as strings exactly as they are written, so that a ZIP code keeps its
    leading zero; an empty cell is null, blank lines are skipped, names of columns lose the space around them.

    Parameters
    ----------
    path
        ``.csv``, ``.tsv``, ``.txt``, each also with ``.gz``, ``.bz2``, ``.xz`` or ``.zst``; ``.parquet``;
        ``.arrow`` or ``.feather``; ``.jsonl`` or ``.ndjson``; a spreadsheet (``.xlsx``, ``.xlsm``, ``.xls``,
        ``.xlsb``, ``.ods``); a file of SPSS (``.sav``, ``.zsav``), Stata (``.dta``) or SAS (``.sas7bdat``,
        ``.xpt``); or the transactions of ``.dat``: a line for each record, its items separated by white
        space, which become the lists of a column ``items``. There, a blank line is a record without items.
        Other formats can be added: see `shoal.files.formats`. Or the address of a database:
        ``postgresql://host/database``, ``sqlite:///file``, ``duckdb:///file``.
    delimiter, encoding
        For text files, see `sniff`; the delimiter also for transactions whose items are separated in another
        way.
    most_bytes
        How large the table may be, unpacked, for files of others; None for any size. No more than a part of
        what is above it is ever unpacked.
    sheet
        Of a spreadsheet: the name of the sheet; the first if None.
    skip_rows
        Of a spreadsheet or a text file: how many rows there are above the header, such as a title. The line
        ``sep=;`` that Excel writes first is not counted.
    missing_codes
        For SPSS, Stata and SAS: whether codes that stand for missing values are values of their own.
    table, query
        Of a database: the name of the table, or a query instead of it.
    decimal, thousands
        Of text files: the decimal mark (``.`` or ``,``) and the mark between groups of three digits. Columns
        of such numbers are read as if they had been written with a decimal point and no other mark; dates,
        codes and texts stay as they are.

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

    Examples
    --------
    >>> import polars as pl
    >>> pl.DataFrame({"zip": ["02138"], "age": [44]}).write_csv("table.csv")
    >>> shoal.read_table("table.csv").rows()
    [('02138', '44')]
    """
    reading = Reading(
        delimiter, encoding, most_bytes, sheet, skip_rows, missing_codes, table, query, decimal, thousands
    )
    return read_as(place_of(path), reading)


def place_of(name: str | os.PathLike[str]) -> Path | str:
    """Return where a table is: a path, or the address of a database."""
    return str(name) if is_database(name) else Path(name)


def read_as(path: Path | str, reading: Reading) -> pl.DataFrame:
    """Read a table as `read_table` does."""
    if isinstance(path, str):
        with opened(path) as database:
            frame = DatabaseTable(database, query_of(reading.table, reading.query)).read()
        if frame.height == 0:
            raise InputError(f"the table in {hidden(path)} has no rows", reason=Reason.NO_ROWS)
        return frame
    require_file(path)
    known = format_of(path)
    if known is None:
        message = f"has no ending that tells a format: {', '.join(endings())}"
        raise refusal(path, message, Reason.FILE_FORMAT)
    frame = known.read(path, reading)
    if frame.height == 0:
        raise refusal(path, "has column names but no rows", Reason.NO_ROWS)
    return frame


def read_rows(path: str | Path) -> list[list[str]]:
    """Read all records of a small delimited text file: no header, and some may be longer than others.

    Parameters
    ----------
    path
        The file, whatever the ending of its name; delimiter and encoding are detected as in `sniff`.

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
    data, dialect = load_text(path, None, None)
    stripped = [[cell.strip() for cell in record] for _, record in records(path, data, dialect.delimiter)]
    return [record for record in stripped if not is_blank(record)]


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
        If it does not exist or is not TOML.
    """
    path = Path(path)
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"), parse_float=parse_float)
    except FileNotFoundError:
        raise InputError(f"there is no {what} {path}", reason=Reason.MISSING_FILE) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}", reason=Reason.MISSING_FILE) from None
    except (ValueError, RecursionError) as error:  # also numbers with too many digits, and endless brackets
        raise InputError(f"{path} is not a TOML file: {error}", reason=Reason.SCHEMA) from None
    except ArithmeticError:
        raise InputError(f"{path} has a number that is too large", reason=Reason.SCHEMA) from None
