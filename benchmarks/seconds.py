"""Where the processor seconds of large tables go: from CSV to a saved release, the audit, phases of blocks.

`python -m benchmarks seconds --rows 1000000,10000000` says which tables are released in blocks. Processor
seconds are those of all threads and processes, so they depend little on what else the machine does.
"""

from __future__ import annotations

import argparse
import functools
import os
import resource
import shutil
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

import shoal
from benchmarks.harness import MEASURED, adult, adult_schema, markdown_table, remembered, write_page
from benchmarks.scale import table_of
from shoal import Freeform, anonymize, audit
from shoal.auditing import audit_table
from shoal.engines import local
from shoal.methods import ring
from shoal.release import release as releases
from shoal.table import Table

K = 10
MILLION = 1_000_000
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


def main(options: Sequence[str] = ()) -> None:
    """Measure and write the results page."""
    parser = argparse.ArgumentParser(prog="benchmarks seconds")
    parser.add_argument("--rows", default=f"{MILLION}", help="of tables in blocks, separated by commas")
    sizes = [int(each) for each in parser.parse_args(options).rows.split(",")]
    whole, audited = remembered("seconds", what="whole"), remembered("seconds", what="audit")
    blocks = {rows: remembered("seconds", what="blocks", rows=rows) for rows in sizes}
    write_page("seconds", _page(whole, audited, blocks), {})


def _page(whole: dict[str, Any], audited: dict[str, Any], blocks: dict[int, dict[str, Any]]) -> str:
    return "\n\n".join(
        (
            "# Where the seconds go",
            f"Freeform, k = {K}, method `ring`, effort `fast`, eight quasi-identifiers of perturbed "
            "bootstraps of Adult with 15 columns. Seconds are processor seconds of all threads and processes "
            "together. With two idle cores a run takes fewer seconds of the clock, because both work at the "
            "same time in most steps.",
            f"## {MILLION:,} rows from CSV to a saved release",
            markdown_table(
                ("step", "processor seconds"), [(k, f"{v:.1f}") for k, v in whole["steps"].items()]
            ),
            f"Together {sum(whole['steps'].values()):.1f} s, of which {whole['released']:.1f} s from the "
            "table in memory to the audited release. Peak memory until then: "
            f"{whole['peak_released']:.0f} MiB, with the table; until everything is saved: "
            f"{whole['peak_saved']:.0f} MiB. GCP {whole['gcp']:.5f}.",
            f"## The audit of {MILLION:,} rows",
            f"From the two tables in memory: *levels* (coverage, perfect matching, components, concealment, "
            f"classes) {audited['levels']:.1f} s; all of it, with encoding, contributions of columns, "
            f"uniqueness and diversity, {audited['all']:.1f} s.",
            "## Blocks",
            "Parquet to Parquet, blocks of about 50,000 records. *Reading* and *dividing* are the two passes "
            "over the table; *joining* puts all rows into one random order, checks and writes them, and "
            "makes the report. Memory is the peak of all processes together.",
            markdown_table(
                (
                    *("rows", "blocks", "reading", "dividing", "releases of blocks", "seconds a block"),
                    *("joining", "all", "peak MiB", "GCP"),
                ),
                [_row(rows, found) for rows, found in blocks.items()],
            ),
        )
    )


def _row(rows: int, found: dict[str, Any]) -> tuple[str, ...]:
    phases = found["phases"]
    return (
        *(f"{rows:,}", f"{found['blocks']:,}", f"{phases['reading values']:.1f}"),
        *(f"{phases['dividing into blocks']:.1f}", f"{found['workers']:.1f}"),
        *(f"{found['workers'] / found['blocks']:.2f}", f"{phases['joining blocks']:.1f}"),
        *(f"{sum(phases.values()) + found['workers']:.0f}", f"{found['peak']:.0f}", f"{found['gcp']:.5f}"),
    )


def work(what: str, rows: int = MILLION) -> dict[str, Any]:
    """Measure one of the sections."""
    warnings.simplefilter("ignore", shoal.ShoalWarning)
    if what == "blocks":
        return _blocks(rows)
    return _whole() if what == "whole" else _audit()


def _cpu(who: int = resource.RUSAGE_SELF) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


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
        released, peak = _cpu() - begun, _peak()
        inner.timed("writing CSV and its digest", release.save)(folder / "out")
    finally:
        shutil.rmtree(folder)
    gcp = release.loss.gcp
    return {
        "steps": steps,
        "released": released,
        "peak_released": peak,
        "peak_saved": _peak(),
        "gcp": gcp,
    }


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


def _blocks(rows: int) -> dict[str, Any]:
    """Release a table in blocks, and measure each phase."""
    source, schema = table_of(rows), adult_schema(adult())
    phases = dict.fromkeys(("reading values", "dividing into blocks", "releases", "joining blocks"), 0.0)
    phase, before = "reading values", _cpu()

    def progress(what: str, share: float) -> None:
        nonlocal phase, before
        del share
        now, said = _cpu(), what if what in phases else "releases"
        # Dividing is reported when some of it is done, everything else when it begins.
        phases[said if said == "dividing into blocks" else phase] += now - before
        phase, before = said, now

    folder = Path(tempfile.mkdtemp(dir=MEASURED))
    try:
        with _memory() as resident:
            blocked = shoal.anonymize_file(
                *(source, schema, Freeform(k=K), folder / "out"),
                format="parquet",
                method="ring",
                effort="fast",
                progress=progress,
            )
        progress("joining blocks", 1.0)
    finally:
        shutil.rmtree(folder)
    return {
        "phases": phases,
        "workers": _cpu(resource.RUSAGE_CHILDREN),
        "blocks": blocked.certificate["engine"]["blocks"],
        "peak": max(resident),
        "gcp": blocked.loss["gcp"],
    }


@contextmanager
def _memory() -> Iterator[list[float]]:
    """Measure repeatedly how many MiB this process and those that it started have together."""
    found, done = [0.0], threading.Event()

    def look() -> None:
        while not done.wait(0.5):
            threads = Path("/proc/self/task").glob("*/children")
            started = {pid for each in threads for pid in _read(each).split()}
            found.append(sum(map(_resident, {str(os.getpid()), *started})))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield found
    finally:
        done.set()
        looking.join()


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii")
    except OSError:
        return ""  # it has ended


def _resident(pid: str) -> float:
    pages = _read(Path(f"/proc/{pid}/statm")).split()
    return int(pages[1]) * resource.getpagesize() / 2**20 if pages else 0.0


if __name__ == "__main__":
    started = time.perf_counter()
    main()
    print(f"{time.perf_counter() - started:.0f} s")
