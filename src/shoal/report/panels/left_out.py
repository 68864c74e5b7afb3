"""Records left out because of limits of columns: how they differ from the others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.report.grouping import LEAST, groups_of
from shoal.report.panel import Content, Grid, Material, percent, plural, report_panel


@report_panel(
    "left_out",
    "Who was left out",
    applies=lambda material: bool(material.certificate.get("stranded")) and material.detail is not None,
    place=45,
)
def left_out(material: Material) -> Content | None:
    """Return the panel on records that cannot be hidden within the limits; None if no table is at hand."""
    whole, kept = material.held.whole, material.held.recoding.table
    if whole is None:
        return None
    gone = ~np.isin(whole.rows, kept.rows)
    least = max(LEAST, material.model.crowd)
    data: dict[str, list[dict[str, Any]]] = {}
    rows: list[list[str]] = []
    for attribute in whole.attributes:
        groups = groups_of(attribute, least)
        if groups is None:
            continue
        total = np.bincount(groups.of_code[attribute.codes], minlength=len(groups.labels))
        left = np.bincount(groups.of_code[attribute.codes[gone]], minlength=len(groups.labels))
        shares = _told(left, total, least)
        name = attribute.column.name
        data[name] = [{"group": g, "left_out": s} for g, s in zip(groups.labels, shares, strict=True)]
        rows += [
            [name, group, "not told" if share is None else percent(share)]
            for group, share in zip(groups.labels, shares, strict=True)
            if share != 0.0
        ]
    count = int(gone.sum())
    return Content(
        paragraphs=(
            f"{plural(count, 'record')} ({percent(count / len(whole))}) cannot be hidden within the limits "
            "of the columns and were left out. Who that is depends on the quasi-identifiers, the limits and "
            "k. Those are rare people: every analysis of the release lacks them. Groups from which no record "
            f"was left out are not listed; shares that are about fewer than {least} records are not told.",
        ),
        grids=(Grid("Share of each group that was left out", ("column", "group", "left out"), rows),),
        data=data,
    )


def _told(left: NDArray[np.int64], total: NDArray[np.int64], least: int) -> list[float | None]:
    """Return the share of each group that was left out; None where that would be about a few people."""
    hidden = (left > 0) & (left < least)
    # What is not told must not follow from the rest, either.
    while 0 < left[hidden].sum() < least and (others := np.flatnonzero(~hidden & (left > 0))).size:
        hidden[others[np.argmin(left[others])]] = True
    return [
        None if untold else some / max(of, 1)
        for some, of, untold in zip(left.tolist(), total.tolist(), hidden.tolist(), strict=True)
    ]
