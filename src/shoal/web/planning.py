"""What can be promised on the page, and how the fields of a promise become the plan of a release."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from shoal.commands import MODELS, default_model, promise
from shoal.distances import NAMES as DISTANCES
from shoal.errors import InputError, Reason, ShoalError
from shoal.methods import METHODS
from shoal.models import Dissimilarity, Model, SetAnonymity, SetDiversity
from shoal.release import Format
from shoal.schema import Kind, Schema
from shoal.web.columns import Entries
from shoal.web.desk import Plan, Problems
from shoal.web.fields import chosen, number, text
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
CHOICES = ("method", "effort", "seed", "form", "keep_key")
"""The fields that every promise has."""
LONGEST_SEED = 100
"""The maximum number of digits of a seed."""
FORMS = {"csv": "CSV: text", "parquet": "Parquet: typed"}


def suitable(schema: Schema) -> list[str]:
    """Return the names of the models that a table with this schema can have, the usual one first."""
    items = any(column.kind is Kind.ITEMS for column in schema.quasi)
    names = [
        name
        for name in CARDS
        if (MODELS[name] in (SetAnonymity, SetDiversity)) == items
        and (schema.sensitive or MODELS[name] not in (SetDiversity, Dissimilarity))
    ]
    return sorted(names, key=lambda name: name != default_model(schema))


def parameters_of(model: str, schema: Schema) -> list[str]:
    """Return the parameters of a model that have a field, for a table with this schema."""
    names = [field.name for field in fields(MODELS[model]) if field.name in SHOWN]
    return [name for name in names if schema.sensitive or name not in DIVERSITY]


def planned(source: Source, schema: Schema, model: object, entry: Entries) -> tuple[Plan | None, Problems]:
    """Return what the fields of a promise ask for, or what is wrong with them.

    A field that holds something unreadable is a problem, never a promise that is not made.
    """
    if not isinstance(model, str) or model not in suitable(schema):
        return None, {"promise": "Choose one of these promises."}
    wanted = parameters_of(model, schema)
    given, problems = read_parameters(wanted, schema, entry)
    needed = [f.name for f in fields(MODELS[model]) if f.default is MISSING and f.default_factory is MISSING]
    for name in needed:
        if name not in given:
            problems.setdefault(name, "A number is needed here.")
    choices, wrong = _choices(model, entry)
    problems |= wrong
    if entry("form") not in ("csv", "parquet"):
        problems["form"] = "Choose one of the options."
    if problems:
        return None, problems
    try:
        promised = promise(model, **given)
    except ShoalError as error:
        return None, field_of(wanted, str(error))
    form: Format = "parquet" if entry("form") == "parquet" else "csv"
    return Plan(source, schema, promised, choices, form, bool(entry("keep_key"))), {}


def read_parameters(wanted: list[str], schema: Schema, entry: Entries) -> tuple[dict[str, Any], Problems]:
    """Return the parameters that are given, without those whose field is empty, and which cannot be read."""
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


def field_of(wanted: list[str], message: str) -> Problems:
    """Return beside which field an error belongs: messages begin with the parameter, or name its column."""
    named = [name for name in (*wanted, "seed") if message.startswith(f"{name} = ")]
    return {named[0] if named else "promise": message}


def _parameter(name: str, schema: Schema, value: Any) -> Any:
    if name == "two_sided":
        return bool(value)
    if name == "distance":
        return chosen(value or "", ("", *DISTANCES)) or None
    if name == "never":
        return tuple(chosen(each, [column.name for column in schema.quasi]) for each in value or ())
    return number(value)


def _choices(model: str, entry: Entries) -> tuple[dict[str, Any], Problems]:
    """Return method, effort and seed as far as they are chosen, and which of them cannot be read."""
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

    read("method", lambda value: chosen(value or "", ("", *METHODS[MODELS[model]])))
    read("effort", lambda value: chosen(value or "", EFFORTS))
    read("seed", _seed)
    if "effort" in choices and "effort" not in _options(MODELS[model], choices.get("method")):
        del choices["effort"]
    return choices, problems


def _seed(value: Any) -> int | None:
    written = text(value).strip()
    if not written:
        return None
    if not (written.isascii() and written.isdecimal() and len(written) <= LONGEST_SEED):
        raise InputError(
            f"A seed is a whole number of at most {LONGEST_SEED} digits.", reason=Reason.PARAMETER
        )
    return int(written)


def _options(model: type[Model], method: str | None) -> Mapping[str, Any]:
    known = METHODS[model]
    return inspect.signature(known[method] if method in known else next(iter(known.values()))).parameters
