"""The codebook of a release: what its readers need to compute with it, and nothing that was not declared."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from shoal.kinds import notation
from shoal.models import Model
from shoal.schema import Role, Schema
from shoal.schema.schema_files import column_table

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = 1
"""The version of the format; it changes when a reader of an older version would misunderstand a codebook."""

_DECLARED = (
    *("label", "domain", "hierarchy", "missing", "missing_marks", "date_format", "separator"),
    *("exact", "widest", "bands", "suppressible"),
)


def codebook_of(model: Model, schema: Schema, circumstances: Mapping[str, Any]) -> dict[str, Any]:
    """Return the codebook as plain data, for JSON.

    It says what the columns are and which domains and hierarchies were declared. It never has a bound or a
    value that was found in the data.

    Parameters
    ----------
    model
        The guarantee.
    schema
        What the columns of the original are, as they were declared.
    circumstances
        How the release was made; only the name of the method is used.
    """
    columns = [column for column in schema if column.role.released]
    return {
        "codebook": VERSION,
        "model": {"name": model.name, **_plain(model.parameters)},
        "method": circumstances.get("method"),
        "notation": {
            "interval": f"low{notation.BETWEEN}high",
            "set": "a|b",
            "suppressed": notation.SUPPRESSED,
            "missing": "",
            "escape": "\\",
        },
        "tight": _tightness(model, banded=any(column.bands is not None for column in columns)),
        "columns": [_column(each) for each in columns],
    }


def _tightness(model: Model, *, banded: bool) -> dict[str, Any]:
    """Return around how many records cells are tight: each value they name occurs among those records."""
    if model.cells in ("suppression", "loose") or banded:
        return {"around": "nothing"}
    if model.crowd_kind == "classes":
        return {"around": "classes"}
    records = model.crowd if model.records_per_row > 1 else 1
    return {"around": "rows", "records": records, "own": model.has_own_rows}


def _column(column: Any) -> dict[str, Any]:
    table = column_table(column)
    declared = {name: _plain(table[name]) for name in _DECLARED if name in table}
    kind = column.kind
    several = {}
    if column.role is Role.QUASI and len(kind.released_columns(column.name)) > 1:
        several = {"released_as": list(kind.released_columns(column.name))}
    return {"name": column.name, "role": column.role.value, "kind": kind.value, **several, **declared}


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: dates, decimals and other objects as text."""
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, Decimal) or not isinstance(value, str | int | float | bool | None):
        return str(value)
    return value
