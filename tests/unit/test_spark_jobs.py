"""Spark and signals: a cancelled job does not write any more, and Java does not outlive its driver."""

from __future__ import annotations

import signal
from types import SimpleNamespace
from typing import Any

import pytest

from shoal.engines import spark_jobs, spark_sessions


class LaggingContext:
    """A Spark on a busy machine: events come late, and leave out a task that began during a cancel."""

    def __init__(self) -> None:
        self.task_runs = True
        self.told = False
        self._jsc = SimpleNamespace(sc=lambda: self)

    def listenerBus(self) -> LaggingContext:  # noqa: N802
        return self

    taskScheduler = listenerBus  # noqa: N815

    def taskSetManagerForAttempt(self, stage: int, attempt: int) -> Any:  # noqa: N802
        runs = self.task_runs and (stage, attempt) == (0, 1)
        self.task_runs = self.task_runs and not runs  # it ends soon
        return SimpleNamespace(isDefined=lambda: runs)

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
        return SimpleNamespace(
            stageId=0, currentAttemptId=1, numActiveTasks=0, numCompletedTasks=0, numTasks=1
        )


def test_a_cancelled_job_waits_for_tasks_that_spark_does_not_tell_of() -> None:
    """One that began while its job was cancelled made the private folder again after it was removed."""
    context: Any = LaggingContext()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spark_jobs.run_job(context, "dividing", lambda: None, interrupted)
    assert not context.task_runs


def started(*sent: int) -> list[str]:
    """Start something that gets signals meanwhile, as Spark is started; return how far it came."""
    done: list[str] = []

    def start() -> None:
        with spark_sessions._own_signals():
            for number in sent:
                signal.raise_signal(number)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Spark has a handler of its own
            done.append("started")

    with pytest.raises(KeyboardInterrupt):
        start()
    return done


def test_a_signal_while_spark_starts_is_handled_as_soon_as_it_has_started() -> None:
    """A Java whose driver leaves while it starts runs on for ever."""
    before = signal.getsignal(signal.SIGINT)
    assert started(signal.SIGINT) == ["started"]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_signal_does_not_wait_for_spark() -> None:
    assert started(signal.SIGINT, signal.SIGINT) == []


class Connection:
    """A connection to Java, on which an answer may be left."""

    open = True

    def close(self) -> None:
        self.open = False


def connected(connection: Connection) -> Any:
    """Return a session that has one connection to Java."""
    client = SimpleNamespace(get_thread_connection=lambda: connection)
    return SimpleNamespace(sparkContext=SimpleNamespace(_gateway=SimpleNamespace(_gateway_client=client)))


def test_a_signal_that_interrupts_a_call_leaves_no_answer_for_the_next_one() -> None:
    """Found by signals 6000: TERM ended with a KeyError of Spark's protocol, and the exit code of a bug."""
    connection = Connection()

    def wait_for_java() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        finally:  # as Spark does when it leaves a call
            raise KeyError("p")

    with pytest.raises(KeyboardInterrupt), spark_sessions.interruptible(connected(connection)):
        wait_for_java()
    assert not connection.open


def test_a_signal_that_its_handler_ignores_leaves_the_connection_open() -> None:
    connection = Connection()
    came: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: came.append(number))
    try:
        with spark_sessions.interruptible(connected(connection)):
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert came == [signal.SIGTERM]
    assert connection.open


@pytest.mark.parametrize(
    ("error", "shown"), [(EOFError(), 0), (ConnectionResetError(), 0), (ValueError(), 1)]
)
def test_the_server_of_spark_shows_no_traceback_if_java_has_gone(error: Exception, shown: int) -> None:
    """Found by signals 5002: TERM to all processes ended Java first, and Spark showed an EOFError."""
    told: list[object] = []
    server: Any = SimpleNamespace(handle_error=lambda *request: told.append(request))
    context = SimpleNamespace(_accumulatorServer=server)
    session: Any = SimpleNamespace(sparkContext=context)
    spark_sessions._quiet_without_java(session)
    try:
        raise error
    except Exception:
        server.handle_error(None, None)
    assert len(told) == shown
