"""Several releases of one table on one page: a table of them, and a chart to point at."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from shoal.measures import MEASURES, Measure, headlines
from shoal.report.chart import PAGE, Spec, axis, can_draw, configuration, values
from shoal.report.document import page
from shoal.report.panel import percent


def comparison_page(rows: Sequence[Mapping[str, Any]], chosen: int | None, title: str) -> str:
    """Return a page that shows all runs, and lets readers choose one in the chart or in the table.

    Parameters
    ----------
    rows
        For each run its number (``run``), the ``attacker`` it protects against, ``model``, ``method``,
        promise (``k``), a figure for each of `headlines`, ``query_error``, ``concealment``, ``risk``,
        ``seconds``, ``command``, and the ``message`` of one that failed, which has none of the figures.
    chosen
        The number of the run that is highlighted at first.
    title
        What was compared.
    """
    made = [row for row in rows if row["gcp"] is not None]
    return page(
        "compare.html",
        title=title,
        rows=rows,
        made=len(made),
        chosen=chosen,
        description=_words(made),
        facts=_in_script({"runs": [_plain(row) for row in rows], "chosen": chosen}),
        chart=_in_script(comparison_chart(made, chosen)),
        libraries=_libraries() if made and can_draw() else "",
        measures=headlines(),
        percent=percent,
    )


@cache
def _libraries() -> str:
    """Return the scripts that draw the chart."""
    import vl_convert  # late: it starts a JavaScript engine

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


def comparison_chart(made: Sequence[Mapping[str, Any]], chosen: int | None) -> Spec:
    """Return the risk-utility chart of some runs: loss against promise, time as size."""
    ways = list(dict.fromkeys(row["way"] for row in made))
    models = list(dict.fromkeys(row["model"] for row in made))
    ks = sorted({row["k"] for row in made})
    x = axis(
        "k",
        "quantitative",
        "guarantee: each record is hidden among k rows",
        scale={"type": "log", "padding": 24, "nice": False},
    )
    x["axis"] = {"values": ks, "format": "d", "grid": False}
    measures = headlines()
    shown = (
        "run",
        "attacker",
        "model",
        "way",
        "k",
        *(each.name for each in measures),
        "query_error",
        "concealment",
        "risk",
        "seconds",
    )
    y = axis(
        "gcp",
        "quantitative",
        MEASURES["gcp"].heading,
        axis={"format": "~%", "tickCount": 6},
        scale={"zero": True},
    )
    color = axis("way", "nominal", "model and method", sort=ways)
    return {
        "data": values([{name: row[name] for name in shown} for row in made]),
        "width": "container",
        "height": 420,
        "autosize": {"type": "fit", "contains": "padding"},
        "encoding": {"x": x, "y": y, "color": color},
        "layer": [
            {"mark": {"type": "line", "strokeWidth": 1, "opacity": 0.5}},
            _points(measures, models, chosen),
        ],
        "config": configuration(PAGE),
    }


def _points(measures: Sequence[Measure], models: Sequence[str], chosen: int | None) -> Spec:
    """Return the layer with a point for each run, of which one can be chosen."""
    when = {"param": "chosen", "empty": False}
    tip = [
        ("way", "method", None),
        ("k", "k", None),
        ("attacker", "attacker", None),
        *((each.name, each.heading, ".2%" if each.share else ".4~g") for each in measures),
        ("query_error", "answers off by", ".1%"),
        ("concealment", "rows left", None),
        ("risk", "highest risk", ".1%"),
        ("seconds", "seconds", ".1f"),
    ]
    return {
        "params": [
            {
                "name": "chosen",
                "select": {"type": "point", "fields": ["run"], "on": "click", "clear": False},
                "value": [] if chosen is None else [{"run": chosen}],
            }
        ],
        "mark": {"type": "point", "filled": True, "cursor": "pointer"},
        "encoding": {
            "size": axis("seconds", "quantitative", None, scale={"range": [50, 450]}, legend=None),
            "shape": axis("model", "nominal", "model", sort=models),
            "opacity": {"condition": {**when, "value": 1}, "value": 0.75},
            "stroke": {"condition": {**when, "value": PAGE.ink}, "value": "transparent"},
            "strokeWidth": {"condition": {**when, "value": 3}, "value": 0},
            "tooltip": [
                {"field": name, "title": words, **({"format": form} if form else {})}
                for name, words, form in tip
            ],
        },
    }


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "certificate"}


def _words(made: Sequence[Mapping[str, Any]]) -> str:
    """Return the chart in words: the least loss for each attacker and promise."""
    sentences = []
    for attacker in dict.fromkeys(row["attacker"] for row in made):
        rows = [row for row in made if row["attacker"] == attacker]
        best = {
            k: min((r for r in rows if r["k"] == k), key=lambda r: r["gcp"])
            for k in sorted({r["k"] for r in rows})
        }
        against = (
            "for comparison only" if attacker.startswith("none") else f"against an attacker who {attacker}"
        )
        sentences.append(
            f"The least loss {against}: "
            + "; ".join(f"for k = {k}, {percent(row['gcp'])} by {row['way']}" for k, row in best.items())
        )
    return ". ".join(sentences)


def _in_script(data: Any) -> str:
    """Return data as JSON that may stand in a script of a page."""
    return json.dumps(data).replace("<", "\\u003c")
