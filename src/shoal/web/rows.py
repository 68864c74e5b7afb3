"""Rows of the table and of the release side by side, and the crowd of one record; part of the fifth step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from htmltools import Tag, TagChild, tags
from shiny import reactive, render

from shoal.errors import ShoalError
from shoal.web import parts
from shoal.web.asking import Question
from shoal.web.fields import chosen, text, whole
from shoal.web.looking import ON_PAGE, SHADES
from shoal.web.state import Desk, Problems, Run, needed

FIELDS = ("rows_column", "rows_text", "rows_sort", "rows_page", "rows_record")
"""The fields that say which rows are shown."""


def rows_part() -> Tag:
    """Return the place of the rows."""
    return parts.output("rows_asked")


def serve_rows(desk: Desk) -> None:
    """Make the view of rows work."""
    question = Question(desk, "rows", "rows_text", "rows_record")

    @render.ui
    def rows_asked() -> TagChild:
        run = desk.run_shown()
        return None if run is None else desk.memory.filled(_fields(run))

    @render.ui
    def rows_shown() -> TagChild:
        return question.shown(lambda answer: _views(answer.found))

    @reactive.effect
    @reactive.event(desk.input.show_rows)
    def _() -> None:
        run = needed(desk.run_shown())
        asked, problems = read_fields(run, {name: desk.entry(name) for name in FIELDS})
        if problems:
            desk.tell(problems)
            return
        question.ask(run, schema=run.plan.schema, release=run.file, **asked)


def read_fields(run: Run, entries: Mapping[str, Any]) -> tuple[dict[str, Any], Problems]:
    """Return which rows are asked for, or the problems of the fields."""
    names = ("", *run.plan.schema.names)
    readers = {
        "rows_column": lambda value: chosen(value or "", names),
        "rows_text": text,
        "rows_sort": lambda value: chosen(value or "", names),
        "rows_page": lambda value: whole(value) or 1,
        "rows_record": whole,
    }
    asked: dict[str, Any] = {}
    problems: Problems = {}
    for field, read in readers.items():
        try:
            asked[field.removeprefix("rows_")] = read(entries[field])
        except ShoalError as error:
            problems[field] = str(error)
    return asked, problems


def _fields(run: Run) -> Tag:
    columns = {name: name for name in run.plan.schema.names}
    return parts.fold(
        "See the rows",
        tags.p(
            "The table and the release side by side, only on this page. Rows of the release are in another "
            "order: a row is not beside the record it belongs to."
        ),
        tags.div(
            parts.text("rows_text", "Text", "Show only records and rows that contain it."),
            parts.choice("rows_column", "In column", {"": "any", **columns}, ""),
            parts.choice("rows_sort", "Sort by", {"": "order of the file", **columns}, ""),
            parts.number("rows_page", "Page", 1, f"{ON_PAGE} rows each.", least=1, whole=True),
            parts.number(
                "rows_record",
                "Crowd of record",
                None,
                "Number of a record in the table: shows all rows that cover it.",
                least=1,
                whole=True,
            ),
            class_="fields",
        ),
        parts.button("show_rows", "Show rows"),
        parts.output("rows_shown"),
        name="see-rows",
    )


def _views(found: Mapping[str, Any]) -> Tag:
    crowd = found["crowd"]
    words = "" if crowd is None else f" that cover record {crowd['record']:,}: its crowd"
    return tags.div(
        tags.p(
            "Colour of a cell: how much it was generalized.",
            [tags.span(label, class_=f"loss-{shade}") for shade, label in _LEGEND.items()],
            class_="hint legend",
        ),
        tags.div(
            _view("Table", "record", "", found["original"]),
            _view("Release", "row", words, found["release"]),
            class_="side-by-side",
        ),
        id="rows",
    )


_LEGEND = {
    shade: "as it was" if shade == 0 else f"up to {shade * 100 // SHADES}% of the domain"
    for shade in range(SHADES + 1)
}


def _view(title: str, what: str, which: str, page: Mapping[str, Any]) -> Tag:
    caption = f"{title}: {page['total']:,} {what}{'' if page['total'] == 1 else 's'}{which}"
    lines = [
        tags.tr(
            tags.th(f"{number:,}", scope="row"),
            [tags.td(cell, class_=f"loss-{shade}" if shade else None) for cell, shade in row],
        )
        for number, row in zip(page["numbers"], page["rows"], strict=True)
    ]
    return tags.div(
        tags.table(
            tags.caption(caption),
            tags.thead(tags.tr(tags.td(), [tags.th(name, scope="col") for name in page["head"]])),
            tags.tbody(lines),
        ),
        class_="scroll preview",
        tabindex="0",
        role="region",
        aria_label=caption,
    )
