"""Work in separate processes: each reads a task from stdin and writes its result to stdout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from shoal.errors import InfeasibleError, InputError, InternalError, PromiseError, Reason, ShoalError
from shoal.measures.measure import added_modules

DIED = "died"
"""The reason code if a process ended without a result."""
PARALLEL = "SHOAL_THREADS", "POLARS_MAX_THREADS"
"""The environment variables that limit the number of threads."""
_PARENT = "SHOAL_PARENT"
"""The environment variable with the id of the parent process."""
_LOOK = 0.5
"""The number of seconds between two checks whether the parent is alive."""


class Crew:
    """The worker processes of a run.

    Parameters
    ----------
    limit
        Time limit of each in seconds; None for no limit.
    environment
        Environment variables beside those of this process.
    """

    def __init__(self, limit: float | None = None, environment: Mapping[str, str] | None = None) -> None:
        self._limit = limit
        self._environment = {**os.environ, **(environment or {}), _PARENT: str(os.getpid())}
        self._stopped = False
        self._working: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()

    def ask(self, code: str, task: bytes) -> dict[str, Any]:
        """Run code in a new process and return its result; after a failure, a ``reason`` and a ``message``.

        Parameters
        ----------
        code
            The code to run; it calls `tell`.
        task
            The content of stdin.
        """
        # Measures that were added are loaded there, too, and left out where their module is not found.
        load = "".join(f"with suppress(ImportError): import {name}\n" for name in added_modules())
        # Not multiprocessing, which runs the caller's script again.
        with self._lock:
            if self._stopped:
                return {"reason": "stopped", "message": "was not begun"}
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-c",
                    f"from contextlib import suppress\n{load}{code}",
                ],  # no modules from the current folder
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environment,
            )
            self._working.add(process)
        try:
            out, err = process.communicate(task, timeout=self._limit)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return {"reason": "too-slow", "message": f"took longer than {self._limit:g} seconds"}
        finally:
            with self._lock:
                self._working.discard(process)
        if process.returncode != 0:
            last = err.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
            how = f"signal {-process.returncode}" if process.returncode < 0 else last[0]
            return {"reason": DIED, "message": f"the process died: {how}"}
        told: dict[str, Any] = json.loads(out)
        return told

    def stop(self) -> None:
        """End all processes, and start no more."""
        with self._lock:
            self._stopped = True
            for process in self._working:
                process.kill()


def tell(work: Callable[[], Mapping[str, Any]]) -> None:
    """Do some work and write its result to stdout: the body of a worker process."""
    parent = os.environ.get(_PARENT)
    if parent is not None:
        threading.Thread(target=_end_with, args=(int(parent),), daemon=True).start()
    told: Mapping[str, Any]
    try:
        told = work()
    except ShoalError as error:
        told = error.as_dict()
    except MemoryError:
        told = {"reason": DIED, "message": "the process ran out of memory"}
    except Exception as error:
        bug = InternalError(f"{type(error).__name__}: {error}")
        told = {"reason": Reason.BUG.value, "message": str(bug)}
    sys.stdout.write(json.dumps(told))


def failure(told: Mapping[str, Any]) -> ShoalError:
    """Return the error that a worker process reported.

    Parameters
    ----------
    told
        Its result, as `ShoalError.as_dict` describes an error.
    """
    message = told["message"]
    try:
        reason = Reason(told["reason"])
    except ValueError:
        return InternalError(f"a process ended because of {told['reason']!r}: {message}")
    if reason is Reason.BUG:
        bug = InternalError("")
        bug.args = (message,)  # it already says that it is a bug
        return bug
    known = {Reason.INFEASIBLE: InfeasibleError, Reason.PROMISE_BROKEN: PromiseError}
    error = known[reason](message) if reason in known else InputError(message, reason=reason)
    error.column, error.parameter = told.get("column"), told.get("parameter")
    return error


def _end_with(parent: int) -> None:
    """End this process when its parent has ended: a killed run must not continue to write."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)
