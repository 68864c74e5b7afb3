"""The second step: suggested roles of the columns, with reasons, and how identifying they are together."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from htmltools import Tag, TagChild, TagList, tags
from shiny import reactive, render, ui

from shoal.errors import InputError, Reason, ShoalError
from shoal.kinds.hierarchy import Hierarchy, HierarchySource
from shoal.kinds.hierarchy_rules import Intervals, Prefixes
from shoal.kinds.limits import read_bands, read_widest
from shoal.report.panel import percent
from shoal.schema import Column, Kind, Missing, Role, Schema
from shoal.web import fields, parts
from shoal.web.cards import HIERARCHIES, KINDS, MISSINGS, ROLES, column_card
from shoal.web.finding import at_shown_fields, serve_finding
from shoal.web.state import Desk, Problems, needed

MOST_HIERARCHY_BYTES = 10_000_000
"""Maximum size of a hierarchy file, which is read at once."""

FIELDS = (
    *("role", "kind", "hierarchy", "rule", "levels", "missing", "marks", "weight", "order", "dates"),
    *("separator", "widest", "bands", "exact", "shown"),
)
"""The fields of a column; the number of the column follows each name."""

Entries = Callable[[str], Any]
"""Returns the content of a field by its name."""


def columns_step(*more: TagChild) -> Tag:
    """Return the section in which columns get their roles, with more content below them."""
    return parts.step(
        "columns",
        "Say what an attacker may know about a person, and what must stay hidden. Check each suggestion.",
        parts.output("columns_tools"),
        ui.output_ui("columns_found"),
        parts.output("columns_shown"),
        parts.output("columns_pages"),
        *more,
        parts.output("columns_use"),
        parts.problem("columns"),
        parts.output("identifying"),
    )


def serve_columns(desk: Desk) -> None:
    """Make the second step work."""
    serve_finding(desk, ROLES)

    @render.ui
    def columns_shown() -> TagChild:
        seen = desk.seen()
        desk.drawings()
        if seen is None:
            return _waiting("Choose a table first.")
        places = desk.places()
        with reactive.isolate():
            files = desk.files()
        columns = seen["columns"]
        cards = [column_card(place, columns[place], files) for place in places if place < len(columns)]
        return desk.memory.filled(tags.ul(cards, class_="cards"))

    @render.ui
    def columns_use() -> TagChild:
        if desk.seen() is None:
            return None
        return parts.button("columns_done", "Use these columns", main=True)

    @reactive.effect
    def _() -> None:
        seen = needed(desk.seen())
        for place in range(len(seen["columns"])):
            name = f"levels_{place}"
            if desk.input[name].is_set():
                _keep_levels(desk, name)

    @reactive.effect
    @reactive.event(desk.input.columns_done)
    def _() -> None:
        _use_columns(desk)

    @reactive.effect
    def _() -> None:
        # All later steps depend on the columns, so an unconfirmed edit closes them.
        used = desk.used()
        if used is not None and on_screen(desk) != used:
            desk.unsettle()

    @render.ui
    def identifying() -> TagChild:
        seen, weighed = desk.seen(), desk.weighed()
        known = weighed or seen
        if known is None:
            return None
        return TagList(
            [
                parts.notice(f"{name} would be published unchanged, but {why}.", alert=True)
                for name, why in (weighed or {}).get("suspects", {}).items()
            ],
            _combinations(known["combinations"], suggested=weighed is None),
        )


def usual_fields(column: Mapping[str, Any]) -> dict[str, str]:
    """Return the suggested content of the fields of a column, without its number."""
    return {
        **fields_of(Column(column["name"])),
        "role": column["role"],
        "kind": column["kind"],
        "dates": column.get("dates", ""),
        "order": column.get("order", ""),
    }


def _keep_levels(desk: Desk, name: str) -> None:
    """Put a hierarchy file that was just uploaded into the folder of the desk."""
    found = fields.stored_file(desk.input[name](), desk.folder.parent)
    if found is None:
        return
    path = desk.folder / f"{secrets.token_hex(8)}{found[1].suffix}"
    shutil.move(found[1], path)
    with reactive.isolate():
        desk.files.set({**desk.files(), name: (found[0], path)})


def _use_columns(desk: Desk) -> None:
    """Examine the table with the columns as they are on the page, or show what is wrong with them."""
    source, seen = needed(desk.source()), needed(desk.seen())
    names = [column["name"] for column in seen["columns"]]
    schema, problems = described(names, desk.entry)
    used = on_screen(desk)
    if schema is None or used != desk.used():
        desk.unsettle()
    if schema is None:
        desk.stop()
        desk.tell(at_shown_fields(desk, names, problems))
        return
    desk.used.set(used)

    def done(result: dict[str, Any]) -> None:
        if desk.used() != used or on_screen(desk) != used:
            return  # edited meanwhile
        desk.schema.set(schema)
        desk.weighed.set(result)
        desk.go_to("promise")

    def failed(error: Mapping[str, Any]) -> Problems:
        return at_shown_fields(desk, names, _where(names, error))

    desk.start("weigh", source, done, failed, schema=schema)


def on_screen(desk: Desk) -> list[object]:
    """Return the content of the fields of all columns."""
    return [desk.entry(name) for name in fields_of_columns(desk)]


def fields_of_columns(desk: Desk) -> list[str]:
    """Return the names of the fields of all columns."""
    columns = (desk.seen() or {"columns": ()})["columns"]
    return [f"{name}_{place}" for place in range(len(columns)) for name in FIELDS]


def described(names: list[str], entry: Entries) -> tuple[Schema | None, Problems]:
    """Return the schema that the fields of all columns describe, or their problems.

    Parameters
    ----------
    names
        The columns of the table.
    entry
        Returns the content of a field; name and path of a hierarchy file.
    """
    columns, problems = [], {}
    for place, name in enumerate(names):
        field = f"hierarchy_{place}"
        try:
            _hierarchy(place, entry)
            field = f"weight_{place}"
            fields.number(entry(field))
            field = f"role_{place}"
            columns.append(described_column(place, name, entry))
        except ShoalError as error:
            problems[field] = str(error)
    if not problems and not any(column.role is Role.QUASI for column in columns):
        problems["columns"] = (
            "Choose at least one quasi-identifier: without one, there is nothing to protect."
        )
    if problems:
        return None, problems
    try:
        return Schema(tuple(columns)), {}
    except ShoalError as error:
        return None, {"columns": str(error)}


def described_column(place: int, name: str, entry: Entries) -> Column:
    """Return the column that the fields with a number describe; an unreadable field is an `InputError`."""
    weight = fields.number(entry(f"weight_{place}"))
    kind = Kind(fields.chosen(entry(f"kind_{place}"), KINDS))
    marks, order = _listed(entry(f"marks_{place}")), fields.read_list(entry(f"order_{place}"))
    role = Role(fields.chosen(entry(f"role_{place}"), ROLES))
    entered: dict[str, Any] = {
        "hierarchy": _hierarchy(place, entry),
        "date_format": fields.text(entry(f"dates_{place}")).strip() or None,
        "separator": fields.text(entry(f"separator_{place}")) or None,
    }
    return Column(
        name,
        role=role,
        kind=kind,
        weight=1 if weight is None else weight,
        domain=order if kind.needs_domain and order else None,
        missing=Missing(fields.chosen(entry(f"missing_{place}"), MISSINGS)),
        missing_marks=marks,
        **{setting: value for setting, value in entered.items() if setting in kind.settings},
        **(_limits(place, kind, entry) if role is Role.QUASI else {}),
    )


def _limits(place: int, kind: Kind, entry: Entries) -> dict[str, Any]:
    """Return the limits of a quasi-identifier that its fields describe; only those that its kind can have."""
    found: dict[str, Any] = {}
    if kind.several:
        return found
    widest, bands = (fields.text(entry(f"{name}_{place}")).strip() for name in ("widest", "bands"))
    if widest:
        found["widest"] = read_widest(widest)
    if bands and kind.measured and entry(f"hierarchy_{place}") == "none":
        found["bands"] = read_bands(bands)
    if entry(f"exact_{place}") is True:
        found["exact"] = True
    if entry(f"shown_{place}") is True:
        found["suppressible"] = False
    return found


def fields_of(column: Column) -> dict[str, Any]:
    """Return the content of the fields that describe a column, without the number of the column."""
    entries = {
        "role": column.role.value,
        "kind": column.kind.value,
        "hierarchy": "none",
        "rule": "",
        "missing": column.missing.value,
        "marks": ", ".join(column.missing_marks),
        "weight": f"{column.weight:g}",
        "order": fields.written_list(column.domain or ()) if column.kind.needs_domain else "",
        "dates": column.date_format or "",
        "separator": column.separator or "",
        "widest": "" if column.widest is None else str(column.widest),
        "bands": _written_bands(column.bands),
        "exact": column.exact,
        "shown": not column.suppressible,
    }
    match column.hierarchy:
        case Intervals(widths=widths):
            entries |= {"hierarchy": "intervals", "rule": ", ".join(f"{width:g}" for width in widths)}
        case Prefixes(lengths=lengths):
            entries |= {"hierarchy": "prefixes", "rule": ", ".join(map(str, lengths))}
        case Hierarchy():
            entries |= {"hierarchy": "file"}
    return entries


def _written_bands(bands: tuple[Any, ...] | str | None) -> str:
    return bands if isinstance(bands, str) else ", ".join(map(str, bands or ()))


def _listed(given: object) -> tuple[str, ...]:
    return tuple(each.strip() for each in fields.text(given).split(",") if each.strip())


def _hierarchy(place: int, entry: Entries) -> HierarchySource | None:
    wanted = fields.chosen(entry(f"hierarchy_{place}"), HIERARCHIES)
    if wanted == "none":
        return None
    if wanted == "file":
        return _levels(entry(f"levels_{place}"))
    return rule_of(wanted, entry(f"rule_{place}"))


def rule_of(wanted: str, entered: object) -> Intervals | Prefixes:
    """Return the rule that is entered: intervals with their widths, or prefixes with their lengths."""
    given = [fields.number(each) for each in re.findall(r"[^,;\s]+", fields.text(entered))]
    numbers = [each for each in given if each is not None]
    if wanted == "intervals":
        return Intervals(tuple(map(float, numbers)))
    whole = [each for each in numbers if isinstance(each, int)]
    if len(whole) < len(numbers):
        raise InputError("Enter whole numbers separated by commas, such as 3, 2.", reason=Reason.PARAMETER)
    return Prefixes(tuple(whole))


def _levels(file: tuple[str, Path] | None) -> Hierarchy:
    if file is None:
        raise InputError("Choose the hierarchy file of this column.", reason=Reason.PARAMETER)
    path = file[1]
    if path.suffix not in (".csv", ".txt", ".tsv") or path.stat().st_size > MOST_HIERARCHY_BYTES:
        raise InputError(
            f"A hierarchy must be a .csv, .tsv or .txt file of at most {MOST_HIERARCHY_BYTES / 1e6:g} MB.",
            reason=Reason.PARAMETER,
        )
    try:
        return Hierarchy.from_file(path)
    except ShoalError as error:
        raise InputError(str(error).replace(str(path), "The file"), reason=error.reason) from None


def _where(names: list[str], error: Mapping[str, Any]) -> Problems:
    """Return at which column an error is shown, if it is about one."""
    about = error["column"]
    return {f"role_{names.index(about)}" if about in names else "columns": error["message"]}


def _waiting(words: str) -> Tag:
    return tags.p(words, class_="waiting")


def _combinations(found: list[dict[str, Any]], *, suggested: bool) -> Tag | None:
    if not found:
        return None
    which = "the suggested" if suggested else "your"
    return tags.div(
        tags.h3("How identifying are they?"),
        tags.p(f"Records that are unique in combinations of {which} quasi-identifiers:"),
        tags.ul(
            [
                tags.li(
                    tags.span(", ".join(each["columns"]), class_="names"),
                    tags.meter(value=f"{each['share']:.4f}", min="0", max="1", aria_hidden="true"),
                    tags.span(f"{percent(each['share'])}", tags.small(f" {each['unique']:,} records")),
                )
                for each in found
            ],
            class_="bars",
        ),
        class_="identifying",
    )
