"""Errors of answers from the release: random count queries, asked of it and of the original."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from shoal.base.randomness import Randomness
from shoal.errors import InputError
from shoal.measures.queries import draw_queries, query_error, read_error
from shoal.report.chart import WIDTH, Chart, Spec, axis, values
from shoal.report.panel import Content, Material, in_memory, percent, report_panel

QUERIES = 60
MOST_ROWS = 50_000
"""Larger releases are read by an even spread of values, which takes less time."""
COLUMNS = 2
SELECTIVITY = 0.1
SHARES = np.linspace(0.0, 0.9, 19)
"""The largest errors are left out of the chart: some query counts hardly any records, and is far off."""


@report_panel("queries", "Answers from the release", applies=in_memory, place=90)
def answers(material: Material) -> Content | None:
    """Return the panel on count queries; None where values are of a kind that cannot be asked for."""
    detail = material.held
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
    estimated = len(detail.rows) <= MOST_ROWS
    if estimated:
        found = read_error(detail.read(), recoding.table, queries)
    else:
        found = query_error(recoding, queries, rows=detail.rows, records=detail.order)
    errors = np.quantile(found.errors, SHARES)
    carried = " and a sensitive column" if recoding.table.sensitive else ""
    how = (
        "The release alone answers, as `shoal query` does."
        if estimated
        else "The release answers as if every value that a cell allows were equally likely."
    )
    covered: tuple[tuple[str, str], ...] = ()
    if found.covered is not None:
        covered = (("intervals with 95% confidence contain the true answer", percent(found.covered)),)
    return Content(
        paragraphs=(
            f"{QUERIES} random questions of the form: how many records have values in a certain range, in "
            f"{columns} quasi-identifiers{carried}? Together the "
            f"ranges span {percent(SELECTIVITY)} of what is possible. {how}",
        ),
        facts=(
            ("half of the answers are off by", f"at most {percent(found.median)}"),
            ("answers are off on average by", percent(found.mean)),
            *covered,
        ),
        charts=(
            rising_line(
                "queries",
                f"Half of the answers are off by at most {percent(found.median)}",
                {"all": errors},
                "error",
            ),
        ),
        data={**found.as_dict(), "shares": SHARES.tolist(), "error_of_share": errors.tolist()},
    )


def rising_line(name: str, title: str, lines: Mapping[str, NDArray[np.float64]], off_by: str) -> Chart:
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
