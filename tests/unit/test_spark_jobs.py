"""Jobs of Spark that are cancelled: nothing may write any more when the working folder is removed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from shoal.engines import spark_jobs


class LaggingContext:
    """A Spark whose status is late, as on a busy machine: tasks are known only after their events came in."""

    def __init__(self) -> None:
        self.task_runs = True
        self.told = False
        self._jsc = SimpleNamespace(sc=lambda: SimpleNamespace(listenerBus=lambda: self))

    def setJobGroup(self, *_: Any, **__: Any) -> None:  # noqa: N802 - the name in Spark
        pass

    cancelJobGroup = setJobGroup  # noqa: N815

    def waitUntilEmpty(self) -> None:  # noqa: N802
        self.told = True

    def statusTracker(self) -> LaggingContext:  # noqa: N802
        return self

    def getJobIdsForGroup(self, _: str) -> list[int]:  # noqa: N802
        return [0] if self.told else []

    def getJobInfo(self, _: int) -> Any:  # noqa: N802
        return SimpleNamespace(stageIds=[0])

    def getStageInfo(self, _: int) -> Any:  # noqa: N802
        found = SimpleNamespace(numActiveTasks=int(self.task_runs), numCompletedTasks=0, numTasks=1)
        self.task_runs = False  # it ends soon
        return found


def test_a_cancelled_job_waits_for_tasks_that_spark_tells_of_late() -> None:
    context: Any = LaggingContext()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spark_jobs.run_job(context, "dividing", lambda: None, interrupted)
    assert not context.task_runs
