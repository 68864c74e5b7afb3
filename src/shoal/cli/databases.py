"""Writing a release into a database, for the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shoal.cli import options
from shoal.cli.declared import bundled
from shoal.errors import InputError, Reason
from shoal.files.databases import is_database, write_to_database
from shoal.files.streams import open_source
from shoal.release import BlockedRelease, Release

_Target = tuple[str, str] | None


def _target(target: options.Target = None, target_table: options.TargetTable = None) -> _Target:
    """Return database and table to write into; refuse one without the other, and what is no database."""
    if target is None and target_table is None:
        return None
    if target is None or target_table is None:
        raise InputError("--to and --to-table must be used together", reason=Reason.PARAMETER)
    if not is_database(target):
        raise InputError(
            "--to needs the address of a database, such as postgresql://host/database",
            reason=Reason.PARAMETER,
            parameter="to",
        )
    return target, target_table


TARGET = bundled(_target)
"""The options that name a database to write into, and the table to create in it."""


def into_database(
    release: Release | BlockedRelease,
    types: Mapping[str, Any],
    folder: Path,
    address: str,
    table: str,
    *,
    overwrite: bool,
) -> None:
    """Write a release that was saved to a folder into a table of a database, in one transaction.

    Generalized values are text. Other columns have the types that they have in the original.

    Parameters
    ----------
    release
        The release.
    types
        The types of the columns of the original, if the release was made in blocks.
    folder
        Where it was saved.
    address, table
        The database, and the table to create.
    overwrite
        Whether a table of that name is replaced.
    """
    if isinstance(release, Release):
        frames = iter([release.written("csv")])
    else:
        quasi = [column.name for column in release.certified.schema.quasi]
        frames = _batches(folder, {name: kind for name, kind in types.items() if name not in quasi})
    certificate = json.dumps(json.loads((folder / "certificate.json").read_text(encoding="utf-8")))
    try:
        write_to_database(address, table, frames, certificate, overwrite=overwrite)
    except InputError as error:
        raise InputError(
            f"{error} (the release is in {folder}, but not in the database)", reason=error.reason
        ) from None


def _batches(folder: Path, types: Mapping[str, Any]) -> Iterator[pl.DataFrame]:
    """Yield the rows of a release that was written as text, with the types of columns where given."""
    file = folder / "release.csv"
    if not file.is_file():
        raise InputError("a database takes text; leave out --format parquet", reason=Reason.PARAMETER)
    for batch in open_source(file).batches():
        plain = {n: kind for n, kind in types.items() if n in batch.columns and not kind.is_nested()}
        yield batch.with_columns(_read_as(batch[name], kind) for name, kind in plain.items())


def _read_as(series: pl.Series, kind: Any) -> pl.Series:
    """Return a column of texts as values of a type."""
    if kind == pl.Boolean:
        return series == "true"
    if kind == pl.Date:
        return series.str.to_date()
    if isinstance(kind, pl.Datetime):
        return series.str.to_datetime(time_unit=kind.time_unit, time_zone=kind.time_zone)
    return series.cast(kind) if kind.is_numeric() else series
