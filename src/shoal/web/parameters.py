"""The fields of a model's parameters and of its methods' options, as these declare them."""

from __future__ import annotations

import math
from typing import Any

from htmltools import Tag, TagChild, tags
from shiny import ui

from shoal.methods import METHODS, options_of
from shoal.methods.feasibility import rounded_down
from shoal.models import MODELS, Model, Parameter, declarations, is_required, usual_l
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
    possible = {name: each[parameter] for name, each in weighed["diversity"].items()}
    least = min(possible, key=lambda name: possible[name])
    most = rounded_down(possible[least])
    usual = usual_l(1 / possible[least])
    held_back = [name for name in possible if usual <= 1 < usual_l(1 / possible[name])]
    needed = any(name == parameter and is_required(own) for name, _, own in declarations(model))
    return parts.number(
        parameter,
        declared.label,
        usual if parameter == "l" and usual > 1 and (usual == 2 or not needed) else None,
        f"{declared.help} At most {most:g} ({least}){'' if needed else '; leave it empty if not required'}."
        + (_held_back(least, possible[least], held_back) if parameter == "l" and held_back else ""),
        least=declared.least,
        most=most,
        whole=declared.type is int,
    )


def _held_back(skewed: str, possible: float, others: list[str]) -> str:
    """Return why no l is suggested although other columns allow one."""
    return (
        f" No l is suggested because {percent(1 / possible)} of the records have the same value of {skewed}. "
        f"To require l = 2 of {', '.join(others)}, give {skewed} another role than sensitive."
    )


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
