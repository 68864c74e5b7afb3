"""Try several: quick runs of models, methods and k, a recommendation, and what a limit would cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from htmltools import HTML, Tag, TagChild, TagList, tags
from shiny import reactive, render, ui

from shoal.errors import InputError, Reason, ShoalError
from shoal.models import MODELS, KAnonymity, UsualDiversity, declarations, usual_model
from shoal.report.panel import percent
from shoal.schema import Schema
from shoal.web import fields, parts
from shoal.web.parameters import usual_k
from shoal.web.planning import read_parameters
from shoal.web.quick import comparable, limit_of
from shoal.web.run import start_release
from shoal.web.state import Desk, Problems, needed

USUAL_KS = (2, 5, 10, 20, 50)
METHODS_TRIED = {"first": "each model's default", "all": "all of each model"}
MOST_KS = 10
"""Maximum number of crowd sizes that are tried at once."""


def trying_part() -> Tag:
    """Return the place of quick runs."""
    return tags.div(parts.output("trying_asked"), parts.output("cost_asked"), class_="report explore")


def serve_trying(desk: Desk) -> None:
    """Make quick runs work."""
    found: reactive.Value[dict[str, Any] | None] = reactive.Value(None)

    @render.ui
    def trying_asked() -> TagChild:
        schema, weighed = desk.schema(), desk.weighed()
        if schema is None or weighed is None or not comparable(schema):
            return None
        return desk.memory.filled(_fields(schema, weighed["records"]))

    @render.ui
    def trying_words() -> TagChild:
        tried = found()
        return tags.p(tags.b("Recommended: "), tried["words"], id="recommended") if tried else None

    @render.ui
    def trying_shown() -> TagChild:
        tried = found()
        return _tried(tried) if tried else None

    @reactive.effect
    @reactive.event(desk.schema)
    def _() -> None:
        found.set(None)

    @reactive.effect
    @reactive.event(desk.input.try_go)
    def _() -> None:
        schema, weighed = needed(desk.schema()), needed(desk.weighed())
        asked, problems = read_asked(desk.entry, schema, weighed)
        if problems:
            desk.tell(problems)
            return

        def done(result: dict[str, Any]) -> None:
            found.set(result)
            if not any(run["gcp"] is not None for run in result["runs"]):
                desk.tell({"try": "None of these releases is possible; see the reasons in the table."})

        desk.start("try_several", needed(desk.source()), done, _where, schema=schema, **asked)

    @reactive.effect
    @reactive.event(desk.input.try_run)
    def _() -> None:
        tried, number = needed(found()), desk.input.try_run()
        if isinstance(number, int) and 0 <= number < len(tried["runs"]):
            run_in_full(desk, tried["runs"][number], tried["parameters"])

    _serve_cost(desk)


def read_asked(entry: Any, schema: Schema, weighed: Mapping[str, Any]) -> tuple[dict[str, Any], Problems]:
    """Return what is to be tried, as arguments of the task, or the problems of the fields."""
    problems: Problems = {}
    asked: dict[str, Any] = {"wanted": usual_k(weighed["records"])}
    try:
        numbers = [fields.number(each) for each in fields.read_list(entry("try_k"))]
        asked["ks"] = sorted({each for each in numbers if isinstance(each, int) and each >= 2})
        if not asked["ks"] or len(asked["ks"]) < len(set(numbers)) or len(numbers) > MOST_KS:
            raise InputError(
                f"Enter up to {MOST_KS} whole numbers from 2 on, separated by commas.",
                reason=Reason.PARAMETER,
            )
    except ShoalError as error:
        problems["try_k"] = str(error)
    known = [model.name for model in comparable(schema)]
    asked["models"] = [each for each in entry("try_models") or () if each in known]
    if not asked["models"]:
        problems["try_models"] = "Tick at least one model."
    try:
        asked["every_method"] = fields.chosen(entry("try_methods"), METHODS_TRIED) == "all"
    except ShoalError as error:
        problems["try_methods"] = str(error)
    asked["parameters"], wrong = _about_sensitive(entry, schema, weighed)
    return asked, problems | wrong


def _about_sensitive(
    entry: Any, schema: Schema, weighed: Mapping[str, Any]
) -> tuple[dict[str, Any], Problems]:
    """Return what is required of sensitive columns: as the fields of the model say, or the default."""
    if not schema.sensitive:
        return {}, {}
    model = MODELS.get(str(entry("model")))
    if model is not None and model.takes_diversity():
        names = [name for name, declared, _ in declarations(model) if declared.about_sensitive]
        return read_parameters(names, schema, entry)
    shares = {name: 1 / each["l"] for name, each in weighed["diversity"].items()}
    return UsualDiversity.of(shares).parameters, {}


def run_in_full(desk: Desk, run: Mapping[str, Any], parameters: Mapping[str, Any]) -> None:
    """Fill in the settings of a quick run, and make the release; if it is dangerous, ask first."""
    known = [name for name, _, _ in declarations(MODELS[run["model"]])]
    given = {name: parameters.get(name) for name in known if name != "k"}
    entries: dict[str, Any] = {
        **{name: _entered(value) for name, value in given.items() if name in parameters},
        **{name: "" for name in ("l", "p", "entropy_l") if name in known and name not in parameters},
        "model": run["model"],
        "method": run["method"],
        "k": str(run["k"]),
        "effort": "",
    }
    desk.memory.recall(entries)
    desk.redraw()
    start_release(desk, desk.entry)


def _entered(value: Any) -> Any:
    """Return a parameter as its field has it."""
    if isinstance(value, list | tuple):
        return tuple(value)
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else value


def _fields(schema: Schema, records: int) -> Tag:
    models = comparable(schema)
    usual = {usual_model(schema).name, KAnonymity.name}
    boxes = [
        tags.label(
            tags.input(
                type="checkbox",
                name="try_models",
                value=model.name,
                checked="" if model.name in usual else None,
            ),
            tags.span(model.name),
            class_="tick",
        )
        for model in models
    ]
    ks = [k for k in USUAL_KS if k <= records // 2] or [2]
    return parts.fold(
        "Try several models, methods and k",
        tags.p(
            "Quick runs show how risk and information loss go together for your table. Nothing of them is "
            "kept. A full run loses a little less."
        ),
        tags.div(
            parts.text("try_k", "Values of k", "Separated by commas.", ", ".join(map(str, ks))),
            tags.fieldset(
                tags.legend("Models", class_="label"),
                boxes,
                parts.problem("try_models"),
                id="try_models",
                class_="field shiny-input-checkboxgroup",
            ),
            parts.choice("try_methods", "Methods", METHODS_TRIED, "first"),
            class_="fields",
        ),
        parts.button("try_go", "Try them"),
        parts.problem("try"),
        ui.output_ui("trying_words"),
        parts.output("trying_shown"),
        name="trying",
    )


def _tried(tried: Mapping[str, Any]) -> TagList:
    head = ["in full", "model", "method", "k", "information loss", "highest risk", "attacker", "time"]
    rows = [_row(number, run) for number, run in enumerate(tried["runs"])]
    return TagList(
        tags.figure(HTML(tried["chart"])) if tried["chart"] else None,  # made by the report, which escapes
        parts.table("Quick runs", head, rows, class_="comparison"),
    )


def _row(number: int, run: Mapping[str, Any]) -> Sequence[TagChild]:
    what: list[TagChild] = [run["model"], run["method"], str(run["k"])]
    if run["gcp"] is None:
        return ["", *what, f"no release: {run['message']}", "", "", f"{run['seconds']:.1f} s"]
    name = f"Run {run['model']} with {run['method']} and k = {run['k']} in full"
    return [
        tags.button(
            "Run",
            type="button",
            class_="tries",
            data_tries=str(number),
            aria_label=name,
        ),
        TagList(run["model"], tags.span("recommended", class_="badge") if run["recommended"] else None),
        *what[1:],
        percent(run["gcp"]),
        percent(run["risk"]),
        run["attacker"],
        f"{run['seconds']:.1f} s",
    ]


def _serve_cost(desk: Desk) -> None:
    """Tell what it would cost to keep cells of a column narrow."""
    cost: reactive.Value[tuple[int, str, dict[str, Any]] | None] = reactive.Value(None)

    @render.ui
    def cost_asked() -> TagChild:
        schema = desk.schema()
        able = [] if schema is None else _measured(schema)
        return desk.memory.filled(_cost_fields(able)) if able else None

    @render.ui
    def cost_shown() -> TagChild:
        found = cost()
        return None if found is None else _cost(found[2])

    @reactive.effect
    @reactive.event(desk.schema)
    def _() -> None:
        cost.set(None)

    @reactive.effect
    @reactive.event(desk.input.cost_go)
    def _() -> None:
        schema = needed(desk.schema())
        names = [column["name"] for column in needed(desk.seen())["columns"]]
        try:
            name = fields.chosen(desk.entry("cost_column"), _measured(schema))
            column = next(each for each in schema if each.name == name)
            entered = fields.text(desk.entry("cost_width"))
            widest = limit_of(column, entered)
            k = fields.number(desk.entry("k"))
            if not isinstance(k, int) or k < 2:
                raise InputError("Enter k above first.", reason=Reason.PARAMETER)
        except ShoalError as error:
            desk.tell({"cost_width": str(error)})
            return
        model = desk.entry("model")
        desk.start(
            "narrower",
            needed(desk.source()),
            lambda found: cost.set((names.index(name), entered, found)),
            lambda error: {"cost_width": error["message"]},
            schema=schema,
            name=name,
            widest=widest,
            k=k,
            model=model if model == KAnonymity.name else "freeform",
        )

    @reactive.effect
    @reactive.event(desk.input.cost_use)
    def _() -> None:
        place, entered, found = needed(cost())
        share = f"{max(0.0, found['left_out']) * 1.2 + 0.001:.3f}" if found["left_out"] > 0 else ""
        desk.memory.recall({f"widest_{place}": entered.strip(), **({"leave_out": share} if share else {})})
        desk.redraw()
        desk.go_to("columns")
        desk.say("The limit is filled in. Press “Use these columns” to continue.")


def _cost(found: Mapping[str, Any]) -> Tag:
    """Return what a limit would cost, and a button to require it if it is possible."""
    return tags.div(
        parts.notice(found["words"]),
        parts.button("cost_use", "Require this limit") if found["possible"] else None,
        id="cost",
    )


def _measured(schema: Schema) -> list[str]:
    return [column.name for column in schema.quasi if column.measured]


def _cost_fields(names: Sequence[str]) -> Tag:
    return parts.fold(
        "What would it cost to keep a column narrow?",
        tags.div(
            parts.choice("cost_column", "Column", {name: name for name in names}, names[0]),
            parts.text("cost_width", "Widest cell", "Such as 10 for ten years of age, or 6 months."),
            class_="fields",
        ),
        parts.button("cost_go", "What would it cost?"),
        ui.output_ui("cost_shown"),
        name="narrow",
    )


def _where(error: Mapping[str, Any]) -> Problems:
    return {"try": error["message"]}
