"""What was promised, and what the audit found."""

from __future__ import annotations

from collections.abc import Iterator

from shoal.report.panel import Content, Material, plural, report_panel


@report_panel("promise", "The guarantee", place=10)
def promise(material: Material) -> Content:
    """Return the panel on what is guaranteed and what the audit found."""
    model, found = material.model, material.audit
    numbers = {name: value for name, value in model.parameters.items() if isinstance(value, int | float)}
    return Content(
        paragraphs=(
            "This release guarantees: " + model.sentence().rstrip(".") + ".",
            *_persons(material),
            "The audit does not rely on the method: it compares the original with the released table and "
            "works out which rows could belong to which records"
            + (". The guarantee holds." if found.holds else "."),
        ),
        facts=(
            ("model", model.name),
            ("parameters", ", ".join(f"{name} = {value:g}" for name, value in numbers.items())),
            ("rows", f"{found.rows:,} released, {plural(found.records, 'record')} in the original"),
        ),
    )


def _persons(material: Material) -> Iterator[str]:
    """Yield that persons are counted, if they are."""
    found = material.audit.persons
    if found is not None and found.several:
        letter = "k" if "k" in material.model.parameters else "l"
        yield (
            f"{letter} counts persons, not records: there are {found.count:,} persons with "
            f"{plural(int(found.records_of_person.sum()), 'record')}."
        )
