"""Projects: columns, settings and a list of runs in one file, without data, to continue later."""

from __future__ import annotations

import json
import secrets
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from htmltools import Tag, TagChild, tags
from shiny import reactive, render

from shoal.errors import InputError, Reason, ShoalError
from shoal.kinds.hierarchy import Hierarchy
from shoal.report.panel import percent
from shoal.schema import Schema
from shoal.web import parts
from shoal.web.columns import described_column, fields_of
from shoal.web.fields import stored_file
from shoal.web.messages import suits
from shoal.web.outline import levels_file
from shoal.web.planning import OPTIONS, PARAMETERS
from shoal.web.planning import SETTINGS as OF_RUN
from shoal.web.result import promise_words
from shoal.web.run import settings_of
from shoal.web.state import Desk, Run, needed

FILE = "project.json"
FORMAT, VERSION = "shoal project", 1
MOST_BYTES = 10_000_000
"""Maximum size of a project or schema file, which is read at once."""
SEED = "seed"
"""The setting that is never saved: with the seed, the shuffle of a release can be undone."""
_LOST = (
    "Some settings of these columns have no field on the page and are not used, such as bounds, labels, "
    "origins of intervals, or commas in values: {}. Check these columns, or use the command line."
)
SETTINGS = frozenset(("model", *OF_RUN, *PARAMETERS, *OPTIONS)) - {SEED}
"""The fields of privacy model and run that a project contains."""


@dataclass(frozen=True)
class Project:
    """What a project file says.

    Parameters
    ----------
    schema
        The columns; those of the table that it lacks stay as suggested.
    settings
        Content of the fields of privacy model and run, by name.
    runs
        Earlier runs: a name, and their settings.
    """

    schema: Schema
    settings: dict[str, Any]
    runs: tuple[tuple[str, dict[str, Any]], ...] = ()


def project_part() -> Tag:
    """Return the fields that load a project."""
    return tags.details(
        tags.summary("Continue with a project or schema file"),
        parts.file(
            "project",
            "Project or schema file",
            "project.json or schema.toml. It fills in columns and settings; choose the table as well.",
            accept=".json,.toml",
        ),
        parts.output("project_shown"),
        class_="more",
    )


def serve_project(desk: Desk) -> None:
    """Make projects work."""
    waiting: reactive.Value[Project | None] = reactive.Value(None)

    @reactive.effect
    @reactive.event(desk.input.project)
    def _() -> None:
        file = stored_file(desk.input.project(), desk.folder.parent)
        if file is None:
            return
        try:
            waiting.set(read_project(*file))
        except ShoalError as error:
            desk.tell({"project": str(error)})
        finally:
            file[1].unlink()

    @reactive.effect
    @reactive.event(waiting, desk.seen)
    def _() -> None:
        loaded, seen = needed(waiting()), needed(desk.seen())
        problem = _mismatch(loaded.schema, [column["name"] for column in seen["columns"]])
        if problem:
            desk.tell({"project": problem})
            return
        lost = _fill_in(desk, loaded)
        desk.say("Columns and settings were filled in. Check them, then press “Use these columns”.")
        desk.tell({"project": _LOST.format(", ".join(lost))} if lost else {})

    @render.ui
    def project_shown() -> TagChild:
        loaded = waiting()
        if loaded is None:
            return None
        options = {"": "as saved", **{str(place): name for place, (name, _) in enumerate(loaded.runs)}}
        return tags.div(
            tags.p(f"Loaded: {len(loaded.schema.names)} columns, {len(loaded.runs)} runs.", class_="hint"),
            parts.choice("project_run", "Settings", options, "") if loaded.runs else None,
        )

    @reactive.effect
    @reactive.event(desk.input.project_run, ignore_init=True)
    def _() -> None:
        loaded, chosen = needed(waiting()), desk.input.project_run()
        runs = {"": loaded.settings, **{str(place): each for place, (_, each) in enumerate(loaded.runs)}}
        if isinstance(chosen, str) and chosen in runs:
            desk.memory.recall(runs[chosen])
            desk.redraw()

    @render.download_button(filename=FILE)
    def get_project() -> Iterable[str]:
        yield saved(desk)


