"""`shoal anonymize`: a table in, an audited release out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.attacking import checked_share
from shoal.base.distribution import install_command
from shoal.base.wording import plural
from shoal.cli import defaults, limit_options, loading, options
from shoal.cli.databases import TARGET, into_database
from shoal.cli.declared import method_options, model_parameters, statements, takes
from shoal.cli.earlier import PublishingAgain
from shoal.cli.earlier_options import BEFORE
from shoal.cli.engine_options import PIECES, Pieces
from shoal.cli.output import progress, show_facts, show_json, show_remedies, verdict, warn
from shoal.engines.on_disk import anonymize_file
from shoal.engines.spark import anonymize_spark
from shoal.engines.spark_sessions import spark_session
from shoal.engines.workspace import left_beside
from shoal.errors import InputError, Reason
from shoal.files.staging import staged_folder
from shoal.measures import Loss, headlines
from shoal.release import COPIES, RELEASE_FILES, BlockedRelease, Certificate, Format, Release
from shoal.report.chart import can_draw

MOST_PATTERNS = 8
"""The maximum number of combinations of suppressed cells that are shown, those of most rows."""


@takes(
    load=loading.TABLE,
    parameters=model_parameters(),
    choices=method_options(),
    about=statements(),
    again=BEFORE,
    database=TARGET,
    pieces=PIECES,
)
def anonymize(
    load: loading.Loading,
    parameters: dict[str, Any],
    choices: dict[str, Any],
    about: dict[str, str],
    again: PublishingAgain,
    database: tuple[str, str] | None,
    pieces: Pieces,
    output: options.ReleaseFolder,
    model: options.ModelName = None,
    method: options.Method = None,
    file_format: options.FileFormat = None,
    keep_key: options.KeepKey = False,
    safe_for_spreadsheets: options.SafeForSpreadsheets = False,
    overwrite: options.Overwrite = False,
    strict: options.Strict = False,
    seed: options.Seed = None,
    most_per_person: options.MostPerPerson = None,
    hold_out: options.HoldOut = None,
    predict: options.Predict = None,
    run_again: options.RunAgain = None,
    leave_out: limit_options.LeaveOut = 0.0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Publish a table: generalize its quasi-identifiers, shuffle its rows, audit and certify the result."""
    promised = defaults.Promised(model, parameters, method)
    choices |= {"method": method, "seed": seed, "most_per_person": most_per_person, "about": about}
    placed = {"overwrite": overwrite, "strict": strict}
    if hold_out is not None:
        choices["hold_out"] = checked_share(options.share(hold_out, "--hold-out"))
    in_memory = keep_key or safe_for_spreadsheets or file_format in COPIES or again.asked(file_format)
    in_memory = in_memory or leave_out > 0 or (hold_out, predict, run_again) != (None, None, None)
    who = loading.engine_for(pieces.engine, load, whole=in_memory)
    if who == "memory":
        choices |= {"leave_out": leave_out, "predict": predict, "run_again": run_again}
    release: Release | BlockedRelease
    types: Mapping[str, Any] = {}
    with progress(quiet or as_json) as report, promised.explained():
        choices["progress"] = report
        if who == "memory":
            saved = {"keep_key": keep_key, "safe_for_spreadsheets": safe_for_spreadsheets}
            release = _in_memory(
                load, promised, choices, output, file_format or "csv", saved, again, **placed
            )
        elif who == "spark":
            choices |= placed | pieces.on_spark
            release = _on_spark(load, promised, choices, output, file_format, pieces.master)
        else:
            choices |= placed | pieces.on_disk | {"format": file_format or "csv"}
            release, types = _on_disk(load, promised, choices, output)
        if database is not None:
            report("writing into the database", 0.0)
            into_database(release, types, output, *database, overwrite=overwrite)
    _warn(release.certified, output, keep_key)
    if as_json:
        show_json(release.certificate)
    elif not quiet:
        show_release(release, output)
        promised.tell()


