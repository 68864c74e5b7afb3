"""The third step: what is promised to the people in the table, in plain words, and with which parameters."""

from __future__ import annotations

import inspect
import math
import shutil
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from htmltools import Tag, TagChild, TagList, tags
from shiny import Inputs, reactive, render, req, ui

from shoal.errors import InputError, Reason, ShoalError
from shoal.methods import METHODS
from shoal.models import MODELS, Dissimilarity, Model, SetAnonymity, SetDiversity, make_model, usual_model
from shoal.models.dissimilarity import DISTANCES
from shoal.release import Format
from shoal.schema import Kind, Schema
from shoal.web import export, parts
from shoal.web.columns import Entries
from shoal.web.state import Desk, Plan, Problems, Run
from shoal.web.tasks import Source


@dataclass(frozen=True)
class Card:
    """What a model is, for somebody who has never heard of it.

    Parameters
    ----------
    title
        What it does.
    words
        What it means for a person in the table.
    weak
        Whether it is there for comparison rather than for publishing.
    """

    title: str
    words: str
    weak: bool = False


CARDS = {
    "freeform": Card(
        "Hide everybody in a crowd",
        "Each person could be any of at least k rows, and each row any of at least k persons. Rows need not "
        "look alike, so the least is lost.",
    ),
    "k-anonymity": Card(
        "Make rows look alike",
        "Rows come in groups of at least k that look exactly the same. The classic promise, known to most "
        "readers; it loses more.",
    ),
    "concealment": Card(
        "Hide from somebody who knows everybody",
        "At least k rows are left for each person, even to somebody who knows who is in the table and puts "
        "everybody into a row.",
    ),
    "dissimilarity": Card(
        "Keep sensitive values apart",
        "Rows look alike in groups of at least k, and few of a group have nearly the same sensitive value, "
        "such as almost the same salary.",
    ),
    "patterned": Card(
        "Exact or blank",
        "Rows look alike in groups of at least k, and each cell is either exact or blank. For readers who "
        "cannot use ranges.",
    ),
    "set-anonymity": Card(
        "Hide sets of items in a crowd",
        "Each person's items fit at least k rows, and each row fits at least k persons.",
    ),
    "set-diversity": Card(
        "Keep labels of sets apart",
        "Each person's items fit rows with at least l different sensitive values.",
    ),
    "kk": Card(
        "Fit k rows, and k persons", "As a crowd, but somebody who knows everybody may do better.", True
    ),
    "k1": Card("Each row fits k persons", "A person may still fit a single row.", True),
    "1k": Card("Each person fits k rows", "A row may still fit a single person.", True),
}
"""Every model, the recommended ones first."""

