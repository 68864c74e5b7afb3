"""Closed walks against walks that backtrack: the work to decompose a ring graph into assignments."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import markdown_table, timed, write_page
from shoal import kernels
from shoal.base.randomness import Randomness
from shoal.kernels.baselines import backtracking_walk

ROWS = 50_000
DEGREES = (4, 16, 64)
DRAWS = 5
PATIENCE = 60.0
"""Seconds after which backtracking is given up."""


def work(k: int, backtracking: bool) -> dict[str, float]:
    """Decompose the ring graph through all rows into its k assignments; the median of a few draws."""
    graph = ((np.arange(ROWS)[:, None] + np.arange(k)) % ROWS).astype(np.int32)
    return decomposed(graph, backtracking)


def decomposed(graph: NDArray[np.int32], backtracking: bool) -> dict[str, float]:
    """Decompose a regular graph into all its assignments; the median of a few draws."""
    measured = []
    for seed in range(DRAWS):
        key, last = Randomness(seed).words(4), graph.shape[1] - 1
        walk = partial(backtracking_walk, seconds=PATIENCE) if backtracking else kernels.walk
        walked, seconds = timed(walk, graph, last, key)
        measured.append((seconds, walked.steps / graph.size, walked.assigned / graph.size))
    seconds, steps, share = np.median(measured, axis=0).tolist()
    return {"seconds": seconds, "steps": steps, "share": share}


def main() -> None:
    """Measure and write the results page."""
    rows = []
    for k in DEGREES:
        closed, back = work(k, backtracking=False), work(k, backtracking=True)
        ended = back["share"] == 1.0
        more = "" if ended else "> "
        rows.append(
            (
                k,
                f"{closed['seconds']:.2f}",
                f"{more}{back['seconds']:.2f}",
                f"{more}{back['seconds'] / closed['seconds']:.1f}",
                f"{closed['steps']:.1f}",
                f"{back['steps']:.1f}",
                f"{back['steps'] / closed['steps']:.1f}",
                f"{back['share']:.1%}",
            )
        )
    text = "\n\n".join(
        (
            "# Walks",
            f"A ring graph with {ROWS:,} rows, each covering k neighbours, decomposed into all its k "
            "assignments. A release uses closed walks: a walk may return to a record, discards the loop, "
            "and ends at any free row. The baseline, backtracking walks (Wong, Mamoulis and Cheung 2010), "
            "never visit a record twice, go back at dead ends, and end where they began. Steps are the "
            "edges examined and the steps back, for each record and assignment. Backtracking stops after "
            f"{PATIENCE:.0f} seconds; the last column is the share of records that had a row by then. "
            f"Medians of {DRAWS} draws.",
            markdown_table(
                (
                    *("k", "closed s", "backtracking s", "ratio"),
                    *("closed steps", "backtracking steps", "ratio", "assigned"),
                ),
                rows,
            ),
        )
    )
    write_page("walks", text, {})
