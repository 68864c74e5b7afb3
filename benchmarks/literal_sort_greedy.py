"""SortGreedy as printed (Doka et al. 2015), all pairs in one sorted list: the reference for loss and time."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import adult, adult_schema, markdown_table, remembered, timed
from shoal.measures.gcp import gcp
from shoal.methods.baselines.printed_growth import printed_sort_greedy
from shoal.methods.method import Circumstances
from shoal.methods.sort_greedy import sort_greedy
from shoal.models import Freeform
from shoal.table import Table

ROWS, K = 4_000, 10


def section() -> str:
    """Return a section of a results page: the algorithm as printed, and ours, on a sample of Adult."""
    literal, ours = (remembered("literal_sort_greedy", rows=ROWS, k=K)[who] for who in ("literal", "ours"))
    loss, seconds = (ours[figure] / literal[figure] for figure in ("gcp", "seconds"))
    return "\n\n".join(
        (
            "## The algorithm as printed",
            "SortGreedy with its sorted list of all pairs (NumPy), and Shoal's version without that list "
            f"(effort `fast`), on {ROWS:,} random records of Adult, k = {K}, without audit. The paper does "
            "not say which of two pairs with equal cost goes first; this explains the difference in loss.",
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


def work(rows: int, k: int) -> dict[str, Any]:
    """Return GCP and seconds of the algorithm as printed, and of ours."""
    frame = adult().sample(rows, seed=1)
    table = Table.encode(frame, adult_schema(frame))
    literal, literal_seconds = timed(printed_sort_greedy, table, Freeform(k=k), Circumstances())
    ours, seconds = timed(sort_greedy, table, Freeform(k=k), Circumstances(), effort="fast")
    return {
        "literal": {"gcp": gcp(literal), "seconds": literal_seconds},
        "ours": {"gcp": gcp(ours), "seconds": seconds},
    }
