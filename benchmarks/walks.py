"""Closed walks against walks that backtrack: the work to decompose a ring graph into assignments."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import markdown_table, write_page
from shoal import kernels
from shoal.base.randomness import Randomness
from shoal.kernels.baselines import backtracking_walk, closed_walk

ROWS = 50_000
DEGREES = (4, 16, 64)
DRAWS = 5
PATIENCE = 60.0
"""Seconds after which backtracking is given up."""
WALKS: dict[str, Callable[[NDArray[np.int32], int, NDArray[np.uint64]], kernels.Walked]] = {
    "closed": kernels.walk,
    "printed": closed_walk,
    "backtracking": partial(backtracking_walk, seconds=PATIENCE),
}
"""Shoal's closed walks, those of the paper as printed, and those they are compared with; all compiled."""


def work(k: int, how: str) -> dict[str, float]:
    """Decompose the ring graph through all rows into its k assignments; the median of a few draws."""
    graph = ((np.arange(ROWS)[:, None] + np.arange(k)) % ROWS).astype(np.int32)
    return decomposed(graph, how)


def decomposed(graph: NDArray[np.int32], how: str) -> dict[str, float]:
    """Decompose a regular graph into all its assignments; the median of a few draws."""
    measured = []
    for seed in range(DRAWS):
        key, last = Randomness(seed).words(4), graph.shape[1] - 1
        began = time.process_time()
        walked = WALKS[how](graph, last, key)
        seconds = time.process_time() - began
        measured.append((seconds, walked.steps / graph.size, walked.assigned / graph.size))
    seconds, steps, share = np.median(measured, axis=0).tolist()
    return {"seconds": seconds, "steps": steps, "share": share}


WALK_COLUMNS = (
    *("closed s", "printed s", "backtracking s", "backtracking / closed", "backtracking / printed"),
    *("closed steps", "printed steps", "backtracking steps", "assigned"),
)


def walk_cells(
    closed: dict[str, float], printed: dict[str, float], back: dict[str, float]
) -> tuple[str, ...]:
    """Return the cells of a row with `WALK_COLUMNS`."""
    more = "" if back["share"] == 1.0 else "> "
    return (
        *(f"{each['seconds']:.3f}" for each in (closed, printed)),
        f"{more}{back['seconds']:.3f}",
        *(f"{more}{back['seconds'] / each['seconds']:.1f}" for each in (closed, printed)),
        *(f"{each['steps']:.1f}" for each in (closed, printed, back)),
        f"{back['share']:.1%}",
    )


def main() -> None:
    """Measure and write the results page."""
    rows = [(k, *walk_cells(*(work(k, how) for how in WALKS))) for k in DEGREES]
    text = "\n\n".join(
        (
            "# Walks",
            f"A ring graph with {ROWS:,} rows, each covering k neighbours, decomposed into all its k "
            "assignments. A release uses closed walks: a walk may return to a record, discards the loop, "
            "and ends at any free row (*closed*). *Printed* is the closed walk of Xue et al. (2012) exactly "
            "as in the paper (`--walk paper`), which prefers records that it has not visited and ends where "
            "it began. The baseline, backtracking walks (Wong, Mamoulis and Cheung 2010), "
            "never visit a record twice, go back at dead ends, and end where they began. Steps are the "
            "edges examined and the steps back, for each record and assignment. Backtracking stops after "
            f"{PATIENCE:.0f} seconds; the last column is the share of records that had a row by then. "
            f"All are compiled; times are processor seconds, medians of {DRAWS} draws. Figure 7 of the paper "
            "is measured on its own data in [Set-valued "
            "records](setvalued.md#closed-walks-compared-with-backtracking), with the same three walks.",
            markdown_table(("k", *WALK_COLUMNS), rows),
        )
    )
    write_page("walks", text, {})