def _in_memory(
    load: loading.Loading,
    promised: defaults.Promised,
    choices: dict[str, Any],
    output: Path,
    form: Format,
    saved: dict[str, bool],
    again: PublishingAgain,
    *,
    overwrite: bool,
    strict: bool,
) -> Release:
    """Make a release of a table that fits into memory, and write its files."""
    # The folder is opened first: no time is spent on a release that cannot be saved.
    with staged_folder(output, overwrite=overwrite, ours=RELEASE_FILES) as staging:
        frame, described = load()
        model = promised(described, defaults.shares_in([frame]))
        release = again.anonymize(frame, described, model, choices)
        if strict:
            release.certified.require_no_warnings()
        release.write_files(staging, form=form, **saved)
        again.remember(frame, described, release, staging)
    return release


def _on_disk(
    load: loading.Loading, promised: defaults.Promised, choices: dict[str, Any], output: Path
) -> tuple[BlockedRelease, Mapping[str, Any]]:
    """Make a release in blocks on disk; return also the types of the columns of the table."""
    choices["progress"]("looking at the columns", 0.0)
    with loading.opened_table(load) as (source, described):
        model = promised(described, defaults.shares_in(source.batches()))
        release = anonymize_file(source, described, model, output, **choices)
        return release, source.head.schema


def _on_spark(
    load: loading.Loading,
    promised: defaults.Promised,
    choices: dict[str, Any],
    output: Path,
    file_format: Format | None,
    master: str | None,
) -> BlockedRelease:
    """Make a release on a Spark cluster."""
    if file_format == "csv":
        raise InputError("Spark writes Parquet; leave out --format csv", reason=Reason.PARAMETER)
    choices["progress"]("starting Spark", 0.0)
    with spark_session(master) as session:
        choices["progress"]("looking at the columns", 0.0)
        table, described = loading.spark_table(load, session)
        model = promised(described, defaults.shares_on_spark(table))
        return anonymize_spark(table, described, model, output, **choices)


def _warn(made: Certificate, output: Path, keep_key: bool) -> None:
    """Show the warnings, the notes of the method, and what is or was left on disk."""
    left = left_beside(output)
    if left is not None:
        warn(
            f"{left} holds personal data that an interrupted run in blocks left; repeat its call to finish "
            "it, or remove the folder"
        )
    for text in (*made.warnings, *made.circumstances.get("notes", ())):
        warn(text)
    show_remedies(made.warnings)
    if keep_key:
        warn(f"{output / 'key.csv'} re-identifies every row; keep it apart from the release, or delete it")


def show_release(release: Release | BlockedRelease, folder: Path) -> None:
    """Print what is guaranteed, found and lost, and where the files are."""
    made = release.certified
    loss, found = made.loss, made.audit
    worst = sorted(loss.by_attribute.items(), key=lambda item: -item[1])
    show_facts(
        "Release",
        [
            *_publishable(made),
            ("guaranteed", found.promised),
            ("audit found", verdict(found.verdict, found.status)),
            *_crowd(made),
            *([] if found.persons is None else found.persons.facts()),
            *_suppressed(made),
            ("lost", f"{loss.gcp:.1%} of the precision of the quasi-identifiers (GCP)"),
            *_least(loss),
            *_other_measures(loss),
            ("most in", ", ".join(f"{name} {share:.1%}" for name, share in worst[:4])),
            *_items(loss),
            *_left_out("left out", made.left_out, " with missing values"),
            *_left_out("over the limit", made.over_limit, " of persons"),
            *_left_out("not hidden", made.stranded, " that cannot be hidden within the limits, left out"),
            *_left_out("withheld", made.withheld),
            ("made by", _made_by(made)),
            ("files", ", ".join(sorted(str(file) for file in folder.iterdir()))),
            *([] if can_draw() else [("charts", f"in words; for pictures: {install_command('report')}")]),
        ],
    )


