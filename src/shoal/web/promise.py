"""The third step: what is promised to the people in the table, in plain words, and with which parameters."""

from __future__ import annotations

import math
import shutil
from dataclasses import fields
from typing import Any

from htmltools import Tag, TagChild, TagList, tags
from shiny import Inputs, reactive, render, req, ui

from shoal.commands import MODELS, default_model
from shoal.distances import NAMES as DISTANCES
from shoal.errors import ShoalError
from shoal.methods import METHODS
from shoal.models import Model, SetDiversity
from shoal.schema import Schema
from shoal.web import export, parts
from shoal.web.columns import on_screen
from shoal.web.desk import Desk, Problems, Run
from shoal.web.fields import number
from shoal.web.planning import (
    CARDS,
    CHOICES,
    DIVERSITY,
    EFFORTS,
    FORMS,
    field_of,
    parameters_of,
    planned,
    read_parameters,
    suitable,
)


def promise_step() -> Tag:
    """Return the section in which a promise is chosen."""
    return parts.step(
        "promise",
        "What do you promise to the people in the table?",
        ui.output_ui("models_shown"),
        ui.output_ui("parameters_shown"),
        parts.problem("promise"),
    )


def run_step() -> Tag:
    """Return the section in which the work is begun."""
    return parts.step(
        "run",
        "Make a release. An auditor then attacks it; you only see it if it withstands.",
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
        best, names = default_model(schema), suitable(schema)
        return tags.fieldset(
            tags.legend("Promise", class_="unseen"),
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
            problems = {"epsilon": "Say first how close is nearly the same."}
        if problems:
            desk.tell(problems)
            return
        desk.start(
            "frontier",
            source,
            advised.set,
            lambda _, message: {"epsilon": message},
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
            return tags.p("Choose a promise first.", class_="waiting")
        return TagList(
            parts.button("go", "Make the release", main=True),
            tags.details(
                tags.summary("For experiments, and the secret key"),
                tags.div(
                    parts.choice("form", "Released file", FORMS, "csv"),
                    parts.text(
                        "seed",
                        "Seed",
                        hint="A whole number makes the release repeatable. Whoever knows it can undo the "
                        "shuffle: never publish such a release.",
                    ),
                    class_="fields",
                ),
                parts.tick(
                    "keep_key",
                    "Also write the secret key",
                    "It tells whose row each released row is, and undoes all protection. Keep it apart from "
                    "the release, or better, do not ask for it.",
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
        plan, problems = planned(source, schema, input.model(), lambda name: input[name]())
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
            lambda _, message: _where(plan.model, message),
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


def _where(model: Model, message: str) -> Problems:
    place = field_of([field.name for field in fields(model)], message)
    return {"run": message} if "promise" in place else {**place, "run": message}


def _settings(desk: Desk, input: Inputs) -> object:  # noqa: A002 - Shiny's own word
    """Return what stands in all fields that decide on a release; equal if these are."""
    names = ["model", *CHOICES]
    model = input.model() if input.model.is_set() else None
    schema = desk.schema()
    if schema is not None and model in suitable(schema):
        names += parameters_of(model, schema)
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
    card = CARDS[name]
    badge: TagChild = None
    if recommended:
        badge = tags.span("recommended", class_="badge")
    elif card.weak:
        badge = tags.span("for comparison", class_="badge weak")
    return tags.label(
        tags.input(type="radio", name="model", value=name, checked="" if recommended else None),
        tags.span(tags.b(card.title), badge, tags.small(name), class_="title"),
        tags.span(card.words, class_="words"),
        class_="model",
    )


def _parameters(name: str, schema: Schema, weighed: dict[str, Any], k: int | None) -> Tag:
    known = parameters_of(name, schema)
    records = weighed["records"]
    entries: list[TagChild] = []
    if "k" in known:
        entries.append(
            parts.number(
                "k",
                "k: how large is the crowd?",
                k if k is not None and 2 <= k <= records else usual_k(records),
                f"2 to {records:,}. {usual_k(records)} is a good start for tables that leave the house; more "
                "hides better, and loses more.",
                least=2,
                most=records,
                whole=True,
            )
        )
    entries += [_diversity(each, name, weighed) for each in DIVERSITY if each in known]
    entries += _special(known, schema)
    method = parts.choice(
        "method",
        "Method",
        {"": f"usual: {next(iter(METHODS[MODELS[name]]))}", **{each: each for each in METHODS[MODELS[name]]}},
        "",
    )
    effort = parts.choice("effort", "Effort", EFFORTS, "", "For the methods that have one.")
    return tags.div(
        tags.div(entries, class_="fields"),
        ui.output_ui("delta_shown") if "epsilon" in known else None,
        tags.details(
            tags.summary("How it is done"), tags.div(method, effort, class_="fields"), class_="more"
        ),
        class_="parameters",
    )


def usual_k(records: int) -> int:
    """Return the k to begin with: 10, and less for few records, so that something is left to see."""
    return max(2, min(10, records // 10))


def _diversity(parameter: str, model: str, weighed: dict[str, Any]) -> Tag:
    possible = {name: each[parameter] for name, each in weighed["diversity"].items()}
    least = min(possible, key=lambda name: possible[name])
    most = math.floor(1000 * possible[least] + 1e-6) / 1000
    title, words = DIVERSITY[parameter]
    needed = model == SetDiversity.name
    return parts.number(
        parameter,
        title,
        2 if (parameter == "l" and most >= 2) else None,
        f"{words} At most {most:g} ({least}){'' if needed else '; empty: not promised'}.",
        least=2 if needed else 1,
        most=most,
        whole=parameter == "p" or needed,
    )


def _special(known: list[str], schema: Schema) -> list[TagChild]:
    """Return the fields of parameters that few models have."""
    entries: list[TagChild] = []
    if "two_sided" in known:
        entries.append(parts.tick("two_sided", "Two-sided", "Each row, too, keeps k persons."))
    if "withhold" in known:
        entries.append(
            parts.number(
                "withhold",
                "Withhold",
                0,
                "Share of people left out at random, below 1; empty: 0.",
                least=0,
                most=1,
            )
        )
    if "epsilon" in known:
        distances = {"": "what suits", **{each: each for each in DISTANCES}}
        entries += [
            parts.number(
                "epsilon",
                "epsilon: how close is nearly the same?",
                None,
                "In the column's own unit.",
                least=0,
            ),
            parts.choice("distance", "Distance", distances, ""),
            parts.number("delta", "delta: which share must differ?", 0.5, "0 to 1.", least=0, most=1),
            tags.div(parts.button("advise", "Which delta can I have?"), class_="field"),
        ]
    if "up_to" in known:
        names = [column.name for column in schema.quasi]
        entries += [
            parts.number(
                "up_to",
                "Blank cells in a row",
                None,
                f"At most; 0 to {len(names)}, empty: any.",
                least=0,
                most=len(names),
                whole=True,
            ),
            tags.fieldset(
                tags.legend("Never blank", class_="label"),
                [
                    tags.label(
                        tags.input(type="checkbox", name="never", value=each), tags.span(each), class_="tick"
                    )
                    for each in names
                ],
                id="never",
                class_="field shiny-input-checkboxgroup",
            ),
        ]
    return entries


def _frontier(found: dict[str, Any]) -> Tag:
    return parts.table(
        f"What can be promised with epsilon = {found['epsilon']:g}",
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
