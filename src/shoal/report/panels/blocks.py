"""The blocks of a large table."""

from __future__ import annotations

from shoal.report.panel import Content, Material, number, report_panel


@report_panel("blocks", "Blocks", applies=lambda material: material.in_blocks, place=110)
def blocks(material: Material) -> Content:
    """Return the panel on the blocks that a table was cut into."""
    engine = material.certificate["engine"]
    return Content(
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
