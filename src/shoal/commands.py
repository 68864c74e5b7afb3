"""What the command line and the web page share: promises by name, and the words that ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.models import (
    KK,
    Concealment,
    Dissimilarity,
    Freeform,
    KAnonymity,
    KOne,
    Model,
    OneK,
    Patterned,
    SetAnonymity,
    SetDiversity,
)
from shoal.schema import Kind, Schema

MODELS: dict[str, type[Model]] = {
    model.name: model
    for model in (
        Freeform,
        KAnonymity,
        SetAnonymity,
        SetDiversity,
        Concealment,
        KK,
        KOne,
        OneK,
        Patterned,
        Dissimilarity,
    )
}
DEFAULT_MODEL = Freeform.name


def default_model(schema: Schema) -> str:
    """Return the name of the model for whoever names none: where there are sets of items, one for these."""
    return SetAnonymity.name if any(c.kind is Kind.ITEMS for c in schema.quasi) else DEFAULT_MODEL


def promise(model: str, *, patterns_file: Path | None = None, **parameters: Any) -> Model:
    """Return the model that the options describe; parameters that are None were not given.

    Raises
    ------
    InputError
        If there is no such model, or a parameter is missing, impossible or not one of its.
    """
    if model not in MODELS:
        raise InputError(
            f"model {model!r} is unknown{did_you_mean(model, MODELS)}; there is {listing(MODELS)}",
            reason=Reason.PARAMETER,
        )
    given = {name: value for name, value in parameters.items() if value is not None}
    if patterns_file is not None:
        if model != Patterned.name:
            raise InputError(f"model {model!r} has no --patterns", reason=Reason.PARAMETER)
        given = {**Patterned.described(patterns_file), **given}
    known = {field.name: field for field in fields(MODELS[model])}
    for name in given:
        if name not in known:
            raise InputError(f"model {model!r} has no {option(name)}", reason=Reason.PARAMETER)
    for name, field in known.items():
        if field.default is MISSING and field.default_factory is MISSING and name not in given:
            raise InputError(f"model {model!r} needs {option(name)}", reason=Reason.PARAMETER)
    return MODELS[model](**given)


def option(parameter: str) -> str:
    """Return how the command line calls a parameter."""
    return f"--{parameter.replace('_', '-')}"


def words(parameters: Mapping[str, Any]) -> list[str]:
    """Return parameters as words of a command line; what is None or False was not given, True is a flag."""
    return [
        word
        for name, value in parameters.items()
        if value is not None and value is not False
        for word in ([option(name)] if value is True else [option(name), _written(value)])
    ]


def _written(value: Any) -> str:
    """Return a value as people write it: 2, not 2.0."""
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return short if not isinstance(value, float) or float(short) == value else repr(value)
