"""The campaign "leaks": the same worlds again and again hold no further memory of the native module.

``LD_PRELOAD=failing_new.so python leaks.py SEED WORLDS FOLDER`` is the process of a case. Its allocator
counts the pieces of memory that C++ code holds.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import random
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(1, str(Path(__file__).resolve().parents[1]))  # helpers of all tests

import worlds
from allocations import allocator
from drawing import Draw
from soaking import Campaign, Finding

import shoal
from shoal.kernels import _native

WORLDS = 8
"""The number of worlds in a case."""
TURNS = 7
"""How often each of them is released."""
LAST = 3
"""Number of last turns in which the number of pieces may not grow: caches are filled in the first ones."""


def case(draw: Draw, folder: Path) -> str:
    """Release worlds several times in a process that counts its memory.

    Raises
    ------
    Finding
        If it holds more each time, or ends.
    """
    library = allocator()
    if library is None:
        return "no compiler"
    done = subprocess.run(
        [sys.executable, __file__, str(draw.randrange(2**32)), str(WORLDS), str(folder)],
        env=os.environ | {"LD_PRELOAD": str(library), "SHOAL_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    if done.returncode:
        raise Finding(f"exit code {done.returncode}: {done.stdout} {done.stderr[-3000:]}")
    called = dict(line.split() for line in done.stdout.splitlines())
    if not called:
        raise Finding("no kernel was called")
    for name, often in called.items():
        CAMPAIGN.counts[f"calls of {name}"] += int(often)
    return f"{WORLDS} worlds, {TURNS} times each"


def main(seed: str, count: str, folder: str) -> None:
    """Release worlds; print which kernels were called, and how often. Exit if memory grows."""
    warnings.simplefilter("ignore", shoal.ShoalWarning)
    held = ctypes.CDLL(None).shoal_held
    held.restype = ctypes.c_long
    draw = random.Random(seed)
    called: Counter[str] = Counter()
    for name, kernel in vars(_native).copy().items():
        if callable(kernel) and not isinstance(kernel, type) and not name.startswith("_"):
            setattr(_native, name, _counted(called, name, kernel))
    for number in range(int(count)):
        of_world = str(draw.random())
        pieces = []
        for turn in range(TURNS):
            inside = Path(folder) / f"{number} {turn}"
            inside.mkdir()
            worlds.case(random.Random(of_world), inside)
            gc.collect()
            pieces.append(held())
        last = pieces[-LAST - 1 :]
        if all(after > before for before, after in itertools.pairwise(last)):
            sys.exit(f"world {of_world}: {pieces} pieces of memory after each turn")
    for name, often in sorted(called.items()):
        print(name, often)


def _counted(called: Counter[str], name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    def call(*given: Any, **named: Any) -> Any:
        called[name] += 1
        return kernel(*given, **named)

    return call


CAMPAIGN = Campaign("leaks", case, slice=1)

if __name__ == "__main__":
    main(*sys.argv[1:])
