"""The campaign "long": many releases in one process leave no memory, files, threads or folders behind."""

from __future__ import annotations

import gc
import os
import tempfile
import threading
from pathlib import Path

import worlds
from drawing import Draw
from soaking import Campaign, Finding

RELEASES = 40
"""The number of worlds in a case; the first half warms up."""
GROWTH = 30 * 2**20
"""By how many bytes memory may grow in the second half, which repeats the first."""


def case(draw: Draw, folder: Path) -> str:
    """Judge the same worlds twice, and compare what the process holds after each time."""
    seeds = [draw.random() for _ in range(RELEASES // 2)]
    held = []
    for turn in range(2):
        for place, seed in enumerate(seeds):
            inside = folder / f"{turn} {place}"
            inside.mkdir()
            worlds.case(Draw(seed), inside)
        gc.collect()
        held.append(holdings())
    (files, threads, folders, memory), after = held
    if after[:3] != (files, threads, folders):
        raise Finding(f"open files, threads and temporary folders: {held}")
    if after[3] - memory > GROWTH:
        raise Finding(f"memory grew by {(after[3] - memory) / 2**20:.0f} MiB")
    return f"{RELEASES} worlds"


def holdings() -> tuple[int, int, frozenset[str], int]:
    """Return the number of open files and threads, Shoal's temporary folders, and the memory in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    ours = frozenset(
        each for each in os.listdir(tempfile.gettempdir()) if "shoal" in each and "soak" not in each
    )
    opened = len(os.listdir("/proc/self/fd"))
    return opened, threading.active_count(), ours, pages * os.sysconf("SC_PAGE_SIZE")


CAMPAIGN = Campaign("long", case, slice=1)
