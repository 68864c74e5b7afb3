"""The fields of a model's parameters and of its methods' options, as these declare them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from htmltools import Tag, TagChild, tags
from shiny import ui

from shoal.methods import METHODS, options_of
from shoal.methods.feasibility import rounded_down
from shoal.models import MODELS, Model, Parameter, UsualDiversity, declarations, is_required
from shoal.report.panel import percent
from shoal.schema import Schema
from shoal.web import parts
from shoal.web.planning import YES_NO, fields_of, options_for, parameters_of


def parameter_fields(name: str, schema: Schema, weighed: dict[str, Any]) -> Tag:
    """Return the fields of a model.

    Parameters
    ----------
    name
        The model.
    schema
        What the columns are.
    weighed
        What the table allows, as the task `weigh` returns it.
    """
    entries: list[TagChild] = []
    for parameter, declared in fields_of(name, schema):
        if parameter == "k":
            entries.append(_crowd(declared, weighed["records"]))
        elif parameter in next(iter(weighed["diversity"].values()), {}):
            entries.append(_diversity(parameter, declared, MODELS[name], weighed))
        elif declared.widget == "columns" and declared.about_sensitive:
            entries.append(_required_of(parameter, declared, weighed))
        else:
            entries.append(_field(parameter, declared, MODELS[name], schema))
    advised = "epsilon" in parameters_of(name, schema)
    known = METHODS[MODELS[name]]
    method = parts.choice(
        "method", "Method", {"": f"default: {next(iter(known))}", **{each: each for each in known}}, ""
    )
    return tags.div(
        tags.div(entries, class_="fields"),
        parts.button("advise", "Which delta is achievable?") if advised else None,
        ui.output_ui("delta_shown") if advised else None,
        tags.details(
            tags.summary("Method and options"),
            tags.div(method, *_options(name), class_="fields"),
            class_="more",
        ),
        class_="parameters",
    )


def _options(model: str) -> list[TagChild]:
    """Return the fields for options of the model's methods."""
    known = {name: options_of(method) for name, method in METHODS[MODELS[model]].items()}
    fields: list[TagChild] = []
    for name, option in options_for(model).items():
        users = [method for method, options in known.items() if name in options]
        hint = option.help if len(users) == len(known) else f"{option.help} Only for {', '.join(users)}."
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


def _crowd(declared: Parameter, records: int) -> Tag:
    assert declared.label is not None
    return parts.number(
        "k",
        declared.label,
        usual_k(records),
        f"2 to {records:,}. {usual_k(records)} is a good start for public tables. A larger k protects "
        "better and loses more information.",
        least=2,
        most=records,
        whole=True,
    )


def usual_k(records: int) -> int:
    """Return the default k: 10, and less for few records, so that the release keeps some information."""
    return max(2, min(10, records // 10))


def _diversity(parameter: str, declared: Parameter, model: type[Model], weighed: dict[str, Any]) -> Tag:
    assert declared.label is not None
    needed = any(name == parameter and is_required(own) for name, _, own in declarations(model))
    usual = _usual(weighed)
    possible = {
        name: each[parameter]
        for name, each in weighed["diversity"].items()
        if needed or usual.columns is None or name in usual.columns
    }
    least = min(possible, key=lambda name: possible[name])
    most = rounded_down(possible[least])
    return parts.number(
        parameter,
        declared.label,
        usual.l if parameter == "l" and usual.l > 1 and (usual.l == 2 or not needed) else None,
        f"{declared.help} At most {most:g} ({least}){'' if needed else '; leave it empty if not required'}.",
        least=declared.least,
        most=most,
        whole=declared.type is int,
    )


def _usual(weighed: dict[str, Any]) -> UsualDiversity:
    """Return what is required of sensitive columns by default."""
    return UsualDiversity.of({name: 1 / each["l"] for name, each in weighed["diversity"].items()})


def _required_of(name: str, declared: Parameter, weighed: dict[str, Any]) -> Tag:
    """Return the field for the sensitive columns that l, p and entropy l are required of."""
    usual = _usual(weighed)
    skewed = [
        f"{_skew(column, weighed)}, so nothing is required of it."
        for column in (usual.skewed if usual.columns else ())
    ]
    words = " ".join(["All sensitive columns, if none is ticked.", *skewed, *_lowered(usual, weighed)])
    return _column_boxes(name, declared, weighed["diversity"], usual.columns or (), words)


def _skew(column: str, weighed: dict[str, Any]) -> str:
    return f"{percent(1 / weighed['diversity'][column]['l'])} of the records have the same value of {column}"


def _lowered(usual: UsualDiversity, weighed: dict[str, Any]) -> list[str]:
    """Return a sentence if one column lowers the l of all: models have one l for all columns."""
    others = {
        name: each for name, each in weighed["diversity"].items() if name not in (usual.lowest, *usual.skewed)
    }
    if not others or usual.l <= 1:
        return []
    higher = _usual({"diversity": others}).l
    if higher <= usual.l:
        return []
    return [
        f"{_skew(usual.lowest, weighed)}, so l is {usual.l:g} for all columns. For l = {higher:g}, tick only "
        f"{', '.join(others)}, and enter it."
    ]


def _field(name: str, declared: Parameter, model: type[Model], schema: Schema) -> TagChild:
    """Return the field of a parameter by its declaration."""
    assert declared.label is not None
    own = next(own for each, _, own in declarations(model) if each == name)
    if declared.widget == "tick":
        return parts.tick(name, declared.label, declared.help)
    if declared.widget == "choice":
        choices = {"": "default", **{each: each for each in declared.choices}}
        return parts.choice(name, declared.label, choices, "", declared.help)
    if declared.widget == "columns":
        return _column_boxes(name, declared, [column.name for column in schema.quasi])
    return parts.number(
        name,
        declared.label,
        own.default if isinstance(own.default, int | float) else None,
        declared.help,
        least=declared.least if math.isfinite(declared.least) else None,
        most=declared.most if declared.most < 1e300 else None,
        whole=declared.type is int,
    )


def _column_boxes(
    name: str, declared: Parameter, columns: Iterable[str], ticked: Iterable[str] = (), hint: str = ""
) -> Tag:
    """Return a group of boxes, one for each column."""
    boxes = [
        tags.label(
            tags.input(type="checkbox", name=name, value=column, checked="" if column in ticked else None),
            tags.span(column),
            class_="tick",
        )
        for column in columns
    ]
    return tags.fieldset(
        tags.legend(declared.label, class_="label"),
        boxes,
        tags.p(hint, class_="hint", id=f"hint-{name}") if hint else None,
        parts.problem(name),
        id=name,
        class_="field shiny-input-checkboxgroup",
    )
