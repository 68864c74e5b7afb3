"""Where the seconds of large tables go: in memory, from CSV to a saved release, the audit, phases of blocks.

`python -m benchmarks seconds --blocks 1000000,fast 10000000,balanced` says which tables are released in
blocks, and with which effort. Processor seconds are those of all threads and processes, so they depend little
on what else the machine does.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

import shoal
from benchmarks.harness import (
    ADULT_QUASI,
    MEASURED,
    adult,
    adult_schema,
    markdown_table,
    of_process,
    remembered,
    resident_mib,
    started_by,
    timed,
    write_page,
)
from benchmarks.scale import table_of
from shoal import Freeform, anonymize, audit
from shoal.auditing import audit_table
from shoal.engines import local
from shoal.methods import ring
from shoal.release import release as releases
from shoal.table import Table

K = 10
MILLION = 1_000_000
PHASES = ("reading", "dividing", "releases of blocks", "joining")
"""Of a run in blocks; *reading* is with what the command line looks at before it begins."""
STEPS: tuple[tuple[str, Any, str], ...] = (
    ("encoding", Table, "encode"),
    ("order of the records", ring, "cheap_order"),
    ("rows", ring, "recoded"),
    ("drawing each record's own row", releases, "random_assignment"),
    ("building the released columns", releases, "published"),
    ("audit", releases, "_audited"),
    ("loss and its bound", releases, "measure"),
    ("warnings about columns", local, "column_warnings"),
    ("report, evidence page, certificate, codebook", releases, "write_documents"),
)
"""The steps of a release in memory: what each is, and the function that does it."""


BY_HAND = ("By the clock", f"Memory of {MILLION:,} rows")
"""The sections of the page that were put together by hand, from runs at several commits; they are kept."""


def main(options: Sequence[str] = ()) -> None:
    """Measure and write the results page."""
    parser = argparse.ArgumentParser(prog="benchmarks seconds")
    parser.add_argument("--blocks", default=[f"{MILLION},fast"], nargs="*", metavar="ROWS,EFFORT")
    asked = [each.split(",") for each in parser.parse_args(options).blocks]
    whole, audited = remembered("seconds", what="whole"), remembered("seconds", what="audit")
    memory = {effort: remembered("seconds", what="memory", effort=effort) for effort in ("fast", "balanced")}
    blocks = {
        (int(rows), effort): remembered("seconds", what="blocks", rows=int(rows), effort=effort)
        for rows, effort in asked
    }
    write_page("seconds", _page(whole, audited, memory, blocks), {}, by_hand=BY_HAND)


def _page(
    whole: dict[str, Any],
    audited: dict[str, Any],
    memory: dict[str, dict[str, Any]],
    blocks: dict[tuple[int, str], dict[str, Any]],
) -> str:
    return "\n\n".join(
        (
            "# Where the seconds go",
            f"Freeform, k = {K}, eight quasi-identifiers of perturbed bootstraps of Adult with 15 columns. "
            "Effort `fast` is with the method `ring`, `balanced` with `matching`. Processor seconds are "
            "those of all threads and processes together. With two idle cores a run takes fewer seconds of "
            "the clock, because both work at the same time in most steps.",
            "## In memory",
            f"{MILLION:,} rows, from the table in memory to the audited release, with a random seed. Memory "
            "is the peak of the process, with the table.",
            markdown_table(
                ("effort", "seconds", "processor seconds", "peak MiB", "GCP"),
                [
                    (
                        f"`{effort}`",
                        *(f"{found[each]:,.0f}" for each in ("clock", "cpu", "peak_mib")),
                        f"{found['gcp']:.5f}",
                    )
                    for effort, found in memory.items()
                ],
            ),
            f"## {MILLION:,} rows from CSV to a saved release, `fast`",
            markdown_table(
                ("step", "processor seconds"), [(k, f"{v:.1f}") for k, v in whole["steps"].items()]
            ),
            f"Together {sum(whole['steps'].values()):.1f} s, of which {whole['released']:.1f} s from the "
            "table in memory to the audited release. Peak memory until everything is saved: "
            f"{whole['peak_mib']:.0f} MiB.",
            f"## The audit of {MILLION:,} rows",
            f"From the two tables in memory: *levels* (coverage, perfect matching, components, concealment, "
            f"classes) {audited['levels']:.1f} s; all of it, with encoding, contributions of columns, "
            f"uniqueness and diversity, {audited['all']:.1f} s.",
            "## Blocks",
            "Parquet to Parquet by the command line, blocks of about 50,000 records. *Reading* is a pass "
            "over the table for the kinds of columns and another for their values; *dividing* is a third, "
            "and writes each record to its block; *joining* puts all rows into one random order, checks and "
            "writes them, and makes the report. Phases are in processor seconds. Memory is the peak of all "
            "processes together.",
            markdown_table(
                (
                    *("rows", "effort", "blocks", *PHASES, "seconds a block", "processor seconds"),
                    *("seconds", "peak MiB", "GCP"),
                ),
                [_row(*asked, found) for asked, found in blocks.items()],
            ),
        )
    )


def _row(rows: int, effort: str, found: dict[str, Any]) -> tuple[str, ...]:
    phases = found["phases"]
    cpu = [phases[each]["cpu"] for each in PHASES]
    return (
        *(f"{rows:,}", f"`{effort}`", f"{found['blocks']:,}", *(f"{each:,.1f}" for each in cpu)),
        *(f"{phases[PHASES[2]]['cpu'] / found['blocks']:.2f}", f"{sum(cpu):,.0f}"),
        *(f"{sum(each['seconds'] for each in phases.values()):,.0f}",),
        *(f"{max(each['peak'] for each in phases.values()):,.0f}", f"{found['gcp']:.5f}"),
    )


def work(what: str, rows: int = MILLION, effort: str = "fast") -> dict[str, Any]:
    """Measure one of the sections."""
    warnings.simplefilter("ignore", shoal.ShoalWarning)
    if what == "blocks":
        return _blocks(rows, effort)
    if what == "memory":
        return _memory(effort)
    return _whole() if what == "whole" else _audit()


def _cpu(who: int = resource.RUSAGE_SELF) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def _memory(effort: str) -> dict[str, Any]:
    """Release a table in memory; the harness measures the peak."""
    frame = pl.read_parquet(table_of(MILLION))
    schema = adult_schema(adult())
    begun = _cpu()
    release, clock = timed(anonymize, frame, schema, Freeform(k=K), effort=effort)
    return {"clock": clock, "cpu": _cpu() - begun, "gcp": release.loss.gcp}


def _whole() -> dict[str, Any]:
    """Release a table from a CSV file into a folder, and measure each step."""
    source = MEASURED / f"adult-{MILLION}.csv"
    if not source.exists():
        pl.scan_parquet(table_of(MILLION)).sink_csv(source)
    schema = adult_schema(adult())
    steps: dict[str, float] = {}
    inner = _Timed(steps)
    folder = Path(tempfile.mkdtemp(dir=MEASURED))
    for step, place, name in STEPS:
        setattr(place, name, inner.timed(step, getattr(place, name)))
    try:
        frame = inner.timed("reading CSV", shoal.read_table)(source)
        begun = _cpu()
        release = inner.timed("everything else", anonymize)(
            frame, schema, Freeform(k=K), method="ring", effort="fast"
        )
        released = _cpu() - begun
        inner.timed("writing CSV and its digest", release.save)(folder / "out")
    finally:
        shutil.rmtree(folder)
    return {"steps": steps, "released": released}


class _Timed:
    """Adds up the processor seconds of steps, each without those inside it."""

    def __init__(self, steps: dict[str, float]) -> None:
        self._steps, self._inside = steps, [0.0]

    def timed(self, step: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that does the same and is measured."""

        @functools.wraps(function)
        def measured(*given: Any, **named: Any) -> Any:
            begun = _cpu()
            self._inside.append(0.0)
            try:
                return function(*given, **named)
            finally:
                took = _cpu() - begun
                self._steps[step] = self._steps.get(step, 0.0) + took - self._inside.pop()
                self._inside[-1] += took

        return measured


