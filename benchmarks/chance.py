"""A bound on the chance of a right guess about a row: what it costs concealment and (k,k) on Adult.

`python -m benchmarks chance --only concealment --chance 0.5` measures one cell; a run without options writes
the page from what was measured at this commit, and measures the rest.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import altair as alt
import polars as pl

from benchmarks.harness import adult, adult_schema, markdown_table, remembered, write_page
from shoal import KK, Concealment, Freeform
from shoal.base.randomness import Randomness
from shoal.measures.gcp import gcp
from shoal.methods import Circumstances, method_for
from shoal.models import Model, OwnRowsModel
from shoal.recoding.chances import least_chance, random_matching
from shoal.recoding.coverage import Graph
from shoal.table import Table

K = 10
CHANCES = (1.0, 0.5, 0.34)
AS_FREEFORM = (0.2, 0.1)
"""With these, rows are those of freeform: they are measured once."""
MODELS: dict[str, type[OwnRowsModel]] = {"concealment": Concealment, "(k,k)": KK}


def work(part: str, chance: float) -> dict[str, Any]:
    """Make rows of Adult, compute the least chance, and draw an assignment."""
    frame = adult()
    table = Table.encode(frame, adult_schema(frame))
    model: Model = Freeform(k=K) if part == "freeform" else MODELS[part](k=K, chance=chance)
    began = time.process_time()
    recoding = method_for(model)[1](table, model, Circumstances(Randomness(1)))
    made = time.process_time()
    graph = Graph.of_recoding(recoding)
    matches = graph.matches()
    found = time.process_time()
    least = least_chance(graph, matches)
    decided = time.process_time()
    random_matching(graph, matches, Randomness(2))
    drawn = time.process_time()
    return {
        "gcp": gcp(recoding),
        "least": str(least),
        "rows_seconds": made - began,
        "matches_seconds": found - made,
        "chance_seconds": decided - found,
        "draw_seconds": drawn - decided,
    }


cell = partial(remembered, "chance")


def cells() -> list[dict[str, Any]]:
    """Return what is measured."""
    small = [{"part": part, "chance": chance} for part in MODELS for chance in CHANCES]
    return [*small, {"part": "freeform", "chance": 0.1}]


def main(options: Sequence[str] = ()) -> None:
    """Measure and write the results page, or measure some cells only."""
    parser = argparse.ArgumentParser(prog="benchmarks chance")
    parser.add_argument("--only", help="measure this model only")
    parser.add_argument("--chance", type=float, help="only with this chance")
    chosen = parser.parse_args(options)
    if options:
        for arguments in cells():
            asked = {"part": chosen.only, "chance": chosen.chance}
            if all(value in (None, arguments[name]) for name, value in asked.items()):
                print(arguments, cell(**arguments), flush=True)
        return
    points = [{**arguments, **cell(**arguments)} for arguments in cells()]
    write_page("chance", _text(points), {"loss": _chart(points)})


def _text(points: Sequence[dict[str, Any]]) -> str:
    floor = next(point["gcp"] for point in points if point["part"] == "freeform")
    head = ("model", "chance", "GCP", "relative to freeform", "least chance", "rows, s", "flow, s", "draw, s")
    return "\n\n".join(
        (
            "# Chance",
            "What it costs to bound the chance of a right guess about a row: Adult, 30,162 records, k = 10, "
            "effort `balanced`. *Least chance* is what the audit finds in the coverage graph. *Rows* is the "
            "time to make them, *flow* the time to decide the least chance, and *draw* the time to draw an "
            "assignment that attains it, in processor seconds. `freeform` has rows of a 10-regular graph. "
            "With chances of 0.25 and below, such as the default of 0.2, concealment and (k,k) have the "
            "same rows, and the same loss. [Decision 045](../decisions/045-chance.md) has the theory and "
            "what was tried.",
            markdown_table(head, [_row(point, floor) for point in points]),
            "![Loss against chance](chance-loss.svg)",
        )
    )


def _row(point: dict[str, Any], floor: float) -> tuple[str, ...]:
    as_freeform = point["part"] == "freeform"
    return (
        "freeform; the others at 0.2 and 0.1" if as_freeform else point["part"],
        "-" if as_freeform else f"{point['chance']:g}",
        f"{point['gcp']:.4f}",
        f"{point['gcp'] / floor:.2f}",
        f"{point['least']}",
        *(f"{point[name]:.1f}" for name in ("rows_seconds", "chance_seconds", "draw_seconds")),
    )


def _chart(points: Sequence[dict[str, Any]]) -> alt.LayerChart:
    loss = next(point["gcp"] for point in points if point["part"] == "freeform")
    own = [(point["part"], point["chance"], point["gcp"]) for point in points if point["part"] in MODELS]
    lines = [*own, *((part, chance, loss) for part in MODELS for chance in AS_FREEFORM)]
    color = alt.Color("model:N", title=None)
    curve = (
        alt.Chart(pl.DataFrame(lines, schema=["model", "chance", "GCP"], orient="row"))
        .mark_line(point=True)
        .encode(
            x=alt.X("chance:Q", scale=alt.Scale(type="log")),
            y=alt.Y("GCP:Q", scale=alt.Scale(zero=False)),
            color=color,
        )
    )
    floor = pl.DataFrame({"GCP": [loss], "model": ["freeform"]})
    rule = alt.Chart(floor).mark_rule(strokeDash=[4, 4]).encode(y="GCP:Q", color=color)
    chart: alt.LayerChart = (curve + rule).properties(width=480, height=280)
    return chart
