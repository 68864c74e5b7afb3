"""Work in separate processes: each reads tasks from stdin and writes their results to stdout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from typing import IO, Any

from shoal.errors import InfeasibleError, InputError, InternalError, PromiseError, Reason, ShoalError

DIED = "died"
"""The reason code if a process ended without a result."""
PARALLEL = "SHOAL_THREADS", "POLARS_MAX_THREADS"
"""The environment variables that limit the number of threads."""
_PARENT = "SHOAL_PARENT"
"""The environment variable with the id of the parent process."""
_LOOK = 0.5
"""The number of seconds between two checks whether the parent is alive."""
_LENGTH = 8
"""The number of bytes that say how long the task or the result after them is."""


def answering(module: str) -> str:
    """Return the code of a worker process that lets a module answer.

    Parameters
    ----------
    module
        Has a function ``answer`` that calls `tell`.
    """
    loaded = f"with loading():\n    from {module} import answer\n"
    return f"from shoal.base.starting import loading\n{loaded}answer()\n"


class Crew:
    """The worker processes of a run.

    Parameters
    ----------
    limit
        Time limit of each task in seconds; None for no limit.
    environment
        Environment variables beside those of this process.
    lasting
        Whether a process that has finished a task does the next one; otherwise each task has a new process.
        All tasks then run the same code, and there is no time limit.
    """

    def __init__(
        self,
        limit: float | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        lasting: bool = False,
    ) -> None:
        self._limit, self._lasting = limit, lasting
        self._environment = {**os.environ, **(environment or {}), _PARENT: str(os.getpid())}
        self._stopped = False
        self._working: set[_Worker] = set()
        self._idle: list[_Worker] = []
        self._lock = threading.Lock()

    def ask(self, code: str, task: bytes) -> dict[str, Any]:
        """Let a process do a task, and return its result; after a failure, a ``reason`` and a ``message``.

        Parameters
        ----------
        code
            The code that the process runs; it calls `tell`.
        task
            What the code is given.
        """
        with self._lock:
            if self._stopped:
                return {"reason": "stopped", "message": "was not begun"}
            worker = self._idle.pop() if self._idle else _Worker(code, self._environment)
            self._working.add(worker)
        told = None
        try:
            told = worker.ask(task) if self._lasting else worker.ask_once(task, self._limit)
        except subprocess.TimeoutExpired:
            worker.kill()
            return {"reason": "too-slow", "message": f"took longer than {self._limit:g} seconds"}
        finally:
            with self._lock:
                self._working.discard(worker)
                if self._lasting and told is not None and not self._stopped:
                    self._idle.append(worker)
        if told is None:
            return {"reason": DIED, "message": f"the process died: {worker.last_words()}"}
        return told

    def stop(self) -> None:
        """End all processes, and start no more."""
        with self._lock:
            self._stopped = True
            idle, self._idle = self._idle, []
            for worker in self._working:
                worker.process.kill()  # the thread that waits for it sees it end
        for worker in idle:
            worker.kill()


class _Worker:
    """A process that does one task after the other.

    Parameters
    ----------
    code
        The code that it runs.
    environment
        Its environment variables.
    """

    def __init__(self, code: str, environment: Mapping[str, str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process has ended
        # Not multiprocessing, which runs the caller's script again.
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],  # no modules from the current folder
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=dict(environment),
        )

    def ask(self, task: bytes) -> dict[str, Any] | None:
        """Return the result of a task; None if the process died."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            _send(stdin, task)
        except BrokenPipeError:
            return None
        out = _received(stdout)
        told: dict[str, Any] | None = None if out is None else json.loads(out)
        return told

    def ask_once(self, task: bytes, limit: float | None) -> dict[str, Any] | None:
        """Return the result of the only task; None if the process died."""
        out, _ = self.process.communicate(len(task).to_bytes(_LENGTH, "big") + task, timeout=limit)
        if self.process.returncode != 0:
            return None
        self._errors.close()
        told: dict[str, Any] = json.loads(out[_LENGTH:])
        return told

    def kill(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()
        self._errors.close()

    def last_words(self) -> str:
        """Return how a process died: the signal, or the last line that it wrote."""
        self.process.communicate()
        self._errors.seek(0)
        last = self._errors.read().decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        self._errors.close()
        return f"signal {-self.process.returncode}" if self.process.returncode < 0 else last[0]


def tell(work: Callable[[bytes], Mapping[str, Any]]) -> None:
    """Do one task after the other, until there are no more: the body of a worker process.

    Parameters
    ----------
    work
        Does a task and returns its result.
    """
    parent = os.environ.get(_PARENT)
    if parent is not None:
        threading.Thread(target=_end_with, args=(int(parent),), daemon=True).start()
    while (task := _received(sys.stdin.buffer)) is not None:
        _send(sys.stdout.buffer, json.dumps(_told(work, task)).encode())


def _told(work: Callable[[bytes], Mapping[str, Any]], task: bytes) -> Mapping[str, Any]:
    """Return the result of a task, or its error."""
    try:
        return work(task)
    except ShoalError as error:
        return error.as_dict()
    except MemoryError:
        return {"reason": DIED, "message": "the process ran out of memory"}
    except Exception as error:
        bug = InternalError(f"{type(error).__name__}: {error}")
        return {"reason": Reason.BUG.value, "message": str(bug)}


def _send(stream: IO[bytes], data: bytes) -> None:
    stream.write(len(data).to_bytes(_LENGTH, "big"))
    stream.write(data)
    stream.flush()


def _received(stream: IO[bytes]) -> bytes | None:
    """Return what `_send` sent; None if the stream ended before."""
    length = stream.read(_LENGTH)
    if len(length) < _LENGTH:
        return None
    size = int.from_bytes(length, "big")
    data = stream.read(size)
    return data if len(data) == size else None


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
