"""`shoal attack`: attacks on a release, of any tool, and how often they succeed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from shoal import attack as attacker
from shoal.attacking.results import HEAD, WITHOUT_CONTROL
from shoal.cli import audit_options, options
from shoal.cli.audit_options import BESIDE, Beside
from shoal.cli.declared import takes
from shoal.cli.output import out, progress, show_json, show_table, warn
from shoal.errors import InputError, Reason
from shoal.files.reading import read_table
from shoal.release import read_key


@takes(release=BESIDE)
def attack(
    release: Beside,
    control: audit_options.Control = None,
    key: audit_options.AttackKey = None,
    targets: audit_options.Targets = 1000,
    halves: audit_options.Halves = None,
    posterior: audit_options.AttackSeconds = 10.0,
    seed: options.RunsSeed = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Attack a release: how often are records singled out, linked, and their sensitive values guessed?"""
    members, others = _groups(release.original, control, key)
    with progress(quiet or as_json) as report:
        found = attacker(
            members,
            release.released(),
            release.schema,
            others,
            targets=targets,
            halves=None if halves is None else [options.words(half) for half in halves.split(":")],
            posterior=posterior,
            suppressed_marks=release.suppressed_marks,
            seed=seed,
            progress=report,
        )
    if others is None:
        warn(WITHOUT_CONTROL)
    for text in found.notes:
        warn(text)
    if as_json:
        show_json(found.as_dict())
    elif not quiet:
        show_table("Attacks", HEAD, [each.cells() for each in found])
        how = f"Intervals have a confidence of {found.confidence:.0%}."
        for text in (*(f"{each.title}: {each.about}" for each in found), how):
            out.print(text, highlight=False, soft_wrap=True)


def _groups(
    frame: pl.DataFrame, control: Path | None, key: Path | None
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return the records in the release, and the control group."""
    if key is None:
        return frame, None if control is None else read_table(control)
    if control is not None:
        raise InputError("--control and --key cannot be used together", reason=Reason.PARAMETER)
    places = read_key(key)
    if len(places) and not 0 <= int(places.min()) <= int(places.max()) < len(frame):
        raise InputError(f"{key} names records that the table does not have", reason=Reason.PARAMETER)
    inside = np.zeros(len(frame), dtype=np.bool_)
    inside[places] = True
    if inside.all():
        raise InputError(
            f"{key} names every record of the table: there is no control group", reason=Reason.PARAMETER
        )
    return frame.filter(pl.Series(inside)), frame.filter(pl.Series(~inside))
