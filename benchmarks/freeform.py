"""Freeform on Adult: loss against k beside Mondrian and the rivals, and growth with rows."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import (
    adult,
    adult_like,
    adult_schema,
    growth,
    loss_chart,
    markdown_table,
    timed,
    write_page,
)
from shoal import Freeform, KAnonymity, anonymize

KS = (2, 5, 10, 25)
SIZES = (30_162, 60_000, 120_000)

# GCP of the best among other tools on the same task, measured apart (anonypy 0.2.1).
RIVAL = {5: 0.0319, 10: 0.0593}


def work(k: int, rows: int | None = None, effort: str | None = "balanced") -> dict[str, Any]:
    """Anonymize Adult, or a bootstrap of it, end to end after start-up; without an effort, by Mondrian."""
    frame = adult() if rows is None else adult_like(rows)
    schema = adult_schema(frame)
    if effort is None:
        release, seconds = timed(anonymize, frame, schema, KAnonymity(k=k))
    else:
        release, seconds = timed(anonymize, frame, schema, Freeform(k=k), effort=effort)
    return {"gcp": release.loss.gcp, "seconds": seconds}


def main() -> None:
    """Measure and write the results page."""
    rows, points = [], []
    for k in KS:
        fast, balanced, mondrian = (work(k, effort=effort) for effort in ("fast", "balanced", None))
        rival = RIVAL.get(k)
        rows.append(
            (
                k,
                f"{fast['gcp']:.4f}",
                f"{balanced['gcp']:.4f}",
                f"{balanced['gcp'] / fast['gcp']:.3f}",
                f"{mondrian['gcp']:.4f}",
                f"{balanced['gcp'] / mondrian['gcp']:.2f}",
                "" if rival is None else f"{rival:.4f}",
                "" if rival is None else f"{balanced['gcp'] / rival:.2f}",
                f"{fast['seconds']:.1f}",
                f"{balanced['seconds']:.1f}",
            )
        )
        measured = {
            "freeform, fast": fast["gcp"],
            "freeform, balanced": balanced["gcp"],
            "mondrian": mondrian["gcp"],
            "best rival": rival,
        }
        points += [{"k": k, "GCP": gcp, "method": name} for name, gcp in measured.items() if gcp is not None]
    text = "\n\n".join(
        (
            "# Freeform",
            "Adult, 30,162 complete training records, eight quasi-identifiers (age numeric, the others "
            "categories without hierarchies), income carried along. Fast is SortGreedy, balanced adds "
            "exchanges between rows. Time is end to end after start-up, with the audit. The rival is the "
            "best among other tools, measured apart.",
            markdown_table(
                (
                    *("k", "fast", "balanced", "ratio", "mondrian", "ratio"),
                    *("best rival", "ratio", "fast s", "balanced s"),
                ),
                rows,
            ),
            "![Loss against k](freeform-loss.svg)",
            growth("freeform", SIZES, k=10, effort="balanced"),
        )
    )
    write_page(
        "freeform", text, {"loss": loss_chart(points, "Loss of freeform releases of Adult: lower is better")}
    )
