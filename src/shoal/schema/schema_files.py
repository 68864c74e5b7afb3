"""Columns as tables of a TOML file, written and read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import Any

from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.files.reading import read_toml
from shoal.kinds.hierarchy import Hierarchy, HierarchySource
from shoal.kinds.hierarchy_rules import Intervals, Prefixes
from shoal.kinds.kind import Kind
from shoal.schema.column import Column, Missing


def read_columns(path: Path) -> tuple[Column, ...]:
    """Return the columns that a schema file describes.

    Raises
    ------
    InputError
        If the file does not exist, is not TOML, or has unknown content.
    """
    data = read_toml(path, "schema file", parse_float=Decimal)
    columns = data.pop("columns", None)
    if not isinstance(columns, dict) or not columns or data:
        extra = f"; it also has {listing(data)}" if data else ""
        raise InputError(
            f"{path} must have a table [columns.NAME] for each column, and nothing else{extra}",
            reason=Reason.SCHEMA,
        )
    return tuple(_column_from(name, table, path) for name, table in columns.items())


def column_table(column: Column) -> dict[str, Any]:
    """Return a column as a TOML table: role, kind, and whatever is not the default."""
    table: dict[str, Any] = {"role": column.role.value, "kind": column.kind.value}
    for field in fields(Column):
        value = getattr(column, field.name)
        if field.name in ("name", "role", "kind") or value == field.default:
            continue
        match value:
            case Intervals():
                table["hierarchy"] = {"intervals": list(value.widths), "origin": value.origin}
            case Prefixes():
                table["hierarchy"] = {"prefixes": list(value.lengths)}
            case Hierarchy():
                table["hierarchy"] = {"levels": value.levels()}
            case Missing():
                table["missing"] = value.value
            case tuple():
                table[field.name] = list(value)
            case _:
                table[field.name] = value
    return table


def _column_from(name: str, table: Any, path: Path) -> Column:
    def wrong(message: str) -> InputError:
        return InputError(f"{path}: column {name!r}: {message}", reason=Reason.SCHEMA, column=name)

    if not isinstance(table, dict):
        raise wrong(f"must be a table such as [columns.{name}], not {table!r}")
    known = [field.name for field in fields(Column) if field.name != "name"]
    for key, value in table.items():
        if key not in known:
            raise wrong(f"{key!r} is unknown{did_you_mean(key, known)}; possible keys are {listing(known)}")
        if key in ("domain", "missing_marks") and not isinstance(value, list):
            raise wrong(f"{key} must be a list, not {value!r}")
    # Bounds of numbers are kept exactly as written; floats suffice elsewhere.
    numeric = any(kind.numeric for kind in Kind if kind == table.get("kind"))
    bounds = table.get("domain") if numeric else None
    table = {key: _with_floats(value) for key, value in table.items()}
    if bounds is not None:
        table["domain"] = bounds
    if "hierarchy" in table:
        table["hierarchy"] = _hierarchy_from(table["hierarchy"], path, wrong)
    if "missing_marks" in table:
        table["missing_marks"] = tuple(str(mark) for mark in table["missing_marks"])
    return Column(name, **table)


def _with_floats(value: Any) -> Any:
    """Return a value of a TOML file with floats for decimals."""
    match value:
        case Decimal():
            return float(value)
        case list():
            return [_with_floats(each) for each in value]
        case dict():
            return {key: _with_floats(each) for key, each in value.items()}
    return value


def _hierarchy_from(value: Any, path: Path, wrong: Callable[[str], InputError]) -> HierarchySource:
    with suppress(TypeError, ValueError, AttributeError):  # values of a wrong type are unknown as well
        match value:
            case str():
                return Hierarchy.from_file(path.parent / value)
            case {"intervals": list(widths), **rest} if rest.keys() <= {"origin"}:
                return Intervals(tuple(map(float, widths)), float(value.get("origin", 0.0)))
            case {"prefixes": list(lengths), **rest} if not rest and all(isinstance(n, int) for n in lengths):
                return Prefixes(tuple(lengths))
            case {"levels": list(rows), **rest} if not rest:
                return Hierarchy.from_levels([[str(label) for label in row] for row in rows])
    raise wrong(
        f"hierarchy {value!r} is not understood; give the name of a file or one of "
        "{intervals = [5, 10]}, {prefixes = [3, 2]}, {levels = [[value, level 1, ..., top], ...]}"
    )
