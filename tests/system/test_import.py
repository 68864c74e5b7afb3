"""Importing the package is quick and loads nothing that only some users need."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

USED = "from shoal import Freeform, Schema, read_table"
LIBRARIES = "import narwhals.stable.v2, numpy, polars"
HEAVY = ("pandas", "pyspark", "shiny", "altair", "pyarrow", "scipy", "rich", "typer")


def test_import_loads_no_heavy_packages() -> None:
    code = f"{USED}; import sys; sys.exit(', '.join(m for m in {HEAVY!r} if m in sys.modules) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_import_takes_less_than_half_a_second(tmp_path: Path) -> None:
    """On a slow machine, it takes less than half as long again as the libraries that it loads."""

    def seconds(code: str) -> float:
        # NumPy's library starts a thread for each core, which costs processor time but no waiting. What is
        # compiled once and kept costs nothing later, unless the environment forbids to keep it.
        env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": str(tmp_path)}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        process = subprocess.Popen([sys.executable, "-c", code], env=env)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return used.ru_utime + used.ru_stime  # processor time: other tests may run beside this one

    turns = [(seconds(USED), seconds(LIBRARIES)) for _ in range(5)]
    ours, theirs = (min(times) for times in zip(*turns, strict=True))
    assert ours < max(0.5, 1.5 * theirs)


def test_import_alone_loads_no_package() -> None:
    code = "import sys, shoal; sys.exit('polars' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_command_loads_hardly_anything_before_it_handles_signals() -> None:
    """Found by signals 7003: Ctrl-C while the errors of the package were loaded ended with a traceback."""
    code = (
        "import sys, shoal.cli; print(*(each for each in sys.modules if 'shoal' in each or each == 'typing'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {each for each in done.stdout.split() if "editable" not in each}
    assert loaded == {"shoal", "shoal.cli"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_modules_are_loaded_ends_a_command_quietly(tmp_path: Path, number: int) -> None:
    interrupted = (
        f"import os\ntry:\n    os.kill(os.getpid(), {number})\nexcept BaseException:\n    raise ImportError\n"
    )
    (tmp_path / "polars.py").write_text(interrupted)
    done = subprocess.run(
        [sys.executable, "-m", "shoal", "scan", "people.csv"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # it is ignored if tests run under nohup
    )
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", "")
