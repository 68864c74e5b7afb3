"""An attacker sends a table that exhausts memory in a worker thread; the caller gets an error and goes on."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("resource", reason="memory is limited by means of POSIX")

SCRIPT = """
import os, resource, time
from pathlib import Path

import numpy as np

from shoal.kernels import ConsistencyGraph, CodeIntervals

N = {records}
codes = np.arange(N, dtype=np.int32)[:, None]
ones, all_of_them = np.ones(N, dtype=np.int64), np.zeros((N, 1), dtype=np.int32)
every = CodeIntervals(N, np.zeros(1, dtype=np.int32), np.full(1, N - 1, dtype=np.int32))
graph = ConsistencyGraph(codes, ones, all_of_them, ones, [every])
held = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (held + 600 * 2**20, -1))
threads = len(os.listdir("/proc/self/task"))
try:
    graph.boxes_around(np.arange(N))  # each record has N boxes around it: {records}^2 numbers in all
except MemoryError:
    print("caught")
starts, boxes = graph.boxes_around(np.arange(100))
print("and goes on:", len(boxes) == 100 * N)
time.sleep(0.1)  # a thread that was joined may stand in the list for a moment
print("threads left over:", len(os.listdir("/proc/self/task")) - threads)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and limits the address space")
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_memory_that_runs_out_in_a_worker_is_an_error_of_the_caller(threads: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(records=30_000)],
        env={**os.environ, "SHOAL_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert done.stdout.splitlines() == ["caught", "and goes on: True", "threads left over: 0"]
