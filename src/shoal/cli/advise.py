"""`shoal advise`: which k and delta are achievable for a table, before a release is tried."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shoal.cli import loading, options
from shoal.cli.declared import Bundle, model_parameters, takes
from shoal.cli.output import out, show_facts, show_json, show_table
from shoal.engines.advice import advise_crowds
from shoal.methods.dissimilarity_limits import DEFAULT_K, Advice, Point
from shoal.methods.dissimilarity_limits import advise as adviser
from shoal.report.panel import percent

_HEIGHT = 10

CROWDS = "2,5,10,20,50"
"""The crowd sizes that are tried if none is named."""


_OWN = ("k", "epsilon", "distance")
_PARAMETERS = Bundle(tuple(each for each in model_parameters().parameters if each.name not in _OWN), dict)
"""The parameters of models, but for those that are lists or about dissimilarity here."""


@takes(load=loading.TABLE, parameters=_PARAMETERS)
def advise(
    load: loading.Loading,
    parameters: dict[str, Any],
    epsilon: Annotated[
        float | None,
        typer.Option(
            "--epsilon",
            help="Sensitive values within this distance count as nearly equal: advise on dissimilarity.",
        ),
    ] = None,
    distance: Annotated[
        str | None, typer.Option("--distance", help="Distance between sensitive values; see `anonymize`.")
    ] = None,
    k: Annotated[
        str | None,
        typer.Option("--k", help="Minimum crowd sizes to report on, comma-separated."),
    ] = None,
    model: Annotated[
        str, typer.Option("--model", help="Without --epsilon: the model of the quick runs.")
    ] = "freeform",
    as_json: options.AsJson = False,
) -> None:
    """Show what each k loses; with --epsilon, which delta of dissimilarity is guaranteed and achievable."""
    if epsilon is None:
        _advise_crowds(load, options.crowd_sizes(k or CROWDS), model, parameters, as_json=as_json)
        return
    ks = options.crowd_sizes(k or ",".join(map(str, DEFAULT_K)))
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


def _advise_crowds(
    load: loading.Loading, ks: list[int], model: str, parameters: dict[str, Any], *, as_json: bool
) -> None:
    """Show what each k costs, from quick runs."""
    frame, described = load()
    advice = advise_crowds(frame, described, ks, model, parameters)
    if as_json:
        show_json(advice.as_dict())
        return
    names = [column.name for column in described.quasi]
    show_table(
        f"What each k loses ({advice.model}, quick runs of {advice.method}; GCP, in all and by column)",
        ("k", "all", *names, "left out"),
        [
            (
                each.k,
                "no release" if each.gcp is None else percent(each.gcp),
                *("" if each.gcp is None else percent(each.by_attribute[name]) for name in names),
                percent(each.left_out),
            )
            for each in advice.costs
        ],
    )
    for each in advice.costs:
        if each.gcp is not None:
            out.print(f"k = {each.k:<4} {'#' * round(each.gcp * 100)} {percent(each.gcp)}", highlight=False)
    wide = list(dict.fromkeys(name for each in advice.costs for name in each.widths))
    if wide:
        show_table(
            "Mean width of cells, in the unit of the column",
            ("k", *wide),
            [
                (each.k, *(f"{each.widths[name]:.4g}" for name in wide))
                for each in advice.costs
                if each.gcp is not None
            ],
        )
    if advice.widths:
        show_table(
            "Share of the records that would be left out, if cells are no wider",
            ("column", "widest", *(f"k = {each.k}" for each in advice.costs)),
            [
                (each.column, f"{each.widest:g}", *(percent(share) for share in each.left_out.values()))
                for each in advice.widths
            ],
        )
    for said in advice.suggestions():
        out.print(f"{said[:1].upper()}{said[1:]}.", highlight=False)


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
