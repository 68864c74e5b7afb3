"""The second step: suggested roles of the columns, with reasons, and how identifying they are together."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from htmltools import Tag, TagChild, TagList, tags
from shiny import reactive, render

from shoal.errors import InputError, Reason, ShoalError
from shoal.kinds.hierarchy import Hierarchy, HierarchySource
from shoal.kinds.hierarchy_rules import Intervals, Prefixes
from shoal.report.panel import percent
from shoal.schema import Column, Kind, Missing, Role, Schema
from shoal.web import fields, parts
from shoal.web.finding import at_shown_fields, histogram, serve_finding
from shoal.web.state import Desk, Problems, needed

ROLES = {
    Role.QUASI.value: "quasi-identifier: generalized",
    Role.SENSITIVE.value: "sensitive: must not be learned",
    Role.IDENTIFIER.value: "identifier: left out",
    Role.PERSON.value: "person: whose record it is, left out",
    Role.OTHER.value: "other: published unchanged",
}
KINDS = {kind.value: kind.value for kind in Kind}
MISSINGS = {
    Missing.CATEGORY.value: "treat as a value",
    Missing.SUPPRESS.value: "leave the record out",
    Missing.ERROR.value: "refuse the table",
}
HIERARCHIES = {
    "none": "none: intervals or sets",
    "intervals": "intervals of fixed widths",
    "prefixes": "first characters of a code",
    "file": "from a file",
}
MOST_HIERARCHY_BYTES = 10_000_000
"""Maximum size of a hierarchy file, which is read at once."""

FIELDS = (
    *("role", "kind", "hierarchy", "rule", "levels", "missing", "marks", "weight", "order", "dates"),
    "separator",
)
"""The fields of a column; the number of the column follows each name."""

Entries = Callable[[str], Any]
"""Returns the content of a field by its name."""


def columns_step() -> Tag:
    """Return the section in which columns get their roles."""
    return parts.step(
        "columns",
        "Say what an attacker may know about a person, and what must stay hidden. Check each suggestion.",
        parts.output("columns_tools"),
        parts.output("columns_shown"),
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
        cards = [_column_card(place, columns[place], files) for place in places if place < len(columns)]
        return TagList(
            desk.memory.filled(tags.ul(cards, class_="cards")),
            parts.button("columns_done", "Use these columns", main=True),
        )

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
    entered: dict[str, Any] = {
        "hierarchy": _hierarchy(place, entry),
        "date_format": fields.text(entry(f"dates_{place}")).strip() or None,
        "separator": fields.text(entry(f"separator_{place}")) or None,
    }
    return Column(
        name,
        role=Role(fields.chosen(entry(f"role_{place}"), ROLES)),
        kind=kind,
        weight=1 if weight is None else weight,
        domain=order if kind.needs_domain and order else None,
        missing=Missing(fields.chosen(entry(f"missing_{place}"), MISSINGS)),
        missing_marks=marks,
        **{setting: value for setting, value in entered.items() if setting in kind.settings},
    )


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
    }
    match column.hierarchy:
        case Intervals(widths=widths):
            entries |= {"hierarchy": "intervals", "rule": ", ".join(f"{width:g}" for width in widths)}
        case Prefixes(lengths=lengths):
            entries |= {"hierarchy": "prefixes", "rule": ", ".join(map(str, lengths))}
        case Hierarchy():
            entries |= {"hierarchy": "file"}
    return entries


def _listed(given: object) -> tuple[str, ...]:
    return tuple(each.strip() for each in fields.text(given).split(",") if each.strip())


def _hierarchy(place: int, entry: Entries) -> HierarchySource | None:
    wanted = fields.chosen(entry(f"hierarchy_{place}"), HIERARCHIES)
    if wanted == "none":
        return None
    if wanted == "file":
        return _levels(entry(f"levels_{place}"))
    given = [fields.number(each) for each in re.findall(r"[^,;\s]+", fields.text(entry(f"rule_{place}")))]
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


def _column_card(place: int, column: dict[str, Any], files: Mapping[str, tuple[str, Path]]) -> Tag:
    missing = f", {percent(column['missing_share'])} missing" if column["missing"] else ""
    unique = f", {percent(column['unique_share'])} of the records unique" if column["unique_share"] else ""
    return tags.li(
        tags.div(
            tags.h3(column["name"]),
            tags.p(f"{column['distinct']:,} values{missing}{unique}", class_="hint"),
            histogram(column["histogram"]),
            tags.p(f"{column['reason'][:1].upper()}{column['reason'][1:]}.", class_="reason"),
            class_="about",
        ),
        tags.div(
            parts.choice(f"role_{place}", f"Role of {column['name']}", ROLES, column["role"], bare=True),
            tags.details(
                tags.summary("Kind, hierarchy, missing values"), _more(place, column, files), class_="more"
            ),
            class_="what",
        ),
        class_=f"column {column['role']}",
    )


def _more(place: int, column: dict[str, Any], files: Mapping[str, tuple[str, Path]]) -> Tag:
    attached = files.get(f"levels_{place}")
    return tags.div(
        parts.choice(f"kind_{place}", "Kind", KINDS, column["kind"], "Decides how values are generalized."),
        parts.choice(f"hierarchy_{place}", "Hierarchy", HIERARCHIES, "none"),
        parts.text(
            f"rule_{place}",
            "Widths or lengths",
            hint="Interval widths such as 5, 10, or numbers of first characters such as 3, 2.",
        ),
        parts.file(
            f"levels_{place}",
            "Hierarchy file",
            "CSV with a line for each value: the value, then wider and wider groups."
            + (f" Attached: {attached[0]}." if attached else ""),
            accept=".csv,.txt,.tsv",
        ),
        parts.choice(f"missing_{place}", "Missing values", MISSINGS, Missing.CATEGORY.value),
        parts.text(f"marks_{place}", "Texts that mean missing", hint="Separated by commas, such as ?, n/a."),
        parts.number(
            f"weight_{place}",
            "Weight",
            1,
            "How much information loss in this column counts; 1 if empty.",
            least=0,
        ),
        parts.text(
            f"order_{place}",
            "Order",
            'Kind ordinal: all values, lowest first, separated by commas; "a, b" in quotes is one value.',
            column.get("order", ""),
        ),
        parts.text(
            f"dates_{place}",
            "Date format",
            "Kind date: such as %d.%m.%Y, if not YYYY-MM-DD.",
            column.get("dates", ""),
        ),
        parts.text(f"separator_{place}", "Item separator", hint="Kind items: such as ; if not a space."),
        class_="fields",
    )


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
