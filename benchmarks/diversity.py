"""Freeform with varied sensitive values on Adult: what has to be repaired, how, and the loss."""

from __future__ import annotations

import time
from typing import Any

import polars as pl

from benchmarks.harness import ADULT_QUASI, adult, markdown_table, write_page
from shoal import Freeform, KAnonymity, Schema, anonymize
from shoal.base.randomness import Randomness
from shoal.measures.gcp import gcp
from shoal.methods import Circumstances, method_for
from shoal.methods.diversity import diversification_of, recoded, tree_for
from shoal.recoding import Recoding
from shoal.recoding.assignment import random_assignment
from shoal.table import Table

K = 10
PROMISES: dict[str, list[dict[str, Any]]] = {
    "occupation": [{"l": 2}, {"l": 3}, {"l": 5}, {"p": 3}, {"p": 5}],
    "income": [{"l": 1.1}, {"l": 1.2}],
}


def measured(frame: pl.DataFrame, sensitive: str) -> list[tuple[str, ...]]:
    """Return a row of the results for each promise about one column, all on the same graph."""
    schema = Schema.infer(frame, quasi=[q for q in ADULT_QUASI if q != sensitive], sensitive=[sensitive])
    table = Table.encode(frame, schema)
    circumstances = Circumstances(Randomness(1))
    alone = Freeform(k=K)
    recoding, seconds_alone = worked(method_for(alone)[1], table, alone, circumstances)
    _, quick_alone = worked(method_for(alone)[1], table, alone, circumstances, effort="fast")
    assert isinstance(recoding, Recoding)
    assert recoding.graph is not None
    rows: list[tuple[str, ...]] = []
    for promise in PROMISES[sensitive]:
        model = Freeform(k=K, **promise)
        drawn = random_assignment(recoding.graph, circumstances.randomness)
        before = diversification_of(table, model, tree_for(table, recoding.graph), recoding.graph, drawn)
        violated = before.violated
        while before.swap():
            pass
        ours, seconds = worked(recoded, table, model, recoding.graph, circumstances)
        quick, quick_seconds = worked(method_for(model)[1], table, model, circumstances, effort="fast")
        rival = anonymize(frame, schema, KAnonymity(k=K, **promise))
        rows.append(
            (
                sensitive,
                ", ".join(f"{name} = {value}" for name, value in promise.items()),
                f"{violated / len(table):.1%}",
                f"{before.violated / len(table):.1%}",
                f"{gcp(recoding):.4f}",
                f"{gcp(ours):.4f}",
                f"{rival.loss.gcp:.4f}",
                f"{gcp(ours) / rival.loss.gcp:.2f}",
                f"{seconds_alone + seconds:.1f}",
                f"{(seconds_alone + seconds) / seconds_alone:.1f}",
                f"{gcp(quick):.4f}",
                f"{quick_seconds:.1f}",
                f"{quick_seconds / quick_alone:.1f}",
            )
        )
    return rows


def worked(function: Any, *arguments: Any, **options: Any) -> tuple[Any, float]:
    """Return what a call returns and its processor seconds."""
    started = time.process_time()
    value = function(*arguments, **options)
    return value, time.process_time() - started


def main() -> None:
    """Measure and write the results page."""
    frame = adult()
    head = (
        *("sensitive", "guarantee", "violated as drawn", "after swaps"),
        *("GCP, k alone", "GCP", "mondrian", "ratio", "seconds", "times k alone"),
        *("GCP, fast", "seconds, fast", "times k alone, fast"),
    )
    text = "\n\n".join(
        (
            "# Freeform with diverse sensitive values",
            f"Adult, 30,162 complete training records, k = {K}. Either occupation is sensitive and the "
            "other seven of the eight columns are quasi-identifiers, or income is sensitive and all eight "
            "are. *Violated* is the share of records whose covering rows are less diverse than "
            "guaranteed: after the draw, and after swaps that cost nothing. Rows then grow until no "
            "record is violated. Mondrian gives the same guarantee for its classes. Seconds are processor "
            "seconds of the method, without encoding and audit, by the efforts `balanced` and `fast`; *times "
            "k alone* compares them with the same effort without diversity. [Decision "
            "093](../decisions/093-diversity-in-less-time.md) says what takes the time.",
            markdown_table(head, [row for sensitive in PROMISES for row in measured(frame, sensitive)]),
        )
    )
    write_page("diversity", text, {})
