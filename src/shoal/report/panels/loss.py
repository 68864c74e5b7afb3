"""What was lost: overall, by attribute, and in the width of values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kinds.domain import Attribute
from shoal.kinds.generalized import Generalized
from shoal.measures import MEASURES, ItemsLoss, Loss
from shoal.recoding import Recoding
from shoal.report.chart import WIDTH, Chart, axis, values
from shoal.report.panel import Content, Grid, Material, number, percent, report_panel

WIDTHS = ("exact", "up to 10%", "up to 25%", "up to 50%", "above 50%", "suppressed")
_UPPER = (0.10, 0.25, 0.50)


@report_panel("loss", "What was lost", place=60)
def loss(material: Material) -> Content:
    """Return the panel on how much precision the quasi-identifiers lost."""
    lost, detail = material.loss, material.detail
    spread = {} if detail is None else _spread(detail.recoding)
    return Content(
        paragraphs=(
            f"On average, a released value leaves open {percent(lost.gcp)} of what the column could say "
            "(the global certainty penalty, GCP): 0% would be the original, 100% a table of stars. Columns "
            "that are not quasi-identifiers are released unchanged.",
        ),
        facts=(
            *_figures(lost),
            *((f"items of {name}", _items(each)) for name, each in lost.items.items() if detail is None),
        ),
        charts=(_loss_chart(lost), *([_width_chart(spread)] if spread else [])),
        grids=(_short_grid(lost) if detail is None else _grid(lost, detail.recoding, spread),),
        data={"widths": list(WIDTHS), "share_of_rows": spread} if spread else {},
    )


def _spread(recoding: Recoding) -> dict[str, list[float]]:
    """Return for each quasi-identifier the share of rows with values of each of `WIDTHS`."""
    attributes = zip(recoding.table.attributes, recoding.values, strict=True)
    return {attribute.column.name: _widths(each, recoding.box) for attribute, each in attributes}


def _figures(lost: Loss) -> list[tuple[str, str]]:
    """Return what the measures say, as far as that is known; the bound is one of GCP, and stands below it."""
    facts = []
    for measure in MEASURES.values():
        if measure.label is not None and (figure := lost[measure.name]) is not None:
            facts.append((measure.label, measure.written(figure)))
        if measure.name == "gcp":
            facts += _least(lost)
    return facts


def _items(lost: ItemsLoss) -> str:
    return f"{percent(lost.error_rate)} wrong, {number(lost.uncertain)} uncertain in a row"


def _short_grid(lost: Loss) -> Grid:
    """Return the loss of each quasi-identifier, the largest first."""
    worst = sorted(lost.by_attribute.items(), key=lambda each: -each[1])
    head = ("quasi-identifier", "lost")
    return Grid("Loss by quasi-identifier", head, [[name, percent(share)] for name, share in worst])


def _least(lost: Loss) -> tuple[tuple[str, str], ...]:
    if lost.bound is None or lost.ratio is None:
        return ()
    about = "about " if lost.bound_error else ""
    return (
        ("any release with this guarantee loses", f"at least {about}{percent(lost.bound)}"),
        (
            "this release loses",
            f"at most {about}{np.ceil(10 * lost.ratio - 1e-6) / 10:.1f} times as much",
        ),
    )


def _widths(generalized: Generalized, box: NDArray[np.int32]) -> list[float]:
    """Return the share of rows whose value spans so much of its domain, for each of `WIDTHS`."""
    spans = generalized.ncp()
    kind = 1 + np.searchsorted(_UPPER, spans - 1e-12)
    kind = np.where(spans <= 0.0, 0, np.where(spans >= 1.0, len(WIDTHS) - 1, kind))
    return (np.bincount(kind[box], minlength=len(WIDTHS)) / len(box)).tolist()  # type: ignore[no-any-return]


def _loss_chart(lost: Loss) -> Chart:
    rows = [{"attribute": name, "loss": share} for name, share in lost.by_attribute.items()]
    worst = max(lost.by_attribute, key=lambda name: lost.by_attribute[name])
    return Chart(
        "loss",
        f"{worst} lost most: {percent(lost.by_attribute[worst])}",
        "Bar chart of the loss of each quasi-identifier: "
        + ", ".join(f"{name} {percent(share)}" for name, share in lost.by_attribute.items())
        + ".",
        {
            "data": values(rows),
            "mark": "bar",
            "encoding": {
                "y": axis("attribute", "nominal", None, sort="-x"),
                "x": axis(
                    "loss",
                    "quantitative",
                    "share of the domain left open (GCP)",
                    axis={"format": "~%", "tickCount": 4},
                ),
            },
            "width": WIDTH - 130,
            "height": {"step": 22},
        },
    )


def _width_chart(spread: dict[str, list[float]]) -> Chart:
    rows = [
        {"attribute": name, "width": width, "order": place, "share": share}
        for name, shares in spread.items()
        for place, (width, share) in enumerate(zip(WIDTHS, shares, strict=True))
    ]
    exact = {name: shares[0] for name, shares in spread.items()}
    return Chart(
        "widths",
        "How much of its column a released value leaves open",
        "Stacked bar chart, one bar for each quasi-identifier. Exact are "
        + ", ".join(f"{percent(share)} of {name}" for name, share in exact.items())
        + ".",
        {
            "data": values(rows),
            "mark": "bar",
            "encoding": {
                "y": axis("attribute", "nominal", None, sort=list(spread)),
                "x": axis(
                    "share",
                    "quantitative",
                    "rows",
                    axis={"format": ".0%", "values": [0, 0.5, 1]},
                    scale={"domain": [0, 1]},
                ),
                "color": axis("width", "ordinal", None, sort=list(WIDTHS)),
                "order": {"field": "order"},
            },
            "width": WIDTH - 130,
            "height": {"step": 22},
        },
    )


def _grid(lost: Loss, recoding: Recoding, spread: dict[str, list[float]]) -> Grid:
    rows = []
    for attribute, generalized in zip(recoding.table.attributes, recoding.values, strict=True):
        name = attribute.column.name
        rows.append(
            [
                name,
                generalized.noun,
                percent(lost.by_attribute[name]),
                percent(spread[name][0]),
                percent(spread[name][-1]),
                _typical(attribute, generalized, recoding.box),
            ]
        )
    head = (
        "quasi-identifier",
        "released as",
        "lost (GCP)",
        "exact rows",
        "suppressed rows",
        "a typical value",
    )
    return Grid("Loss by quasi-identifier", head, rows)


def _typical(attribute: Attribute, generalized: Generalized, box: NDArray[np.int32]) -> str:
    """Return how wide intervals are, in their unit, and how many values sets and nodes have, on average."""
    if attribute.column.measured and (wide := generalized.mean_width(box)) is not None:
        return "" if np.isnan(wide) else f"spans {number(wide)}{attribute.column.kind.unit}"
    mean: Any = generalized.sizes()[box].mean()
    return f"{number(float(mean))} of {attribute.domain.cardinality:,} values"