def saved(desk: Desk) -> str:
    """Return the project file of a desk: what the columns are now, the settings, and the runs."""
    schema = desk.schema()
    run = desk.run_shown() or next(iter(desk.runs()[::-1]), None)
    if schema is None and run is not None:
        schema = run.plan.schema
    content = {
        "format": FORMAT,
        "version": VERSION,
        "table": needed(desk.source()).name,
        "schema": needed(schema).to_toml(),
        "settings": {name: desk.entry(name) for name in settings_of(desk) if name in SETTINGS},
        "runs": [_listed(each) for each in desk.runs()],
    }
    return json.dumps(content, indent=1)


def read_project(name: str, path: Path) -> Project:
    """Return what a project or schema file says.

    Raises
    ------
    InputError
        If it is neither, or has unknown content.
    """
    if path.stat().st_size > MOST_BYTES:
        raise _wrong(f"{name} is larger than {MOST_BYTES / 1e6:g} MB.")
    if path.suffix == ".toml":
        return Project(_schema_of(path, name), {})
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT or content["version"] != VERSION:
            raise _wrong(f"{name} is not a project of this version of Shoal.")
        toml = path.with_suffix(".toml")
        toml.write_text(content["schema"], encoding="utf-8")
        try:
            schema = _schema_of(toml, name)
        finally:
            toml.unlink()
        runs = tuple((str(each["name"]), _settings(each["settings"])) for each in content["runs"])
        return Project(schema, _settings(content["settings"]), runs)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _wrong(f"{name} is not a project file.") from None


def filled_in(schema: Schema, names: list[str], folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the content of the fields that describe some columns, and the columns that lose something.

    Parameters
    ----------
    schema
        What the columns are.
    names
        The columns of the table.
    folder
        Where hierarchies are written as files.
    """
    entries: dict[str, Any] = {}
    for column in schema:
        place = names.index(column.name)
        entries |= {f"{field}_{place}": content for field, content in fields_of(column).items()}
        entries[f"levels_{place}"] = None
        if isinstance(column.hierarchy, Hierarchy):
            path = folder / f"{secrets.token_hex(8)}.csv"
            path.write_text(levels_file(column.hierarchy, header=True), encoding="utf-8")
            entries[f"levels_{place}"] = (f"hierarchy of {column.name}", path)
    lost = []
    for column in schema:
        place = names.index(column.name)
        try:
            same = described_column(place, column.name, entries.__getitem__) == column
        except ShoalError:
            same = False
        if not same:
            lost.append(column.name)
    return entries, lost


def _fill_in(desk: Desk, loaded: Project) -> list[str]:
    """Fill in the fields of columns, privacy model and run; return the columns that lost something."""
    names = [column["name"] for column in needed(desk.seen())["columns"]]
    entries, lost = filled_in(loaded.schema, names, desk.folder)
    files = {name: entries.pop(name) for name in list(entries) if name.startswith("levels_")}
    desk.memory.recall({**entries, **loaded.settings})
    desk.files.set({name: file for name, file in {**desk.files(), **files}.items() if file is not None})
    desk.redraw()
    return lost


def _mismatch(schema: Schema, names: list[str]) -> str:
    """Return which columns of a schema a table lacks, in words; empty if it has all."""
    lacking = [name for name in schema.names if name not in names]
    if not lacking:
        return ""
    return f"This table has no column {', '.join(lacking)}, which the project describes. Choose its table."


def _listed(run: Run) -> dict[str, Any]:
    certificate, snapshot = run.result["certificate"], needed(run.snapshot)
    risk = certificate["audit"]["risks"]["prosecutor"]["highest"]
    loss = percent(certificate["loss"]["gcp"])
    return {
        "name": f"Run {run.number}: {promise_words(run)}; loss {loss}, highest risk {percent(risk)}",
        "settings": {name: value for name, value in snapshot.entries.items() if name in SETTINGS},
    }


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a file; unknown and impossible ones are ignored."""
    return {name: value for name, value in given.items() if name in SETTINGS and suits(name, value)}


def _schema_of(path: Path, name: str) -> Schema:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        for table in content.get("columns", {}).values():
            if isinstance(table, dict) and isinstance(table.get("hierarchy"), str):
                raise _wrong(f"{name} names a hierarchy file. Attach the file to its column instead.")
        return Schema.read(path)
    except (ValueError, AttributeError, RecursionError):
        raise _wrong(f"{name} is not a schema file.") from None
    except InputError as error:
        raise _wrong(str(error).replace(str(path), name)) from None


def _wrong(message: str) -> InputError:
    return InputError(message, reason=Reason.SCHEMA)