def _audit() -> dict[str, Any]:
    """Audit a release of a table in memory."""
    frame = pl.read_parquet(table_of(MILLION))
    schema = adult_schema(frame)
    released = anonymize(frame, schema, Freeform(k=K), method="ring", effort="fast").table
    table = Table.encode(frame, schema)
    begun = _cpu()
    levels = audit_table(table, released, Freeform(k=K))
    between = _cpu()
    thorough = audit(frame, released, schema, Freeform(k=K))
    return {
        "levels": between - begun,
        "all": _cpu() - between,
        "holds": levels.holds and thorough.holds,
    }


def _blocks(rows: int, effort: str) -> dict[str, Any]:
    """Release a table in blocks by the command line, and measure each phase from outside."""
    folder = Path(tempfile.mkdtemp(dir=MEASURED))
    roles = ["--quasi", ",".join(ADULT_QUASI), "--sensitive", "income"]
    how = ["--k", str(K), "--l", "1", "--method", "ring" if effort == "fast" else "matching"]
    into = ["--engine", "blocks", "--format", "parquet", "--work", str(folder / "work"), "-o"]
    words = [str(table_of(rows)), *roles, *how, "--effort", effort, *into, str(folder / "out"), "--json"]
    phases = {phase: {"seconds": 0.0, "cpu": 0.0, "peak": 0.0} for phase in PHASES}
    told = folder / "certificate.json"
    try:
        with told.open("wb") as out:
            command = [sys.executable, "-m", "shoal", "anonymize", *words]
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
            before = 0.0, 0.0
            started = time.perf_counter()
            while process.poll() is None:
                time.sleep(0.2)
                now = time.perf_counter() - started, max(_cpu_of(process.pid), before[1])
                phase = phases[_phase(folder / "work")]
                phase["seconds"] += now[0] - before[0]
                phase["cpu"] += now[1] - before[1]
                phase["peak"] = max(phase["peak"], resident_mib(process.pid))
                before = now
        if process.returncode != 0:
            sys.exit(f"shoal {' '.join(words)} ended with {process.returncode}")
        certificate = json.loads(told.read_text(encoding="utf-8"))
    finally:
        shutil.rmtree(folder)
    phases[PHASES[-1]]["cpu"] += _cpu(resource.RUSAGE_CHILDREN) - before[1]  # since the last look
    return {
        "phases": phases,
        "blocks": certificate["engine"]["blocks"],
        "gcp": certificate["loss"]["gcp"],
        "concealment": certificate["audit"]["concealment"],
    }


def _phase(work: Path) -> str:
    """Return what a run in blocks does, by what is in its working folder."""
    known = zip(("join", "plan.pickle", "blocks"), reversed(PHASES), strict=False)
    return next((phase for name, phase in known if (work / name).exists()), PHASES[0])


def _cpu_of(process: int) -> float:
    """Return the processor seconds of a process, of those it started, and of those of them that ended."""
    ticks = 0
    for each in (process, *started_by(process)):
        told = of_process(each, "stat").rpartition(")")[2].split()
        ticks += sum(map(int, told[11:15])) if told else 0
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    started = time.perf_counter()
    main()
    print(f"{time.perf_counter() - started:.0f} s")
