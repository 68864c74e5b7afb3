"""Sets of items before and after: how often items occur in the records, and in what is published of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kinds.domain import Attribute
from shoal.kinds.items import Worlds
from shoal.measures.items import ItemsLoss, columns_of_items
from shoal.report.chart import WIDTH, Chart, axis, before_and_after, values
from shoal.report.grouping import LEAST
from shoal.report.panel import Content, Material, in_memory, number, percent, plural, report_panel

MOST_BARS = 12
MOST_DOTS = 400
"""The maximum number of items that are drawn, the most frequent ones."""


@report_panel("items", "Items before and after", applies=in_memory, place=80)
def items(material: Material) -> Content | None:
    """Return the panel on how often items are published; None if there are none that can be shown."""
    detail = material.held
    recoding = detail.recoding
    least = max(LEAST, material.model.crowd)
    charts: list[Chart] = []
    facts: list[tuple[str, str]] = []
    data: dict[str, Any] = {}
    for attribute, generalized in columns_of_items(recoding):
        name, names = attribute.column.name, generalized.domain.names
        before = _counts(generalized, attribute.codes, sets=True)
        after = _counts(generalized, recoding.box, sets=False)
        # What hardly any record has, or hardly any lacks, would be about those few.
        told = np.flatnonzero((before >= least) & (before <= len(recoding.table) - least))
        told = told[np.argsort(-before[told], kind="stable")]
        facts += _facts(name, material.loss.items[name], told, len(names))
        if not len(told):
            continue
        charts += _charts(attribute, generalized, told, before, after)
        data[name] = {
            "items": [names[item] for item in told],
            "original": before[told].tolist(),
            "released": after[told].tolist(),
        }
    if not data:
        return None
    return Content(
        paragraphs=(
            "In how many records an item occurs, and in how many rows it is published as a base item: what "
            "a reader would count in the release alone, taking base items for true. Items are shown if at "
            f"least {least} records have them, and as many do not.",
        ),
        facts=tuple(facts),
        charts=tuple(charts),
        data=data,
    )


def _counts(worlds: Worlds, index: NDArray[np.int32], *, sets: bool) -> NDArray[np.int64]:
    """Return how many of some records have each item, or how many of some rows publish it."""
    lists = worlds.domain.sets if sets else worlds.base
    return np.bincount(lists.gather(index).values, minlength=len(worlds.domain.names))


def _facts(name: str, lost: ItemsLoss, told: NDArray[np.int64], known: int) -> list[tuple[str, str]]:
    return [
        (f"{name}: items shown", f"{len(told):,} of {known:,}"),
        (
            f"{name}: wrong in the base",
            f"{percent(lost.error_rate)} of as many items as records have (error rate)",
        ),
        (f"{name}: uncertain", plural(round(lost.uncertain), "item") + " in a row, on average"),
        (f"{name}: entropy of a row", f"{number(lost.bits)} bits"),
    ]


def _charts(
    attribute: Attribute,
    worlds: Worlds,
    told: NDArray[np.int64],
    before: NDArray[np.int64],
    after: NDArray[np.int64],
) -> list[Chart]:
    """Return a chart of the most frequent items, and one of all if there are more."""
    name, names = attribute.column.name, worlds.domain.names
    first = told[:MOST_BARS]
    off = float(np.abs(after[first] - before[first]).sum() / before[first].sum())
    charts = [
        before_and_after(
            f"items-{name}",
            f"{name}: the most frequent items are miscounted by {percent(off)}",
            [names[item] for item in first],
            before[first],
            after[first],
        )
    ]
    if len(told) > len(first):
        charts.append(_dots(name, told, before, after, len(attribute.codes)))
    return charts


def _dots(
    name: str, told: NDArray[np.int64], before: NDArray[np.int64], after: NDArray[np.int64], records: int
) -> Chart:
    gone = int(np.count_nonzero(after[told] == 0))
    drawn = told[:MOST_DOTS]
    rows = [{"true": before[item] / records, "published": after[item] / records} for item in drawn]
    most = max(max(row.values()) for row in rows)
    more = f" The {len(drawn):,} most frequent ones are drawn." if len(drawn) < len(told) else ""
    # Few items are in most records, and many in few: the roots keep both apart.
    scale = {"type": "sqrt", "domain": [0, most], "nice": False}
    shown = {"format": "~%", "tickCount": 4}
    x = axis("true", "quantitative", "records that have the item", scale=scale, axis=shown)
    y = axis("published", "quantitative", "rows that publish it", scale=scale, axis=shown)
    ends = [{"true": end, "published": end} for end in (0.0, most)]
    return Chart(
        f"item-frequencies-{name}",
        f"{name}: {gone:,} of {plural(len(told), 'item')} shown are in no base"
        if gone
        else f"{name}: how often each item is published",
        f"A dot for each item: how many records have it, and how many rows publish it. On the dashed line "
        f"both are the same. {gone:,} of {plural(len(told), 'item')} are published by no row.{more}",
        {
            "layer": [
                {
                    "data": values(ends),
                    "mark": {"type": "line", "style": "even"},
                    "encoding": {"x": x, "y": y},
                },
                {
                    "data": values(rows),
                    "mark": {"type": "circle", "style": "record", "size": 22, "opacity": 0.6},
                    "encoding": {"x": x, "y": y},
                },
            ],
            "width": WIDTH - 60,
            "height": 230,
        },
    )
