"""A release after an earlier one: of new persons only, or with the same rows for unchanged records."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from typing import Any

from htmltools import Tag, TagList, tags
from shiny import reactive

from shoal.base.choices import CHOICES
from shoal.files.formats import ending_of, endings
from shoal.schema import Schema
from shoal.web import parts
from shoal.web.data import shown_name
from shoal.web.earlier import After
from shoal.web.fields import stored_file
from shoal.web.state import Desk, Problems

RELEASE, TABLE, KEY = AGAIN_FILES = ("after_release", "after_table", "after_key")
"""The fields for the files of an earlier release."""
STABLE = "keep_rows"
"""The field that says whether unchanged records keep their rows."""
_NEW = ("hold_out", "leave_out", "predict", "run_again")
"""Choices that a release after another one does not support."""


def read_after(
    entry: Any, schema: Schema, choices: Mapping[str, Any], form: str
) -> tuple[After | None, Problems]:
    """Return after which release the next one is made, or the problems of the fields; None if after none."""
    release, table, key = (entry(name) for name in AGAIN_FILES)
    if schema.person is None or release is None:
        return None, {}
    stable = entry(STABLE) is True
    problems: Problems = {
        name: "Leave this empty for a release after an earlier one."
        for name in (*_NEW, *(["most_per_person"] if stable else []))
        if name in choices
    }
    if table is None:
        problems[TABLE] = "Choose the original table of the earlier release."
    if stable and key is None:
        problems[KEY] = "Choose the key: it says which row is whose."
    if stable and form != "csv":
        problems["form"] = "Unchanged records keep their rows in CSV files only."
    return (None, problems) if problems else (After(release, table, key, stable), {})


def again_fields(schema: Schema) -> TagList | None:
    """Return the fields for an earlier release; None without a person column, which says who was in it."""
    if schema.person is None:
        return None
    return TagList(
        tags.h3("After an earlier release"),
        tags.p(
            "Only persons who are not in the earlier release are released, unless you keep its rows. Leave "
            "this empty for a first release."
        ),
        tags.div(
            parts.file(RELEASE, "Earlier release", "Such as release.csv."),
            parts.file(TABLE, "Its original table"),
            parts.file(KEY, "Its key", "key.csv, if it was written.", accept=".csv"),
            parts.tick(STABLE, CHOICES["stable"].label, CHOICES["stable"].help),
            class_="fields",
        ),
    )


def serve_again(desk: Desk) -> None:
    """Take the files of an earlier release."""
    for name in AGAIN_FILES:
        take_file(desk, name)


def take_file(desk: Desk, name: str) -> None:
    """Put a table that is uploaded to a field into the folder of the desk."""

    @reactive.effect
    @reactive.event(desk.input[name])
    def _() -> None:
        file = stored_file(desk.input[name](), desk.folder.parent)
        if file is None:
            return
        shown, ending = shown_name(file[0]), ending_of(file[0])
        if ending is None:
            file[1].unlink()
            desk.tell({name: f"The ending of {shown} is not one of {', '.join(endings())}."})
            return
        path = desk.folder / f"{secrets.token_hex(8)}{ending}"
        shutil.move(file[1], path)
        desk.files.set({**desk.files(), name: (shown, path)})
        desk.tell({})


def attached(desk: Desk) -> Tag | None:
    """Return the names of the files of an earlier release that are attached."""
    names = [desk.files()[name][0] for name in AGAIN_FILES if name in desk.files()]
    return tags.p(f"Attached: {', '.join(names)}.", class_="hint", id="attached") if names else None
