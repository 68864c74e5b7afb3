"""The campaigns "long" and "releases": many releases in one process leave nothing behind."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import worlds
from allocators import Held, held
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
    looks = []
    for turn in range(2):
        for place, seed in enumerate(seeds):
            inside = folder / f"{turn} {place}"
            inside.mkdir()
            worlds.case(Draw(seed), inside)
        looks.append((held(), folders()))
    compare(*looks)
    (before, others), (after, left) = looks
    if (after.files, after.threads, left) != (before.files, before.threads, others):
        raise Finding(f"open files, threads and temporary folders: {looks}")
    return f"{RELEASES} worlds"


def many(draw: Draw, folder: Path) -> str:
    """Make 10,000 different releases, and compare what the process holds with what it held after a fifth.

    Raises
    ------
    Finding
        If there are more open files, threads or temporary folders, or memory has grown.
    """
    looks = []
    for place in range(AT_LEAST):
        while not released(draw, folder / str(place)):
            pass
        if (place + 1) % (AT_LEAST // LOOKS) == 0:
            looks.append((held(), folders()))
    compare(looks[0], looks[-1])
    told = "\n".join(
        f"after {(turn + 1) * AT_LEAST // LOOKS:,}: {each}" for turn, (each, _) in enumerate(looks)
    )
    return f"{AT_LEAST:,} releases\n{told}"


def compare(first: tuple[Held, frozenset[str]], last: tuple[Held, frozenset[str]]) -> None:
    """Compare what a process holds at two moments.

    Raises
    ------
    Finding
        If there are more open files, threads or temporary folders, or memory has grown, with or without what
        its allocators keep unused.
    """
    (before, others), (after, left) = first, last
    if after.files > before.files or after.threads > before.threads or left - others:
        raise Finding(f"{before}; {after}; folders {sorted(left - others)}")
    if after.memory - before.memory > GROWTH or after.before - before.before > GROWTH:
        raise Finding(f"memory grew: {before}; {after}")


def folders() -> frozenset[str]:
    """Return Shoal's temporary folders."""
    names = os.listdir(tempfile.gettempdir())
    return frozenset(each for each in names if "shoal" in each and "soak" not in each)


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
