"""The fourth step: make a release and audit it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from htmltools import Tag, TagChild, TagList, tags
from shiny import reactive, render, ui

from shoal.base.choices import CHOICES
from shoal.base.statements import ABOUT
from shoal.models import Model, declarations
from shoal.schema import Schema
from shoal.web import export, parts
from shoal.web.again import AGAIN_FILES, STABLE, again_fields, attached, serve_again
from shoal.web.columns import Entries, fields_of_columns, on_screen
from shoal.web.planning import (
    EXTRAS,
    FORMS,
    OPTIONS,
    SETTINGS,
    STATED,
    extras_of,
    field_of,
    options_for,
    parameters_of,
    planned,
    suitable,
)
from shoal.web.state import ABOUT_RECORDS, Desk, Plan, Problems, Run, needed, put
from shoal.web.summary import confirmation, dangers, summary


def run_step() -> Tag:
    """Return the section in which a release is started."""
    return parts.step(
        "run",
        "Make a release. An independent audit then checks it, and you see the release only if it passes.",
        parts.output("summary_shown"),
        ui.output_ui("dangers_shown"),
        parts.output("run_shown"),
        parts.problem("run"),
    )


def serve_run(desk: Desk) -> None:
    """Make the fourth step work."""

    @render.ui
    def run_shown() -> TagChild:
        desk.drawings()
        if desk.weighed() is None:
            return tags.p("Choose a privacy model first.", class_="waiting")
        return TagList(
            desk.memory.filled(_control()),
            parts.button("go", "Make the release", main=True),
            desk.memory.filled(_more(needed(desk.schema()))),
            tags.ul(
                parts.download("get_project", "project.json", "columns, settings and list of runs; no data"),
                class_="downloads",
            ),
        )

    @reactive.effect
    @reactive.event(desk.input.go)
    def _() -> None:
        desk.present("model")
        start_release(desk)

    _serve_summary(desk)
    serve_again(desk)

    @render.ui
    def attached_shown() -> TagChild:
        return attached(desk)

    @reactive.effect
    def _() -> None:
        run = desk.run_shown()
        put(desk.outdated, run is not None and run.settings != _settings(desk))

    @reactive.effect
    @reactive.event(desk.input.cancel)
    def _() -> None:
        if desk.stop():
            desk.say("Cancelled. Nothing was changed.")


def _serve_summary(desk: Desk) -> None:
    """Show what the release will contain, and ask for a confirmation of what is dangerous."""

    @reactive.calc
    def model() -> Model | None:
        source, schema = needed(desk.source()), needed(desk.schema())
        plan, _ = planned(source, schema, desk.present("model"), partial(_entry, desk))
        return None if plan is None else plan.model

    @render.ui
    def summary_shown() -> TagChild:
        weighed, schema = needed(desk.weighed()), needed(desk.schema())
        return summary(schema, weighed, model())

    @reactive.effect
    def _() -> None:
        weighed, schema = desk.weighed(), desk.schema()
        if weighed is None or schema is None:
            put(desk.dangers, ())
        elif (chosen := model()) is not None:
            put(desk.dangers, dangers(schema, weighed, chosen))

    @render.ui
    def dangers_shown() -> TagChild:
        found = desk.dangers()
        with reactive.isolate():
            confirmed = set(found) <= set(desk.confirmed())
        return confirmation(found, confirmed=confirmed)

    @reactive.effect
    @reactive.event(desk.input.confirmed)
    def _() -> None:
        desk.confirmed.set(desk.dangers() if desk.input.confirmed() is True else ())


def _control() -> Tag:
    """Return the field for the control group, which must be held out before the release is made."""
    words = f"{CHOICES['hold_out'].help} Leave it empty to release all records."
    return tags.div(parts.text("hold_out", CHOICES["hold_out"].label, words), class_="fields")


def _more(schema: Schema) -> Tag:
    """Return the fields that most users do not need."""
    extras = [name for name in extras_of(schema) if name in ABOUT_RECORDS and name != "hold_out"]
    stated = [
        parts.text(field, name.replace("_", " ").capitalize(), f"{ABOUT[name].capitalize()}.")
        for field, name in STATED.items()
    ]
    return tags.details(
        tags.summary("More: file format, statements for the report, seed, secret key"),
        tags.div(
            [_choice(name) for name in extras],
            _choice("predict"),
            _choice("run_again"),
            parts.choice("form", "Released file", FORMS, "csv"),
            parts.text("seed", CHOICES["seed"].label, f"{CHOICES['seed'].help} {_SEED_WARNING}"),
            class_="fields",
        ),
        again_fields(schema),
        ui.output_ui("attached_shown") if schema.person is not None else None,
        tags.h3("For report and evidence"),
        tags.div(stated, class_="fields"),
        parts.tick("keep_key", CHOICES["keep_key"].label, f"{CHOICES['keep_key'].help} {_KEY_WARNING}"),
        class_="more",
    )


_SEED_WARNING = "Anyone who has the seed can undo the shuffle."
_KEY_WARNING = "Keep it apart from the release, or do not create it."


def _choice(name: str) -> Tag:
    """Return the field of a choice, with the words of the command line."""
    return parts.text(name, CHOICES[name].label, CHOICES[name].help)


def start_release(desk: Desk, entry: Entries | None = None) -> None:
    """Make the release that the fields describe, or show what prevents it.

    Parameters
    ----------
    desk
        The desk.
    entry
        Returns the content of a field; by default, that on the page, where fields of a model must exist.
    """
    source, schema = desk.source(), desk.schema()
    if source is None or schema is None or on_screen(desk) != desk.used():
        desk.tell({"columns": "A column was edited. Press “Use these columns” again."})
        return
    plan, problems = planned(source, schema, desk.entry("model"), entry or partial(_entry, desk))
    if plan is None:
        desk.stop()
        desk.tell(problems)
        return
    found = dangers(schema, needed(desk.weighed()), plan.model)
    if not set(found) <= set(desk.confirmed()):
        desk.tell({"confirmed": "Read the warnings and tick this box, or change the settings."})
        return
    make_release(desk, replace(plan, dangers=found))


def make_release(desk: Desk, plan: Plan) -> None:
    """Make a release in the background and show it."""
    settings = _settings(desk)
    snapshot = desk.snapshot([*fields_of_columns(desk), *settings_of(desk)])
    runs = desk.runs()
    latest = runs[-1].number + 1 if runs else 1
    folder = _fresh_folder(desk, latest)

    def done(result: dict[str, Any]) -> None:
        export.write_beside(plan, folder)
        desk.runs.set((*desk.runs(), Run(latest, plan, folder, result, settings, snapshot)))
        if desk.schema() is plan.schema:  # otherwise the columns were edited meanwhile
            desk.shown.set(latest)
        desk.go_to("result")

    desk.start(
        "make",
        plan.source,
        done,
        partial(_where, plan.model),
        schema=plan.schema,
        model=plan.model,
        choices=plan.choices,
        form=plan.form,
        keep_key=plan.keep_key,
        after=plan.after,
        folder=folder,
    )


def _fresh_folder(desk: Desk, number: int) -> Path:
    """Return a new folder for a run; the folder of a cancelled run with the same number is deleted."""
    folder = desk.folder / f"run-{number}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    return folder


def _where(model: Model, error: Mapping[str, Any]) -> Problems:
    """Return at which fields an error of a run is shown."""
    known = [name for name, declared, _ in declarations(type(model)) if declared.label is not None]
    place = field_of(known, error)
    return {**({} if "promise" in place else place), "run": error["message"]}


def _entry(desk: Desk, name: str) -> Any:
    """Return the content of a field; None, for its default, if an option of a method is not on the page.

    A missing parameter of the model stops the run, so that no guarantee is dropped silently.
    """
    return desk.entry(name) if name in (*OPTIONS, *EXTRAS, STABLE) else desk.present(name)


def _settings(desk: Desk) -> object:
    """Return the content of all fields that determine a release, to compare it with that of other runs."""
    names = settings_of(desk)
    return desk.source(), desk.used(), names, [_content(desk.entry(name)) for name in names]


def _content(entered: Any) -> Any:
    """Return the content of a field such that one that is not drawn yet equals an empty one."""
    if entered is None:
        return ""
    return (tuple(entered) or "") if isinstance(entered, list | tuple) else entered


def settings_of(desk: Desk) -> list[str]:
    """Return the names of the fields that determine a release, except those of columns."""
    names = ["model", *SETTINGS]
    model, schema = desk.entry("model"), desk.schema()
    if schema is not None and schema.person is not None:
        names += [*AGAIN_FILES, STABLE]
    if schema is not None and model in suitable(schema):
        names += [*parameters_of(model, schema), *options_for(model)]
    return names
