"""The messages that are accepted over the websocket: only those that the page's own scripts send.

Shiny trusts what a client says about a field, even that a file was uploaded and where it is stored. So every
message is checked before Shiny sees it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Any, NoReturn

from shoal.web.again import AGAIN_FILES, STABLE
from shoal.web.data import shown_name
from shoal.web.planning import EXTRAS, OPTIONS, PARAMETERS

LONGEST_TEXT = 100_000
"""Maximum number of characters in a field."""
MOST_CHOICES = 10_000
BUTTONS = (
    "demo",
    "columns_done",
    "advise",
    "go",
    "cancel",
    "ask",
    "write_tables",
    "end_session",
    "restore_run",
    "show_rows",
    "bulk_apply",
    *(
        "edit_group",
        "edit_merge",
        "edit_rename",
        "edit_split",
        "edit_move",
        "edit_build",
        "edit_undo",
        "edit_use",
    ),
    "edit_close",
    *("try_go", "cost_go", "cost_use", "attack_go", "hold_out_go", "together_go"),
)
TICKS = (
    "keep_key",
    "confirmed",
    STABLE,
    *(name for name, declared in PARAMETERS.items() if declared.widget == "tick"),
)
LISTS = (
    "edit_chosen",
    "edit_drop",
    "try_models",
    *(name for name, declared in PARAMETERS.items() if declared.widget == "columns"),
)
FILES = ("upload", "project", "earlier_release", "earlier_table", *AGAIN_FILES)
ENTRIES = (
    *("key", "last_key"),
    *(
        "folder_file",
        "delimiter",
        "encoding",
        "numbers",
        "skipped",
        "sheet",
        "model",
        "method",
        "seed",
        "predict",
        "run_again",
        "form",
        "shown_run",
    ),
    *("question", "by", "mean", "table_form", "project_run"),
    *("columns_search", "columns_role", "columns_page", "bulk_role"),
    *("edit_open", "edit_rule", "edit_numbers", "edit_name", "edit_target"),
    *EXTRAS,
    *("try_k", "try_methods", "try_run", "cost_column", "cost_width"),
    *("rows_text", "rows_column", "rows_sort", "rows_page", "rows_record"),
    *(name for name, declared in PARAMETERS.items() if declared.widget in ("number", "choice")),
    *sorted(OPTIONS),
)
COLUMN_FILES = ("levels",)
COLUMN_ENTRIES = (
    *("role", "kind", "hierarchy", "rule", "missing", "marks", "weight", "order", "dates", "separator"),
    *("widest", "bands"),
)
"""The fields of one column: the number of the column follows each name."""
COLUMN_TICKS = ("exact", "shown")
_COLUMN_FIELD = re.compile(r"([a-z]+)_[0-9]{1,5}")
_TYPES = ("", "shiny.action", "shiny.number", "shiny.file")
_CLIENT = re.compile(r"\.clientdata_[\w.-]{1,200}")
_LONGEST_ENDING = 50
_LARGEST = 1e300


class Conversation:
    """The messages of one client; the first, and only the first, must be `init`."""

    def __init__(self) -> None:
        self._begun = False

    def __call__(self, text: str) -> str | None:
        """Return a message as `cleaned` does; None also for one that is out of order."""
        passed = cleaned(text)
        if passed is None or passed.startswith('{"method": "init"') == self._begun:
            return None
        self._begun = True
        return passed


def cleaned(text: str) -> str | None:
    """Return a message as it is passed on; None if the page never sends such a message.

    Fields that the page does not have are left out. A file field is only filled by an upload, never by a
    message.
    """
    try:
        text.encode()
        message = json.loads(text, parse_constant=_no_number, parse_float=_finite)
        if not isinstance(message, dict):
            return None
        checked = _checked(message)
        return None if checked is None else json.dumps(checked)
    except (ValueError, RecursionError):
        return None


def _checked(message: dict[str, Any]) -> dict[str, Any] | None:
    method, data, arguments = message.get("method"), message.get("data"), message.get("args")
    if method in ("init", "update") and isinstance(data, dict):
        fields = {name: value for name, value in data.items() if _is_known(name)}
        suit = all(suits(name, value) for name, value in fields.items())
        return {"method": method, "data": fields} if suit else None
    if not isinstance(method, str) or not isinstance(arguments, list) or not _is_whole(message.get("tag")):
        return None
    checks = {"uploadInit": _begun, "uploadEnd": _ended}
    passed = checks[method](arguments) if method in checks else None
    return None if passed is None else {"method": method, "args": passed, "tag": message["tag"]}


def _is_known(name: str) -> bool:
    field, _, kind = name.partition(":")
    if _CLIENT.fullmatch(name):
        return True
    return kind in _TYPES and _check_of(field) is not None


def suits(name: str, value: object) -> bool:
    """Return whether a field of the page, which must be known, can have a value."""
    field, _, kind = name.partition(":")
    check = _is_entry if _CLIENT.fullmatch(name) else _check_of(field)
    assert check is not None
    if kind == "shiny.action":
        return _is_whole(value) and check is _is_whole
    return check(value) and (kind != "shiny.file" or value is None)


def _check_of(field: str) -> Callable[[object], bool] | None:
    """Return the check for values of a field; None if the page has no such field."""
    if field in BUTTONS:
        return _is_whole
    if field in TICKS:
        return _is_truth
    if field in LISTS:
        return _are_choices
    if field in ENTRIES:
        return _is_entry
    if field in FILES:
        return _is_nothing
    column = _COLUMN_FIELD.fullmatch(field)
    if column is not None and column[1] in COLUMN_ENTRIES:
        return _is_entry
    if column is not None and column[1] in COLUMN_TICKS:
        return _is_truth
    return _is_nothing if column is not None and column[1] in COLUMN_FILES else None


def _is_truth(value: object) -> bool:
    return isinstance(value, bool)


def _is_nothing(value: object) -> bool:
    return value is None


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53


def _is_entry(value: object) -> bool:
    if isinstance(value, str):
        return _is_text(value)
    return value is None or (isinstance(value, int | float) and abs(value) < _LARGEST)


def _is_text(value: object) -> bool:
    if not isinstance(value, str) or len(value) > LONGEST_TEXT or "\0" in value:
        return False
    value.encode()  # a lone surrogate raises a ValueError
    return True


def _are_choices(value: object) -> bool:
    if value is None:
        return True
    return isinstance(value, list) and len(value) <= MOST_CHOICES and all(map(_is_text, value))


def _begun(arguments: list[Any]) -> list[Any] | None:
    """Return the arguments that start an upload: one file with a harmless name."""
    if len(arguments) != 1 or not isinstance(arguments[0], list) or len(arguments[0]) > 1:
        return None
    files = []
    for file in arguments[0]:
        if not isinstance(file, dict) or not _is_whole(file.get("size")) or not _is_text(file.get("name")):
            return None
        name = shown_name(file["name"])
        if len(PurePath(name).suffix.encode()) > _LONGEST_ENDING:
            name = "table"  # its ending becomes part of a path
        kind = file.get("type")
        files.append({"name": name, "size": file["size"], "type": kind if _is_text(kind) else ""})
    return [files]


def _ended(arguments: list[Any]) -> list[Any] | None:
    """Return the arguments that end an upload, which must belong to a file field."""
    if len(arguments) != 2 or not all(map(_is_text, arguments)):
        return None
    return arguments if _check_of(arguments[1]) is _is_nothing else None


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _no_number(digits)
