"""Opening a large release, alone in a process: a part of the benchmark `reading` that runs separately."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.harness import timed
from shoal.reading import open_release


def work(folder: str) -> dict[str, Any]:
    """Open and fit a release, and ask some questions."""
    reader, opening = timed(open_release, folder)
    _, fitting = timed(reader.fit)
    generator = np.random.default_rng(1)
    seconds = []
    for _ in range(20):
        low = int(generator.integers(20, 60))
        sex, income = generator.choice(["Female", "Male"]), generator.choice(["<=50K", ">50K"])
        started = time.perf_counter()
        reader.count({"age": (low, low + 9), "sex": str(sex), "income": str(income)})
        seconds.append(time.perf_counter() - started)
    return {
        "rows": len(reader),
        "open": opening,
        "fit": fitting,
        "count": float(np.mean(seconds)),
        "slowest": max(seconds),
    }
