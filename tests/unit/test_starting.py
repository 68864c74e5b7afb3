"""Processes of Shoal's own load their modules in less time, and collect garbage afterwards."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from shoal.engines import disk_blocks, runs
from shoal.web import work

STATE = (
    "import gc, os; print(gc.isenabled(), gc.get_freeze_count() > 10_000, os.environ['OPENBLAS_NUM_THREADS'])"
)


def printed(code: str, **environment: str) -> str:
    unset = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=unset | environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    "code", [runs._WORKER, disk_blocks.WORKER, work._WORKER.format({})], ids=["runs", "blocks", "page"]
)
def test_workers_look_through_no_module_for_garbage(code: str) -> None:
    assert code.endswith("answer()\n")
    assert printed(code.removesuffix("answer()\n") + STATE) == "True True 1"


def test_the_command_line_looks_through_no_module_for_garbage() -> None:
    instead = f"""
import shoal.cli.app
def show():
    {STATE}
shoal.cli.app.main = show
shoal.cli.main()
"""
    assert printed(instead) == "True True 1"


def test_users_choose_the_number_of_threads_and_errors_leave_garbage_collected() -> None:
    code = f"""
from shoal.base.starting import loading
try:
    with loading():
        import nothing
except ImportError:
    {STATE.replace("10_000", "0")}
"""
    assert printed(code, OPENBLAS_NUM_THREADS="3") == "True True 3"
