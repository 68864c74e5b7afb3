"""Options of the command line about earlier releases of the same persons."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from shoal.base.choices import CHOICES
from shoal.cli.declared import EARLIER, bundled, in_panel
from shoal.cli.earlier import EarlierFiles, PublishingAgain

With = Annotated[
    list[Path] | None,
    in_panel(
        EARLIER,
        "--with",
        metavar="RELEASE",
        help="An earlier release of the same people, or its folder: also audit all of them together.",
    ),
]
WithTables = Annotated[
    list[Path] | None,
    in_panel(
        EARLIER,
        "--with-table",
        metavar="TABLE",
        help="The original of each --with, in the same order; TABLE if omitted.",
    ),
]
WithKeys = Annotated[
    list[Path] | None,
    in_panel(
        EARLIER,
        "--with-key",
        metavar="FILE",
        help="key.csv of each --with, in the same order: only records that were released count.",
    ),
]
After = Annotated[
    list[Path] | None,
    in_panel(
        EARLIER,
        "--after",
        metavar="RELEASE",
        help="Folder of an earlier release, the newest first: release only persons who are in none of them. "
        "Needs --after-table and, if records were changed or deleted since then, --person.",
    ),
]
AfterTables = Annotated[
    list[Path] | None,
    in_panel(
        EARLIER, "--after-table", metavar="TABLE", help="The original of each --after, in the same order."
    ),
]
AfterKeys = Annotated[
    list[Path] | None,
    in_panel(
        EARLIER,
        "--key",
        metavar="FILE",
        help="key.csv of each --after, in the same order; the one in its folder if omitted.",
    ),
]
Stable = Annotated[
    bool,
    in_panel(
        EARLIER,
        "--stable",
        help=f"With --after: {CHOICES['stable'].help[0].lower()}{CHOICES['stable'].help[1:]}",
    ),
]
LedgerFile = Annotated[
    Path | None,
    in_panel(
        EARLIER,
        "--ledger",
        metavar="FILE",
        help="Private file with keyed hashes of what was published before; created, checked and extended. "
        "Needs --person.",
    ),
]


def _audited_together(
    earlier: With = None, earlier_tables: WithTables = None, earlier_keys: WithKeys = None
) -> EarlierFiles:
    return EarlierFiles("--with", earlier or [], earlier_tables or [], earlier_keys or [], "--with-key")


def _published_before(
    after: After = None,
    after_tables: AfterTables = None,
    after_keys: AfterKeys = None,
    stable: Stable = False,
    ledger: LedgerFile = None,
) -> PublishingAgain:
    files = EarlierFiles("--after", after or [], after_tables or [], after_keys or [], "--key")
    return PublishingAgain(files, stable, ledger)


TOGETHER = bundled(_audited_together)
"""The options that name earlier releases which are audited together with one."""
BEFORE = bundled(_published_before)
"""The options that name earlier releases after which a table is published again."""
