"""The third step: the privacy model and its parameters."""

from __future__ import annotations

from typing import Any

from htmltools import Tag, TagChild, tags
from shiny import reactive, render, req

from shoal.models import MODELS, usual_model
from shoal.web import parts
from shoal.web.parameters import parameter_fields
from shoal.web.planning import read_parameters, suitable
from shoal.web.state import Desk, needed


def promise_step(*more: TagChild) -> Tag:
    """Return the section in which a privacy model is chosen, with more content below it."""
    return parts.step(
        "promise",
        "Which guarantee do the people in the table get?",
        parts.output("models_shown"),
        parts.output("parameters_shown"),
        parts.problem("promise"),
        *more,
    )


def serve_promise(desk: Desk) -> None:
    """Make the third step work."""

    @render.ui
    def models_shown() -> TagChild:
        schema = desk.schema()
        desk.drawings()
        if schema is None:
            return tags.p(
                "Press “Use these columns” first. If you edit a column, press it again.",
                class_="waiting",
            )
        best, names = usual_model(schema).name, suitable(schema)
        return desk.memory.filled(
            tags.fieldset(
                tags.legend("Privacy model", class_="unseen"),
                tags.div([_card(name, name == best) for name in names], class_="models"),
                tags.p("The page “Who is held off” of the documentation lists attackers for each model."),
                id="model",
                class_="shiny-input-radiogroup",
                role="radiogroup",
            )
        )

    @render.ui
    def parameters_shown() -> TagChild:
        schema, weighed, name = needed(desk.schema()), needed(desk.weighed()), desk.input.model()
        req(name in suitable(schema))
        desk.drawings()
        return desk.memory.filled(parameter_fields(name, schema, weighed))

    _serve_advice(desk)


def _serve_advice(desk: Desk) -> None:
    """Show which delta is achievable when the button is pressed."""
    advised: reactive.Value[dict[str, Any] | None] = reactive.Value(None)

    @render.ui
    def delta_shown() -> TagChild:
        found = advised()
        return None if found is None else _frontier(found)

    @reactive.effect
    @reactive.event(desk.schema)
    def _() -> None:
        advised.set(None)

    @reactive.effect
    @reactive.event(desk.input.advise)
    def _() -> None:
        source, schema = needed(desk.source()), needed(desk.schema())
        given, problems = read_parameters(["epsilon", "distance"], schema, lambda name: desk.input[name]())
        if not problems and "epsilon" not in given:
            problems = {"epsilon": "Enter which distance counts as nearly equal."}
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
