"""The `shoal` command: its subcommands, and how every outcome becomes an exit code."""

from __future__ import annotations

import signal
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from itertools import takewhile
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer

from shoal.base.distribution import version
from shoal.cli.advise import advise
from shoal.cli.anonymize import anonymize
from shoal.cli.attack import attack
from shoal.cli.audit import audit
from shoal.cli.compare import compare
from shoal.cli.declared import in_words
from shoal.cli.demo import demo
from shoal.cli.doctor import doctor
from shoal.cli.output import fail, hint, warn
from shoal.cli.query import query
from shoal.cli.read import read
from shoal.cli.scan import scan
from shoal.cli.ui import ui
from shoal.errors import (
    InfeasibleError,
    InputError,
    InternalError,
    PromiseError,
    Reason,
    ShoalError,
    ShoalWarning,
)

DONE, BROKEN, WRONG, BUG = 0, 1, 2, 3
"""Exit codes: done; the guarantee does not hold or is infeasible; call or input is wrong; a bug of ours."""

app = typer.Typer(
    help="Publish a table so that no record can be singled out among fewer than k rows.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for command in (demo, scan, advise, anonymize, audit, attack, compare, query, read, ui, doctor):
    app.command()(in_words(command))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"shoal {version()}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, metavar="", help="Print the version."
        ),
    ] = False,
) -> None:
    del version  # handled by its callback


def main() -> NoReturn:
    """Run the command line and exit with one of the four codes (128 + the signal when interrupted)."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # under nohup
        signal.signal(signal.SIGHUP, _interrupt)
    as_json = "--json" in sys.argv
    warnings.simplefilter("ignore", ShoalWarning)  # commands show the warnings of a release themselves
    try:
        app(standalone_mode=True)
    except SystemExit as error:
        for note in getattr(error, "__notes__", ()):  # what an interrupted run leaves, and why
            warn(note.replace("(fresh)", "(--fresh)"))
        if error.code == WRONG:
            for text in _hints(sys.argv[1:]):
                hint(text)
        raise
    except (InfeasibleError, PromiseError) as error:
        sys.exit(fail(error, BROKEN, as_json, _options_of_call()))
    except InputError as error:
        sys.exit(fail(error, WRONG, as_json, _options_of_call()))
    except MemoryError:
        short = InputError(
            "there is not enough memory for this table; use a machine with more, or let anonymize work in "
            "blocks (--block-rows)",
            reason=Reason.TOO_LARGE,
        )
        sys.exit(fail(short, WRONG, as_json, _options_of_call()))
    except Exception as error:
        # An unexpected exception is a bug: show where it happened.
        traceback.print_exc()
        bug = error if isinstance(error, ShoalError) else InternalError(f"{type(error).__name__}: {error}")
        sys.exit(fail(bug, BUG, as_json))
    sys.exit(DONE)


def _hints(words: Sequence[str]) -> list[str]:
    """Return what was probably meant by a call that cannot be parsed: one dash for two, spaces for commas."""
    known = _options_of_call()
    found = [f"The option is -{word}." for word in words if f"-{word}" in known]
    for place, word in enumerate(words):
        names = list(takewhile(lambda each: not each.startswith("-"), words[place + 1 :]))
        is_list = word in ("--quasi", "--sensitive", "--drop")
        if is_list and len(names) > 1 and not any("." in each or "/" in each for each in names):
            joined = ",".join(name.strip(",") for name in names)
            found.append(f"Separate names by commas, without spaces: {word} {joined}")
    return found


def _options_of_call() -> set[str]:
    """Return the options of the command that was called."""
    commands: Mapping[str, Any] = vars(typer.main.get_command(app))["commands"]
    called = next((word for word in sys.argv[1:] if word in commands), None)
    if called is None:
        return set()
    return {name for each in commands[called].params for name in each.opts if name.startswith("--")}


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Turn a signal into an exit, which removes half-written files."""
    del frame
    sys.exit(128 + number)


__all__ = ["BROKEN", "BUG", "DONE", "WRONG", "app", "main"]
