"""Writing tables: plainly, and with errors that name the file."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import polars as pl

from shoal.errors import InputError, Reason, listing
from shoal.files.access import cause_of, refusal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MISTAKEN = ";\t|"
"""Signs that readers could take for the delimiter if the names of the columns have them."""


def write_csv(frame: pl.DataFrame, path: str | Path, *, header: bool = True) -> None:
    """Write a table as UTF-8 with commas, a line feed after each row, and quotes only where they are needed.

    Names of columns are also quoted if one contains another sign that separates cells in some files.

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
        If the file cannot be written, or a date is too far in the past or future to be written as text.
    """
    # A lone empty cell would be a blank line, which readers skip.
    empty = '""' if frame.width == 1 else ""
    with writing(path):
        try:
            plain = frame.with_columns(pl.col(pl.String).replace("", None))
            if header and any(sign in name for name in frame.columns for sign in _MISTAKEN):
                with open(path, "wb") as file:
                    plain.clear().write_csv(file, quote_style="always")
                    plain.write_csv(file, null_value=empty, include_header=False)
            else:
                plain.write_csv(path, null_value=empty, include_header=header)
        except pl.exceptions.PanicException:
            dates = [name for name, dtype in frame.schema.items() if dtype.is_temporal()]
            raise InputError(
                f"a date in {listing(dates)} is too far in the past or future to be written as text; "
                "correct it or leave it empty",
                reason=Reason.BAD_VALUE,
            ) from None


_FORMULA = r"^[=+\-@\t\r]"
_NUMBER = r"^[+\-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]+)?$"


def without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table with an apostrophe before each text that a spreadsheet could take for a formula.

    Numbers stay as they are.
    """
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    return frame.with_columns(_marked(frame[name]) for name in texts)


def _marked(cells: pl.Series) -> pl.Series:
    risky = cells.str.contains(_FORMULA) & ~cells.str.contains(_NUMBER)
    marked = pl.select(pl.when(risky).then(pl.lit("'") + cells).otherwise(cells)).to_series()
    return marked.rename(cells.name)


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
        raise refusal(path, f"cannot be written: {cause_of(error)}", Reason.OUTPUT_UNWRITABLE) from error
    except pl.exceptions.ComputeError as error:
        _, found, cause = str(error).rpartition("IO error: ")
        if not found:
            raise
        # Polars tells of a full disk in this way when it writes Parquet.
        raise refusal(path, f"cannot be written: {cause.lower()}", Reason.OUTPUT_UNWRITABLE) from error
