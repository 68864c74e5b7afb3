"""What a crowd reveals although no record is singled out: sensitive values that its rows share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.auditing.classes import BINS, Diversity
from shoal.auditing.proximity import Proximity
from shoal.models import Model
from shoal.report.chart import WIDTH, Chart, axis, promised, values
from shoal.report.panel import Content, Grid, Material, number, percent, report_panel


def _required(model: Model, column: str) -> float | None:
    """Return the l that is required of a column; None if there is none."""
    required = model.diversity
    return required.l if required is not None and required.applies_to(column) else None


@report_panel("sensitive", "Sensitive values", place=30)
def sensitive(material: Material) -> Content | None:
    """Return the panel on sensitive columns; None if there are none, or no crowds to look into."""
    found, model = material.audit, material.model
    columns, crowd = found.diversity_around, "the rows that match a record"
    if not columns and found.k >= model.crowd:
        columns, crowd = found.diversity, "a class of identical rows"
    if not columns and not found.proximity_around:
        return None
    shares = [_shares(column.people_by_share()) for column in columns]
    near = [_shares(each.crowds_by_risk()) for each in found.proximity_around]
    table = () if material.detail is None else material.detail.recoding.table.sensitive
    overall = {each.name: float(np.bincount(each.codes).max() / len(each.codes)) for each in table}
    return Content(
        paragraphs=(
            "An attacker can learn something without finding a row: if most rows that could be a record's "
            "have the same sensitive value, the record probably has it."
            + ("" if model.guards_sensitive else " This release guarantees nothing about that."),
        ),
        charts=(
            *(
                _chart(
                    column,
                    of_bins,
                    overall.get(column.column),
                    _required(model, column.column),
                    crowd,
                )
                for column, of_bins in zip(columns, shares, strict=True)
            ),
            *(
                _proximity_chart(each, of_bins)
                for each, of_bins in zip(found.proximity_around, near, strict=True)
            ),
        ),
        grids=(_grid(columns, overall, crowd),) if columns else (),
        data={
            "edges": BINS.tolist(),
            "most_frequent_share": {c.column: s.tolist() for c, s in zip(columns, shares, strict=True)},
            "most_frequent_share_overall": overall,
            "nearly_same_share": {
                p.column: s.tolist() for p, s in zip(found.proximity_around, near, strict=True)
            },
        },
    )


def _shares(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what share of the records is in each bin of `BINS`."""
    return np.asarray(counts / max(counts.sum(), 1))


def _chart(
    column: Diversity,
    of_bins: NDArray[np.float64],
    overall: float | None,
    least: float | None,
    crowd: str,
) -> Chart:
    worst = float(column.highest.max())
    likely = int(np.argmax(of_bins))
    title = f"share of the most frequent {column.column}"
    layers = [_bars(of_bins, title)]
    if least is not None:
        layers += promised(1 / least, f"guaranteed: {percent(1 / least)}", title, nearly_right=least < 2)
    return Chart(
        f"diversity-{column.column}",
        f"In {crowd}, at most {percent(worst)} have the same {column.column}"
        if worst < 1
        else f"For some records, all have the same {column.column} in {crowd}",
        f"Bar chart of the share of the most frequent value in {crowd}. For {percent(of_bins[likely])} "
        f"of the records it is {percent(BINS[likely])} to {percent(BINS[likely + 1])}; in the worst case "
        f"{percent(worst)}." + ("" if overall is None else f" In the whole table it is {percent(overall)}."),
        {"layer": layers, "width": WIDTH - 60, "height": 170},
    )


def _proximity_chart(near: Proximity, of_bins: NDArray[np.float64]) -> Chart:
    title = f"share with nearly the same {near.column} (within {number(near.epsilon)})"
    layers = [_bars(of_bins, title)]
    if near.delta is not None:
        limit = 1 - near.delta
        layers += promised(limit, f"1 - delta = {percent(limit)}", title, nearly_right=limit > 0.5)
    return Chart(
        f"proximity-{near.column}",
        f"At most {percent(near.risk)} of the rows that cover a record have nearly the same {near.column}",
        f"Bar chart of the largest share of rows whose {near.column} is within {number(near.epsilon)} of one "
        f"of them. On average it is {percent(near.mean)}, in the worst case {percent(near.risk)}.",
        {"layer": layers, "width": WIDTH - 60, "height": 170},
    )


def _bars(of_bins: NDArray[np.float64], title: str) -> dict[str, object]:
    rows = [
        {"from": float(low), "to": float(high), "people": float(share)}
        for low, high, share in zip(BINS[:-1], BINS[1:], of_bins, strict=True)
    ]
    return {
        "data": values(rows),
        "mark": {"type": "bar", "binSpacing": 2},
        "encoding": {
            "x": axis(
                "from",
                "quantitative",
                title,
                bin="binned",
                scale={"domain": [0, 1]},
                axis={"format": ".0%", "titleLimit": WIDTH},
            ),
            "x2": {"field": "to"},
            "y": axis("people", "quantitative", "records", axis={"format": ".0%", "tickCount": 5}),
        },
    }


def _grid(columns: tuple[Diversity, ...], overall: dict[str, float], crowd: str) -> Grid:
    return Grid(
        f"The crowd with the lowest diversity ({crowd})",
        ("sensitive column", "different values", "most frequent value", "in the whole table", "entropy l"),
        [
            [
                column.column,
                str(column.p),
                percent(float(column.highest.max())),
                percent(overall[column.column]) if column.column in overall else "",
                number(column.entropy_l),
            ]
            for column in columns
        ],
    )
