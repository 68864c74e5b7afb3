"""How parameters are written on a command line, for the commands themselves and for pages that show one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def option(name: str) -> str:
    """Return the option of the command line for a parameter."""
    return f"--{name.replace('_', '-')}"


def words(given: Mapping[str, Any]) -> list[str]:
    """Return parameters as words of a command line; None and False are left out, True is a flag."""
    return [
        word
        for name, value in given.items()
        if value is not None and value is not False
        for word in ([option(name)] if value is True else [option(name), _written(value)])
    ]


def _written(value: Any) -> str:
    """Return a value as people write it: 2, not 2.0; several with commas between them."""
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return short if not isinstance(value, float) or float(short) == value else repr(value)
