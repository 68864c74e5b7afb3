"""What was promised, and what the audit found."""

from __future__ import annotations

from shoal.report.panel import Content, Material, plural, report_panel


@report_panel("promise", "The promise", place=10)
def promise(material: Material) -> Content:
    """Return the panel that says what was promised and what the audit found."""
    model, found = material.model, material.audit
    numbers = {name: value for name, value in model.parameters.items() if isinstance(value, int | float)}
    return Content(
        paragraphs=(
            "To everybody in the table, this release promises: " + model.sentence().rstrip(".") + ".",
            "The auditor did not take the method's word for it: from the original and the released table "
            "alone it worked out which row could be whose"
            + (", and found nothing against the promise." if found.holds else "."),
        ),
        facts=(
            ("model", model.name),
            ("parameters", ", ".join(f"{name} = {value:g}" for name, value in numbers.items())),
            ("rows", f"{found.rows:,} released of {plural(found.records, 'record')}"),
        ),
    )
