"""Long work in a process of its own: it can be ended at any time, and the page never waits for it."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from shoal.errors import InternalError
from shoal.web.tasks import TASKS, Source, explained

_WORKER = "from shoal.web.work import answer; answer()"
_LONGEST_LINE = 1 << 27  # a report with all its charts is one line
_POLITE = 5  # the page takes precedence over the work
_PAUSE = 0.2  # seconds between two reports of the same stage


class Job:
    """A piece of work under way.

    Parameters
    ----------
    task
        Its name, one of `TASKS`.
    source
        The table that it is about.
    arguments
        What else the task needs.
    folder
        Where the process may put temporary files.
    """

    def __init__(self, task: str, source: Source, arguments: dict[str, Any], folder: Path) -> None:
        self._order = pickle.dumps((task, source, arguments))
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None
        self._ended = False

    async def messages(self) -> AsyncIterator[dict[str, Any]]:
        """Start, and yield what the process tells: progress, and finally a result or an error."""
        self._process = process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _WORKER),
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
            # Standard input stays open: its end tells the process that the server no longer waits.
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
        """End the process, whatever it does."""
        self._ended = True
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()


def answer() -> None:
    """Do the task that standard input holds, and tell about it on standard output: what the process does."""
    orders, tell = sys.stdin.buffer, os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no message
    task, source, arguments = pickle.loads(orders.read(int.from_bytes(orders.read(8), "big")))
    threading.Thread(target=_end_with, args=(orders,), daemon=True).start()
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
    os._exit(0)  # threads that still wait for standard input do not hold it up


def _end_with(orders: BinaryIO) -> None:
    """End this process when the server has gone."""
    orders.read()
    os._exit(1)


def _death(code: int, complaints: bytes) -> dict[str, str | None]:
    last = complaints.decode(errors="replace").strip().splitlines()[-1:]
    how = f"signal {-code}; perhaps there was not enough memory" if code < 0 else "".join(last)
    return InternalError(f"the work ended before it was done ({how})").as_dict()
