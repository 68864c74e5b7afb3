"""Persons in a large table, alone in a process: a part of the benchmark `persons` that runs separately."""

from __future__ import annotations

import resource
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import shoal
from benchmarks.harness import adult_like, adult_schema
from shoal import Freeform


def work(rows: int, engine: str, persons: bool, k: int = 10) -> dict[str, Any]:
    """Make one audited release and return its loss, processor seconds and peak memory.

    Each person has 10 in 3 records on average: each record is that of a person drawn at random.

    Parameters
    ----------
    rows
        The number of records.
    engine
        ``memory`` or ``blocks``, one block at a time.
    persons
        Whether the column of persons is named; otherwise it is left out as an identifier.
    k
        The number of persons, or of records.
    """
    frame = adult_like(rows)
    whose = np.random.default_rng(20).integers(0, rows * 3 // 10, rows)
    schema = adult_schema(frame)
    frame = frame.with_columns(pl.Series("person", whose))
    schema = schema.completed(frame.columns).changed("person", role="person" if persons else "identifier")
    before = resource.getrusage(resource.RUSAGE_SELF)
    used = -before.ru_utime - before.ru_stime
    if engine == "memory":
        made = shoal.anonymize(frame, schema, Freeform(k=k), effort="fast", seed=1)
        found, lost = made.audit, made.loss
    else:
        with tempfile.TemporaryDirectory() as folder:
            frame.write_parquet(Path(folder) / "in.parquet")
            del frame
            call = (Path(folder) / "in.parquet", schema, Freeform(k=k), Path(folder) / "out")
            blocks = shoal.anonymize_file(*call, effort="fast", seed=1, jobs=1, format="parquet")
            found, lost = blocks.audit, blocks.certified.loss
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        after = resource.getrusage(who)
        used += after.ru_utime + after.ru_stime
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    assert found.holds
    return {
        "gcp": lost.gcp,
        "persons": None if found.persons is None else found.persons.count,
        "seconds": used,
        "mib": peak / 1024,
    }
