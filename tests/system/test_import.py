"""Importing the package is quick and loads nothing that only some users need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HEAVY = ("pandas", "pyspark", "shiny", "altair", "pyarrow", "scipy", "rich", "typer")


def test_import_loads_no_heavy_packages() -> None:
    code = f"import sys, shoal; sys.exit(', '.join(m for m in {HEAVY!r} if m in sys.modules) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_import_takes_less_than_half_a_second(tmp_path: Path) -> None:
    def seconds() -> float:
        # NumPy's library starts a thread for each core, which costs processor time but no waiting. What is
        # compiled once and kept costs nothing later, unless the environment forbids to keep it.
        env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": str(tmp_path)}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        process = subprocess.Popen([sys.executable, "-c", "import shoal"], env=env)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return used.ru_utime + used.ru_stime  # processor time: other tests may run beside this one

    assert min(seconds() for _ in range(5)) < 0.5
