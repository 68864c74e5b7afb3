"""Names and texts as SQL writes them."""

from __future__ import annotations

import re

from shoal.errors import InputError, Reason


def parts_of(name: str) -> tuple[str | None, str]:
    """Return schema and name of a table; a name with a dot in it is quoted."""
    found = re.fullmatch(r'(?:("(?:[^"]|"")+"|[^".]+)\.)?("(?:[^"]|"")+"|[^"]+)', name)
    if found is None:
        raise InputError(f"{name!r} is not the name of a table", reason=Reason.PARAMETER, parameter="table")
    schema, table = (None if each is None else _bare(each) for each in found.groups())
    return schema, str(table)


def _bare(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def named(name: str) -> str:
    """Return the name of a table as SQL writes it."""
    schema, table = parts_of(name)
    return quoted(table) if schema is None else f"{quoted(schema)}.{quoted(table)}"


def quoted(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
