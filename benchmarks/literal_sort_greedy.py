"""SortGreedy as printed (Doka et al. 2015), all pairs in one sorted list: the reference for loss and time."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from benchmarks.harness import adult, adult_like, adult_schema, markdown_table, remembered, timed
from shoal.measures.gcp import gcp
from shoal.methods.baselines.printed_growth import printed_sort_greedy
from shoal.methods.method import Circumstances
from shoal.methods.sort_greedy import sort_greedy
from shoal.models import Freeform
from shoal.table import Table

ROWS, K = 4_000, 10
SIZES = (2_500, 5_000, 10_000, 20_000, 40_000)
KS = (5, 10, 20, 40, 80)
ROWS_OF_KS = 5_000


def section() -> str:
    """Return a section of a results page: the algorithm as printed, and ours, on a sample of Adult."""
    literal, ours = (remembered("literal_sort_greedy", rows=ROWS, k=K)[who] for who in ("literal", "ours"))
    loss, seconds = (ours[figure] / literal[figure] for figure in ("gcp", "seconds"))
    return "\n\n".join(
        (
            "## The algorithm as printed",
            "SortGreedy with its sorted list of all pairs (NumPy), and Shoal's version without that list "
            f"(effort `fast`), on {ROWS:,} random records of Adult, k = {K}, without audit. The paper does "
            "not say which of two pairs with equal cost is taken first; this explains the "
            "difference in loss.",
            markdown_table(
                ("", "GCP", "seconds"),
                (
                    ("as printed", f"{literal['gcp']:.5f}", f"{literal['seconds']:.2f}"),
                    ("Shoal", f"{ours['gcp']:.5f}", f"{ours['seconds']:.2f}"),
                    ("ratio", f"{loss:.3f}", f"{seconds:.4f}"),
                ),
            ),
        )
    )


def growth_section() -> str:
    """Return a section of a results page: how the time of SortGreedy alone grows with n and with k."""
    by_rows = [(n, remembered("literal_sort_greedy", rows=n, k=K, alone=True)["seconds"]) for n in SIZES]
    by_k = [(k, remembered("literal_sort_greedy", rows=ROWS_OF_KS, k=k, alone=True)["seconds"]) for k in KS]
    return "\n\n".join(
        (
            "## Growth of SortGreedy",
            "Processor seconds of `sort_greedy` (effort `fast`) by itself, without encoding and audit, on "
            f"perturbed bootstraps of Adult: with k = {K}, then with {ROWS_OF_KS:,} rows. The exponent is "
            "that of the growth from the row before.",
            markdown_table(("rows", "processor seconds", "exponent"), _steps(by_rows)),
            markdown_table(("k", "processor seconds", "exponent"), _steps(by_k)),
        )
    )


def _steps(points: Sequence[tuple[int, float]]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = [(points[0][0], f"{points[0][1]:.2f}", "")]
    for (x, t), (size, seconds) in pairwise(points):
        rows.append((size, f"{seconds:.2f}", f"{math.log(seconds / t) / math.log(size / x):.2f}"))
    return rows


def work(rows: int, k: int, alone: bool = False) -> dict[str, Any]:
    """Return GCP and seconds of the algorithm as printed, and of ours; or processor seconds of ours alone."""
    if alone:
        frame = adult_like(rows)
        table = Table.encode(frame, adult_schema(frame))
        began = time.process_time()
        sort_greedy(table, Freeform(k=k), Circumstances(), effort="fast")
        return {"seconds": time.process_time() - began}
    frame = adult().sample(rows, seed=1)
    table = Table.encode(frame, adult_schema(frame))
    literal, literal_seconds = timed(printed_sort_greedy, table, Freeform(k=k), Circumstances())
    ours, seconds = timed(sort_greedy, table, Freeform(k=k), Circumstances(), effort="fast")
    return {
        "literal": {"gcp": gcp(literal), "seconds": literal_seconds},
        "ours": {"gcp": gcp(ours), "seconds": seconds},
    }
