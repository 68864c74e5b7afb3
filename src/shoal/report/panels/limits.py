"""What the promise does not say, and what to keep in mind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.errors import listing
from shoal.models import Model
from shoal.report.panel import Content, Material, percent, plural, report_panel
from shoal.schema import Role


@report_panel("limits", "What to keep in mind", place=15)
def limits(material: Material) -> Content:
    """Return the panel on what the guarantee does not say."""
    drawn = material.model.crowd_kind == "rows"
    if material.detail is not None:
        recoding = material.detail.recoding
        drawn = recoding.graph is not None or recoding.assignment is not None
    points = _limits(material.model, material.certificate, drawn)
    return Content(points=tuple(points))


def _limits(model: Model, made: Mapping[str, Any], drawn: bool) -> list[str]:
    points = [
        "The guarantee is about attackers who know the quasi-identifiers and nothing else. An attacker who "
        "knows more about a person may be able to tell rows apart.",
        "It does not hide who is in the table, and it is not differential privacy.",
        "Two releases about the same people can reveal together what neither reveals alone. Before you "
        "publish another release, consider both.",
    ]
    other = [column["name"] for column in made["columns"] if column["role"] == Role.OTHER]
    if other:
        points.append(
            f"Released unchanged: {listing(other)}. If an attacker may know or look up any of these columns, "
            "make them quasi-identifiers."
        )
    sensitive = [column["name"] for column in made["columns"] if column["role"] == Role.SENSITIVE]
    unguarded = [name for name in sensitive if not model.guards(name)]
    if unguarded:
        points.append(
            f"Nothing is guaranteed about the diversity of {listing(unguarded)} in a crowd: if all rows that "
            "cover a record have the same value, an attacker learns it without finding the row."
        )
    if sensitive and model.diversity is not None:
        points.append(
            "Different sensitive values can still be close to each other, or be unusual in the table: both "
            "reveal something about every record of the crowd."
        )
    if drawn:
        points.append(
            f"At least {model.crowd} rows cover each record, but they need not be equally likely to an "
            "attacker who knows every record and weighs all assignments of records to rows. An audit with a "
            "time limit for the posterior estimates how likely the likeliest row is."
        )
    points += model.limits(made["audit"]["concealment"])
    if made["left_out"]:
        points.append(
            f"{plural(made['left_out'], 'record')} with missing values were left out: all figures are about "
            "the other records."
        )
    if made["options"].get("randomized") is False:
        points.append(
            "This release is not randomized: an attacker who knows every record can repeat the method and "
            "re-identify the rows. Do not publish it."
        )
    if made["seeded"]:
        points.append(
            "This release was made from a seed: anyone who has the seed can undo the shuffle. Do not publish "
            "it."
        )
    points.append(
        f"An average loss of {percent(made['loss']['gcp'])} says little about a single question: try your "
        "own analysis on the release before you rely on it."
    )
    return points
