"""`shoal anonymize`: a table in, an audited release out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal import commands, engines
from shoal.cli import options
from shoal.cli.output import progress, show_facts, show_json, verdict, warn
from shoal.engines.blocks import BLOCK_ROWS
from shoal.engines.large import BlockedRelease, anonymize_blocks
from shoal.engines.session import spark_session
from shoal.engines.spark import anonymize_spark
from shoal.engines.workspace import left_beside
from shoal.errors import InputError, Reason
from shoal.measures import Loss
from shoal.release import RELEASE_FILES, Format, Release
from shoal.staging import staged_folder
from shoal.suggestion import warnings

MOST_PATTERNS = 8
"""So many combinations of suppressed cells are shown, those of most rows."""


@options.takes_table
def anonymize(
    load: options.Loading,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the release.", rich_help_panel="Files")
    ],
    k: Annotated[
        int | None,
        typer.Option("--k", help="Nobody is told from fewer than k.", rich_help_panel="The promise"),
    ] = None,
    model: options.ModelName = None,
    diversity_l: options.DiversityL = None,
    diversity_p: options.DiversityP = None,
    entropy_l: options.EntropyL = None,
    two_sided: options.TwoSided = None,
    withhold: options.Withhold = None,
    patterns: options.PatternsFile = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    distance: options.Distance = None,
    method: Annotated[
        str | None, typer.Option("--method", help="Another way to keep it.", rich_help_panel="The promise")
    ] = None,
    effort: Annotated[
        str | None,
        typer.Option(
            "--effort",
            help="fast, balanced or best; chain: not best; mondrian: none.",
            rich_help_panel="The promise",
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--start",
            help="xcolor: locality, or degree as in the paper.",
            rich_help_panel="The promise",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds", help="exact, patterned: how long the proof may take.", rich_help_panel="The promise"
        ),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            help="gcp, lm or em: what is to be lost least, by some methods.",
            rich_help_panel="The promise",
        ),
    ] = None,
    relaxed: Annotated[
        bool,
        typer.Option(
            "--relaxed", help="mondrian: may divide records of one value.", rich_help_panel="The promise"
        ),
    ] = False,
    randomized: Annotated[
        bool | None,
        typer.Option(
            "--randomized/--no-randomized",
            help="concealment, kk, k1, 1k: rows are drawn; without it never to publish.",
            rich_help_panel="The promise",
        ),
    ] = None,
    file_format: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="csv (text) or parquet (typed); csv, with Spark parquet.",
            rich_help_panel="Files",
        ),
    ] = None,
    keep_key: Annotated[
        bool,
        typer.Option("--keep-key", help="Also write key.csv, which undoes it all.", rich_help_panel="Files"),
    ] = False,
    engine: options.Engine = "auto",
    master: options.Master = None,
    block_rows: options.BlockRows = BLOCK_ROWS,
    jobs: options.Jobs = None,
    work: options.Work = None,
    fresh: options.Fresh = False,
    overwrite: options.Overwrite = False,
    strict: options.Strict = False,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Repeatable; for experiments only, never to publish.")
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Publish a table: generalize its quasi-identifiers, shuffle its rows, audit and certify the result."""
    promised = partial(
        commands.promise,
        k=k,
        l=diversity_l,
        p=diversity_p,
        entropy_l=entropy_l,
        two_sided=two_sided,
        withhold=withhold,
        patterns_file=patterns,
        epsilon=epsilon,
        delta=delta,
        distance=distance,
    )
    given = {
        "effort": effort,
        "start": start,
        "seconds": seconds,
        "measure": measure,
        "randomized": randomized,
        "relaxed": relaxed or None,
    }
    choices: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    who = options.engine_for(engine, load, keep_key=keep_key)
    if who != "memory":
        call: dict[str, Any] = {
            "method": method,
            "seed": seed,
            "block_rows": block_rows,
            "work": work,
            "overwrite": overwrite,
            "strict": strict,
            **choices,
        }
        blocked: BlockedRelease
        with progress(quiet or as_json) as report, ExitStack() as stack:
            if who == "spark":
                if file_format == "csv":
                    raise InputError("Spark writes Parquet; leave out --format csv", reason=Reason.PARAMETER)
                report("starting Spark", 0.0)
                session = stack.enter_context(spark_session(master))
                report("looking at the columns", 0.0)
                table, described = options.spark_table(load, session)
                promise = promised(model or commands.default_model(described))
                blocked = anonymize_spark(table, described, promise, output, progress=report, **call)
            else:
                report("looking at the columns", 0.0)
                source, described = options.open_table(load)
                promise = promised(model or commands.default_model(described))
                call |= {"form": file_format or "csv", "jobs": jobs, "fresh": fresh}
                blocked = anonymize_blocks(source, described, promise, output, progress=report, **call)
        _warn(blocked.certificate, seed, randomized, output)
        if as_json:
            show_json(blocked.certificate)
        elif not quiet:
            show_blocked(blocked, output)
        return
    # Opened before the work, so that nobody waits for a release that cannot be saved.
    with staged_folder(output, overwrite=overwrite, ours=RELEASE_FILES) as staging:
        frame, described = load()
        for warning in warnings(frame, described):
            warn(warning)
        with progress(quiet or as_json) as report:
            release = engines.anonymize(
                frame,
                described,
                promised(model or commands.default_model(described)),
                method=method,
                seed=seed,
                progress=report,
                **choices,
            )
        if strict:
            release.audit.require(strict=True)
        release.write_files(staging, form=file_format or "csv", keep_key=keep_key)
    _warn(release.circumstances, seed, randomized, output)
    if keep_key:
        warn(f"{output / 'key.csv'} tells who is who; keep it apart from the release, or delete it")
    if as_json:
        show_json(release.certificate)
    elif not quiet:
        show_release(release, output)


