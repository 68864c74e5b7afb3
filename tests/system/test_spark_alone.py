"""Spark on one machine, where nothing says which cluster to use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

SESSION = """
import sys
import shoal
with shoal.spark_session() as session:
    context = session.sparkContext
    worker = context.parallelize([0], 1).map(lambda _: sys.executable).collect()[0]
    print(context.master, context.uiWebUrl, context.getConf().get("spark.driver.bindAddress"), worker)
"""


def test_without_a_master_spark_is_reached_from_this_machine_only(tmp_path: Path) -> None:
    """Its workers use the Python of Shoal, whatever is on the path, and it has no page of its own."""
    variables = {name: value for name, value in os.environ.items() if "SPARK" not in name}
    run = subprocess.run(
        [sys.executable, "-c", SESSION],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.stdout.split() == ["local[*]", "None", "127.0.0.1", sys.executable], run.stderr