def _left_out(name: str, records: int, which: str = "") -> list[tuple[str, object]]:
    return [(name, f"{plural(records, 'record')}{which}")] if records else []


def _publishable(made: Certificate) -> list[tuple[str, object]]:
    """Return why a release must not be published, or that there are warnings."""
    if made.reasons_not_to_publish:
        return [("do not publish", verdict(" ".join(made.reasons_not_to_publish), "broken"))]
    if made.warnings:
        count = plural(len(made.warnings), "warning")
        return [("before you publish", verdict(f"read the {count}", "caution"))]
    return []


def _other_measures(loss: Loss) -> list[tuple[str, str]]:
    """Return what other measures say that belong into a summary."""
    return [
        (each.label or each.name, each.written(loss[each.name]))
        for each in headlines()
        if each.name != "gcp" and loss[each.name] is not None
    ]


def _made_by(made: Certificate) -> str:
    """Return the method, the blocks if there are any, and the time it took."""
    method, seconds = made.circumstances["method"], f"{made.circumstances['seconds']:.1f} s"
    if not made.engine:
        return f"{method} in {seconds}"
    few, many = made.engine["smallest"], made.engine["largest"]
    if made.engine["blocks"] == 1:
        return f"{method} in 1 block, {seconds}"
    return f"{method} in {made.engine['blocks']} blocks of {few:,} to {many:,} rows, {seconds}"


def _items(loss: Loss) -> list[tuple[str, str]]:
    """Return how far the released sets of items are from the true ones."""
    return [
        (
            f"items of {name}",
            f"{lost.error_rate:.1%} wrong, {lost.uncertain:.1f} uncertain in a row"
            + (
                ""
                if lost.query_error_present is None
                else f"; counts of records with some items are off by {lost.query_error_present:.1%}"
            ),
        )
        for name, lost in loss.items.items()
    ]


def _suppressed(made: Certificate) -> list[tuple[str, str]]:
    """Return which cells how many rows suppress, and how far from the least that may be."""
    kinds = [
        f"{', '.join(kind.suppressed) or 'nothing'} ({kind.rows} rows)" for kind in made.audit.suppressions
    ]
    more = f" and {len(kinds) - MOST_PATTERNS} other combinations" if len(kinds) > MOST_PATTERNS else ""
    account = made.account
    gap = 1 - account["bound"] / account["cost"] if account.get("bound") else None
    return [
        *([("suppressed", "; ".join(kinds[:MOST_PATTERNS]) + more)] if kinds else []),
        *([] if gap is None else [("proven", f"within {gap:.1%} of the optimum")]),
    ]


def _least(loss: Loss) -> list[tuple[str, str]]:
    """Return how much more was lost than every such release must lose, if that is known."""
    if loss.ratio is None:
        return []
    about = "about " if loss.bound_error else ""
    times = math.ceil(10 * loss.ratio - 1e-6) / 10
    return [("which is", f"at most {about}{times:.1f} times what every such release must lose")]


def _crowd(made: Certificate) -> list[tuple[str, str]]:
    """Return in what crowd records hide: classes of identical rows, or the rows that cover a record."""
    found = made.audit
    if made.model.crowd_kind == "rows":
        consistent = found.consistency
        return [
            ("each record is covered by", f"at least {consistent.rows_per_record:,} of {found.rows:,} rows"),
            ("each row covers", f"at least {plural(int(consistent.records_of_row.min()), 'record')}"),
            *(
                (
                    f"diversity of {d.column}",
                    f"at least {plural(d.p, 'value')} among the matches of a record, "
                    f"none above {1 / d.l:.0%}",
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
        ("smallest class", f"{found.k:,} rows; {found.classes.count:,} classes, {found.rows:,} rows"),
        *(
            (
                f"diversity of {d.column}",
                f"at least {plural(d.p, 'value')} in a class, none above {1 / d.l:.0%}",
            )
            for d in found.diversity
        ),
    ]
