"""Options of the command line that are declared elsewhere: parameters of models, options of methods."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from shoal.base.commands import option
from shoal.base.statements import ABOUT
from shoal.methods import METHODS, is_baseline, options_of
from shoal.models import declarations, in_order

MAIN, MODEL, METHOD, COLUMNS, FILES, REPORT, EARLIER, ENGINE = (
    None,
    "Privacy model",
    "Method",
    "Columns",
    "Files",
    "Report and evidence",
    "Earlier releases",
    "Large tables",
)
"""The groups in which ``--help`` shows options; the first is what a newcomer needs."""
_ORDER = (MAIN, MODEL, METHOD, COLUMNS, FILES, REPORT, EARLIER, ENGINE)
_MAIN_PARAMETERS = ("k", "l")
_FEW = 4
_TAKEN = {bool: "", int: "NUMBER", float: "NUMBER", str: "TEXT", Path: "PATH", list[str]: "NAMES"}
"""What an option takes, by its type: nothing if it is true or false."""


@dataclass(frozen=True)
class Bundle:
    """Several options that reach a command as one argument.

    Parameters
    ----------
    parameters
        The options.
    made
        Makes the argument from the given values, by name.
    """

    parameters: tuple[inspect.Parameter, ...]
    made: Callable[[dict[str, Any]], Any]


def takes(**bundles: Bundle) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of bundles to a command, except those that it has itself."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        named = {
            name: [each for each in bundle.parameters if each.name not in own]
            for name, bundle in bundles.items()
        }

        @wraps(command)
        def run(**given: Any) -> None:
            made = {
                name: bundles[name].made({each.name: given.pop(each.name) for each in options})
                for name, options in named.items()
            }
            command(**made, **given)

        shown = [each for options in named.values() for each in options]
        shown += [each for name, each in own.items() if name not in bundles]
        shown = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in sorted(shown, key=_place)]
        run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in shown}
        return run

    return decorate


def in_words(command: Callable[..., None]) -> Callable[..., None]:
    """Name what each option takes in words for people: typer would show the types of Python."""
    signature = inspect.signature(command, eval_str=True)
    for each in signature.parameters.values():
        declared = each.annotation.__metadata__[0]
        if isinstance(declared, typer.models.OptionInfo) and declared.metavar is None:
            kinds = (each.annotation.__origin__, *get_args(each.annotation.__origin__))
            declared.metavar = next((_TAKEN[kind] for kind in kinds if kind in _TAKEN), None)
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
    return command


def bundled(function: Callable[..., Any]) -> Bundle:
    """Return a bundle of the options that a function takes; a command gets what the function returns."""
    return Bundle(
        tuple(inspect.signature(function, eval_str=True).parameters.values()), lambda given: function(**given)
    )


def in_panel(panel: str, *flags: str, help: str, **more: Any) -> Any:  # noqa: A002 - the word of typer
    """Declare an option that ``--help`` shows in a panel of its own subject."""
    return typer.Option(*flags, help=help, rich_help_panel=panel, **more)


def _place(parameter: inspect.Parameter) -> int:
    """Return the place of an option in ``--help``; arguments come first."""
    declared = parameter.annotation.__metadata__[0]
    return -1 if isinstance(declared, typer.models.ArgumentInfo) else _ORDER.index(declared.rich_help_panel)


def model_parameters() -> Bundle:
    """Return an option for each parameter that some model declares."""
    uses: dict[str, list[tuple[str, Any]]] = {}
    for model in in_order():
        for name, declared, _ in declarations(model):
            if declared.on_command_line:
                uses.setdefault(name, []).append((model.name, declared))
    found = []
    for name, declared_by in uses.items():
        declared = declared_by[0][1]
        types = {each.type for _, each in declared_by}
        kind: type = (
            Path if declared.from_file is not None else float if float in types else declared.type or str
        )
        kind = str if kind is tuple else kind  # names with commas between them
        help_ = _prefixed(declared.help, [model for model, _ in declared_by])
        panel = MAIN if name in _MAIN_PARAMETERS else MODEL
        found.append(_option(name, kind, None, help_, panel))
    return Bundle(tuple(found), dict)


def method_options() -> Bundle:
    """Return an option for each option that some method declares; those not given are left out."""
    uses: dict[str, list[tuple[str, Any]]] = {}
    for methods in METHODS.values():
        for method, function in methods.items():
            for name, declared in options_of(function).items():
                uses.setdefault(name, []).append((method, declared))
    found = []
    for name, declared_by in uses.items():
        declared = declared_by[0][1]
        choices = list(dict.fromkeys(choice for _, each in declared_by for choice in each.choices))
        which = f" One of {', '.join(choices)}." if choices else ""
        help_ = _prefixed(declared.help + which, list(dict.fromkeys(method for method, _ in declared_by)))
        found.append(_option(name, declared.type, declared.default, help_, METHOD))
    return Bundle(
        tuple(found), lambda given: {name: value for name, value in given.items() if value is not None}
    )


def statements() -> Bundle:
    """Return an option for each statement about a release; those not given are left out."""
    found = [
        _option(name, str, None, f"{words[0].upper()}{words[1:]}.", REPORT) for name, words in ABOUT.items()
    ]
    return Bundle(
        tuple(found), lambda given: {name: value for name, value in given.items() if value is not None}
    )


def baselines() -> str:
    """Return a sentence that names the baselines."""
    names = [name for methods in METHODS.values() for name, each in methods.items() if is_baseline(each)]
    return f"Baselines, to compare with: {', '.join(dict.fromkeys(names))}."


def _option(name: str, kind: type, default: Any, help_: str, panel: str | None) -> inspect.Parameter:
    flags = f"{option(name)}/--no-{name.replace('_', '-')}" if default is True else option(name)
    declared = typer.Option(flags, help=help_, rich_help_panel=panel, show_default=False)
    annotation = Annotated[kind | None, declared]  # type: ignore[valid-type]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _prefixed(text: str, names: Iterable[str]) -> str:
    """Return a help text that begins with the models or methods that have the option, if few."""
    who = list(names)
    return f"{', '.join(who)}: {text}" if len(who) <= _FEW else text
