"""`shoal advise`: which k and delta are achievable for a table, before a release is tried."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import loading, options
from shoal.cli.declared import takes
from shoal.cli.output import out, show_facts, show_json, show_table
from shoal.methods.dissimilarity_limits import DEFAULT_K, Advice, Point
from shoal.methods.dissimilarity_limits import advise as adviser

_HEIGHT = 10


@takes(load=loading.TABLE)
def advise(
    load: loading.Loading,
    epsilon: Annotated[
        float,
        typer.Option(
            "--epsilon",
            help="Sensitive values within this distance count as nearly equal.",
        ),
    ],
    distance: Annotated[
        str | None, typer.Option("--distance", help="Distance between sensitive values; see `anonymize`.")
    ] = None,
    k: Annotated[
        str,
        typer.Option("--k", help="Minimum crowd sizes to report on, comma-separated."),
    ] = ",".join(map(str, DEFAULT_K)),
    as_json: options.AsJson = False,
) -> None:
    """Tell which delta of the model dissimilarity is guaranteed, and which is possible, for several k."""
    ks = options.crowd_sizes(k)
    frame, described = load()
    advice = adviser(frame, described, epsilon=epsilon, distance=distance, k=ks)
    if as_json:
        show_json(advice.as_dict())
        return
    show_facts(
        "Sensitive values",
        [
            ("records", advice.records),
            ("different values", advice.values),
            ("most others within epsilon", f"{advice.degree} ({advice.degree / advice.records:.1%})"),
            ("all within epsilon of each other", f"{advice.clique} ({advice.clique / advice.records:.1%})"),
        ],
    )
    show_table(
        f"What can be promised with epsilon = {epsilon:g}",
        ("k", "delta guaranteed", "delta impossible above"),
        [(point.k, _words(point.guaranteed), f"{point.possible:.4g}") for point in advice.frontier],
    )
    if advice.frontier:
        out.print(plot(advice), markup=False, highlight=False)


def plot(advice: Advice) -> str:
    """Return the frontier as text: for each k the deltas that are guaranteed, and those that are possible."""
    lines = ["delta"]
    for level in range(_HEIGHT, -1, -1):
        delta = level / _HEIGHT
        bars = "".join(f"{_mark(point, delta):^5}" for point in advice.frontier)
        lines.append(f" {delta:.1f} |{bars.rstrip()}")
    lines.append("     +" + "-----" * len(advice.frontier))
    lines.append("   k  " + "".join(f"{point.k:^5}" for point in advice.frontier).rstrip())
    lines.append("      # guaranteed   . possible, but not guaranteed")
    return "\n".join(lines)


def _mark(point: Point, delta: float) -> str:
    if point.guaranteed is not None and delta <= point.guaranteed + 1e-9:
        return "#"
    return "." if delta <= point.possible + 1e-9 else " "


def _words(delta: float | None) -> str:
    return "none" if delta is None else f"{delta:.4g}"
