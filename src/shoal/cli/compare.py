"""`shoal compare`: models, methods and k side by side on one table: loss, risk, time."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from shoal import commands
from shoal.cli import options
from shoal.cli.declared import ENGINE, FILES, METHOD, method_options, model_parameters, takes
from shoal.cli.output import out, progress, show_json, show_table, warn
from shoal.engines.compare import Outcome, Run, options_for
from shoal.engines.compare import compare as compare_runs
from shoal.errors import InputError, Reason, ShoalError, did_you_mean, listing
from shoal.files.staging import staged_file
from shoal.methods import METHODS
from shoal.models import Freeform, KAnonymity, make_model, model_named, usual_model
from shoal.report.comparison import comparison_page
from shoal.report.panel import percent
from shoal.schema.suggesting import warnings

PROVERS = ("exact",)
"""Methods for small tables, compared only if they are named."""


@takes(load=options.TABLE, parameters=model_parameters(), wanted=method_options())
def compare(
    load: options.Loading,
    parameters: dict[str, Any],
    wanted: dict[str, Any],
    k: Annotated[str, typer.Option("--k", help="Minimum crowd sizes, comma-separated.")] = "2,5,10,50",
    model: Annotated[str | None, typer.Option("--model", help="Privacy models, comma-separated.")] = None,
    method: Annotated[
        str | None,
        typer.Option("--method", help="Methods, comma-separated; all if omitted.", rich_help_panel=METHOD),
    ] = None,
    choose: Annotated[
        int | None,
        typer.Option(
            "--choose",
            metavar="K",
            help="The k whose best run is highlighted; the largest if omitted.",
            rich_help_panel=FILES,
        ),
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option("--limit", metavar="SECONDS", help="Time limit of a run.", rich_help_panel=ENGINE),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            min=1,
            help="Number of runs at a time; one for each core if omitted.",
            rich_help_panel=ENGINE,
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File for the page with all results.")
    ] = Path("compare.html"),
    overwrite: options.Overwrite = False,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Make runs repeatable.", rich_help_panel=METHOD)
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Try several models, methods and k on one table: what each loses, how well it hides, its time."""
    with staged_file(output, overwrite=overwrite) as staged:
        frame, described = load()
        for warning in warnings(frame, described):
            warn(warning)
        models = _words(model) or _usual_models(usual_model(described).name)
        ks = _numbers(k)
        if choose is not None and choose not in ks:
            raise InputError(
                f"--choose {choose} is none of the k that are compared: {listing(map(str, ks))}",
                reason=Reason.PARAMETER,
            )
        ways = _ways(models, _words(method), ks)
        plans = [_planned(way, parameters, wanted) for way in ways]
        runs = [plan for plan in plans if isinstance(plan, Run)]
        with progress(quiet or as_json) as report:
            made = compare_runs(frame, described, runs, seed=seed, limit=limit, jobs=jobs, progress=report)
        rest = iter(made)
        outcomes = [next(rest) if isinstance(plan, Run) else plan for plan in plans]
        table = options.words_of(load)
        rows = [
            _row(
                number,
                way,
                outcome,
                [*table, *commands.words({**parameters, **_options(plan), "seed": seed})],
            )
            for number, (way, plan, outcome) in enumerate(zip(ways, plans, outcomes, strict=True), start=1)
        ]
        chosen = _chosen(rows, choose)
        title = f"{len(rows)} ways to publish {Path(load.keywords['table']).name}"
        staged.write_text(comparison_page(rows, chosen, title), encoding="utf-8")
    if as_json:
        show_json({"chosen": chosen, "runs": rows})
    elif not quiet:
        _show(rows, chosen, output)
    if chosen is None:
        raise typer.Exit(1)


class _Way(NamedTuple):
    """A model and a method by name, and k."""

    model: str
    method: str
    k: int


def _usual_models(usual: str) -> list[str]:
    """Return the models that are compared if none is named."""
    return [usual, KAnonymity.name] if usual == Freeform.name else [usual]


