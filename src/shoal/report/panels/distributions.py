"""Columns before and after: how often values occur, and how often a reader of the release expects them."""

from __future__ import annotations

import numpy as np

from shoal.report.chart import before_and_after
from shoal.report.grouping import LEAST, groups_of
from shoal.report.panel import Content, Material, in_memory, percent, report_panel


@report_panel("distributions", "Columns before and after", applies=in_memory, place=70)
def distributions(material: Material) -> Content | None:
    """Return the panel that compares columns before and after; None if there is none to show."""
    detail = material.held
    recoding = detail.recoding
    least = max(LEAST, material.model.crowd)
    charts, data = [], {}
    for attribute, generalized in zip(recoding.table.attributes, recoding.values, strict=True):
        groups = groups_of(attribute, least)
        often = np.bincount(recoding.box, minlength=len(generalized)).astype(np.float64)
        released = None if groups is None else generalized.expected(often)
        if groups is None or released is None:
            continue
        count = len(groups.labels)
        before = np.bincount(groups.of_code, attribute.counts, count).astype(np.float64)
        after = np.bincount(groups.of_code, released, count).astype(np.float64)
        name = attribute.column.name
        data[name] = {
            "groups": list(groups.labels),
            "original": before.astype(int).tolist(),
            "released": after.tolist(),
        }
        moved = float(np.abs(after - before).sum() / 2 / before.sum())
        charts.append(
            before_and_after(
                f"distribution-{name}",
                f"{name}: {percent(moved)} of the records end up in another group",
                groups.labels,
                before,
                after,
            )
        )
    if not charts:
        return None
    return Content(
        paragraphs=(
            "How often values occur in the original, and how often a reader would expect them from the "
            "release alone, if every value in a cell is equally likely. Groups have at least "
            f"{least} records each; rarer values are grouped.",
        ),
        charts=tuple(charts),
        data=data,
    )
