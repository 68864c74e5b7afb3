"""How the release was made: method, options, time, and what became of each column."""

from __future__ import annotations

from typing import Any

from shoal.report.panel import Content, Grid, Material, plural, report_panel
from shoal.schema import Role

_ROLES = {
    Role.PERSON: "says whose record it is: left out",
    Role.IDENTIFIER: "identifies a person: left out",
    Role.QUASI: "an attacker may know it: generalized",
    Role.SENSITIVE: "an attacker must not learn it: released unchanged",
    Role.WEIGHT: "how many people a record stands for: in groups if single values identify",
    Role.OTHER: "released unchanged",
}


@report_panel("making", "How it was made", place=120)
def making(material: Material) -> Content:
    """Return the panel on how the release was made."""
    made = material.certificate
    options = ", ".join(f"{name} = {value}" for name, value in made["options"].items())
    files = made.get("files", {})
    return Content(
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
            *(
                [
                    (
                        "over the limit",
                        plural(made["over_limit"], "record") + " of persons with more than are kept",
                    )
                ]
                if made.get("over_limit")
                else []
            ),
            *(
                [
                    (
                        "not hidden",
                        plural(made["stranded"], "record") + " that limits of columns left no crowd for",
                    )
                ]
                if made.get("stranded")
                else []
            ),
            *([("withheld", plural(made["withheld"], "record") + " at random")] if made["withheld"] else []),
            *((f"SHA-256 of {name}", file["sha256"]) for name, file in files.items()),
        ),
        grids=(
            Grid(
                "Columns",
                ("column", "role", "what that means"),
                [[_title(c), c["role"], _ROLES[Role(c["role"])]] for c in made["columns"]],
            ),
        ),
    )


def _title(column: dict[str, Any]) -> str:
    """Return the name of a column, and what it is about where that is said."""
    label = column.get("label")
    return f"{column['name']} ({label})" if label else str(column["name"])
