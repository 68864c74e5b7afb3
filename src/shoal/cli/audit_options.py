"""Options of `shoal audit` and `shoal attack`, and the release beside its original that both take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from shoal.cli import loading
from shoal.cli.declared import COLUMNS, FILES, METHOD, MODEL, Bundle, bundled, in_panel
from shoal.cli.earlier import is_release_folder, release_at
from shoal.files.access import require_file
from shoal.release.claims import Claims
from shoal.schema import Schema

Released = Annotated[
    Path,
    typer.Argument(
        metavar="RELEASE",
        help="The released table, or the folder of a release: its certificate then describes the columns and "
        "the guarantee.",
    ),
]
Key = Annotated[
    Path | None, in_panel(FILES, "--key", help="key.csv: also check each row against its own record.")
]
MayLeaveOut = Annotated[
    bool,
    in_panel(MODEL, "--may-leave-out", help="The release may have fewer rows than the original has records."),
]
Posterior = Annotated[
    float | None,
    in_panel(
        MODEL,
        "--posterior",
        metavar="SECONDS",
        help="Time to estimate how likely the strongest attacker guesses right.",
    ),
]
Control = Annotated[
    Path | None,
    in_panel(FILES, "--control", help="Table of records that were held out before the release was made."),
]
AttackKey = Annotated[
    Path | None,
    in_panel(FILES, "--key", help="key.csv: records of TABLE that it does not name are the control group."),
]
Targets = Annotated[
    int,
    in_panel(
        METHOD, "--targets", min=1, help="Maximum number of records to attack, in the release and outside it."
    ),
]
AttackSeconds = Annotated[
    float,
    in_panel(
        METHOD,
        "--posterior",
        metavar="SECONDS",
        help="Time to estimate, for inference, how likely each row belongs to each record; 0 skips this.",
    ),
]
Halves = Annotated[
    str | None,
    in_panel(
        METHOD,
        "--halves",
        metavar="COLUMNS:COLUMNS",
        help="Two lists of quasi-identifiers, such as age,sex:zip,job, for linkability.",
    ),
]
SuppressedMarks = Annotated[
    list[str] | None,
    in_panel(
        FILES,
        "--suppressed-mark",
        metavar="TEXT",
        help="Text that another tool writes for a suppressed cell, such as NA (sdcMicro).",
    ),
]
Population = Annotated[
    Path | None,
    in_panel(
        FILES,
        "--population",
        help="Table of everyone who could be in the original, for the risk from an attacker who does not "
        "know who is in it.",
    ),
]
SamplingFraction = Annotated[
    float | None,
    in_panel(
        FILES,
        "--sampling-fraction",
        help="Share of the population in the original, if that is a random sample: to estimate how many of "
        "its records are unique in the population.",
    ),
]
SurveyWeight = Annotated[
    str | None,
    in_panel(
        COLUMNS,
        "--survey-weight",
        help="Column of survey weights of the original, for the individual risk in the population; by "
        "default the column with the role weight.",
    ),
]


@dataclass(frozen=True)
class Beside:
    """A release beside its original, as options name them.

    Parameters
    ----------
    original, schema
        The original; its schema is that of the certificate unless options describe one.
    place
        The released table, or the folder of a release.
    claims
        What the certificate in the folder says, if it is one.
    suppressed_marks
        Texts that another tool writes for a suppressed cell.
    """

    original: pl.DataFrame
    schema: Schema
    place: Path
    claims: Claims | None
    suppressed_marks: tuple[str, ...]

    def released(self) -> Any:
        """Return the released table."""
        return release_at(self.place)


def _beside(released: Released, suppressed_mark: SuppressedMarks = None, **table: Any) -> Beside:
    load = loading.TABLE.made(table)
    claims = Claims.read(released) if is_release_folder(released) else None
    if claims is None:  # before the original is read, and the options that describe it are asked for
        require_file(released)
    alone = None if claims is None else loading.read_alone(load)
    if claims is None or alone is None:
        original, schema = load()
    else:
        original, schema = alone, claims.schema.completed(alone.columns)
    return Beside(original, schema, released, claims, tuple(suppressed_mark or ()))


_OWN = bundled(_beside)
BESIDE = Bundle(
    (
        *(each for each in loading.TABLE.parameters if each.name != "survey_weight"),
        *(each for each in _OWN.parameters if each.name != "table"),
    ),
    _OWN.made,
)
"""The options that name a release and its original, and describe the columns of the original."""
