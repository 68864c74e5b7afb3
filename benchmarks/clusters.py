"""Clusters on the data of the k-concealment paper: what each way to classes loses, and how long it takes."""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.concealment_data import DATA
from benchmarks.harness import loss_chart, markdown_table, remembered, timed, write_page
from shoal import KAnonymity, anonymize

KS = (10, 50, 100)
WAYS: dict[str, dict[str, str]] = {
    "mondrian": {},
    "chain": {},
    "agglomerative, lm": {"measure": "lm"},
    "agglomerative, em": {"measure": "em"},
    "forest, lm": {"measure": "lm"},
    "forest, em": {"measure": "em"},
}
DIVERSE = {"adult": 1.1, "nursery": 2.0}
"""The diversities of the paper's Figure 10."""


def work(data: str, way: str, k: int, diversity: float | None = None) -> dict[str, Any]:
    """Anonymize one data set, end to end after start-up."""
    frame, schema = DATA[data]()
    method = way.partition(",")[0]
    release, seconds = timed(
        anonymize, frame, schema, KAnonymity(k=k, l=diversity), method=method, **WAYS[way]
    )
    return {name: release.loss[name] for name in ("gcp", "lm", "em")} | {"seconds": seconds}


def rows_of(
    data: str, ways: list[str], **promise: float
) -> tuple[list[tuple[str, ...]], list[dict[str, Any]]]:
    """Return the rows of a table and the points of a chart for one data set."""
    rows, points = [], []
    for k in KS:
        reference = remembered("clusters", data=data, way="mondrian", k=k, **promise)
        for way in ways:
            print(f"{data}, k = {k}, {way}", file=sys.stderr)
            found = remembered("clusters", data=data, way=way, k=k, **promise)
            rows.append(
                (
                    str(k),
                    way,
                    *(f"{found[name]:.4f}" for name in ("gcp", "lm", "em")),
                    *(f"{found[name] / reference[name]:.2f}" for name in ("lm", "em")),
                    f"{found['seconds']:.1f}",
                    f"{found['peak_mib']:.0f}",
                )
            )
            points.append({"k": k, "LM": found["lm"], "method": way})
    return rows, points


def main() -> None:
    """Measure and write the results page."""
    head = ("k", "method", "GCP", "LM", "EM", "LM / mondrian", "EM / mondrian", "seconds", "peak MiB")
    sections, charts = [], {}
    for data in DATA:
        rows, points = rows_of(data, list(WAYS))
        sections += [f"## {data}", markdown_table(head, rows), f"![Loss against k](clusters-{data}.svg)"]
        charts[data] = loss_chart(points, f"Loss of classes on {data}: lower is better", "LM")
    sections.append("## With diversity")
    for data, diversity in DIVERSE.items():
        rows, _ = rows_of(data, ["mondrian", "agglomerative, lm", "forest, lm"], diversity=diversity)
        sections += [f"{data}, l = {diversity:g}:", markdown_table(head, rows)]
    text = "\n\n".join(
        (
            "# Clusters",
            "The data sets on which k-concealment was compared with k-anonymity (Tassa, Mazza and Gionis "
            "2012, Section 9): 5,000 artificial records as the paper describes them, Adult (45,222 records, "
            "14 attributes), CMC (1,473, 9) and Nursery (12,960, 8). All attributes have hierarchies; those "
            "of the real tables are ours, since the paper does not list its own. `agglomerative` and "
            "`forest` minimize LM or EM, the others GCP, which is the same as LM where there are only "
            "hierarchies. Time is end to end after start-up, with the audit.",
            *sections,
        )
    )
    write_page("clusters", text, charts)
