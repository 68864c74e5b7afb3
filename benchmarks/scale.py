"""Tables cut into blocks against tables at once: loss, time and memory, by rows and by the size of blocks.

Options choose what is measured now: ``--cell ROWS,BLOCK_ROWS`` a single cell (0 rows are Adult itself, 0
block rows the table at once), ``--cores N`` on N cores, ``--spark ROWS`` the same blocks on Spark. What
was measured at this commit before is not measured again, and an interrupted run in blocks is resumed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl

import shoal
from benchmarks import scale_model
from benchmarks.harness import (
    MEASURED,
    adult,
    adult_like,
    adult_schema,
    line_chart,
    markdown_table,
    remembered,
    timed,
    watched_memory,
    write_page,
)
from shoal.engines.blocks import BLOCK_ROWS

K = 10
PIECE = 500_000
"""Number of rows of the table that are made at a time."""
SIZED = 300_000
"""Number of rows that are released on one core, and with Spark, too."""
LOSSES = (
    *((0, size) for size in (5_000, 10_000, 20_000, 0)),
    (1_000_000, BLOCK_ROWS),
    (1_000_000, 0),
)
"""Rows and block rows of what is compared with the table at once."""
SPARK = (SIZED,)
"""Rows of what Spark does, too, on the cores of this machine."""
GROWTH = (SIZED, 1_000_000, 10_000_000)


def main(options: Sequence[str] = ()) -> None:
    """Measure one cell, or all, and write the results page."""
    parser = argparse.ArgumentParser(prog="benchmarks scale")
    parser.add_argument("--cell", metavar="ROWS,BLOCK_ROWS")
    parser.add_argument("--cores", type=int)
    parser.add_argument("--spark", metavar="ROWS", type=int)
    chosen = parser.parse_args(options)
    if chosen.cell is not None:
        rows, block_rows = map(int, chosen.cell.split(","))
        cores = {} if chosen.cores is None else {"cores": chosen.cores}
        print(remembered("scale", rows=rows, block_rows=block_rows, **cores))
        return
    if chosen.spark is not None:
        print(remembered("scale", rows=chosen.spark, block_rows=BLOCK_ROWS, spark=True))
        return
    losses = {cell: remembered("scale", rows=cell[0], block_rows=cell[1]) for cell in LOSSES}
    growth = {rows: remembered("scale", rows=rows, block_rows=BLOCK_ROWS) for rows in GROWTH}
    one_core = remembered("scale", rows=SIZED, block_rows=BLOCK_ROWS, cores=1)
    on_spark = {rows: remembered("scale", rows=rows, block_rows=BLOCK_ROWS, spark=True) for rows in SPARK}
    points = [
        {"method": "blocks", "rows": rows, "seconds": found["seconds"]} for rows, found in growth.items()
    ]
    chart = line_chart(points, "Time by rows", "rows", "seconds", alt.Scale(type="log"))
    write_page("scale", _page(losses, growth, one_core, on_spark), {"growth": chart})


def _page(
    losses: dict[tuple[int, int], dict[str, Any]],
    growth: dict[int, dict[str, Any]],
    one_core: dict[str, Any],
    on_spark: dict[int, dict[str, Any]],
) -> str:
    """Return the text of the results page."""
    seconds = [found["seconds"] for found in growth.values()]
    exponent = np.polyfit(np.log(GROWTH), np.log(seconds), 1)[0]
    return "\n\n".join(
        (
            "# Large tables",
            f"Freeform, k = {K}, eight quasi-identifiers of Adult and perturbed bootstraps of it (Parquet "
            "in, Parquet out). Every release is audited. [Where the seconds go](seconds.md) has each "
            "phase, also for a hundred million rows.",
            "## Blocks compared with the whole table at once",
            markdown_table(
                ("rows", "block rows", "blocks", "GCP", "at once", "more", "seconds", "at once"),
                _compared(losses),
            ),
            "## Growth",
            f"Blocks of about {BLOCK_ROWS:,} records, one for each core at a time. Memory is the peak of "
            "all processes together.",
            markdown_table(
                ("rows", "blocks", "GCP", "seconds", "seconds a block", "peak MiB"), _grown(growth)
            ),
            f"{SIZED:,} rows took {one_core['seconds']:.0f} seconds on one core, and "
            f"{growth[SIZED]['seconds']:.0f} on {os.cpu_count()}. From {GROWTH[0]:,} to {GROWTH[-1]:,} rows, "
            f"time grows as n^{exponent:.2f}.",
            "![Time by rows](scale-growth.svg)",
            "## Spark",
            "The same blocks on the same cores with Spark (`local[*]`), without its start-up time, "
            "compared with the local engine.",
            markdown_table(
                ("rows", "blocks", "GCP", "local", "more", "seconds", "local"), _on_spark(on_spark, growth)
            ),
            scale_model.section(
                SPARK[-1],
                on_spark[SPARK[-1]],
                os.cpu_count() or 1,
                table_of(SPARK[-1]).stat().st_size / SPARK[-1],
            ),
        )
    )


def _compared(losses: dict[tuple[int, int], dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return rows of the table that compares blocks with the whole table."""
    return [
        (
            f"{rows:,}" if rows else "Adult, 30,162",
            f"{block_rows:,}",
            found["blocks"],
            f"{found['gcp']:.5f}",
            f"{losses[rows, 0]['gcp']:.5f}",
            f"{found['gcp'] / losses[rows, 0]['gcp'] - 1:+.1%}",
            f"{found['seconds']:.0f}",
            f"{losses[rows, 0]['seconds']:.0f}",
        )
        for (rows, block_rows), found in losses.items()
        if block_rows
    ]


