"""A large table from PostgreSQL beside the same table from Parquet: time and memory of the block engine.

Starts a server of its own, as the tests do; skipped where PostgreSQL is not installed.
"""

from __future__ import annotations

import resource
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT, adult_like, in_fresh_process, markdown_table, write_page
from shoal.files.databases import write_to_database

ROWS = 1_000_000


def work(source: str, table: str | None, folder: str) -> dict[str, Any]:
    """Release a table in blocks, alone in a process."""
    import polars as pl

    from benchmarks.harness import adult_schema, timed
    from shoal import Freeform, anonymize_file

    schema = adult_schema(pl.read_parquet(Path(folder) / "adult.parquet", n_rows=1000))
    out = Path(folder) / f"out-{table}"
    release, seconds = timed(
        anonymize_file, source, schema, Freeform(k=10), out, table=table, effort="fast", format="parquet"
    )
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "seconds": seconds,
        "processor": sum(each.ru_utime + each.ru_stime for each in spent),
        "gcp": release.loss.gcp,
        "rows": release.certificate["rows"],
    }


def main() -> None:
    """Measure both, and write the page."""
    sys.path.insert(0, str(ROOT / "tests"))
    servers = import_module("servers")
    if servers.program("initdb") is None:
        print("PostgreSQL is not installed: nothing is measured")
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder, servers.postgresql() as server:
        table = adult_like(ROWS)
        table.write_parquet(Path(folder) / "adult.parquet")
        address = f"postgresql://owner:s3cret%25word@/postgres?host={server}"
        write_to_database(address, "adult", table.iter_slices(100_000), "{}")
        del table
        for name, source, relation in (
            ("Parquet", str(Path(folder) / "adult.parquet"), None),
            ("PostgreSQL", address, "adult"),
        ):
            found = in_fresh_process("sources", source=source, table=relation, folder=folder)
            rows.append((name, found))
    write_page("sources", _page(rows), {})


def _page(rows: list[tuple[str, dict[str, Any]]]) -> str:
    first = rows[0][1]
    cells = [
        (
            name,
            f"{found['seconds']:.0f}",
            f"{found['processor']:.0f}",
            f"{found['peak_mib']:.0f}",
            f"{found['processor'] / first['processor']:.2f}",
            f"{found['peak_mib'] / first['peak_mib']:.2f}",
            f"{found['gcp']:.4f}",
        )
        for name, found in rows
    ]
    head = (
        "source",
        "seconds",
        "processor seconds",
        "peak memory, MiB",
        "processor, Parquet = 1",
        "memory, Parquet = 1",
        "GCP",
    )
    return f"""# Sources

{ROWS:,} rows like those of Adult, `freeform` with k = 10 and effort `fast`, in blocks, from the source to
`release.parquet`; each in a process of its own on the same machine, one after the other. Memory is that of
the process that reads the table; workers see blocks only, which are the same for both.

{markdown_table(head, cells)}"""


if __name__ == "__main__":
    main()
