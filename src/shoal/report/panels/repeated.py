"""The attacker who ran the method again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.report.panel import Content, Grid, Material, percent, report_panel

HEAD = ("guess", "right", "about the worst person", "certain", "limit")


@report_panel(
    "repeated",
    "An attacker who has the code",
    applies=lambda material: "repeated" in material.certificate,
    place=29,
)
def repeated(material: Material) -> Content:
    """Return the panel on how often guesses are right if the method is run again."""
    found = material.certificate["repeated"]
    return Content(
        paragraphs=(
            "This attacker knows the quasi-identifiers of every record and how often each sensitive value "
            f"occurs, and runs the method again: {found['training']:,} times to learn which records its rows "
            f"carry, and {found['tests']:,} times to guess. In each run, sensitive values were assigned to "
            "records at random. In brackets: intervals with a confidence of 95%.",
        ),
        grids=(Grid("Right guesses of an attacker who has the code", HEAD, guesses(material.certificate)),),
        points=(
            "The limit is what the rows themselves allow: for a row the least chance, and for a value 1 in l "
            "if the model requires it. The worst person is the one with most right guesses, which "
            "includes luck.",
            "Certain: the share of guesses of which the attacker was sure although the release allows other "
            "values. It is known only if the same release occurred often, which is so in very small tables.",
            "Another attack may find more.",
        ),
    )


def guesses(certificate: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the right guesses of a certificate as texts, in the order of `HEAD`."""
    found, l = certificate["repeated"], certificate["model"].get("l")  # noqa: E741 - the letter it is known by
    limit = "-" if l is None else percent(1 / l)
    least = "-" if found["least_chance"] is None else percent(found["least_chance"])
    lines = [_cells("the row of a person", found["row"], least)]
    if found["row_knowing_values"] is not None:
        lines.append(_cells("the same, knowing the values of everyone", found["row_knowing_values"], "-"))
    return [*lines, *(_cells(f"the value of {name}", each, limit) for name, each in found["values"].items())]


def _cells(guess: str, found: dict[str, Any], limit: str) -> tuple[str, ...]:
    low, high = max(found["right"] - found["error"], 0.0), min(found["right"] + found["error"], 1.0)
    certain = "-" if found["certain"] is None else percent(found["certain"])
    right = f"{percent(found['right'])} ({percent(low)} to {percent(high)})"
    return guess, right, percent(found["worst"]), certain, limit
