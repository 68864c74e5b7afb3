"""What the promise does not say, and what to keep in mind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.errors import listing
from shoal.models import Model
from shoal.report.panel import Content, Material, percent, plural, report_panel
from shoal.schema import Role


@report_panel("limits", "What to keep in mind", place=130)
def limits(material: Material) -> Content:
    """Return the panel on what the promise does not say."""
    drawn = material.model.crowd_kind == "rows"
    if material.detail is not None:
        recoding = material.detail.recoding
        drawn = recoding.graph is not None or recoding.assignment is not None
    points = _limits(material.model, material.certificate, drawn)
    return Content(points=tuple(points))


def _limits(model: Model, made: Mapping[str, Any], drawn: bool) -> list[str]:
    points = [
        "The promise is about people who know quasi-identifiers and nothing else. Whoever knows more about "
        "somebody may be able to tell rows apart.",
        "It does not hide who is in the table, and it is not differential privacy.",
        "Two releases about the same people can give away together what neither does alone: before you "
        "publish another one, think about both.",
    ]
    other = [column["name"] for column in made["columns"] if column["role"] == Role.OTHER]
    if other:
        points.append(
            f"Released as they are: {listing(other)}. What others may know of that, or look up, belongs to "
            "the quasi-identifiers."
        )
    sensitive = [column["name"] for column in made["columns"] if column["role"] == Role.SENSITIVE]
    if sensitive and not model.guards_sensitive:
        points.append(
            f"Nothing is promised about how varied {listing(sensitive)} are in a crowd: where all rows that "
            "fit somebody have the same value, it is known without finding the row."
        )
    if sensitive and model.diversity is not None:
        points.append(
            "Varied sensitive values can still be close to each other, or differ from what is usual in the "
            "table: either tells something about everybody in the crowd."
        )
    if drawn:
        points.append(
            f"Everybody fits at least {model.crowd} rows, but not every way to match people and rows is "
            "equally plausible to somebody who knows everybody and weighs them all; an audit with a time for "
            "the posterior estimates how strongly such a person may believe in one of them."
        )
    points += model.limits(made["audit"]["concealment"])
    if made["left_out"]:
        points.append(
            f"{plural(made['left_out'], 'record')} with missing values are not in the release: figures here "
            "are about the others."
        )
    if made["options"].get("randomized") is False:
        points.append(
            "This release is not randomized: whoever knows everybody can repeat the method and find out who "
            "is who. Do not publish it."
        )
    if made["seeded"]:
        points.append(
            "This release was made from a seed: whoever knows it can undo the shuffle. Do not publish it."
        )
    points.append(
        f"An average loss of {percent(made['loss']['gcp'])} says little about a single question: try what "
        "you mean to do with the release before you rely on it."
    )
    return points
