"""Jobs of Spark: run one, report its progress, and cancel it if the caller asks for that."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from shoal.methods import Progress

if TYPE_CHECKING:
    from pyspark import SparkContext, SparkStageInfo

LAST_TASKS = 60.0
"""The maximum number of seconds to wait for tasks of a cancelled job."""

_Result = TypeVar("_Result")


def run_job(context: SparkContext, what: str, action: Callable[[], _Result], progress: Progress) -> _Result:
    """Run an action of Spark and report its progress; cancel its jobs if `progress` raises.

    Parameters
    ----------
    context
        The context of the session.
    what
        A description for the progress and for Spark's own pages.
    action
        What to run; its result is returned.
    progress
        Called with `what` and the share of the tasks that are done; may raise to cancel.
    """
    group = f"shoal-{secrets.token_hex(8)}"

    def work() -> _Result:
        context.setJobGroup(group, what, interruptOnCancel=True)
        return action()

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            while True:
                progress(what, _share_done(context, group))
                if wait([future], timeout=0.5).done:
                    return future.result()
        except BaseException:
            while not future.done():  # a job may begin only now
                context.cancelJobGroup(group)
                wait([future], timeout=0.5)
            _wait_for_tasks(context, group)
            raise


def _wait_for_tasks(context: SparkContext, group: str) -> None:
    """Wait for the last tasks of a group, which may write for a while after their job is cancelled.

    Which jobs and stages there were, Spark tells late if the machine is busy, so these events come first.
    Which tasks run, only its scheduler knows: events leave out a task that began while its job was cancelled.
    """
    from py4j.protocol import Py4JError

    deadline = time.monotonic() + LAST_TASKS
    with suppress(Py4JError):  # its own limit is 10 s
        context._jsc.sc().listenerBus().waitUntilEmpty()
    stages = _stages(context, group)
    while time.monotonic() < deadline and any(_has_tasks(context, stage) for stage in stages):
        time.sleep(0.1)


def _has_tasks(context: SparkContext, stage: SparkStageInfo) -> bool:
    """Return whether tasks of a stage run: its tasks are forgotten when the last of them has ended."""
    scheduler: Any = context._jsc.sc().taskScheduler()
    attempts = range(stage.currentAttemptId + 1)
    return any(scheduler.taskSetManagerForAttempt(stage.stageId, each).isDefined() for each in attempts)


def _share_done(context: SparkContext, group: str) -> float:
    """Return the share of the tasks of a group of jobs that is finished."""
    stages = _stages(context, group)
    return sum(stage.numCompletedTasks for stage in stages) / max(sum(stage.numTasks for stage in stages), 1)


def _stages(context: SparkContext, group: str) -> list[SparkStageInfo]:
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    return [stage for stage in stages if stage is not None]
