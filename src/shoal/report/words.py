"""What a report says in words: the guarantee, how the release was made, and what to keep in mind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.errors import listing
from shoal.models import Model
from shoal.report.panel import Grid, Material, Panel, number, percent, plural
from shoal.schema import Role

_ROLES = {
    Role.IDENTIFIER: "identifies a person: left out",
    Role.QUASI: "an attacker may know it: generalized",
    Role.SENSITIVE: "an attacker must not learn it: released unchanged",
    Role.OTHER: "released unchanged",
}


def promise(material: Material) -> Panel:
    """Return the panel on what is guaranteed and what the audit found."""
    model, found = material.model, material.audit
    numbers = {name: value for name, value in model.parameters.items() if isinstance(value, int | float)}
    return Panel(
        "promise",
        "The guarantee",
        paragraphs=(
            "This release guarantees: " + model.sentence().rstrip(".") + ".",
            "The audit does not rely on the method: it compares the original with the released table and "
            "works out which rows could belong to which records"
            + (". The guarantee holds." if found.holds else "."),
        ),
        facts=(
            ("model", model.name),
            ("parameters", ", ".join(f"{name} = {value:g}" for name, value in numbers.items())),
            ("rows", f"{found.rows:,} released, {plural(found.records, 'record')} in the original"),
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
            "The table was cut into blocks of similar records. Each block was released and audited on its "
            "own, and then all rows were put into one random order. A guarantee that holds in each block "
            "holds for the whole table: rows of other blocks can only add to the crowd of a record.",
        ),
        facts=(
            ("blocks", f"{engine['blocks']:,}"),
            ("rows of a block", f"{engine['smallest']:,} to {engine['largest']:,}"),
            ("blocks in parallel", f"{engine['jobs']}"),
            ("computing time in blocks", number(engine["seconds_in_blocks"]) + " seconds"),
        ),
    )


def limits(material: Material) -> Panel:
    """Return the panel on what the guarantee does not say."""
    drawn = material.model.crowd_kind == "rows"
    if material.detail is not None:
        recoding = material.detail.recoding
        drawn = recoding.graph is not None or recoding.assignment is not None
    points = _limits(material.model, material.certificate, drawn)
    return Panel("limits", "What to keep in mind", points=tuple(points))


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
    if sensitive and not model.guards_sensitive:
        points.append(
            f"Nothing is guaranteed about the diversity of {listing(sensitive)} in a crowd: if all rows that "
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