def _ways(models: Sequence[str], methods: Sequence[str], ks: Sequence[int]) -> list[_Way]:
    """Return all ways that are asked for; methods go with the models that they keep."""
    known = {name: METHODS[model_named(name)] for name in models}
    every = [method for of_model in known.values() for method in of_model]
    for method in methods:
        if method not in every:
            raise InputError(
                f"no method {method!r} keeps any of these models{did_you_mean(method, every)}; "
                f"there is {listing(every)}",
                reason=Reason.PARAMETER,
            )
    return [
        _Way(model, method, k)
        for model, of_model in known.items()
        for method in of_model
        for k in ks
        if (method in methods if methods else method not in PROVERS)
    ]


def _planned(way: _Way, parameters: dict[str, Any], wanted: dict[str, Any]) -> Run | Outcome:
    """Return the run of a way, or why there cannot be one."""
    try:
        model = make_model(way.model, {"k": way.k, **parameters})
        return Run(model, way.method, options_for(model, way.method, wanted))
    except ShoalError as error:
        return Outcome(None, error.reason.value, str(error), 0.0)


def _options(plan: Run | Outcome) -> dict[str, Any]:
    return dict(plan.options) if isinstance(plan, Run) else {}


def _row(number: int, way: _Way, outcome: Outcome, words: Sequence[str]) -> dict[str, Any]:
    """Return what there is to say about a run, and the command that repeats it."""
    found = outcome.certificate
    folder = "-".join(("out", *map(str, way)))
    named = ["--model", way.model, "--method", way.method, "--k", str(way.k)]
    return {
        "run": number,
        **way._asdict(),
        "way": f"{way.model}, {way.method}",
        "gcp": None if found is None else found["loss"]["gcp"],
        "concealment": None if found is None else found["audit"]["concealment"],
        "risk": None if found is None else found["audit"]["risks"]["prosecutor"]["highest"],
        "seconds": outcome.seconds if found is None else found["seconds"],
        "reason": outcome.reason,
        "message": outcome.message,
        "command": shlex.join(["shoal", "anonymize", *words, *named, "-o", folder]),
        "certificate": found,
    }


def _chosen(rows: Sequence[dict[str, Any]], k: int | None) -> int | None:
    """Return the run that loses least for some k, the largest if none is named; None if all failed."""
    made = [row for row in rows if row["gcp"] is not None]
    if not made:
        return None
    wanted = max(row["k"] for row in made) if k is None else k
    at_k = [row for row in made if row["k"] == wanted] or made
    return int(min(at_k, key=lambda row: row["gcp"])["run"])


def _show(rows: Sequence[dict[str, Any]], chosen: int | None, output: Path) -> None:
    show_table(
        f"{len(rows)} ways to publish this table",
        ("", "model", "method", "k", "loss (GCP)", "rows left", "highest risk", "seconds"),
        [
            (
                f"{row['run']}{' *' if row['run'] == chosen else ''}",
                *(row[name] for name in ("model", "method", "k")),
                *(
                    ("no release", "", "", "")
                    if row["gcp"] is None
                    else (
                        f"{row['gcp']:.2%}",
                        row["concealment"],
                        percent(row["risk"]),
                        f"{row['seconds']:.1f}",
                    )
                ),
            )
            for row in rows
        ],
    )
    for row in rows:
        what = row["command"] if row["gcp"] is not None else f"{row['message']} ({row['command']})"
        out.print(f"{row['run']:>3}  {what}", markup=False, highlight=False, soft_wrap=True)
    out.print(f"\nThe same with a chart to point at: {output}", markup=False, highlight=False, soft_wrap=True)


def _words(given: str | None) -> list[str]:
    return [word.strip() for word in (given or "").split(",") if word.strip()]


def _numbers(given: str) -> list[int]:
    try:
        numbers = [int(word) for word in _words(given)]
    except ValueError:
        numbers = []
    if not numbers:
        raise InputError(f"--k {given!r} must be whole numbers with commas", reason=Reason.PARAMETER)
    return numbers
