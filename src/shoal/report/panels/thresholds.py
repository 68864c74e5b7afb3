"""The maximum and the average risk beside the thresholds that regulators use."""

from __future__ import annotations

from shoal.report.evidence import risk_chapter
from shoal.report.panel import Content, Material, report_panel


@report_panel("thresholds", "Risk and thresholds", place=22)
def thresholds(material: Material) -> Content:
    """Return the panel on thresholds; the evidence page says more."""
    chapter = risk_chapter(material)
    return Content(
        paragraphs=(
            chapter.paragraphs[-1],
            "evidence.html, beside this report, answers what reviewers and regulators ask, and names the "
            "field of the certificate that each answer was taken from.",
        ),
        grids=chapter.grids,
    )
