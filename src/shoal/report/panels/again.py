"""Releases after others: what became of earlier records, and what all releases tell together."""

from __future__ import annotations

from shoal.report.panel import Content, Material, percent, plural, report_panel

_COUNTS = {
    "kept": "rows kept from the earlier release",
    "redrawn": "rows redrawn around the same persons, in whole classes",
    "new": "records of persons who were not published before",
    "removed": "rows removed, in whole classes",
    "gone": "earlier records that are gone from the table",
    "changed": "earlier records that changed",
    "left_out": "records of the table left out, as their person was published before",
    "published_before": "records left out, as they were published before",
    "waiting": "new persons who wait for a later release",
}


@report_panel("again", "Earlier releases", applies=lambda material: "again" in material.certificate, place=27)
def again(material: Material) -> Content:
    """Return the panel on a release that was made after others."""
    counts = material.certificate["again"]
    together = material.certificate.get("together")
    facts = [(words, f"{counts[name]:,}") for name, words in _COUNTS.items() if name in counts]
    told = "No person in it is in an earlier release, so together they tell no more than each alone."
    if together is not None:
        told = together["verdict"]
        facts += [
            ("releases audited together", f"{together['releases']:,}"),
            ("rows that could be a record's, together", f"at least {plural(together['k'], 'row')}"),
            (
                "best guess of a record's row",
                f"right with a chance of at most {percent(together['best_guess'])}",
            ),
        ]
    return Content(
        paragraphs=(f"This release was made after others of the same people. {told}",),
        facts=tuple(facts),
        data={"again": counts, **({} if together is None else {"together": together})},
    )