DIVERSITY = {
    "l": ("l: how varied a crowd?", "No sensitive value is more frequent than 1 in l around a person."),
    "p": ("p: how many values?", "At least p different sensitive values around a person."),
    "entropy_l": ("entropy l", "A sharper form of l: the entropy is at least log(l)."),
}
"""The parameters about sensitive values: what they are called, and what they promise."""
EFFORTS = {"": "balanced", "fast": "fast", "best": "best: takes longer, loses less"}
SHOWN = (
    "k",
    "l",
    "p",
    "entropy_l",
    "two_sided",
    "withhold",
    "epsilon",
    "delta",
    "distance",
    "up_to",
    "never",
)
"""The parameters of models that have a field."""
FORMS = {"csv": "CSV: text", "parquet": "Parquet: typed"}


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
            return tags.p("Say what the columns are first.", class_="waiting")
        best, names = usual_model(schema).name, suitable(schema)
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
        req(schema is not None and weighed is not None and name in MODELS)
        assert schema is not None
        assert weighed is not None
        with reactive.isolate():  # what was entered for another model is kept
            k = input.k() if input.k.is_set() else None
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
        epsilon = input.epsilon()
        if epsilon is None:
            desk.tell({"epsilon": "Say first how close is nearly the same."})
            return
        desk.start(
            "frontier",
            source,
            advised.set,
            lambda _, message: {"epsilon": message},
            schema=schema,
            epsilon=epsilon,
            distance=input.distance() or None,
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
        req(source is not None and schema is not None)
        assert source is not None
        assert schema is not None
        plan, problems = planned(source, schema, input.model(), lambda name: input[name]())
        if plan is None:
            desk.stop()
            desk.tell(problems)
            return
        made = desk.runs()
        number = made[-1].number + 1 if made else 1
        folder = desk.folder / f"run-{number}"
        shutil.rmtree(folder, ignore_errors=True)  # of a run that was cancelled
        folder.mkdir(mode=0o700)

        def done(result: dict[str, Any]) -> None:
            export.write_beside(plan, folder)
            desk.runs.set((*desk.runs(), Run(number, plan, folder, result)))
            desk.shown.set(number)
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
    @reactive.event(input.cancel)
    def _() -> None:
        desk.stop()


def suitable(schema: Schema) -> list[str]:
    """Return the names of the models that a table with this schema can have, the usual one first."""
    items = any(column.kind is Kind.ITEMS for column in schema.quasi)
    names = [
        name
        for name in CARDS
        if (MODELS[name] in (SetAnonymity, SetDiversity)) == items
        and (schema.sensitive or MODELS[name] not in (SetDiversity, Dissimilarity))
    ]
    return sorted(names, key=lambda name: name != usual_model(schema).name)


def parameters_of(model: str, schema: Schema) -> list[str]:
    """Return the parameters of a model that have a field, for a table with this schema."""
    names = [field.name for field in fields(MODELS[model]) if field.name in SHOWN]
    return [name for name in names if schema.sensitive or name not in DIVERSITY]


def planned(source: Source, schema: Schema, model: str, entry: Entries) -> tuple[Plan | None, Problems]:
    """Return what the fields of a promise ask for, or what is wrong with them."""
    wanted = parameters_of(model, schema)
    given = {name: entry(name) for name in wanted}
    if "distance" in given:
        given["distance"] = given["distance"] or None
    if "never" in given:
        given["never"] = tuple(given["never"] or ())
    needed = [f.name for f in fields(MODELS[model]) if f.default is MISSING and f.default_factory is MISSING]
    empty = [name for name in needed if given.get(name) is None]
    if empty:
        return None, dict.fromkeys(empty, "A number is needed here.")
    try:
        promised = make_model(model, given)
        choices = _choices(model, entry)
    except ShoalError as error:
        return None, _where_parameter(wanted, str(error))
    form: Format = "parquet" if entry("form") == "parquet" else "csv"
    return Plan(source, schema, promised, choices, form, bool(entry("keep_key"))), {}


def _choices(model: str, entry: Entries) -> dict[str, Any]:
    choices: dict[str, Any] = {}
    if entry("method"):
        choices["method"] = entry("method")
    if entry("effort") and "effort" in _options(MODELS[model], entry("method")):
        choices["effort"] = entry("effort")
    seed = entry("seed").strip()
    if seed:
        if not seed.isdecimal():
            raise InputError(f"seed = {seed} is not a whole number", reason=Reason.PARAMETER)
        choices["seed"] = int(seed)
    return choices


def _options(model: type[Model], method: str | None) -> Mapping[str, Any]:
    known = METHODS[model]
    return inspect.signature(known[method] if method in known else next(iter(known.values()))).parameters


def _where_parameter(wanted: list[str], message: str) -> Problems:
    """Return beside which field an error belongs: messages begin with the parameter, or name its column."""
    named = [name for name in (*wanted, "seed") if message.startswith(f"{name} = ")]
    return {named[0] if named else "promise": message}


def _where(model: Model, message: str) -> Problems:
    place = _where_parameter([field.name for field in fields(model)], message)
    return {"run": message} if "promise" in place else {**place, "run": message}


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
                by="1",
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
        by="1" if parameter == "p" or needed else "any",
    )


def _special(known: list[str], schema: Schema) -> list[TagChild]:
    """Return the fields of parameters that few models have."""
    entries: list[TagChild] = []
    if "two_sided" in known:
        entries.append(parts.tick("two_sided", "Two-sided", "Each row, too, keeps k persons."))
    if "withhold" in known:
        entries.append(
            parts.number(
                "withhold", "Withhold", 0, "Share of people left out at random, below 1.", least=0, most=1
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
                by="1",
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
