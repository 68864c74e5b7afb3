"""The third step: what is promised to the people in the table, in plain words, and with which parameters."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from functools import partial
from typing import Any

from htmltools import Tag, TagChild, TagList, tags
from shiny import Inputs, reactive, render, req, ui

from shoal.errors import ShoalError
from shoal.methods import METHODS
from shoal.models import MODELS, Model, Parameter, declarations, is_required, usual_model
from shoal.schema import Schema
from shoal.web import export, parts
from shoal.web.columns import on_screen
from shoal.web.fields import number
from shoal.web.planning import (
    CHOICES,
    FORMS,
    OPTIONS,
    YES_NO,
    field_of,
    fields_of,
    options_for,
    parameters_of,
    planned,
    read_parameters,
    suitable,
)
from shoal.web.state import Desk, Problems, Run


def promise_step() -> Tag:
    """Return the section in which a promise is chosen."""
    return parts.step(
        "promise",
        "Which guarantee do the people in the table get?",
        ui.output_ui("models_shown"),
        ui.output_ui("parameters_shown"),
        parts.problem("promise"),
    )


def run_step() -> Tag:
    """Return the section in which the work is begun."""
    return parts.step(
        "run",
        "Make a release. An independent audit then attacks it; you see the release only if it passes.",
        ui.output_ui("run_shown"),
        parts.problem("run"),
    )


def serve_promise(desk: Desk, input: Inputs) -> None:  # noqa: A002 - Shiny's own word
    """Make the third and the fourth step work."""

    @render.ui
    def models_shown() -> TagChild:
        schema = desk.schema()
        if schema is None:
            return tags.p(
                "Press “Use these columns” first. After an edit of a column, press it again.",
                class_="waiting",
            )
        best, names = usual_model(schema).name, suitable(schema)
        return tags.fieldset(
            tags.legend("Privacy model", class_="unseen"),
            tags.div([_card(name, name == best) for name in names], class_="models"),
            id="model",
            class_="shiny-input-radiogroup",
            role="radiogroup",
        )

    @render.ui
    def parameters_shown() -> TagChild:
        schema, weighed, name = desk.schema(), desk.weighed(), input.model()
        req(schema is not None and weighed is not None)
        assert schema is not None
        req(name in suitable(schema))
        assert weighed is not None
        with reactive.isolate():  # what was entered for another model is kept
            k = _whole(input.k() if input.k.is_set() else None)
        return _parameters(name, schema, weighed, k)

    @render.ui
    def delta_shown() -> TagChild:
        found = advised()
        return None if found is None else _frontier(found)

    advised: reactive.Value[dict[str, Any] | None] = reactive.Value(None)

    @reactive.effect
    @reactive.event(input.advise)
    def _() -> None:
        source, schema = desk.source(), desk.schema()
        req(source is not None and schema is not None)
        assert source is not None
        assert schema is not None
        given, problems = read_parameters(["epsilon", "distance"], schema, lambda name: input[name]())
        if not problems and "epsilon" not in given:
            problems = {"epsilon": "Enter first which distance counts as nearly equal."}
        if problems:
            desk.tell(problems)
            return
        desk.start(
            "frontier",
            source,
            advised.set,
            lambda error: {"epsilon": error["message"]},
            schema=schema,
            epsilon=given["epsilon"],
            distance=given.get("distance"),
        )

    @reactive.effect
    @reactive.event(desk.schema)
    def _() -> None:
        advised.set(None)

    @render.ui
    def run_shown() -> TagChild:
        if desk.weighed() is None:
            return tags.p("Choose a privacy model first.", class_="waiting")
        return TagList(
            parts.button("go", "Make the release", main=True),
            tags.details(
                tags.summary("For experiments, and the secret key"),
                tags.div(
                    parts.choice("form", "Released file", FORMS, "csv"),
                    parts.text(
                        "seed",
                        "Seed",
                        hint="A whole number makes the release repeatable. Anyone who has it can undo the "
                        "shuffle: never publish such a release.",
                    ),
                    class_="fields",
                ),
                parts.tick(
                    "keep_key",
                    "Also write the secret key",
                    "It re-identifies every row. Keep it apart from the release, or do not create it.",
                ),
                class_="more",
            ),
        )

    @reactive.effect
    @reactive.event(input.go)
    def _() -> None:
        source, schema = desk.source(), desk.schema()
        if source is None or schema is None or on_screen(desk, input) != desk.used():
            desk.tell({"columns": "A column was edited. Press “Use these columns” again first."})
            return
        settings = _settings(desk, input)
        plan, problems = planned(source, schema, input.model(), partial(_entry, input))
        if plan is None:
            desk.stop()
            desk.tell(problems)
            return
        made = desk.runs()
        latest = made[-1].number + 1 if made else 1
        folder = desk.folder / f"run-{latest}"
        shutil.rmtree(folder, ignore_errors=True)  # of a run that was cancelled
        folder.mkdir(mode=0o700)

        def done(result: dict[str, Any]) -> None:
            export.write_beside(plan, folder)
            desk.runs.set((*desk.runs(), Run(latest, plan, folder, result, settings)))
            if (
                desk.schema() is schema
            ):  # else the columns were edited meanwhile, and this is not what they ask for
                desk.shown.set(latest)
            desk.go_to("result")

        desk.start(
            "make",
            source,
            done,
            partial(_where, plan.model),
            schema=schema,
            model=plan.model,
            choices=plan.choices,
            form=plan.form,
            keep_key=plan.keep_key,
            folder=folder,
        )

    @reactive.effect
    def _() -> None:
        run = desk.run_shown()
        desk.outdated.set(run is not None and run.settings != _settings(desk, input))

    @reactive.effect
    @reactive.event(input.cancel)
    def _() -> None:
        desk.stop()


def _where(model: Model, error: Mapping[str, Any]) -> Problems:
    """Return beside which fields an error of a run belongs."""
    known = [name for name, declared, _ in declarations(type(model)) if declared.label is not None]
    place = field_of(known, error)
    return {**({} if "promise" in place else place), "run": error["message"]}


def _entry(input: Inputs, name: str) -> Any:  # noqa: A002 - Shiny's own word
    """Return what stands in a field; for an option of a method that is not on the screen, None: its default.

    A parameter of the model that is not there stops the run, so that no guarantee is dropped.
    """
    if name in OPTIONS and not input[name].is_set():
        return None
    return input[name]()


def _settings(desk: Desk, input: Inputs) -> object:  # noqa: A002 - Shiny's own word
    """Return what stands in all fields that decide on a release; equal if these are."""
    names = ["model", *CHOICES]
    model = input.model() if input.model.is_set() else None
    schema = desk.schema()
    if schema is not None and model in suitable(schema):
        names += [*parameters_of(model, schema), *options_for(model)]
    entries = [input[name]() if input[name].is_set() else None for name in names]
    return desk.used(), names, entries


def _whole(value: object) -> int | None:
    """Return the whole number in a field; None if there is something else, which is told when it is used."""
    try:
        found = number(value)
    except ShoalError:
        return None
    return found if isinstance(found, int) else None


def _card(name: str, recommended: bool) -> Tag:
    model = MODELS[name]
    badge: TagChild = None
    if recommended:
        badge = tags.span("recommended", class_="badge")
    elif model.for_comparison:
        badge = tags.span("for comparison", class_="badge weak")
    return tags.label(
        tags.input(type="radio", name="model", value=name, checked="" if recommended else None),
        tags.span(tags.b(model.title), badge, tags.small(name), class_="title"),
        tags.span(model.explanation, class_="words"),
        class_="model",
    )


def _parameters(name: str, schema: Schema, weighed: dict[str, Any], k: int | None) -> Tag:
    entries: list[TagChild] = []
    for parameter, declared in fields_of(name, schema):
        if parameter == "k":
            entries.append(_crowd(declared, k, weighed["records"]))
        elif parameter in next(iter(weighed["diversity"].values()), {}):
            entries.append(_diversity(parameter, declared, MODELS[name], weighed))
        else:
            entries.append(_field(parameter, declared, MODELS[name], schema))
    advised = "epsilon" in parameters_of(name, schema)
    if advised:
        entries.append(tags.div(parts.button("advise", "Which delta is achievable?"), class_="field"))
    known = METHODS[MODELS[name]]
    method = parts.choice(
        "method", "Method", {"": f"default: {next(iter(known))}", **{each: each for each in known}}, ""
    )
    return tags.div(
        tags.div(entries, class_="fields"),
        ui.output_ui("delta_shown") if advised else None,
        tags.details(
            tags.summary("How it is done"), tags.div(method, *_options(name), class_="fields"), class_="more"
        ),
        class_="parameters",
    )


def _options(model: str) -> list[TagChild]:
    """Return the fields for options of the model's methods."""
    fields: list[TagChild] = []
    for name, option in options_for(model).items():
        hint = f"{option.help} Used by the methods that have it."
        label = name.replace("_", " ").capitalize()
        if option.choices:
            fields.append(
                parts.choice(name, label, {"": "default", **{c: c for c in option.choices}}, "", hint)
            )
        elif option.type is bool:
            fields.append(parts.choice(name, label, {"": "default", **{c: c for c in YES_NO}}, "", hint))
        else:
            fields.append(parts.number(name, label, None, hint, least=option.above))
    return fields


