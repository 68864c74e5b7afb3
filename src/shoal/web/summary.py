"""What a release will contain, shown before it is made, and what would be dangerous to publish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from htmltools import Tag, TagChild, TagList, tags

from shoal.base.wording import percent
from shoal.models import Model
from shoal.schema import Role, Schema
from shoal.web import parts

MOST_NAMES = 15
"""Number of columns that a line of the summary names; it stays short above the warnings."""
MOST_WARNINGS = 8
"""Number of warnings that are shown unfolded, so that the box below them stays in sight."""
Weighed = Mapping[str, Any]
"""What a table allows, as the task `weigh` returns it."""


def dangers(schema: Schema, weighed: Weighed, model: Model) -> tuple[str, ...]:
    """Return a sentence for each reason to think again before a release is made.

    Parameters
    ----------
    schema
        What the columns are.
    weighed
        What the table allows.
    model
        The privacy model with its parameters.
    """
    return (
        *(f"{name} is published unchanged, but {why}." for name, why in weighed["suspects"].items()),
        *(
            f"{column.name} is sensitive and not protected: in a crowd, all records may have the same value, "
            f"and an attacker then learns it. Require l of it in step {parts.number_of('promise')}, or "
            "choose a model that protects sensitive columns."
            for column in schema.sensitive
            if not model.guards(column.name)
        ),
    )


def summary(schema: Schema, weighed: Weighed, model: Model | None) -> Tag:
    """Return what happens to each column.

    Parameters
    ----------
    schema, weighed
        As for `dangers`.
    model
        The privacy model; None while its fields are incomplete.
    """
    roles: dict[str, tuple[Role, ...]] = {
        "Left out": (Role.IDENTIFIER, Role.PERSON),
        "Generalized": (Role.QUASI,),
        "Published unchanged": (Role.OTHER,),
    }
    if any(column.role is Role.WEIGHT for column in schema.columns):
        roles["Survey weight, published in groups if it identifies"] = (Role.WEIGHT,)
    lines: list[TagChild] = [
        TagList(tags.dt(title), tags.dd(_names([c.name for c in schema.columns if c.role in wanted])))
        for title, wanted in roles.items()
    ]
    sensitive = [
        tags.div(tags.b(c.name), f": {_protection(c.name, weighed, model)}") for c in schema.sensitive
    ]
    lines.append(TagList(tags.dt("Sensitive, published unchanged"), tags.dd(sensitive or "none")))
    left_out = weighed["left_out"]
    if left_out:
        lines.append(TagList(tags.dt("Records left out"), tags.dd(f"{left_out:,}, for missing values")))
    return tags.div(tags.h3("What the release will contain"), tags.dl(lines), id="summary")


def confirmation(found: Sequence[str], *, confirmed: bool) -> Tag | None:
    """Return the dangers with the box that confirms them; None if there are none."""
    if not found:
        return None
    return tags.div(
        tags.div(tags.b(_heading(found)), _list(found), role="alert"),
        parts.tick("confirmed", "I have checked this and want to make the release", value=confirmed),
        id="dangers",
        class_="notice caution",
    )


def reminder(found: Sequence[str], name: str) -> Tag | None:
    """Return the dangers of a finished release; None if there are none."""
    if not found:
        return None
    return tags.div(tags.b(_heading(found)), _list(found), id=name, class_="notice caution")


def _heading(found: Sequence[str]) -> str:
    return "1 warning about this release" if len(found) == 1 else f"{len(found)} warnings about this release"


def _list(found: Sequence[str]) -> TagList:
    """Return warnings as a list; of many, the first ones, and the others below a heading that folds them."""
    first, others = found[:MOST_WARNINGS], found[MOST_WARNINGS:]
    more = tags.details(
        tags.summary(f"and {len(others):,} more"),
        tags.ul([tags.li(each) for each in others], class_="warnings"),
        class_="more",
    )
    return TagList(tags.ul([tags.li(each) for each in first], class_="warnings"), more if others else None)


def _names(names: Sequence[str]) -> TagChild:
    """Return names as one line; of many, the first ones, and the others below a heading that folds them."""
    if len(names) <= MOST_NAMES:
        return ", ".join(names) if names else "none"
    first, others = names[:MOST_NAMES], names[MOST_NAMES:]
    return TagList(
        ", ".join(first),
        tags.details(tags.summary(f"and {len(others):,} more"), ", ".join(others), class_="more"),
    )


def _protection(name: str, weighed: Weighed, model: Model | None) -> str:
    """Return how far a model protects a sensitive column."""
    if model is None:
        return "see the fields of the privacy model"
    if not model.guards(name):
        return "not protected"
    required = model.diversity
    possible = weighed["diversity"].get(name)
    if required is None or possible is None:
        return model.sentence()
    levels = {"l": required.l, "p": required.p, "entropy_l": required.entropy_l}
    words = [
        f"{level.replace('_', ' ')} = {asked:g} (at most {possible[level]:.4g} is achievable)"
        for level, asked in levels.items()
        if asked is not None
    ]
    meaning = (
        "" if required.l is None else f"; at most {percent(1 / required.l)} of a crowd have the same value"
    )
    return f"{', '.join(words)}{meaning}"
