"""What a report says in words: the promise, how the release was made, and what to keep in mind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.errors import listing
from shoal.models import Model
from shoal.report.panel import Grid, Material, Panel, number, percent, plural
from shoal.schema import Role

_ROLES = {
    Role.IDENTIFIER: "names people: left out",
    Role.QUASI: "others may know it: generalized",
    Role.SENSITIVE: "nobody must learn it: released as it is",
    Role.OTHER: "released as it is",
}


def promise(material: Material) -> Panel:
    """Return the panel that says what was promised and what the audit found."""
    model, found = material.model, material.audit
    numbers = {name: value for name, value in model.parameters.items() if isinstance(value, int | float)}
    return Panel(
        "promise",
        "The promise",
        paragraphs=(
            "To everybody in the table, this release promises: " + model.sentence().rstrip(".") + ".",
            "The auditor did not take the method's word for it: from the original and the released table "
            "alone it worked out which row could be whose"
            + (", and found nothing against the promise." if found.holds else "."),
        ),
        facts=(
            ("model", model.name),
            ("parameters", ", ".join(f"{name} = {value:g}" for name, value in numbers.items())),
            ("rows", f"{found.rows:,} released of {plural(found.records, 'record')}"),
        ),
    )


def making(material: Material) -> Panel:
    """Return the panel on how the release was made."""
    made = material.certificate
    options = ", ".join(f"{name} = {value}" for name, value in made["options"].items())
    files = made.get("files", {})
    return Panel(
        "making",
        "How it was made",
        facts=(
            ("method", made["method"]),
            ("options", options or "none"),
            ("version", f"Shoal {made['shoal']}"),
            ("made", made["created"]),
            ("time", f"{made['seconds']:.1f} seconds" if "seconds" in made else "unknown"),
            (
                "random choices",
                "from a seed: for experiments only" if made["seeded"] else "from the operating system",
            ),
            ("left out", plural(made["left_out"], "record") + " with missing values"),
            *([("withheld", plural(made["withheld"], "record") + " at random")] if made["withheld"] else []),
            *((f"SHA-256 of {name}", file["sha256"]) for name, file in files.items()),
        ),
        grids=(
            Grid(
                "Columns",
                ("column", "role", "what that means"),
                [[c["name"], c["role"], _ROLES[Role(c["role"])]] for c in made["columns"]],
            ),
        ),
    )


def blocks(material: Material) -> Panel | None:
    """Return the panel on blocks; None if the table was not cut into any."""
    if not material.in_blocks:
        return None
    engine = material.certificate["engine"]
    return Panel(
        "blocks",
        "Blocks",
        paragraphs=(
            "The table was cut into blocks of neighbouring records. Each was released and audited by itself, "
            "and then all rows were put into one random order. What the promise says of each block it says "
            "of the whole: rows of other blocks only add to the crowd that somebody hides in.",
        ),
        facts=(
            ("blocks", f"{engine['blocks']:,}"),
            ("rows of a block", f"{engine['smallest']:,} to {engine['largest']:,}"),
            ("worked on at a time", f"{engine['jobs']}"),
            ("seconds of work in blocks", number(engine["seconds_in_blocks"])),
        ),
    )


def limits(material: Material) -> Panel:
    """Return the panel on what the promise does not say."""
    drawn = material.model.crowd_kind == "rows"
    if material.detail is not None:
        recoding = material.detail.recoding
        drawn = recoding.graph is not None or recoding.assignment is not None
    points = _limits(material.model, material.certificate, drawn)
    return Panel("limits", "What to keep in mind", points=tuple(points))


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