def _grown(growth: dict[int, dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return rows of the table of growth."""
    return [
        (
            f"{rows:,}",
            found["blocks"],
            f"{found['gcp']:.5f}",
            f"{found['seconds']:.0f}",
            f"{found['seconds'] / found['blocks']:.2f}",
            f"{found['resident_mib']:.0f}",
        )
        for rows, found in growth.items()
    ]


def _on_spark(
    on_spark: dict[int, dict[str, Any]], growth: dict[int, dict[str, Any]]
) -> list[tuple[Any, ...]]:
    """Return rows of the table that compares Spark with the local engine."""
    return [
        (
            f"{rows:,}",
            found["blocks"],
            f"{found['gcp']:.5f}",
            f"{growth[rows]['gcp']:.5f}",
            f"{found['gcp'] / growth[rows]['gcp'] - 1:+.1%}",
            f"{found['seconds']:.0f}",
            f"{growth[rows]['seconds']:.0f}",
        )
        for rows, found in on_spark.items()
    ]


def work(rows: int, block_rows: int, spark: bool = False, cores: int | None = None) -> dict[str, Any]:
    """Release a table, in blocks or at once, or in blocks with Spark."""
    if cores is not None:
        os.sched_setaffinity(0, range(cores))
    source = table_of(rows)
    schema = adult_schema(adult())
    if spark:
        return _with_spark(source, schema, block_rows)
    if block_rows == 0:
        frame = pl.read_parquet(source)
        release, seconds = timed(shoal.anonymize, frame, schema, shoal.Freeform(k=K))
        return {"gcp": release.loss.gcp, "seconds": seconds, "blocks": 1}
    folder = Path(tempfile.mkdtemp(dir=MEASURED))
    try:
        with watched_memory() as resident:
            blocked, seconds = timed(
                shoal.anonymize_file,
                source,
                schema,
                shoal.Freeform(k=K),
                folder / "out",
                format="parquet",
                block_rows=block_rows,
                jobs=cores,
                # Kept if the run is interrupted: the next one resumes it.
                work=MEASURED / f"scale-{rows}-{block_rows}.work",
            )
    finally:
        shutil.rmtree(folder)
    return {
        "gcp": blocked.loss["gcp"],
        "seconds": seconds,
        "blocks": blocked.certificate["engine"]["blocks"],
        "seconds_in_blocks": blocked.certificate["engine"]["seconds_in_blocks"],
        "concealment": blocked.audit.concealment,
        "resident_mib": max(resident),
    }


def _with_spark(source: Path, schema: shoal.Schema, block_rows: int) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(dir=MEASURED))
    try:
        with shoal.spark_session("local[*]", {"spark.driver.memory": "2g"}) as session:
            made, seconds = timed(
                shoal.anonymize_spark,
                source,
                schema,
                shoal.Freeform(k=K),
                folder / "out",
                session=session,
                block_rows=block_rows,
            )
    finally:
        shutil.rmtree(folder)
    engine = made.certificate["engine"]
    return {
        "gcp": made.loss["gcp"],
        "seconds": seconds,
        "blocks": engine["blocks"],
        "seconds_in_blocks": engine["seconds_in_blocks"],
        "concealment": made.audit.concealment,
    }


def table_of(rows: int) -> Path:
    """Return a Parquet file of Adult, or of a perturbed bootstrap of it; it is made if it is not there."""
    MEASURED.mkdir(parents=True, exist_ok=True)
    file = MEASURED / f"adult-{rows}.parquet"
    if file.exists():
        return file
    pieces = Path(tempfile.mkdtemp(dir=MEASURED))
    try:
        if rows == 0:
            adult().write_parquet(pieces / "0.parquet")
        for seed, start in enumerate(range(0, rows, PIECE), start=1):
            piece = adult_like(min(PIECE, rows - start), seed=seed)
            piece.write_parquet(pieces / f"{seed:06}.parquet")
        whole = pieces / "whole"
        pl.scan_parquet(sorted(pieces.glob("*.parquet"))).sink_parquet(whole)
        whole.rename(file)
    finally:
        shutil.rmtree(pieces)
    return file
