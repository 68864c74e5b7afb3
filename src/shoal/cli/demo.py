"""`shoal demo`: made-up hospital data, from a table to an audited release, in one go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal import engines
from shoal.cli import options
from shoal.cli.anonymize import show_release
from shoal.cli.output import out, progress, show_json
from shoal.engines.scanning import combinations
from shoal.files.staging import staged_file
from shoal.files.writing import write_csv
from shoal.kinds.hierarchy_rules import Prefixes
from shoal.models import Freeform
from shoal.samples import hospital
from shoal.schema import Schema
from shoal.table import Table


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the demo's files.")] = Path(
        "shoal-demo"
    ),
    patients: Annotated[int, typer.Option("--patients", min=100, help="Number of made-up patients.")] = 5_000,
    k: Annotated[int, typer.Option("--k", help="Minimum crowd size.")] = 10,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Anonymize a made-up table of hospital patients, and show what an attacker would learn."""
    frame = hospital(patients)
    schema = Schema.infer(
        frame,
        quasi=["age", "sex", "zip", "admitted", "marital", "occupation"],
        sensitive=["diagnosis"],
        drop=["patient", "name"],
        hierarchies={"zip": Prefixes((3, 2))},
        domains={"age": (0, 120)},
    )
    table, released = output / "patients.csv", output / "release"
    with staged_file(table, overwrite=True) as staged:
        write_csv(frame, staged)
    schema.write(output / "schema.toml", overwrite=True)
    with progress(quiet or as_json) as report:
        release = engines.anonymize(frame, schema, Freeform(k=k, l=2), progress=report)
    release.save(released, overwrite=True)
    if as_json:
        show_json(release.certificate)
    if as_json or quiet:
        return
    known = next(c for c in combinations(Table.encode(frame, schema)) if len(c.columns) == 3)
    out.print(
        f"\n{patients:,} made-up patients. An attacker who knows {', '.join(known.columns)} identifies "
        f"{known.unique:,} of them ({known.share:.0%}) in the original table.",
        highlight=False,
    )
    show_release(release, released)
    out.print(
        f"\nRows need not be identical: each patient is covered by at least {k} of them.",
        highlight=False,
    )
    out.print("\nA row before and after (not the same patient: rows are shuffled):", highlight=False)
    for label, shown in (("before", frame), ("after", release.table)):
        row = shown.row(0, named=True)
        out.print(
            f"  {label:7}"
            + ", ".join(str(row[name]) for name in (*(c.name for c in schema.quasi), "diagnosis")),
            markup=False,
        )
    out.print(
        f"\nCheck the guarantee yourself:\n  shoal audit {table} "
        f"{released / 'release.csv'} --schema {output / 'schema.toml'} --k {k} --l 2",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
