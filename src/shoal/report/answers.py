"""How far off answers from the release are: random count queries, asked of it and of the original."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.base.randomness import Randomness
from shoal.errors import InputError
from shoal.kinds.items import Worlds
from shoal.measures import items as item_queries
from shoal.measures.queries import draw_queries, query_error
from shoal.report.chart import WIDTH, Chart, Spec, axis, values
from shoal.report.panel import Material, Panel, percent

QUERIES = 200
COLUMNS = 2
SELECTIVITY = 0.1
SHARES = np.linspace(0.0, 0.9, 19)
"""The largest errors are left out of the chart: some query counts hardly any records, and is far off."""


def answers(material: Material) -> Panel | None:
    """Return the panel on count queries; None where values are of a kind that cannot be asked for."""
    detail = material.detail
    if detail is None:
        return None
    recoding = detail.recoding
    if not all(attribute.domain.in_boxes for attribute in recoding.table.attributes):
        return None
    columns = min(COLUMNS, len(recoding.values))
    try:
        queries = draw_queries(
            recoding.table, QUERIES, Randomness(), selectivity=SELECTIVITY, quasi=columns, sensitive=1
        )
    except InputError:
        return None  # the table is too small to ask about
    found = query_error(recoding, queries, rows=detail.rows, records=detail.order)
    errors = np.quantile(found.errors, SHARES)
    carried = " and a sensitive column" if recoding.table.sensitive else ""
    return Panel(
        "queries",
        "Answers from the release",
        paragraphs=(
            f"{QUERIES} random questions of the form: how many records have values in a certain range, in "
            f"{columns} quasi-identifiers{carried}? Together the "
            f"ranges span {percent(SELECTIVITY)} of what is possible. The release answers as if every value "
            "that a cell allows were equally likely.",
        ),
        facts=(
            ("half of the answers are off by", f"at most {percent(found.median)}"),
            ("answers are off on average by", percent(found.mean)),
        ),
        charts=(
            _rising_line(
                "queries",
                f"Half of the answers are off by at most {percent(found.median)}",
                {"all": errors},
                "error",
            ),
        ),
        data={**found.as_dict(), "shares": SHARES.tolist(), "error_of_share": errors.tolist()},
    )


def item_answers(material: Material) -> Panel | None:
    """Return the panel on counts of people with some items, or without; None if there are no items."""
    detail = material.detail
    if detail is None:
        return None
    recoding = detail.recoding
    charts, facts = [], []
    data: dict[str, Any] = {}
    for attribute, generalized in zip(recoding.table.attributes, recoding.values, strict=True):
        if not isinstance(generalized, Worlds):
            continue
        name = attribute.column.name
        lost = material.loss.items[name]
        present, absent = item_queries.query_sizes(attribute)
        sorts = {
            f"have all of {present}": (present, False, lost.query_error_present or 0.0),
            f"have none of {absent}": (absent, True, lost.query_error_absent or 0.0),
        }
        lines = {}
        for asked, (size, without, mean) in sorts.items():
            errors = item_queries.query_errors(recoding, attribute, generalized, size, absent=without)
            lines[asked] = np.quantile(errors, SHARES)
            facts.append((f"{name}: {asked}", f"off by {percent(mean)} of all records on average"))
        charts.append(
            _rising_line(
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
    return Panel(
        "item_queries",
        "Answers about items",
        paragraphs=(
            f"{item_queries.QUERIES} random questions of two sorts: how many records have all of some items, "
            "and how many have none of them? The release answers by its base items.",
        ),
        facts=tuple(facts),
        charts=tuple(charts),
        data=data,
    )


def _rising_line(name: str, title: str, lines: Mapping[str, NDArray[np.float64]], off_by: str) -> Chart:
    """Return a chart of which share of the questions is off by at most a given share, at each of `SHARES`."""
    rows = [
        {"which": which, "share": float(share), "error": float(error)}
        for which, errors in lines.items()
        for share, error in zip(SHARES, errors, strict=True)
    ]
    words = "; ".join(
        (f"{which}: " if len(lines) > 1 else "")
        + f"a quarter by {percent(float(np.interp(0.25, SHARES, errors)))}, "
        f"half by {percent(float(np.interp(0.5, SHARES, errors)))}, "
        f"nine in ten by {percent(float(errors[-1]))}"
        for which, errors in lines.items()
    )
    encoding: Spec = {
        "x": axis("error", "quantitative", off_by, axis={"format": "~%", "tickCount": 5}),
        "y": axis(
            "share",
            "quantitative",
            "questions",
            axis={"format": ".0%", "tickCount": 5},
            scale={"domain": [0, 1]},
        ),
        "order": {"field": "share"},
    }
    if len(lines) > 1:
        encoding["color"] = axis("which", "nominal", None, sort=list(lines))
    return Chart(
        name,
        title,
        f"A rising line of the share of questions by how far off their answer is at most: {words}.",
        {
            "data": values(rows),
            "mark": {"type": "line"},
            "encoding": encoding,
            "width": WIDTH - 60,
            "height": 170,
        },
    )
