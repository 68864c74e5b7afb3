"""Which cells were suppressed, in how many rows."""

from __future__ import annotations

from shoal.report.panel import Content, Grid, Material, number, percent, plural, report_panel

MOST = 20
"""The maximum number of combinations of columns that are listed, those of most rows."""


@report_panel(
    "suppressed", "What was suppressed", applies=lambda material: bool(material.audit.suppressions), place=50
)
def suppressed(material: Material) -> Content:
    """Return the panel on the combinations of columns that rows suppress."""
    kinds = material.audit.suppressions
    account, rows = material.certificate.get("account", {}), material.audit.rows
    columns = len(material.loss.by_attribute)
    cells = sum(len(kind.suppressed) * kind.rows for kind in kinds)
    blank = sum(kind.rows for kind in kinds if len(kind.suppressed) == columns)
    more = f", the {MOST} of most rows" if len(kinds) > MOST else ""
    facts = [
        ("suppressed cells", f"{cells:,}, {percent(cells / (rows * columns))} of all"),
        ("rows that show nothing", f"{blank:,}"),
    ]
    if "cost" in account:
        facts.append(("cost, by the weights of columns", number(account["cost"])))
    allowed = f", of {plural(account['patterns'], 'pattern')} that were allowed" if account else ""
    if "bound" in account:
        facts.append(("lowest possible cost", number(account["bound"])))
    return Content(
        paragraphs=(
            "Every cell shows the true value or nothing. Rows suppress "
            f"{plural(len(kinds), 'combination')} of columns{allowed}.",
        ),
        facts=tuple(facts),
        grids=(
            Grid(
                f"Combinations of suppressed columns{more}",
                ("suppressed", "rows", "share"),
                [
                    (", ".join(kind.suppressed) or "nothing", f"{kind.rows:,}", percent(kind.rows / rows))
                    for kind in kinds[:MOST]
                ],
            ),
        ),
    )
