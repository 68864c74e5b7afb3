"""What the command line and the web page share: promises by name, and the words that ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.models import MODELS, Model, make_model, usual_model
from shoal.schema import Schema


def default_model(schema: Schema) -> str:
    """Return the name of the model to use if none is named."""
    return usual_model(schema).name


def promise(model: str, *, patterns_file: Path | None = None, **parameters: Any) -> Model:
    """Return the model that the options describe; parameters that are None were not given."""
    return make_model(model, {"patterns": patterns_file, **parameters})


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


__all__ = ["MODELS", "default_model", "option", "promise", "words"]
