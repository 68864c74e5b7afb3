"""Options of the command line about limits of columns, and about attackers who know few columns."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.base.choices import CHOICES
from shoal.cli.declared import COLUMNS, METHOD, MODEL

Limits = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        rich_help_panel=COLUMNS,
        metavar="COLUMN=LIMIT",
        help=f"{CHOICES['widest'].help}, exact, or shown (never suppressed).",
    ),
]
ForBands = Annotated[
    list[str] | None,
    typer.Option(
        "--bands",
        rich_help_panel=COLUMNS,
        metavar="COLUMN=BANDS",
        help=CHOICES["bands"].help,
    ),
]
Strata = Annotated[
    list[str] | None,
    typer.Option(
        "--strata",
        rich_help_panel=COLUMNS,
        help="Quasi-identifiers whose values are never mixed, comma-separated; the same as a limit of exact.",
    ),
]
LeaveOut = Annotated[
    float,
    typer.Option(
        "--leave-out",
        rich_help_panel=METHOD,
        metavar="SHARE",
        help=CHOICES["leave_out"].help,
    ),
]
AuditLeaveOut = Annotated[
    float | None,
    typer.Option(
        "--leave-out",
        rich_help_panel=MODEL,
        metavar="SHARE",
        help="Largest share of the records that may be left out because of limits of columns; by default the "
        "one in the certificate.",
    ),
]
Knows = Annotated[
    int | None,
    typer.Option(
        "--knows",
        rich_help_panel=MODEL,
        metavar="M",
        min=1,
        help="Check only against attackers who know at most this number of quasi-identifiers.",
    ),
]
