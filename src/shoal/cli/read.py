"""`shoal read`: a release as ordinary tables, with drawn values or typed columns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import options
from shoal.cli.output import out
from shoal.cli.query import EstimatorName, ReleaseFolder, opened
from shoal.errors import InputError, Reason
from shoal.files.staging import staged_folder
from shoal.files.writing import write_csv, write_parquet
from shoal.release import Format


def read(
    release: ReleaseFolder,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the tables.")],
    draw: Annotated[
        int | None,
        typer.Option("--draw", min=1, help="Number of tables to write, with random values."),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--as", help="Write one table in this form: low-high, middle, members or long."),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Make the draws repeatable.")] = None,
    format: Annotated[  # noqa: A002 - the word of the option
        Format, typer.Option("--format", help="Format of the tables.")
    ] = "csv",
    schema: options.SchemaFile = None,
    estimator: EstimatorName = "tight",
    overwrite: options.Overwrite = False,
) -> None:
    """Write a release as ordinary tables that any tool can read."""
    if (draw is None) == (form is None):
        raise InputError("give either --draw or --as", reason=Reason.PARAMETER)
    reader = opened(release, schema, estimator)
    if draw is not None:
        tables = reader.draw(draw, seed, flavour="polars")
        named = {f"drawn-{number}": table for number, table in enumerate(tables, start=1)}
    else:
        named = {f"release-{form}": reader.frame(form, seed=seed, flavour="polars")}  # type: ignore[arg-type]
    files = [f"{name}.{format}" for name in named]
    with staged_folder(output, overwrite=overwrite, ours=files) as folder:
        for name, table in named.items():
            (write_csv if format == "csv" else write_parquet)(table, folder / f"{name}.{format}")
    out.print(f"{', '.join(files)} written to {output}", markup=False, highlight=False, soft_wrap=True)
