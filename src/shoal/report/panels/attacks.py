"""Attacks that were carried out on the release."""

from __future__ import annotations

from shoal.attacking.results import HEAD, attack_cells, attacks_in_words
from shoal.report.panel import Content, Grid, Material, report_panel


@report_panel("attacks", "Attacks", applies=lambda material: "attacks" in material.certificate, place=28)
def attacks(material: Material) -> Content:
    """Return the panel on how often attacks succeeded."""
    found = material.certificate["attacks"]
    return Content(
        paragraphs=(attacks_in_words(found),),
        grids=(Grid("Success rates of attacks", HEAD, [attack_cells(each) for each in found["results"]]),),
        points=(*(f"{each['title']}: {each['about']}" for each in found["results"]), *found["notes"]),
    )
