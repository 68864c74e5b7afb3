"""What 10^8 and 10^9 rows would take on a cluster: how they are divided is measured, the rest projected."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

import numpy as np

from benchmarks.harness import adult_like, adult_schema, markdown_table, remembered, timed
from shoal import Freeform, Schema
from shoal.base.randomness import Randomness
from shoal.engines.blocks import BLOCK_ROWS, SAMPLE, least_rows
from shoal.engines.cutting import cut_tree
from shoal.engines.domains import reference, summarize
from shoal.table import Table

AHEAD = (100_000_000, 1_000_000_000)
CORES = (64, 256, 1024)
K = 10
PROBES, PROBE_ROWS = 4, 1_000_000


def section(spark_rows: int, spark: Mapping[str, Any], spark_cores: int, bytes_a_row: float) -> str:
    """Return a section of a results page.

    Parameters
    ----------
    spark_rows, spark, spark_cores
        How many rows were released with Spark, what that took, and on how many cores.
    bytes_a_row
        What a row of that table takes in a Parquet file.
    """
    in_block = spark["seconds_in_blocks"] / spark["blocks"]
    elsewhere = (spark["seconds"] * spark_cores - spark["seconds_in_blocks"]) / spark_rows
    divided = {rows: remembered("scale_model", rows=rows) for rows in AHEAD}
    projected = []
    for rows, found in divided.items():
        for cores in CORES:
            # The largest blocks are begun at any time, so one of them may run alone at the end.
            blocks = ceil(found["blocks"] / cores) * in_block + (found["largest"] - 1) * in_block
            seconds = found["seconds"] + blocks + rows * elsewhere / cores
            projected.append(
                (
                    f"{rows:,}",
                    f"{found['blocks']:,}",
                    cores,
                    _duration(seconds),
                    f"{2 * rows * bytes_a_row / 1e9:.0f}",
                )
            )
    measured = [
        (
            f"{rows:,}",
            f"{found['blocks']:,}",
            f"{found['seconds']:.1f}",
            f"{found['peak_mib']:.0f}",
            f"{found['largest']:.2f}",
            f"{found['smallest']:.2f}",
            f"{found['assigned']:.2f}",
        )
        for rows, found in divided.items()
    ]
    return "\n\n".join(
        (
            "## A cluster",
            "**Measured here**: the work that one process does for all blocks, and how equal the blocks "
            f"are in size. The cut tree of this number of blocks is learned from {SAMPLE:,} records, and "
            f"{PROBES * PROBE_ROWS:,} other records are assigned by it. Sizes are relative to the mean "
            "block and include random variation, because a block gets only some hundreds of these "
            "records. Assigning is in core seconds for a million records.",
            markdown_table(
                ("rows", "blocks", "seconds", "peak MiB", "largest block", "smallest block", "assigning"),
                measured,
            ),
            f"**Projected**, not measured: with Spark, {spark_rows:,} rows took {in_block:.1f} core "
            f"seconds a block and {1e6 * elsewhere:.0f} core seconds for a million rows elsewhere "
            "(reading twice, writing, two shuffles, the check of the whole release, and waiting). If both "
            "stay the same, if network and disks keep up with the cores, and if nothing fails, a cluster "
            "of such cores needs the time below. The rows themselves are shuffled twice.",
            markdown_table(("rows", "blocks", "cores", "time", "GB shuffled"), projected),
        )
    )


def work(rows: int) -> dict[str, Any]:
    """Divide a table of this many rows as its sample tells, and other records in the same way."""
    sample = adult_like(SAMPLE, seed=1)
    schema = adult_schema(sample)
    agreed = reference(summarize(sample, schema)[0], schema)
    encoded = Table.encode(sample, Schema(agreed.schema.quasi), domains=agreed.domains)
    least = least_rows(Freeform(k=K))
    tree, seconds = timed(cut_tree, encoded, agreed, rows, block_rows=BLOCK_ROWS, least=least)
    counts = np.zeros(len(tree), dtype=np.int64)
    assigning = 0.0
    for seed in range(2, 2 + PROBES):
        probe = agreed.encode(adult_like(PROBE_ROWS, seed=seed))
        assert probe is not None
        blocks, passed = timed(tree.blocks_of, probe, Randomness(seed))
        counts += np.bincount(blocks, minlength=len(tree))
        assigning += passed
    mean = PROBES * PROBE_ROWS / len(tree)
    return {
        "blocks": len(tree),
        "seconds": seconds,
        "largest": float(counts.max() / mean),
        "smallest": float(counts.min() / mean),
        "assigned": assigning / PROBES / PROBE_ROWS * 1e6,
    }


def _duration(seconds: float) -> str:
    minutes = max(round(seconds / 60), 1)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"
