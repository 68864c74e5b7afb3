"""The campaigns "long" and "releases": many releases in one process leave nothing behind."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import threading
from pathlib import Path

import worlds
from drawing import Draw
from soaking import Campaign, Finding

from shoal import InfeasibleError, InputError

RELEASES = 40
"""The number of worlds in a case; the first half warms up."""
GROWTH = 30 * 2**20
"""By how many bytes memory may grow in the second half, which repeats the first."""

AT_LEAST, LOOKS = 10_000, 5
"""The number of releases in a case of "releases", and how often it looks at what the process holds."""


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


def many(draw: Draw, folder: Path) -> str:
    """Make 10,000 different releases, and compare what the process holds with what it held after a fifth.

    Raises
    ------
    Finding
        If there are more open files, threads or temporary folders, or memory has grown.
    """
    held = []
    for place in range(AT_LEAST):
        while not released(draw, folder / str(place)):
            pass
        if (place + 1) % (AT_LEAST // LOOKS) == 0:
            gc.collect()
            held.append(holdings())
    (files, threads, folders, memory), after = held[0], held[-1]
    told = [f"{each[3] >> 20} MiB, {each[0]} files, {each[1]} threads" for each in held]
    if after[0] > files or after[1] > threads or after[2] - folders or after[3] - memory > GROWTH:
        raise Finding(f"{told}, folders {sorted(after[2] - folders)}")
    return f"{AT_LEAST} releases: {told}"


def released(draw: Draw, folder: Path) -> bool:
    """Make a random release and remove it; return whether there is one."""
    folder.mkdir()
    try:
        worlds.release_of(worlds.drawn_world(draw), folder)
    except (InputError, InfeasibleError):
        return False
    finally:
        shutil.rmtree(folder)
    return True


CAMPAIGN = Campaign("long", case, slice=1)
MANY = Campaign("releases", many, slice=0, by_name=True)
