"""Persons with several records: how many there are, and how well each of them is hidden."""

from __future__ import annotations

import numpy as np

from shoal.report.panel import Content, Grid, Material, percent, plural, report_panel


def _counted(material: Material) -> bool:
    return material.audit.persons is not None


@report_panel("persons", "Persons", applies=_counted, place=25)
def persons(material: Material) -> Content:
    """Return the panel on persons, where a column says whose record each is."""
    found = material.audit.persons
    assert found is not None
    figures = found.as_dict()
    k, records = material.model.crowd, int(found.records_of_person.sum())
    sizes, often = np.unique(found.records_of_person, return_counts=True)
    return Content(
        paragraphs=(
            f"k = {k} counts persons: several records of one person do not hide each other. Of the rows that "
            f"cover any record of a person, at most 1 in {k} are that person's. Rows of one person are not "
            "linked in the release.",
        ),
        facts=(
            ("persons", f"{found.count:,}, with {plural(records, 'record')}"),
            ("each row covers records of", f"at least {plural(figures['persons_per_row'], 'person')}"),
            (
                "a row picked for a person is that person's",
                f"with a chance of at most {percent(figures['highest_chance'])}, "
                f"{percent(figures['mean_chance'])} on average",
            ),
        ),
        grids=(Grid("Records per person", ("records", "persons"), _grouped(sizes.tolist(), often.tolist())),),
        data=figures,
    )


def _grouped(sizes: list[int], often: list[int], most: int = 8) -> list[list[str]]:
    """Return how many persons have how many records; large numbers of records are put together."""
    rows = [[f"{size:,}", f"{count:,}"] for size, count in zip(sizes, often, strict=True)]
    if len(rows) <= most:
        return rows
    rest = f"{sizes[most - 1]:,} to {sizes[-1]:,}"
    return [*rows[: most - 1], [rest, f"{sum(often[most - 1 :]):,}"]]
