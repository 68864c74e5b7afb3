"""Models and parameters on the page, and how their fields become the plan of a release."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from shoal import models
from shoal.attacking import checked_share
from shoal.base.statements import ABOUT, checked_about
from shoal.errors import InputError, Reason, ShoalError
from shoal.kinds.limits import is_limited
from shoal.methods import METHODS, options_of
from shoal.methods.method import DeclaredOption
from shoal.models import MODELS, Parameter, declarations, is_required, make_model
from shoal.release import COPIES, Format
from shoal.schema import Schema
from shoal.web.again import read_after
from shoal.web.columns import Entries
from shoal.web.fields import chosen, number, share, text, whole
from shoal.web.state import ABOUT_RECORDS, Plan, Problems
from shoal.web.tasks import Source

YES_NO = {"yes": True, "no": False}
"""The choices of an option that is true or false."""
STATED = {f"about_{name}": name for name in ABOUT}
"""The fields of what is stated about a release, with the names of the statements."""
EXTRAS = (*ABOUT_RECORDS, *STATED)
"""Fields of a run that only some tables have, or most users leave empty."""
SETTINGS = ("method", "seed", "predict", "run_again", "form", "keep_key", *EXTRAS)
"""The fields that every model has."""
LONGEST_SEED = 100
"""The maximum number of digits of a seed."""
FORMS: dict[str, str] = {
    "csv": "CSV: text",
    "parquet": "Parquet: typed",
    **{form: f"CSV, and a copy for {program}" for form, program in COPIES.items()},
}
"""The formats of the released file, with their descriptions."""


def suitable(schema: Schema) -> list[str]:
    """Return the names of the models for a table with this schema, the default first."""
    return [model.name for model in models.suitable(schema)]


def parameters_of(model: str, schema: Schema) -> list[str]:
    """Return the parameters of a model that have a field, for a table with this schema."""
    return [name for name, _ in fields_of(model, schema)]


def fields_of(model: str, schema: Schema) -> list[tuple[str, Parameter]]:
    """Return the parameters of a model that have a field, with their declarations."""
    return [
        (name, declared)
        for name, declared, _ in declarations(MODELS[model])
        if declared.label is not None and len(schema.sensitive) >= _sensitive_columns(declared)
    ]


def _sensitive_columns(declared: Parameter) -> int:
    """Return how many sensitive columns there must be for a parameter to have a field."""
    if not declared.about_sensitive:
        return 0
    return 2 if declared.widget == "columns" else 1  # nothing to choose from a single one


def options_for(model: str) -> dict[str, DeclaredOption]:
    """Return the options of all methods of a model, by name."""
    return {
        name: option
        for method in METHODS[MODELS[model]].values()
        for name, option in options_of(method).items()
    }


OPTIONS = {name for model in MODELS for name in options_for(model)}
"""The options of all methods."""


def planned(source: Source, schema: Schema, model: object, entry: Entries) -> tuple[Plan | None, Problems]:
    """Return the plan that the fields describe, or the problems of the fields.

    A field with unreadable content is a problem; it is never ignored.
    """
    if not isinstance(model, str) or model not in suitable(schema):
        return None, {"promise": "Choose one of these models."}
    wanted = parameters_of(model, schema)
    given, problems = read_parameters(wanted, schema, entry)
    needed = [name for name, _, own in declarations(MODELS[model]) if is_required(own)]
    for name in needed:
        if name not in given:
            problems.setdefault(name, "Enter a number.")
    choices, wrong = _choices(model, schema, entry)
    problems |= wrong
    extras, wrong = _extras(schema, entry)
    choices |= extras
    problems |= wrong
    if entry("form") not in FORMS:
        problems["form"] = "Choose one of the options."
    after, wrong = read_after(entry, schema, choices, str(entry("form")))
    problems |= wrong
    if problems:
        return None, problems
    try:
        promised = make_model(model, given)
    except ShoalError as error:
        return None, field_of(wanted, error.as_dict())
    form = cast(Format, entry("form"))
    return Plan(source, schema, promised, choices, form, bool(entry("keep_key")), after=after), {}


def read_parameters(wanted: list[str], schema: Schema, entry: Entries) -> tuple[dict[str, Any], Problems]:
    """Return the parameters whose fields are not empty, and the problems of unreadable fields."""
    given: dict[str, Any] = {}
    problems: Problems = {}
    for name in wanted:
        try:
            value = _parameter(name, schema, entry(name))
        except ShoalError as error:
            problems[name] = str(error)
            continue
        if value is not None:
            given[name] = value
    return given, problems


def field_of(wanted: list[str], error: Mapping[str, Any]) -> Problems:
    """Return at which field an error is shown, given as `ShoalError.as_dict` returns it."""
    about = error["parameter"]
    return {
        about if about in (*wanted, "seed", "predict", "run_again", *EXTRAS) else "promise": error["message"]
    }


def _parameter(name: str, schema: Schema, value: Any) -> Any:
    declared = PARAMETERS[name]
    if declared.widget == "tick":
        return bool(value)
    if declared.widget == "choice":
        return chosen(value or "", ("", *declared.choices)) or None
    if declared.widget == "columns":
        known = schema.sensitive if declared.about_sensitive else schema.quasi
        return tuple(chosen(each, [column.name for column in known]) for each in value or ()) or None
    return number(value)


PARAMETERS = {name: declared for model in MODELS.values() for name, declared, _ in declarations(model)}
"""The parameters of all models; the field of a parameter depends only on its name."""


def _choices(model: str, schema: Schema, entry: Entries) -> tuple[dict[str, Any], Problems]:
    """Return the chosen method, options, seed and panels of the report, and the problems of the fields."""
    choices: dict[str, Any] = {}
    problems: Problems = {}

    def read(name: str, reading: Callable[[Any], Any]) -> None:
        try:
            value = reading(entry(name))
        except ShoalError as error:
            problems[name] = str(error)
            return
        if value not in ("", None):
            choices[name] = value

    known = METHODS[MODELS[model]]
    read("method", lambda value: chosen(value or "", ("", *known)))
    read("seed", _seed)
    released = [column.name for column in schema if column.role.released]
    read("predict", lambda value: chosen(text(value).strip(), ("", *released)))
    read("run_again", whole)
    method = known[choices["method"]] if "method" in choices else next(iter(known.values()))
    for name, option in options_of(method).items():
        read(name, partial(_option, option))
    return choices, problems


def extras_of(schema: Schema) -> list[str]:
    """Return which of `EXTRAS` a table with this schema has."""
    absent = []
    if not any(is_limited(column) for column in schema.quasi):
        absent.append("leave_out")
    if schema.person is None:
        absent.append("most_per_person")
    return [name for name in EXTRAS if name not in absent]


def _extras(schema: Schema, entry: Entries) -> tuple[dict[str, Any], Problems]:
    """Return the chosen control group, records to leave out and statements, and the problems of fields."""
    readers: dict[str, Callable[[Any], Any]] = {
        "hold_out": lambda value: _checked(share(value), checked_share),
        "leave_out": share,
        "most_per_person": whole,
    }
    choices: dict[str, Any] = {}
    problems: Problems = {}
    about = {}
    for name in extras_of(schema):
        try:
            if name in STATED:
                about[STATED[name]] = text(entry(name)).strip()
                checked_about({STATED[name]: about[STATED[name]]})
            elif value := readers[name](entry(name)):
                choices[name] = value
        except ShoalError as error:
            problems[name] = str(error)
    stated = {name: words for name, words in about.items() if words}
    return {**choices, **({"about": stated} if stated else {})}, problems


def _checked(value: float | None, check: Callable[[float], float]) -> float | None:
    return None if value is None else check(value)


def _option(declared: DeclaredOption, value: Any) -> Any:
    """Return the chosen value of an option of a method; None for its default."""
    if declared.choices:
        return chosen(value or "", ("", *declared.choices)) or None
    if declared.type is bool:
        return YES_NO.get(chosen(value or "", ("", *YES_NO)))
    return number(value)


def _seed(value: Any) -> int | None:
    written = text(value).strip()
    if not written:
        return None
    if not (written.isascii() and written.isdecimal() and len(written) <= LONGEST_SEED):
        raise InputError(
            f"A seed is a whole number of at most {LONGEST_SEED} digits.", reason=Reason.PARAMETER
        )
    return int(written)
