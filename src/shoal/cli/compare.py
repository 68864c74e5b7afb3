"""`shoal compare`: models, methods and k side by side on one table: loss, risk, time."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import typer

from shoal.base import commands
from shoal.base.wording import plural
from shoal.cli import loading, options
from shoal.cli.declared import method_options, model_parameters, takes
from shoal.cli.defaults import leaves_open
from shoal.cli.output import out, progress, show_json, show_table, warn
from shoal.engines import comparison
from shoal.engines.comparison import ComparedRun
from shoal.errors import InputError, Reason, listing
from shoal.files.staging import staged_file
from shoal.measures import headlines
from shoal.report.comparison import comparison_page
from shoal.report.panel import percent

DEFAULT_K = ",".join(map(str, comparison.DEFAULT_K))


@takes(load=loading.TABLE, parameters=model_parameters(), wanted=method_options())
def compare(
    load: loading.Loading,
    parameters: dict[str, Any],
    wanted: dict[str, Any],
    k: options.CrowdSizes = DEFAULT_K,
    model: options.ModelNames = None,
    method: options.Methods = None,
    choose: options.Choose = None,
    time_limit: options.TimeLimit = None,
    jobs: options.ParallelRuns = None,
    output: options.ResultsPage = Path("compare.html"),
    overwrite: options.Overwrite = False,
    seed: options.RunsSeed = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Try several models, methods and k on one table: information loss, protection and time of each."""
    with staged_file(output, overwrite=overwrite) as staged:
        load, time_limit = _without_seconds(load, time_limit)
        frame, described = load()
        loading.show_warnings(frame, described)
        ks = options.crowd_sizes(k)
        if choose is not None and choose not in ks:
            raise InputError(
                f"--choose {choose} is not one of the k that are compared: {listing(map(str, ks))}",
                reason=Reason.PARAMETER,
            )
        given = {name: value for name, value in parameters.items() if value is not None}
        given |= {"model": options.words(model), "method": options.words(method), "seed": seed}
        with progress(quiet or as_json) as report:
            found = comparison.compare(
                frame, described, k=ks, limit=time_limit, jobs=jobs, progress=report, **given, **wanted
            )
        table = loading.words_of(load)

        def said(run: ComparedRun) -> dict[str, Any]:
            # What was compared, not the default of `anonymize`.
            nothing = {"l": 1} if leaves_open(run.model, parameters, described) else {}
            return {**parameters, **nothing}

        rows = [
            _row(number, run, [*table, *commands.words({**said(run), **run.options, "seed": seed})])
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


def _without_seconds(load: loading.Loading, seconds: float | None) -> tuple[loading.Loading, float | None]:
    """Return how the table is read and the time limit; ``--limit 60`` used to be the latter."""
    given = load.keywords["limit"] or []
    plain = [text for text in given if text.replace(".", "", 1).isdecimal()]
    if not plain:
        return load, seconds
    warn("--limit SECONDS is deprecated, because --limit is about columns: use --time-limit SECONDS")
    rest = [text for text in given if text not in plain]
    return partial(load.func, **{**load.keywords, "limit": rest or None}), seconds or float(plain[-1])


def _row(number: int, run: ComparedRun, words: Sequence[str]) -> dict[str, Any]:
    """Return a run as plain data, with the command that repeats it."""
    folder = f"out-{run.model}-{run.method}-{run.k}"
    named = ["--model", run.model, "--method", run.method, "--k", str(run.k)]
    command = shlex.join(["shoal", "anonymize", *words, *named, "-o", folder])
    return {"run": number, **run.as_dict(), "command": command}


def _show(rows: Sequence[dict[str, Any]], chosen: int | None, output: Path) -> None:
    for attacker in dict.fromkeys(row["attacker"] for row in rows):
        some = [row for row in rows if row["attacker"] == attacker]
        ways = plural(len(some), "way")
        title = f"{ways} to publish this table, against an attacker who {attacker}"
        _show_runs(f"{ways}, for comparison only" if attacker.startswith("none") else title, some, chosen)
    for row in rows:
        what = row["command"] if row["gcp"] is not None else f"{row['message']} ({row['command']})"
        out.print(f"{row['run']:>3}  {what}", markup=False, highlight=False, soft_wrap=True)
    out.print(f"\nThese results with a chart: {output}", markup=False, highlight=False, soft_wrap=True)


def _show_runs(title: str, rows: Sequence[dict[str, Any]], chosen: int | None) -> None:
    measures = headlines()
    headings = [each.heading or "" for each in measures]
    show_table(
        title,
        ("", "model", "method", "k", *headings, "answers off by", "rows left", "highest risk", "seconds"),
        [
            (
                f"{row['run']}{' *' if row['run'] == chosen else ''}",
                *(row[name] for name in ("model", "method", "k")),
                *(
                    ("no release", *[""] * (len(headings) + 3))
                    if row["gcp"] is None
                    else (
                        *(each.compared(row[each.name]) for each in measures),
                        "" if row["query_error"] is None else percent(row["query_error"]),
                        row["concealment"],
                        percent(row["risk"]),
                        f"{row['seconds']:.1f}",
                    )
                ),
            )
            for row in rows
        ],
    )
