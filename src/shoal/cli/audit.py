"""`shoal audit`: does a release, of any tool, keep its promise?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal import audit as auditor
from shoal.cli import options
from shoal.cli.output import out, show_facts, show_json
from shoal.errors import InputError, Reason
from shoal.io import read_table
from shoal.release import read_key


@options.takes_table
def audit(
    load: options.Loading,
    released: Annotated[Path, typer.Argument(metavar="RELEASE", help="The released table.")],
    k: Annotated[
        int | None, typer.Option("--k", help="The k that was promised.", rich_help_panel="The promise")
    ] = None,
    model: options.ModelName = "k-anonymity",
    diversity_l: options.DiversityL = None,
    diversity_p: options.DiversityP = None,
    entropy_l: options.EntropyL = None,
    key: Annotated[
        Path | None,
        typer.Option(
            "--key", help="key.csv: also check each row against its own record.", rich_help_panel="Files"
        ),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Check a release against its original: exit code 1 if the promise does not hold."""
    promised = None
    if k is not None:
        promised = options.promise(model, k, diversity_l, diversity_p, entropy_l)
    elif (diversity_l, diversity_p, entropy_l) != (None, None, None) or model != "k-anonymity":
        raise InputError(
            "a promise needs its --k; without one, the audit reports and judges nothing",
            reason=Reason.PARAMETER,
        )
    frame, described = load()
    found = auditor(
        frame, read_table(released), described, promised, key=None if key is None else read_key(key)
    )
    if as_json:
        show_json(found.as_dict())
    elif not quiet:
        consistent = found.consistency
        show_facts(
            "Audit",
            [
                ("rows", f"{found.rows} released of {found.records} records"),
                ("classes", f"{len(found.classes.sizes)}; the smallest has {found.k} rows"),
                ("each record fits", f"at least {consistent.rows_per_record} released rows"),
                ("each row fits", f"at least {int(consistent.records_of_row.min())} records"),
                *([] if consistent.strayed is None else [("rows beside their record", consistent.strayed)]),
                *(
                    (f"diversity of {d.column}", f"p = {d.p}, l = {d.l:.3g}, entropy l = {d.entropy_l:.3g}")
                    for d in found.diversity
                ),
                *(
                    (f"{d.column} around records", f"p = {d.p}, l = {d.l:.3g}, entropy l = {d.entropy_l:.3g}")
                    for d in found.diversity_around
                ),
            ],
        )
        out.print(found.verdict, style="green" if found.holds else "bold red", markup=False, highlight=False)
    if not found.holds:
        raise typer.Exit(1)
