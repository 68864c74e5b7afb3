"""The campaign "allocations": every allocation of a kernel fails in turn; no process is aborted."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from drawing import Draw
from soaking import Campaign, Finding

WORLDS = 6
"""The number of worlds in a case: they share a process, whose start takes longer than they do."""
HERE = Path(__file__).resolve().parent


@functools.cache
def allocator() -> Path | None:
    """Return the library with the allocator that fails on request, compiled once; None if it cannot be."""
    if (compiler := shutil.which("c++")) is None or sys.platform != "linux":
        return None
    made = Path(tempfile.mkdtemp(prefix="shoal-soak-allocator-")) / "failing_new.so"
    flags = ["-shared", "-fPIC", "-O1", "-std=c++20"]
    subprocess.run([compiler, *flags, HERE / "failing_new.cpp", "-o", made], check=True, timeout=120)
    return made


def case(draw: Draw, folder: Path) -> str:
    """Let a few worlds be released in a process whose kernels fail at each of their allocations first.

    Raises
    ------
    Finding
        If the process ends, an exception is not a MemoryError, or a later result is wrong.
    """
    library = allocator()
    if library is None:
        return "no compiler"
    seed = str(draw.randrange(2**32))
    known = os.environ | {"LD_PRELOAD": str(library), "SHOAL_THREADS": draw.choice(["1", "2"])}
    try:
        done = subprocess.run(
            [sys.executable, str(HERE / "starved.py"), seed, str(WORLDS), str(folder)],
            env=known,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Finding(f"world {seed} does not end: {_last(folder)}") from None
    if done.returncode:
        raise Finding(f"worlds {seed}: exit code {done.returncode} in {_last(folder)}: {done.stderr[-3000:]}")
    failed, called = map(int, done.stdout.split())
    if not failed:
        raise Finding("no allocation failed: the allocator is not used")
    CAMPAIGN.counts["failed allocations"] += failed
    CAMPAIGN.counts["calls of kernels"] += called
    return f"{WORLDS} worlds"


def _last(folder: Path) -> str:
    """Return the call of a kernel that did not come back."""
    told = folder / "calling"
    return told.read_text().strip("\0") if told.exists() else "the start"


CAMPAIGN = Campaign("allocations", case, slice=1)
