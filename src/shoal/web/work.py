"""Tasks in a process of their own, which can be stopped at any time and never block the page."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import sys
import threading
import time
import warnings
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from shoal.engines.additions import all_modules
from shoal.errors import InputError, InternalError, Reason, ShoalWarning
from shoal.web.tasks import TASKS, Source, explained

_WORKER = """\
from shoal.base.starting import loading
with loading():
    from shoal.engines.additions import load_found
    load_found({})
    from shoal.web.work import answer
answer()
"""
_LONGEST_LINE = 1 << 27  # a report with all its charts is one line
_POLITE = 5  # the page has priority
_PAUSE = 0.2  # seconds between two reports of the same stage


class Job:
    """A running task.

    Parameters
    ----------
    task
        Its name, one of `TASKS`.
    source
        The table that it is about.
    arguments
        Further arguments of the task.
    folder
        Where the process may put temporary files.
    """

    def __init__(self, task: str, source: Source, arguments: dict[str, Any], folder: Path) -> None:
        self._order = pickle.dumps((task, source, arguments))
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None
        self._ended = False

    async def messages(self) -> AsyncIterator[dict[str, Any]]:
        """Start the process and yield its messages: progress, and finally a result or an error."""
        self._process = process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _WORKER.format(dict(all_modules()))),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LONGEST_LINE,
            env={**os.environ, "TMPDIR": str(self._folder)},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        complaints = asyncio.create_task(process.stderr.read())
        try:
            if self._ended:
                return
            # Standard input stays open: when it ends, the process knows that the server has gone.
            process.stdin.write(len(self._order).to_bytes(8, "big") + self._order)
            told = False
            async for line in process.stdout:
                message = json.loads(line)
                told = "progress" not in message
                yield message
            if not told and not self._ended:
                yield {"error": _death(await process.wait(), await complaints)}
        finally:
            self.end()
            process.stdin.close()
            await process.wait()
            await complaints

    def end(self) -> None:
        """Stop the process."""
        self._ended = True
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()


def answer() -> None:
    """Run the task on standard input and write messages to standard output, in the worker process."""
    orders, tell = sys.stdin.buffer, os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of libraries must not look like a message
    task, source, arguments = pickle.loads(orders.read(int.from_bytes(orders.read(8), "big")))
    threading.Thread(target=_end_with, args=(orders,), daemon=True).start()
    warnings.simplefilter("ignore", ShoalWarning)  # the page shows the warnings of a release itself
    if hasattr(os, "nice"):
        os.nice(_POLITE)

    def say(message: dict[str, Any]) -> None:
        tell.write(json.dumps(message) + "\n")
        tell.flush()

    last, when = "", 0.0

    def progress(stage: str, share: float) -> None:
        nonlocal last, when
        if stage != last or time.monotonic() - when > _PAUSE:
            last, when = stage, time.monotonic()
            say({"progress": [stage, share]})

    try:
        say({"result": TASKS[task](source, **arguments, progress=progress)})
    except Exception as error:
        say({"error": explained(error, source)})
    tell.close()
    os._exit(0)  # without waiting for the thread that reads standard input


def _end_with(orders: BinaryIO) -> None:
    """Exit when the server has gone."""
    orders.read()
    os._exit(1)


def _death(code: int, complaints: bytes) -> dict[str, str | None]:
    """Return what the page says if a worker process ends without an answer."""
    if code < 0:
        return InputError(
            f"nothing was released: the process that worked on the table was ended by signal {-code}. The "
            "file may be damaged, or memory may be short",
            reason=Reason.TOO_LARGE,
        ).as_dict()
    last = complaints.decode(errors="replace").strip().splitlines()[-1:]
    return InternalError(f"the worker process died ({''.join(last)})").as_dict()
