"""The blocks of a large table."""

from __future__ import annotations

from shoal.report.panel import Content, Material, number, report_panel


@report_panel("blocks", "Blocks", applies=lambda material: material.in_blocks, place=110)
def blocks(material: Material) -> Content:
    """Return the panel on the blocks that a table was cut into."""
    engine = material.certificate["engine"]
    return Content(
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
