"""What a model would learn from the release, for a column that the steward named."""

from __future__ import annotations

from shoal.report.panel import Content, Grid, Material, report_panel

SCORES = {
    "AUC": "The score is the AUC: 0.5 is guessing, 1 is always right.",
    "R2": "The score is R\u00b2, the predicted share of the variance: 0 is guessing the mean, 1 is exact.",
}


@report_panel(
    "learned",
    "What a model would learn",
    applies=lambda material: "learned" in material.certificate,
    place=92,
)
def learning(material: Material) -> Content:
    """Return the panel on models that were trained on the release."""
    found = material.certificate["learned"]
    rows = [
        (each["learner"], f"{each['original']:.3f}", f"{each['release']:.3f}") for each in found["learners"]
    ]
    return Content(
        paragraphs=(
            f"Models that predict {found['target']!r} were trained on {found['trained']:,} records of the "
            "original, and on tables that were drawn from the release, without the rows of other records. "
            f"Both were tested on {found['tested']:,} original records that they had not seen. "
            + SCORES[found["score"]],
        ),
        grids=(Grid("Scores", ("model", "trained on the original", "trained on the release"), rows),),
    )