def _crowd(declared: Parameter, k: int | None, records: int) -> Tag:
    assert declared.label is not None
    return parts.number(
        "k",
        declared.label,
        k if k is not None and 2 <= k <= records else usual_k(records),
        f"2 to {records:,}. {usual_k(records)} is a good start for tables that are published; a larger k "
        "hides better, and loses more information.",
        least=2,
        most=records,
        whole=True,
    )


def usual_k(records: int) -> int:
    """Return the k to begin with: 10, and less for few records, so that something is left to see."""
    return max(2, min(10, records // 10))


def _diversity(parameter: str, declared: Parameter, model: type[Model], weighed: dict[str, Any]) -> Tag:
    assert declared.label is not None
    possible = {name: each[parameter] for name, each in weighed["diversity"].items()}
    least = min(possible, key=lambda name: possible[name])
    most = math.floor(1000 * possible[least] + 1e-6) / 1000
    needed = any(name == parameter and is_required(own) for name, _, own in declarations(model))
    return parts.number(
        parameter,
        declared.label,
        2 if (parameter == "l" and most >= 2) else None,
        f"{declared.help} At most {most:g} ({least}){'' if needed else '; empty: not required'}.",
        least=declared.least,
        most=most,
        whole=declared.type is int,
    )


def _field(name: str, declared: Parameter, model: type[Model], schema: Schema) -> TagChild:
    """Return the field of a parameter, as it is declared."""
    assert declared.label is not None
    own = next(own for each, _, own in declarations(model) if each == name)
    if declared.widget == "tick":
        return parts.tick(name, declared.label, declared.help)
    if declared.widget == "choice":
        choices = {"": "default", **{each: each for each in declared.choices}}
        return parts.choice(name, declared.label, choices, "", declared.help)
    if declared.widget == "columns":
        boxes = [
            tags.label(
                tags.input(type="checkbox", name=name, value=column.name),
                tags.span(column.name),
                class_="tick",
            )
            for column in schema.quasi
        ]
        return tags.fieldset(
            tags.legend(declared.label, class_="label"),
            boxes,
            id=name,
            class_="field shiny-input-checkboxgroup",
        )
    return parts.number(
        name,
        declared.label,
        own.default if isinstance(own.default, int | float) else None,
        declared.help,
        least=declared.least if math.isfinite(declared.least) else None,
        most=declared.most if declared.most < 1e300 else None,
        whole=declared.type is int,
    )


def _frontier(found: dict[str, Any]) -> Tag:
    return parts.table(
        f"What is achievable with epsilon = {found['epsilon']:g}",
        ["k", "delta guaranteed", "delta impossible above"],
        [
            (
                str(point["k"]),
                "none" if point["guaranteed_delta"] is None else f"{point['guaranteed_delta']:.3g}",
                f"{point['possible_delta']:.3g}",
            )
            for point in found["frontier"]
        ],
    )
