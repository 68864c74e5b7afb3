"""How far off answers from the release are: random count queries, asked of it and of the original."""

from __future__ import annotations

import numpy as np

from shoal.errors import InputError
from shoal.measures.queries import draw_queries, query_error
from shoal.randomness import Randomness
from shoal.recoding import Cells, Nodes, Ranges, Sets
from shoal.report.chart import WIDTH, Chart, axis, values
from shoal.report.panel import Material, Panel, percent

QUERIES = 200
COLUMNS = 2
SELECTIVITY = 0.1
SHARES = np.linspace(0.0, 0.9, 19)
"""The largest errors are left out of the chart: some query asks for hardly anybody, and is far off."""


def answers(material: Material) -> Panel | None:
    """Return the panel on count queries; None where values are of a kind that cannot be asked for."""
    recoding = material.recoding
    if not all(isinstance(v, Ranges | Sets | Nodes | Cells) for v in recoding.values):
        return None
    columns = min(COLUMNS, len(recoding.values))
    try:
        queries = draw_queries(
            recoding.table, QUERIES, Randomness(), selectivity=SELECTIVITY, quasi=columns, sensitive=1
        )
    except InputError:
        return None  # the table is too small to ask about
    found = query_error(recoding, queries, rows=material.rows, records=material.order)
    errors = np.quantile(found.errors, SHARES)
    carried = " and a sensitive column" if recoding.table.sensitive else ""
    return Panel(
        "queries",
        "Answers from the release",
        paragraphs=(
            f"{QUERIES} random questions of the form: how many people have values in a certain range, in "
            f"{columns} quasi-identifiers{carried}? Together the "
            f"ranges span {percent(SELECTIVITY)} of what is possible. The release answers as if every value "
            "that a cell allows were equally likely.",
        ),
        facts=(
            ("half of the answers are off by", f"at most {percent(found.median)}"),
            ("answers are off on average by", percent(found.mean)),
        ),
        charts=(
            Chart(
                "queries",
                f"Half of the answers are off by at most {percent(found.median)}",
                "A rising line of the share of questions whose answer is off by at most so much: "
                f"a quarter by {percent(float(np.quantile(errors, 0.25)))}, half by {percent(found.median)}, "
                f"nine in ten by {percent(float(errors[-1]))}.",
                {
                    "data": values(
                        [
                            {"share": float(share), "error": float(error)}
                            for share, error in zip(SHARES, errors, strict=True)
                        ]
                    ),
                    "mark": {"type": "line"},
                    "encoding": {
                        "x": axis("error", "quantitative", "off by", axis={"format": "~%", "tickCount": 5}),
                        "y": axis(
                            "share",
                            "quantitative",
                            "questions",
                            axis={"format": ".0%", "tickCount": 5},
                            scale={"domain": [0, 1]},
                        ),
                        "order": {"field": "share"},
                    },
                    "width": WIDTH - 60,
                    "height": 170,
                },
            ),
        ),
        data={**found.as_dict(), "shares": SHARES.tolist(), "error_of_share": errors.tolist()},
    )
