"""Several releases of one table, side by side: each is made in a process of its own, some at a time."""

from __future__ import annotations

import inspect
import os
import pickle
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any

from narwhals.stable.v2.typing import IntoDataFrame

from shoal.base.randomness import Randomness, checked_seed
from shoal.engines.additions import modules_used, packed, unpacked
from shoal.engines.local import anonymize
from shoal.engines.workers import DIED, Crew, answering, tell
from shoal.errors import InputError, Reason
from shoal.measures.queries import draw_queries, read_error
from shoal.methods import Progress, method_for, silent
from shoal.models import Model
from shoal.release import Release
from shoal.schema import Schema

QUESTIONS = 60
"""The number of random questions that each release answers; all runs are asked the same."""
MOST_ROWS = 50_000
"""Larger releases are not asked, since reading them takes long."""
_WORKER = answering("shoal.engines.runs")


@dataclass(frozen=True)
class PlannedRun:
    """A model, a method and its options to try.

    Parameters
    ----------
    model
        The privacy model.
    method
        The name of the method.
    options
        Options of the method.
    """

    model: Model
    method: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    Parameters
    ----------
    certificate
        The certificate of the release; None if there is no release.
    reason, message
        Why there is no release, as a code and in words.
    seconds
        The time that the run took, with the start of its process.
    query_error
        The errors of answers from the release, as plain data; None if no questions can be asked.
    """

    certificate: Mapping[str, Any] | None
    reason: str | None
    message: str | None
    seconds: float
    query_error: Mapping[str, Any] | None = None


def options_for(model: Model, method: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that a method has, out of those given.

    Raises
    ------
    InputError
        If the model has no such method.
    """
    _, function = method_for(model, method)
    return {name: value for name, value in wanted.items() if name in inspect.signature(function).parameters}


def compare_runs(
    frame: IntoDataFrame,
    schema: Schema,
    runs: Sequence[PlannedRun],
    *,
    seed: int | None = None,
    limit: float | None = None,
    jobs: int | None = None,
    progress: Progress = silent,
) -> list[Outcome]:
    """Make several releases of a table, and return their outcomes without the releases.

    A run that fails, takes too long or dies is an outcome like any other.

    Parameters
    ----------
    frame, schema
        The table, as for `anonymize`.
    runs
        The models, methods and options to try.
    seed
        Makes each run repeatable.
    limit
        Time limit of a run in seconds; None for no limit.
    jobs
        Number of runs at a time; one for each core if omitted.
    progress
        Called with what is being done and the share of runs that are done; may raise to cancel.

    Returns
    -------
    list
        The outcome of each run, in their order.

    Raises
    ------
    InputError
        If the seed is not possible.
    """
    task = pickle.dumps((frame, schema, checked_seed(seed)))
    outcomes: dict[int, Outcome] = {}
    crew = Crew(limit)
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        try:
            # Large crowds take longest: begun first, they do not run alone at the end.
            places = sorted(range(len(runs)), key=lambda place: -runs[place].model.crowd)
            waiting = {pool.submit(_outcome, crew, task, schema, runs[place]): place for place in places}
            progress(f"0 of {len(runs)} runs", 0.0)
            for done in as_completed(waiting):
                outcomes[waiting[done]] = done.result()
                progress(f"{len(outcomes)} of {len(runs)} runs", len(outcomes) / len(runs))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            crew.stop()
            raise
    return [outcomes[place] for place in range(len(runs))]


def _outcome(crew: Crew, task: bytes, schema: Schema, run: PlannedRun) -> Outcome:
    """Do a run in a new process."""
    started = time.perf_counter()
    try:
        modules = modules_used(schema, run.model, run.method)
    except InputError as error:
        return Outcome(None, error.reason.value, str(error), 0.0)
    told = crew.ask(_WORKER, packed((task, run), modules))
    reason = Reason.BUG.value if told.get("reason") == DIED else told.get("reason")
    seconds = time.perf_counter() - started
    return Outcome(told.get("certificate"), reason, told.get("message"), seconds, told.get("query_error"))


def answer() -> None:
    """Do the runs that are asked for, and return their outcomes: the program of a worker process."""

    def certificate(asked: bytes) -> dict[str, Any]:
        task, run = unpacked(asked)
        frame, schema, seed = pickle.loads(task)
        release = anonymize(frame, schema, run.model, method=run.method, seed=seed, **run.options)
        return {"certificate": release.certificate, "query_error": _query_error(release)}

    tell(certificate)


def _query_error(release: Release[Any]) -> dict[str, Any] | None:
    """Return the errors of answers from a release; None if its columns cannot be asked for ranges."""
    table = release.recoding.table
    if len(release.rows) > MOST_ROWS or not all(a.domain.in_boxes for a in table.attributes):
        return None
    columns = min(2, len(table.attributes))
    try:
        queries = draw_queries(table, QUESTIONS, Randomness(QUESTIONS), quasi=columns, sensitive=1)
    except InputError:
        return None  # the table is too small to ask about
    return read_error(release.reader(), table, queries).as_dict()
