"""Several ways to publish one table, side by side: each runs in a process of its own, some at a time."""

from __future__ import annotations

import inspect
import json
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any

from shoal.engines.local import anonymize
from shoal.errors import InternalError, Reason, ShoalError
from shoal.methods import Progress, method_for, silent
from shoal.models import Model
from shoal.schema import Schema

_WORKER = "from shoal.engines.compare import answer; answer()"


@dataclass(frozen=True)
class Run:
    """One way to publish a table.

    Parameters
    ----------
    model
        The promise.
    method
        The name of the method.
    options
        Choices of the method.
    """

    model: Model
    method: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What became of a run.

    Parameters
    ----------
    certificate
        That of the release; None if there was none.
    reason, message
        Why there was none, for programs and in words.
    seconds
        How long the run took, with everything around it.
    """

    certificate: Mapping[str, Any] | None
    reason: str | None
    message: str | None
    seconds: float


def options_for(model: Model, method: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some options that a method knows.

    Raises
    ------
    InputError
        If no such method keeps this kind of promise.
    """
    _, function = method_for(model, method)
    return {name: value for name, value in wanted.items() if name in inspect.signature(function).parameters}


def compare(
    frame: Any,
    schema: Schema,
    runs: Sequence[Run],
    *,
    seed: int | None = None,
    limit: float | None = None,
    jobs: int | None = None,
    progress: Progress = silent,
) -> list[Outcome]:
    """Make a release of a table in each of several ways, and tell what each is worth; keep none.

    A run that fails, takes too long or dies is an outcome like any other.

    Parameters
    ----------
    frame, schema
        The table, as for `anonymize`.
    runs
        The ways.
    seed
        Makes each run repeatable.
    limit
        How many seconds a run may take; None for any.
    jobs
        How many run at a time; None for one for each core.
    progress
        Called with what is being done and the share of runs that are done; may raise to cancel.

    Returns
    -------
    list
        The outcome of each run, in their order.
    """
    task = pickle.dumps((frame, schema, seed))
    outcomes: dict[int, Outcome] = {}
    crew = _Crew(limit)
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        try:
            # Large crowds take longest: begun first, they do not run alone at the end.
            places = sorted(range(len(runs)), key=lambda place: -runs[place].model.crowd)
            waiting = {pool.submit(crew.run, task, runs[place]): place for place in places}
            progress(f"0 of {len(runs)} runs", 0.0)
            for done in as_completed(waiting):
                outcomes[waiting[done]] = done.result()
                progress(f"{len(outcomes)} of {len(runs)} runs", len(outcomes) / len(runs))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            crew.stop()
            raise
    return [outcomes[place] for place in range(len(runs))]


class _Crew:
    """The processes that are at work.

    Parameters
    ----------
    limit
        How many seconds each may take.
    """

    def __init__(self, limit: float | None) -> None:
        self._limit = limit
        self._stopped = False
        self._working: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()

    def run(self, task: bytes, run: Run) -> Outcome:
        """Do a run in a new process."""
        started = time.perf_counter()
        # Not multiprocessing, which runs the caller's script again and so needs it to be written for that.
        with self._lock:
            if self._stopped:
                return Outcome(None, "stopped", "was not begun", 0.0)
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", _WORKER],  # modules in the user's folder are none of ours
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            self._working.add(process)
        try:
            out, err = process.communicate(pickle.dumps((task, run)), timeout=self._limit)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            words = f"took longer than {self._limit:g} seconds"
            return Outcome(None, "too-slow", words, time.perf_counter() - started)
        finally:
            with self._lock:
                self._working.discard(process)
        seconds = time.perf_counter() - started
        if process.returncode != 0:
            last = err.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
            how = f"signal {-process.returncode}" if process.returncode < 0 else last[0]
            return Outcome(None, Reason.BUG.value, f"the process died: {how}", seconds)
        told = json.loads(out)
        return Outcome(told.get("certificate"), told.get("reason"), told.get("message"), seconds)

    def stop(self) -> None:
        """End all processes, and begin no more."""
        with self._lock:
            self._stopped = True
            for process in self._working:
                process.kill()


def answer() -> None:
    """Do the run that stdin holds, and tell its outcome on stdout: what a process of `compare` does."""
    task, run = pickle.load(sys.stdin.buffer)
    frame, schema, seed = pickle.loads(task)
    told: dict[str, Any]
    try:
        release = anonymize(frame, schema, run.model, method=run.method, seed=seed, **run.options)
        told = {"certificate": release.certificate}
    except ShoalError as error:
        told = {"reason": error.reason.value, "message": str(error)}
    except Exception as error:
        bug = InternalError(f"{type(error).__name__}: {error}")
        told = {"reason": bug.reason.value, "message": str(bug)}
    sys.stdout.write(json.dumps(told))
