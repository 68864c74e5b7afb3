"""Strict reading of the fields of the page: unreadable content is an error, never an empty field."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Collection, Iterable
from pathlib import Path

from shoal.errors import InputError, Reason

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_WHOLE = 1 << 53  # browsers represent whole numbers up to here exactly
_SHOWN = 40


def number(value: object) -> int | float | None:
    """Return the number in a field; None if the field is empty.

    Raises
    ------
    InputError
        If the content is not a finite number, such as an incomplete one.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _wrong("This is not a number.")
    if isinstance(value, str):
        value = value.strip()
        if not value:
            return None
        if not _NUMBER.fullmatch(value):
            hint = ", with a point: 2.5" if "," in value else ", such as 10 or 2.5"
            raise _wrong(f"{_short(value)} is not a number. Enter one{hint}.")
    found = float(value)
    if not math.isfinite(found):
        raise _wrong(f"{_short(str(value))} is not a finite number.")
    return int(found) if found.is_integer() and abs(found) < _WHOLE else found


def whole(value: object) -> int | None:
    """Return the whole number of at least 1 in a field; None if the field is empty."""
    found = number(value)
    if found is None or (isinstance(found, int) and found >= 1):
        return found
    raise _wrong("Enter a whole number of at least 1.")


def share(value: object) -> float | None:
    """Return the share in a field, written as 5% or 0.05; None if the field is empty."""
    if isinstance(value, str) and value.strip().endswith("%"):
        found = number(value.strip().removesuffix("%"))
        found = None if found is None else found / 100
    else:
        found = number(value)
    if found is not None and not 0 <= found < 1:
        raise _wrong("Enter a share, such as 5% or 0.05.")
    return None if found is None else float(found)


def text(value: object) -> str:
    """Return the text in a field; raise an InputError for other content."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong("This is not a text.")
    return value


def read_list(value: object) -> tuple[str, ...]:
    """Return the values in a field, separated by commas; one that contains a comma is in quotes."""
    try:
        rows = list(csv.reader([text(value)], skipinitialspace=True))
    except csv.Error:
        raise _wrong("Separate the values by commas, in one line.") from None
    return tuple(each.strip() for row in rows for each in row if each.strip())


def written_list(values: Iterable[object]) -> str:
    """Return values as `read_list` reads them."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(values)
    return line.getvalue()


def chosen(value: object, options: Collection[str]) -> str:
    """Return the choice in a field; raise an InputError if it is not one of the options."""
    if not isinstance(value, str) or value not in options:
        raise _wrong("Choose one of the options.")
    return value


def stored_file(value: object, folder: Path) -> tuple[str, Path] | None:
    """Return name and path of the file that was uploaded to a field; None if there is none.

    Parameters
    ----------
    value
        The content of the field in Shiny.
    folder
        The server's private folder. Only files that Shiny stored there as uploads are accepted.
    """
    file = value[0] if isinstance(value, list | tuple) and len(value) == 1 else None
    if not isinstance(file, dict) or not isinstance(file.get("name"), str):
        return None
    path = Path(str(file.get("datapath", "")))
    inside = path.parent.parent.parent == folder and path.parent.parent.name.startswith("fileupload-")
    if not inside or ".." in path.parts or path.is_symlink() or not path.is_file():
        return None
    return file["name"], path


def _short(value: str) -> str:
    return value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"


def _wrong(message: str) -> InputError:
    return InputError(message, reason=Reason.PARAMETER)
