"""Questions as people write them: ``age 30..39, sex=Female, education=Bachelors|Masters``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from shoal.errors import InputError, Reason, unknown_column
from shoal.kinds import notation

_COMMA = re.compile(r"(?<!\\),")


def read_question(text: str, columns: Sequence[str]) -> dict[str, Any]:
    r"""Return the conditions that a text names, as `Reader.count` takes them.

    Parameters
    ----------
    text
        Conditions with commas between them. Each is the name of a column, an equals sign or a space, and what
        its cells would look like: a value, ``low..high`` or ``a|b``; an end of a range may be left out.
        Nothing is a missing value. A comma inside a value is written ``\\,``.
    columns
        The names of all columns.

    Raises
    ------
    InputError
        If a condition names no column, or one that another condition names, too.
    """
    found: dict[str, Any] = {}
    for part in _COMMA.split(text):
        condition = part.replace("\\,", ",").strip()
        if not condition:
            continue
        name = _name(condition, columns)
        if name in found:
            raise InputError(
                f"there are two conditions on column {name!r}; give one",
                reason=Reason.PARAMETER,
                column=name,
            )
        found[name] = _value(condition[len(name) :].strip().removeprefix("=").strip())
    return found


def _name(condition: str, columns: Sequence[str]) -> str:
    for name in sorted(columns, key=len, reverse=True):
        rest = condition[len(name) :]
        if condition.startswith(name) and (not rest or rest[0] == "=" or rest[0].isspace()):
            return name
        if condition.startswith(name) and rest[0] in "<>":
            raise InputError(
                f"column {name!r}: {rest!r} is not understood; write {name} 30.. for 30 and more, "
                f"{name} ..30 for 30 and less, and {name}={rest} for that value",
                reason=Reason.PARAMETER,
                column=name,
            )
    raise unknown_column(re.split(r"[=\s]", condition, maxsplit=1)[0], columns, "the release")


def _value(text: str) -> Any:
    if not text:
        return None
    if (ends := notation.read_interval(text)) is not None:
        return tuple(end.strip() for end in ends)
    members = notation.read_set(text)
    return members[0] if len(members) == 1 else members
