"""What the command line shows: tables on a terminal, JSON for programs, progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from shoal.base.commands import option
from shoal.errors import ShoalError
from shoal.methods import Progress as Report
from shoal.methods import silent

out = Console()
err = Console(stderr=True)
_WIDEST_WORD = 20  # longer ones are divided where a terminal is narrow
_ROOM = 10_000  # characters in a line that is not shown on a terminal


def show_json(data: Any) -> None:
    """Print data as JSON, and nothing else, on stdout."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def fail(error: ShoalError, code: int, as_json: bool, options: Collection[str] = ()) -> int:
    """Show an error and the option that it is about; return the exit code."""
    if as_json:
        show_json({"error": error.as_dict()})
    err.print(f"[bold red]Error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
    about = option(error.parameter or "")
    if about in options and about not in str(error):
        hint(f"The option is {about}.")
    return code


def hint(message: str) -> None:
    """Show on stderr what to write instead."""
    err.print(escape(message), highlight=False, soft_wrap=True)


def warn(message: str) -> None:
    """Show a warning on stderr."""
    err.print(f"[yellow]Warning:[/] {escape(message)}", highlight=False, soft_wrap=True)


def show_remedies(warnings: Sequence[str]) -> None:
    """Show the options that answer warnings about columns."""
    if any("read the file with decimal" in text for text in warnings):
        hint("Use --decimal and --thousands for the notation of numbers.")
    about_persons = [text for text in warnings if "person column" in text]
    if about_persons:
        hint("Use --person for the column that says whose record each is.")
    if any(text.lower().startswith("column ") for text in warnings if text not in about_persons):
        hint("Use --drop for identifiers, and --quasi for quasi-identifiers.")


def show_table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table; text in cells is shown as it is.

    On a terminal, cells are as wide as their longest word where there is room for that, and names of models
    and methods are in one piece. A file or another program gets each row in one line.
    """
    style = {"title_justify": "left", "title_style": "bold", "header_style": "bold"}
    table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), **style)  # type: ignore[arg-type]
    for number, name in enumerate(head):
        cells = (name, *(str(row[number]) for row in rows))
        longest = max(len(word) for cell in cells for word in (*cell.split(), ""))
        whole = name in ("model", "method") or not out.is_terminal
        table.add_column(name, overflow="fold", no_wrap=whole, min_width=min(longest, _WIDEST_WORD))
    for row in rows:
        table.add_row(*(escape(str(cell)) for cell in row))
    (out if out.is_terminal else Console(width=_ROOM)).print(table)


def verdict(text: str, status: str) -> Text:
    """Return a verdict in the colour of its status."""
    return Text(text, style={"holds": "green", "caution": "yellow"}.get(status, "bold red"))


def show_facts(title: str, facts: Sequence[tuple[str, object]]) -> None:
    """Print names with their values."""
    table = Table.grid(padding=(0, 2))
    for name, fact in facts:
        table.add_row(f"[bold]{escape(name)}[/]", fact if isinstance(fact, Text) else escape(str(fact)))
    out.print(f"\n[bold]{escape(title)}[/]")
    out.print(table)


@contextmanager
def progress(quiet: bool) -> Iterator[Report]:
    """Yield a function that draws progress on stderr, if that is a terminal and output is not quiet."""
    if quiet or not err.is_terminal:
        yield silent
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda stage, share: bar.update(task, description=stage, completed=share)
