"""The second step: what each column is, suggested with a reason; how identifying they are together."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from htmltools import Tag, TagChild, TagList, tags
from shiny import Inputs, reactive, render, req, ui

from shoal.errors import InputError, Reason, ShoalError
from shoal.kinds.hierarchy import Hierarchy, HierarchySource, Intervals, Prefixes
from shoal.report.panel import percent
from shoal.schema import Column, Kind, Missing, Role, Schema
from shoal.web import parts
from shoal.web.state import Desk, Problems

ROLES = {
    Role.QUASI.value: "known to others: less precise",
    Role.SENSITIVE.value: "sensitive: nobody may learn it",
    Role.IDENTIFIER.value: "names a person: left out",
    Role.OTHER.value: "none of these: kept as it is",
}
KINDS = {kind.value: kind.value for kind in Kind}
MISSINGS = {
    Missing.CATEGORY.value: "count as a value",
    Missing.SUPPRESS.value: "leave the row out",
    Missing.ERROR.value: "refuse the table",
}
HIERARCHIES = {
    "none": "not needed: intervals and sets",
    "intervals": "intervals of these widths",
    "prefixes": "the first characters of a code",
    "file": "levels from a file",
}
MOST_HIERARCHY_BYTES = 10_000_000
"""A file of levels is read at once, so it must not be large."""

Entries = Callable[[str], Any]
"""Returns what stands in a field, by the name of the field."""


def columns_step() -> Tag:
    """Return the section in which columns get their roles."""
    return parts.step(
        "columns",
        "Say what others may know about a person, and what they must not learn. These are suggestions: look "
        "them over.",
        ui.output_ui("columns_shown"),
        parts.problem("columns"),
        ui.output_ui("identifying"),
    )


def serve_columns(desk: Desk, input: Inputs) -> None:  # noqa: A002 - Shiny's own word
    """Make the second step work."""

    @render.ui
    def columns_shown() -> TagChild:
        seen = desk.seen()
        if seen is None:
            return _waiting("Choose a table first.")
        return TagList(
            tags.ul(
                [_column_card(place, each) for place, each in enumerate(seen["columns"])], class_="cards"
            ),
            parts.button("columns_done", "Use these columns", main=True),
        )

    @reactive.effect
    @reactive.event(input.columns_done)
    def _() -> None:
        source, seen = desk.source(), desk.seen()
        req(source is not None and seen is not None)
        assert source is not None
        assert seen is not None
        names = [column["name"] for column in seen["columns"]]
        schema, problems = described(names, lambda name: input[name]())
        if schema is None:
            desk.stop()
            desk.tell(problems)
            return

        def done(result: dict[str, Any]) -> None:
            desk.schema.set(schema)
            desk.weighed.set(result)
            desk.go_to("promise")

        desk.start("weigh", source, done, lambda _, message: _where(names, message), schema=schema)

    @render.ui
    def identifying() -> TagChild:
        seen, weighed = desk.seen(), desk.weighed()
        known = weighed or seen
        if known is None:
            return None
        return TagList(
            [parts.notice(each, alert=True) for each in (weighed or {}).get("warnings", ())],
            _combinations(known["combinations"], suggested=weighed is None),
        )


def described(names: list[str], entry: Entries) -> tuple[Schema | None, Problems]:
    """Return the schema that the fields of all columns describe, or what is wrong with them."""
    columns, problems = [], {}
    for place, name in enumerate(names):
        field = f"role_{place}"
        try:
            field = f"hierarchy_{place}"
            hierarchy = _hierarchy(place, entry)
            field = f"role_{place}"
            columns.append(_column(place, name, hierarchy, entry))
        except ShoalError as error:
            problems[field] = str(error)
    if not problems and not any(column.role is Role.QUASI for column in columns):
        problems["columns"] = "At least one column must be known to others: there is nothing to hide else."
    return (None, problems) if problems else (Schema(tuple(columns)), {})


def _column(place: int, name: str, hierarchy: HierarchySource | None, entry: Entries) -> Column:
    kind = entry(f"kind_{place}")
    marks = tuple(mark.strip() for mark in entry(f"marks_{place}").split(",") if mark.strip())
    order = [value.strip() for value in entry(f"order_{place}").split(",") if value.strip()]
    return Column(
        name,
        role=entry(f"role_{place}"),
        kind=kind,
        weight=_or_else(entry(f"weight_{place}"), 1.0),
        hierarchy=hierarchy if kind != Kind.ITEMS else None,
        domain=tuple(order) if kind == Kind.ORDINAL and order else None,
        missing=entry(f"missing_{place}"),
        missing_marks=marks,
        date_format=(entry(f"dates_{place}").strip() or None) if kind == Kind.DATE else None,
        separator=(entry(f"separator_{place}") or None) if kind == Kind.ITEMS else None,
    )


def _hierarchy(place: int, entry: Entries) -> HierarchySource | None:
    wanted = entry(f"hierarchy_{place}")
    if wanted == "none":
        return None
    if wanted == "file":
        given = entry(f"levels_{place}")
        if not given:
            raise InputError("Choose a file with the levels of this column.", reason=Reason.PARAMETER)
        path = Path(given[0]["datapath"])
        if path.suffix not in (".csv", ".txt", ".tsv") or path.stat().st_size > MOST_HIERARCHY_BYTES:
            raise InputError(
                f"Levels must be a .csv, .tsv or .txt file of at most {MOST_HIERARCHY_BYTES / 1e6:g} MB.",
                reason=Reason.PARAMETER,
            )
        try:
            return Hierarchy.from_file(path)
        except ShoalError as error:
            raise InputError(str(error).replace(str(path), "The file"), reason=error.reason) from None
    numbers = re.findall(r"[^,;\s]+", entry(f"rule_{place}"))
    try:
        if wanted == "intervals":
            return Intervals(tuple(map(float, numbers)))
        return Prefixes(tuple(map(int, numbers)))
    except ValueError:
        raise InputError("Give numbers with commas, such as 5, 10.", reason=Reason.PARAMETER) from None


def _or_else(value: float | None, usual: float) -> float:
    return usual if value is None else value


def _where(names: list[str], message: str) -> Problems:
    """Return beside which column an error belongs, if it names one."""
    named = [place for place, name in enumerate(names) if f"column {name!r}" in message]
    return {f"role_{named[0]}" if named else "columns": message}


def _waiting(words: str) -> Tag:
    return tags.p(words, class_="waiting")


def _column_card(place: int, column: dict[str, Any]) -> Tag:
    missing = f", {column['missing']:,} missing" if column["missing"] else ""
    return tags.li(
        tags.div(
            tags.h3(column["name"]),
            tags.p(f"{column['distinct']:,} values{missing}", class_="hint"),
            tags.p(column["reason"], class_="reason"),
            class_="about",
        ),
        tags.div(
            parts.choice(f"role_{place}", f"Role of {column['name']}", ROLES, column["role"], bare=True),
            tags.details(tags.summary("Kind, levels, missing values"), _more(place, column), class_="more"),
            class_="what",
        ),
        class_=f"column {column['role']}",
    )


def _more(place: int, column: dict[str, Any]) -> Tag:
    return tags.div(
        parts.choice(f"kind_{place}", "Kind", KINDS, column["kind"], "How its values are generalized."),
        parts.choice(f"hierarchy_{place}", "Levels", HIERARCHIES, "none"),
        parts.text(
            f"rule_{place}",
            "Widths or lengths",
            hint="Of intervals, such as 5, 10; or how many first characters are kept, such as 3, 2.",
        ),
        parts.file(
            f"levels_{place}",
            "File of levels",
            "CSV: each value, then what it becomes.",
            accept=".csv,.txt,.tsv",
        ),
        parts.choice(f"missing_{place}", "Missing values", MISSINGS, Missing.CATEGORY.value),
        parts.text(f"marks_{place}", "Texts that mean missing", hint="With commas, such as ?, n/a."),
        parts.number(f"weight_{place}", "Weight", 1, "How much a loss here counts.", least=0),
        parts.text(f"order_{place}", "Order", hint="ordinal: all values, the lowest first, with commas."),
        parts.text(f"dates_{place}", "Form of dates", hint="date: such as %d.%m.%Y, if not YYYY-MM-DD."),
        parts.text(f"separator_{place}", "Between items", hint="items: such as ; if not a space."),
        class_="fields",
    )


def _combinations(found: list[dict[str, Any]], *, suggested: bool) -> Tag | None:
    if not found:
        return None
    which = "the suggested columns" if suggested else "your columns"
    return tags.div(
        tags.h3("How identifying are they?"),
        tags.p(f"Of {which}, who knows these of a person finds the one row that fits, for so many people:"),
        tags.ul(
            [
                tags.li(
                    tags.span(", ".join(each["columns"]), class_="names"),
                    tags.meter(value=f"{each['share']:.4f}", min="0", max="1", aria_hidden="true"),
                    tags.span(f"{percent(each['share'])}", tags.small(f" {each['unique']:,} people")),
                )
                for each in found
            ],
            class_="bars",
        ),
        class_="identifying",
    )
