"""`shoal compare`: models, methods and k side by side on one table: loss, risk, time."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.base import commands
from shoal.cli import options
from shoal.cli.declared import ENGINE, FILES, METHOD, baselines, method_options, model_parameters, takes
from shoal.cli.output import out, progress, show_json, show_table
from shoal.engines import comparison
from shoal.engines.comparison import ComparedRun
from shoal.errors import InputError, Reason, listing
from shoal.files.staging import staged_file
from shoal.report.comparison import comparison_page
from shoal.report.panel import percent

DEFAULT_K = ",".join(map(str, comparison.DEFAULT_K))


@takes(load=options.TABLE, parameters=model_parameters(), wanted=method_options())
def compare(
    load: options.Loading,
    parameters: dict[str, Any],
    wanted: dict[str, Any],
    k: Annotated[str, typer.Option("--k", help="Minimum crowd sizes, comma-separated.")] = ",".join(
        map(str, comparison.DEFAULT_K)
    ),
    model: Annotated[str | None, typer.Option("--model", help="Privacy models, comma-separated.")] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help=f"Methods, comma-separated; all if omitted. {baselines()}",
            rich_help_panel=METHOD,
        ),
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
        options.show_warnings(frame, described)
        ks = _numbers(k)
        if choose is not None and choose not in ks:
            raise InputError(
                f"--choose {choose} is none of the k that are compared: {listing(map(str, ks))}",
                reason=Reason.PARAMETER,
            )
        given = {name: value for name, value in parameters.items() if value is not None}
        with progress(quiet or as_json) as report:
            found = comparison.compare(
                frame,
                described,
                k=ks,
                model=_words(model),
                method=_words(method),
                limit=limit,
                jobs=jobs,
                seed=seed,
                progress=report,
                **given,
                **wanted,
            )
        table = options.words_of(load)
        rows = [
            _row(number, run, [*table, *commands.words({**parameters, **run.options, "seed": seed})])
            for number, run in enumerate(found.runs, start=1)
        ]
        best = found.best(choose)
        chosen = None if best is None else found.runs.index(best) + 1
        title = f"{len(rows)} ways to publish {Path(load.keywords['table']).name}"
        staged.write_text(comparison_page(rows, chosen, title), encoding="utf-8")
    if as_json:
        show_json({"chosen": chosen, "runs": rows})
    elif not quiet:
        _show(rows, chosen, output)
    if chosen is None:
        raise typer.Exit(1)


def _row(number: int, run: ComparedRun, words: Sequence[str]) -> dict[str, Any]:
    """Return what there is to say about a run, and the command that repeats it."""
    folder = f"out-{run.model}-{run.method}-{run.k}"
    named = ["--model", run.model, "--method", run.method, "--k", str(run.k)]
    command = shlex.join(["shoal", "anonymize", *words, *named, "-o", folder])
    return {"run": number, **run.as_dict(), "command": command}


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
