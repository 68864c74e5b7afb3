"""Errors of counts of people with some items, or without, in the release."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.measures.items import QUERIES, columns_of_items, query_errors, query_sizes
from shoal.report.panel import Content, Material, in_memory, percent, report_panel
from shoal.report.panels.answers import SHARES, rising_line


@report_panel("item_queries", "Answers about items", applies=in_memory, place=100)
def item_answers(material: Material) -> Content | None:
    """Return the panel on counts of people with some items, or without; None if there are no items."""
    detail = material.held
    recoding = detail.recoding
    charts, facts = [], []
    data: dict[str, Any] = {}
    for attribute, generalized in columns_of_items(recoding):
        name = attribute.column.name
        lost = material.loss.items[name]
        present, absent = query_sizes(attribute, generalized)
        sorts = {
            f"have all of {present}": (present, False, lost.query_error_present or 0.0),
            f"have none of {absent}": (absent, True, lost.query_error_absent or 0.0),
        }
        lines = {}
        for asked, (size, without, mean) in sorts.items():
            errors = query_errors(recoding, attribute, generalized, size, absent=without)
            lines[asked] = np.quantile(errors, SHARES)
            facts.append((f"{name}: {asked}", f"off by {percent(mean)} of all records on average"))
        charts.append(
            rising_line(
                f"queries-{name}",
                f"{name}: nine in ten answers are off by at most "
                f"{percent(float(max(line[-1] for line in lines.values())))} of all records",
                lines,
                "error, as a share of all records",
            )
        )
        data[name] = {
            "items_present": present,
            "items_absent": absent,
            "shares": SHARES.tolist(),
            "error_of_share_present": lines[f"have all of {present}"].tolist(),
            "error_of_share_absent": lines[f"have none of {absent}"].tolist(),
        }
    if not data:
        return None
    return Content(
        paragraphs=(
            f"{QUERIES} random questions of two sorts: how many records have all of some items, "
            "and how many have none of them? The release answers by its base items.",
        ),
        facts=tuple(facts),
        charts=tuple(charts),
        data=data,
    )
