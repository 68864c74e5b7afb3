"""The command line: one file for each command, and what they share."""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False  # that of `typing` takes longer than all of this
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn


def main() -> NoReturn:
    """Run the command line; while its modules are loaded, a signal ends the process at once.

    Nothing is written then. Libraries that are loaded at that moment could turn an exception into an error of
    their own, so none is raised.
    """
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # there is no SIGHUP on Windows
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _leave)
    from shoal.base.starting import loading

    with loading():
        from shoal.cli.app import main as run
    run()


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    os._exit(128 + number)


__all__ = ["main"]
