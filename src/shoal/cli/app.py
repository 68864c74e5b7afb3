"""The `shoal` command: its subcommands, and how every outcome becomes an exit code."""

from __future__ import annotations

import signal
import sys
import threading
import traceback
import warnings
from _thread import interrupt_main
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
    _handle_signals()
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
    except Exception as error:
        if _interrupted:  # a library, such as Polars, made an error of its own of the exit
            sys.exit(_interrupted[0])
        sys.exit(_failed(error, as_json))
    sys.exit(DONE)


def _failed(error: Exception, as_json: bool) -> int:
    """Show an error; return its exit code."""
    if isinstance(error, InfeasibleError | PromiseError):
        return fail(error, BROKEN, as_json, _options_of_call())
    if isinstance(error, InputError):
        return fail(error, WRONG, as_json, _options_of_call())
    if isinstance(error, MemoryError):
        short = InputError(
            "there is not enough memory for this table; use a machine with more, or let anonymize work in "
            "blocks (--block-rows)",
            reason=Reason.TOO_LARGE,
        )
        return fail(short, WRONG, as_json, _options_of_call())
    traceback.print_exception(error)  # an unexpected exception is a bug: show where it happened
    bug = error if isinstance(error, ShoalError) else InternalError(f"{type(error).__name__}: {error}")
    return fail(bug, BUG, as_json)


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


_interrupted: list[int] = []
"""The exit codes of the signals that came."""


def _handle_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # under nohup
        signal.signal(signal.SIGHUP, _interrupt)
    sys.unraisablehook = _interrupt_again


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Turn a signal into an exit, which removes half-written files."""
    del frame
    _interrupted.append(128 + number)
    sys.exit(128 + number)


def _interrupt_again(lost: sys.UnraisableHookArgs) -> None:
    """Repeat a signal whose exit a library has lost, as code that C calls cannot raise; show other errors."""
    if isinstance(lost.exc_value, SystemExit) and lost.exc_value.code in _interrupted:
        # A moment later: here, the exit would be lost as well.
        threading.Timer(0.01, _signal_to_main_thread, [int(lost.exc_value.code) - 128]).start()
    else:
        sys.__unraisablehook__(lost)


def _signal_to_main_thread(number: int) -> None:
    if sys.platform == "win32":
        interrupt_main(number)
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, number)  # which also ends its waiting


__all__ = ["BROKEN", "BUG", "DONE", "WRONG", "app", "main"]
