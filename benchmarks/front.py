"""Loss against processor time of all methods and efforts for freeform, and how near to the optimum they are.

Every cell is measured in a process of its own and remembered. `python -m benchmarks front --cells` measures
what is left and prints it; without options, the page is written, with the cells that are there.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from benchmarks.harness import adult, adult_schema, markdown_table, recalled, remembered, write_page
from shoal import Freeform, KAnonymity
from shoal.base.randomness import Randomness
from shoal.measures import MEASURES, priced_bound
from shoal.methods import METHODS
from shoal.methods.method import Circumstances
from shoal.table import Table

KS = (10, 50)
WAYS = (
    ("matching", "fast"),
    ("matching", "balanced"),
    ("matching", "best"),
    ("ring", "balanced"),
    ("ring", "best"),
    ("greedy", "fast"),
    ("greedy", "balanced"),
    ("sort_greedy", "fast"),
    ("sort_greedy", "balanced"),
    ("mondrian", ""),
)
"""Methods and efforts; `fast` of `ring` is that of `matching`."""

BOUNDS = {
    5: ("balanced", 200, 1_000, 0.65, 8.0),
    10: ("balanced", 60, 1_000, 0.8, 2.0),
    50: ("balanced", 60, 4_000, 0.5, 0.6),
}
"""For each k: the effort whose release gives the prices, the records that are searched, their steps, and the
share and the maximum of the prices (decision 085)."""


def work(k: int, method: str, effort: str) -> dict[str, Any]:
    """Measure a method by itself, or the bound (method ``bound``), in processor seconds of all threads."""
    frame = adult()
    table = Table.encode(frame, adult_schema(frame))
    model = KAnonymity(k=k) if method == "mondrian" else Freeform(k=k)
    name = "matching" if method == "bound" else method
    options = {"effort": effort} if effort else {}
    circumstances = Circumstances(Randomness(1))
    started = time.process_time()
    recoding = METHODS[type(model)][name](table, model, circumstances, **options)
    gcp = MEASURES["gcp"].figure(recoding, k)
    if method != "bound":
        return {"gcp": gcp, "seconds": time.process_time() - started}
    assert recoding.graph is not None
    started = time.process_time()
    _, sample, steps, share, cap = BOUNDS[k]
    bound = priced_bound(table, recoding.graph, sample=sample, steps=steps, shares=[share], caps=[cap])
    seconds = time.process_time() - started
    return {"gcp": gcp, "bound": bound.value, "error": bound.error, "seconds": seconds}


cell = functools.partial(remembered, "front")


def main(options: Sequence[str] = ()) -> None:
    """Write the page, or measure all cells."""
    ways = [(k, method, effort) for k in KS for method, effort in WAYS]
    ways += [(k, "bound", effort) for k, (effort, *_) in BOUNDS.items()]
    if options:
        for k, method, effort in ways:
            print(json.dumps([k, method, effort, cell(k=k, method=method, effort=effort)]), flush=True)
        return
    known = {way: recalled("front", k=way[0], method=way[1], effort=way[2]) for way in ways}
    sections, charts = [], {}
    for k in KS:
        points = [
            {"way": f"{method} {effort}".strip(), "method": method, **figures}
            for (size, method, effort), figures in known.items()
            if size == k and method != "bound" and figures
        ]
        points.sort(key=lambda point: point["seconds"])
        rows = [
            (
                point["way"],
                f"{point['gcp']:.4f}",
                f"{point['seconds']:.1f}",
                "yes" if all(point["gcp"] < other["gcp"] for other in points[:place]) else "",
            )
            for place, point in enumerate(points)
        ]
        head = ("method and effort", "GCP", "processor seconds", "on the front")
        sections += [f"## k = {k}", markdown_table(head, rows), f"![Loss against time](front-{k}.svg)"]
        charts[str(k)] = _chart(points, k)
    write_page("front", "\n\n".join((_introduction(), *sections, _bounds(known))), charts)


def _introduction() -> str:
    return (
        "# Loss against time\n\nFreeform on Adult (30,162 x 8): GCP, and processor seconds of all threads of "
        "the method by itself, without encoding and audit. `matching` is the default; its `fast` is that of "
        "`ring`. `mondrian` makes classes. A method is on the front if all that take less time lose more. "
        "Those that are missing were not measured at this commit."
    )


def _bounds(known: dict[tuple[int, str, str], dict[str, Any] | None]) -> str:
    """Return how near to the optimum releases are."""
    rows = []
    for k, (effort, sample, steps, share, cap) in BOUNDS.items():
        found = known[k, "bound", effort]
        if found is None:
            continue
        rows.append(
            (
                k,
                f"{found['bound']:.4f} ± {found['error']:.4f}",
                f"{effort}, {found['gcp']:.4f}",
                f"{found['gcp'] / found['bound']:.2f}",
                f"{share:g}, {cap:g}",
                f"{sample}, {steps:,}",
                f"{found['seconds']:.0f}",
            )
        )
    head = (
        "k",
        "bound and standard error",
        "prices from, GCP",
        "GCP / bound",
        "share and maximum of prices",
        "records, steps",
        "seconds",
    )
    return "\n\n".join(
        (
            "## How near to the optimum",
            "The bound in which each record pays for the rows that cover it "
            "([decisions 063](../decisions/063-prices.md) and [085](../decisions/085-charges.md)). No "
            "release loses less, up to the standard error. The maximum of the prices is a multiple of their "
            "mean.",
            markdown_table(head, rows),
        )
    )


def _chart(points: Sequence[dict[str, Any]], k: int) -> alt.LayerChart:
    """Return loss against time: a point for each method, by colour, and effort, by name."""
    shown = [
        {
            **point,
            "seconds": max(point["seconds"], 0.05),
            "name": point["way"].removeprefix(point["method"]).strip() or point["method"],
        }
        for point in points
    ]
    ends = [shown[0]["seconds"] / 2, max(point["seconds"] for point in shown) * 2]
    base = alt.Chart(pl.DataFrame(shown), title=f"Adult, k = {k}: loss against processor time").encode(
        x=alt.X("seconds:Q", scale=alt.Scale(type="log", domain=ends, nice=False), title="processor seconds"),
        y=alt.Y("gcp:Q", scale=alt.Scale(zero=False), title="GCP"),
    )
    dots = base.mark_point(filled=True, size=60).encode(color=alt.Color("method:N", title=None))
    chart: alt.LayerChart = (dots + base.mark_text(dy=-11).encode(text="name:N")).properties(
        width=560, height=320
    )
    return chart
