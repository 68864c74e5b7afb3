"""Attacks that were carried out on the release."""

from __future__ import annotations

from shoal.attacking.results import HEAD, attack_cells
from shoal.report.panel import Content, Grid, Material, percent, plural, report_panel


@report_panel("attacks", "Attacks", applies=lambda material: "attacks" in material.certificate, place=28)
def attacks(material: Material) -> Content:
    """Return the panel on how often attacks succeeded."""
    found = material.certificate["attacks"]
    return Content(
        paragraphs=(
            "Attacks were carried out on records in the release, on a control group of "
            f"{plural(found['control'], 'record')} that were held out before the release was made, and "
            "without the release. The risk is the share of failures elsewhere that the release turns into "
            "successes: elsewhere is the control group, or guesses without the release where these succeed "
            f"more often. Intervals have a confidence of {percent(found['confidence'])}.",
        ),
        grids=(Grid("Success rates of attacks", HEAD, [attack_cells(each) for each in found["results"]]),),
        points=(*(f"{each['title']}: {each['about']}" for each in found["results"]), *found["notes"]),
    )
