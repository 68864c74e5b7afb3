"""What tests of the whole share: one cluster of Spark."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shoal

SMALL = "2m"
"""No job may send more than this to the driver."""

BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of Java for short runs: most of the time would go into compiling what runs only once or twice."""


SETTINGS = {
    "spark.driver.extraJavaOptions": BRIEF,
    "spark.executor.extraJavaOptions": BRIEF,
    "spark.sql.codegen.wholeStage": "false",
}
"""What lets Spark take less time for a few records."""


@pytest.fixture(scope="session")
def spark_configuration(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder for ``SPARK_CONF_DIR`` that gives commands the settings of the session."""
    folder = tmp_path_factory.mktemp("spark")
    lines = [f"{name} {value}\n" for name, value in SETTINGS.items()]
    (folder / "spark-defaults.conf").write_text("".join(lines))
    return str(folder)


@pytest.fixture(scope="session")
def session() -> Iterator[Any]:
    """Return a session with a cluster of two worker processes; a test may kill one, and it is replaced."""
    import pyspark

    settings = {
        "spark.driver.maxResultSize": SMALL,
        "spark.executor.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        **SETTINGS,
    }
    with shoal.spark_session("local-cluster[2,1,1024]", settings) as opened:
        yield opened
        logs = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent, "work")
        run = opened.sparkContext.applicationId
    shutil.rmtree(logs / run, ignore_errors=True)
