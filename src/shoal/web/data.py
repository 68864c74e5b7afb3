"""The first step: upload a table, choose one from the folder or make one up; preview of its first rows."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from htmltools import Tag, TagChild, TagList, tags
from shiny import reactive, render

from shoal.errors import ShoalError
from shoal.files.formats import FORMATS, ending_of, endings
from shoal.files.writing import write_csv
from shoal.samples import hospital
from shoal.web import parts
from shoal.web.columns import usual_fields
from shoal.web.fields import chosen, stored_file, text
from shoal.web.state import Desk, Problems, needed
from shoal.web.tasks import Source

DEMO = "patients.csv"
"""Name of the made-up table."""
PATIENTS = 5_000
DELIMITERS = {"": "detect automatically", ",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
ENCODINGS = {
    "": "detect automatically",
    "utf-8": "UTF-8",
    "windows-1252": "Windows-1252",
    "latin-1": "Latin-1",
    "utf-16": "UTF-16",
}
NUMBERS = {
    "": "1234.5",
    ",": "1234,5",
    ",.": "1.234,5",
    ", ": "1 234,5",
    ".,": "1,234.5",
    ".'": "1'234.5",
}
"""Decimal mark and thousands separator, and a number that is written so."""
SKIPPED = {str(rows): str(rows) for rows in range(11)}
_MOST_FILES = 200
_PAUSE = 2.0  # seconds between two looks into the folder


def data_step(most_bytes: int, shared: Path | None, *more: TagChild) -> Tag:
    """Return the section in which a table is chosen, with more content above its preview."""
    return parts.step(
        "data",
        "Choose the table to publish. It stays on this machine.",
        tags.div(
            parts.file(
                "upload",
                "Drop a file here, or choose one",
                f"{', '.join(known.name for known in FORMATS)}; at most {most_bytes / 1e6:g} MB.",
                accept=",".join({f".{ending.rpartition('.')[2]}": None for ending in endings()}),
            ),
            tags.div(
                _folder_field(shared),
                tags.p("No table at hand?", class_="label"),
                parts.button("demo", "Try it with made-up patients"),
                class_="stack",
            ),
            class_="pair",
        ),
        *more,
        parts.problem("data"),
        parts.output("table_shown"),
    )


def serve_data(desk: Desk) -> None:
    """Make the first step work."""
    _take_tables(desk)

    @reactive.effect
    @reactive.event(
        lambda: [desk.entry(name) for name in ("delimiter", "encoding", "numbers", "skipped", "sheet")],
        ignore_init=True,
    )
    def _() -> None:
        source = needed(desk.source())
        try:
            changed = _read_otherwise(desk, source)
        except ShoalError as error:
            desk.tell({"data": str(error)})
            return
        if changed != source:
            _look(desk, changed)

    @render.ui
    def table_shown() -> TagChild:
        source, seen = desk.source(), desk.seen()
        if source is None:
            return None
        return TagList(_reading(source, seen), _preview(source, seen) if seen else None)


def _read_otherwise(desk: Desk, source: Source) -> Source:
    """Return a source with what the fields say about how it is read."""
    if not source.is_text and not source.is_spreadsheet:
        return source
    changed = replace(source, skip_rows=int(chosen(desk.input.skipped(), SKIPPED)))
    if source.is_spreadsheet:
        return replace(changed, sheet=text(desk.input.sheet()).strip() or None)
    numbers = chosen(desk.input.numbers(), NUMBERS)
    return replace(
        changed,
        delimiter=chosen(desk.input.delimiter(), DELIMITERS) or None,
        encoding=chosen(desk.input.encoding(), ENCODINGS) or None,
        decimal=numbers[:1] or None,
        thousands=numbers[1:] or None,
    )


def _take_tables(desk: Desk) -> None:
    """Take the table that is uploaded, made up or chosen from the shared folder."""

    @reactive.effect
    @reactive.event(desk.input.upload)
    def _() -> None:
        found = stored_file(desk.input.upload(), desk.folder.parent)
        if found is None:
            return
        name, stored = shown_name(found[0]), found[1]
        ending = ending_of(name)
        if ending is None:
            stored.unlink()
            desk.tell({"upload": f"The ending of {name} is not one of {', '.join(endings())}."})
            return
        path = _place(desk) / f"table{ending}"
        shutil.move(stored, path)
        _look(desk, Source(path, name, most_bytes=desk.most_bytes))

    @reactive.effect
    @reactive.event(desk.input.demo)
    def _() -> None:
        path = _place(desk) / DEMO
        write_csv(hospital(PATIENTS), path)
        _look(desk, Source(path, DEMO, made_up=True))

    if desk.shared is not None:
        folder = desk.shared

        @reactive.effect
        @reactive.event(desk.input.folder_file, ignore_init=True)
        def _() -> None:
            name = desk.input.folder_file()
            if isinstance(name, str) and name in tables_in(folder):
                _look(desk, Source(folder / name, name, most_bytes=desk.most_bytes))

        _tell_of_files(desk, folder)


def _tell_of_files(desk: Desk, folder: Path) -> None:
    """Send the names of the tables in a folder to the page, and again whenever they change."""

    async def watch() -> None:
        shown: list[str] | None = None
        while True:
            names = tables_in(folder)
            if names != shown:
                desk.send("files", {"names": names})
                shown = names
            await asyncio.sleep(_PAUSE)

    watching = asyncio.ensure_future(watch())

    def end() -> None:
        watching.cancel()

    if desk.session is not None:
        desk.session.on_ended(end)


def tables_in(folder: Path) -> list[str]:
    """Return the names of the tables in a folder, without links to other places; none if it is gone."""
    inside = folder.resolve()
    try:
        entries = list(os.scandir(inside))
    except OSError:  # it was removed or closed meanwhile
        return []
    names = [
        entry.name
        for entry in entries
        if entry.is_file() and ending_of(entry.name) and Path(entry.path).resolve().parent == inside
    ]
    return sorted(names)[:_MOST_FILES]


def shown_name(given: str) -> str:
    """Return the name of an uploaded file as it is shown: printable characters of its last part."""
    name = re.split(r"[/\\]", given)[-1]
    plain = "".join(letter for letter in name if letter.isprintable()).strip(". ")
    return plain[-100:] or "table"


def _folder_field(shared: Path | None) -> Tag | None:
    if shared is None:
        return None
    options = {"": "Choose a file …", **{name: name for name in tables_in(shared)}}
    return parts.choice("folder_file", "Or choose one from the folder", options, "")


def _place(desk: Desk) -> Path:
    """Return a new folder for a table; that of the previous table is deleted, unless a run was made of it."""
    before = desk.source()
    needed_by_runs = any(before is not None and run.plan.source.path == before.path for run in desk.runs())
    if before is not None and not needed_by_runs and desk.folder in before.path.parents:
        shutil.rmtree(before.path.parent, ignore_errors=True)
    place = desk.folder / secrets.token_hex(8)
    place.mkdir(mode=0o700)
    return place


def _look(desk: Desk, source: Source) -> None:
    before = desk.seen()
    desk.take(source)

    def done(seen: dict[str, Any]) -> None:
        if before is None or _names(before) != _names(seen):
            desk.memory.forget()  # what was entered is about other columns
        usual = {
            f"{name}_{place}": value
            for place, column in enumerate(seen["columns"])
            for name, value in usual_fields(column).items()
        }
        desk.memory.expect(usual)
        desk.seen.set(seen)

    desk.start("look", source, done, _where)


def _names(seen: Mapping[str, Any]) -> list[str]:
    return [column["name"] for column in seen["columns"]]


def _where(error: Mapping[str, Any]) -> Problems:
    """Return at which field a reading error is shown."""
    return {"encoding" if error["reason"] == "encoding" else "data": error["message"]}


def _reading(source: Source, seen: dict[str, Any] | None) -> Tag:
    """Return how a file was read, with fields to change that for delimited text."""
    counts = f"{seen['rows']:,} rows, {len(seen['columns'])} columns" if seen else ""
    found = (seen or {}).get("dialect") or {}
    fields: TagChild = None
    if source.is_text:
        fields = tags.div(
            parts.choice(
                "delimiter",
                "Delimiter",
                DELIMITERS,
                source.delimiter or "",
                _found(DELIMITERS, found.get("delimiter")),
            ),
            parts.choice(
                "encoding",
                "Encoding",
                ENCODINGS,
                source.encoding or "",
                _found(ENCODINGS, found.get("encoding")),
            ),
            parts.choice(
                "numbers",
                "Numbers",
                NUMBERS,
                (source.decimal or "") + (source.thousands or ""),
                "How numbers are written in the file.",
            ),
            _skipped(source),
            class_="fields",
        )
    if source.is_spreadsheet:
        names = (seen or {}).get("sheets") or ()
        fields = tags.div(
            parts.text(
                "sheet",
                "Sheet",
                f"The first one if empty. This file has: {', '.join(names)}." if names else "Its name.",
                source.sheet or "",
            ),
            _skipped(source),
            class_="fields",
        )
    return tags.div(tags.h3(source.name, " ", tags.small(counts)), fields, id="table-read")


def _skipped(source: Source) -> Tag:
    return parts.choice(
        "skipped", "Rows above the header", SKIPPED, str(source.skip_rows), "Such as a title."
    )


def _found(names: dict[str, str], value: str | None) -> str | None:
    return None if value is None else f"Read as: {names.get(value, value)}"


def _preview(source: Source, seen: dict[str, Any]) -> Tag:
    return parts.table(
        f"The first rows of {source.name}",
        [column["name"] for column in seen["columns"]],
        seen["preview"],
        class_="preview",
    )