def _warn(made: Mapping[str, Any], seed: int | None, randomized: bool | None, output: Path) -> None:
    """Show what the method has to say, what must not be published, and what an earlier run left."""
    left = left_beside(output)
    if left is not None:
        warn(
            f"{left} holds personal data that an interrupted run in blocks left; repeat its call to finish "
            "it, or remove the folder"
        )
    for note in made.get("notes", ()):
        warn(note)
    if seed is not None:
        warn("this release is seeded: whoever knows the seed can undo the shuffle; do not publish it")
    if randomized is False:
        warn("this release is not randomized: whoever knows everybody can find out who is who; an experiment")


def show_blocked(release: BlockedRelease, folder: Path) -> None:
    """Print what was promised, found and lost in a release that was made block by block, and its files."""
    made, found, loss = release.certificate, release.audit, release.loss
    worst = sorted(loss["by_attribute"].items(), key=lambda item: -item[1])
    engine = made["engine"]
    show_facts(
        "Release",
        [
            ("promised", release.model.sentence()),
            ("audit found", verdict(found["verdict"], found["status"])),
            (
                "each person fits",
                f"at least {found['consistency']['rows_per_record']} of {found['rows']} rows",
            ),
            ("each row fits", f"at least {found['consistency']['records_per_row']} persons"),
            ("smallest class", f"{found['k']} rows"),
            ("lost", f"{loss['gcp']:.1%} of the precision of the quasi-identifiers (GCP)"),
            ("most in", ", ".join(f"{name} {share:.1%}" for name, share in worst[:4])),
            *([("left out", f"{made['left_out']} records with missing values")] if made["left_out"] else []),
            (
                "made by",
                f"{made['method']} in {engine['blocks']} blocks of {engine['smallest']} to "
                f"{engine['largest']} rows, {made['seconds']:.1f} s",
            ),
            ("files", ", ".join(sorted(str(file) for file in folder.iterdir()))),
        ],
    )


def show_release(release: Release, folder: Path) -> None:
    """Print what was promised, found and lost, and where the files are."""
    loss, found = release.loss, release.audit
    worst = sorted(loss.by_attribute.items(), key=lambda item: -item[1])
    left_out = release.recoding.table.left_out
    show_facts(
        "Release",
        [
            ("promised", release.model.sentence()),
            ("audit found", verdict(found.verdict, found.status)),
            *_crowd(release),
            *_suppressed(release),
            ("lost", f"{loss.gcp:.1%} of the precision of the quasi-identifiers (GCP)"),
            *_least(loss),
            ("most in", ", ".join(f"{name} {share:.1%}" for name, share in worst[:4])),
            *_items(loss),
            *([("left out", f"{left_out} records with missing values")] if left_out else []),
            *([("withheld", f"{release.recoding.withheld} records")] if release.recoding.withheld else []),
            ("made by", f"{release.circumstances['method']} in {release.circumstances['seconds']:.1f} s"),
            ("files", ", ".join(sorted(str(file) for file in folder.iterdir()))),
        ],
    )


def _items(loss: Loss) -> list[tuple[str, str]]:
    """Return how far the released sets of items are from the true ones."""
    return [
        (
            f"items of {name}",
            f"{lost.error_rate:.1%} wrong, {lost.uncertain:.1f} uncertain in a row; counts of records with "
            f"some items are off by {lost.query_error_present:.1%}",
        )
        for name, lost in loss.items.items()
    ]


def _suppressed(release: Release) -> list[tuple[str, str]]:
    """Return which cells how many rows suppress, and how far from the least that may be."""
    kinds = [
        f"{', '.join(kind.suppressed) or 'nothing'} ({kind.rows} rows)" for kind in release.audit.suppressions
    ]
    more = f" and {len(kinds) - MOST_PATTERNS} other combinations" if len(kinds) > MOST_PATTERNS else ""
    account = release.recoding.account
    gap = 1 - account["bound"] / account["cost"] if account.get("bound") else None
    return [
        *([("suppressed", "; ".join(kinds[:MOST_PATTERNS]) + more)] if kinds else []),
        *([] if gap is None else [("proven", f"nobody could suppress more than {gap:.1%} less")]),
    ]


def _least(loss: Loss) -> list[tuple[str, str]]:
    """Return how much more was lost than had to be, as far as anybody can tell."""
    if loss.ratio is None:
        return []
    about = "about " if loss.bound_error else ""
    times = math.ceil(10 * loss.ratio - 1e-6) / 10
    return [("which is", f"at most {about}{times:.1f} times what every such release must lose")]


def _crowd(release: Release) -> list[tuple[str, str]]:
    """Return in what crowd people hide: classes of equal rows, or the rows that each of them fits."""
    found = release.audit
    if release.recoding.graph is not None or release.recoding.assignment is not None:
        consistent = found.consistency
        return [
            ("each person fits", f"at least {consistent.rows_per_record} of {found.rows} rows"),
            ("each row fits", f"at least {int(consistent.records_of_row.min())} persons"),
            *(
                (
                    f"diversity of {d.column}",
                    f"at least {d.p} values in the rows a person fits, none more frequent than {1 / d.l:.0%}",
                )
                for d in found.diversity_around
            ),
        ]
    return [
        *(
            (
                f"within {near.epsilon:g} of each other",
                f"at most {near.risk:.1%} of a class, {near.mean:.1%} on average, in {near.column}",
            )
            for near in found.proximity
        ),
        ("smallest class", f"{found.k} rows; {len(found.classes.sizes)} classes, {found.rows} rows"),
        *(
            (
                f"diversity of {d.column}",
                f"at least {d.p} values in a class, none more frequent than {1 / d.l:.0%}",
            )
            for d in found.diversity
        ),
    ]
