"""The engine for tables in a data lake: the same blocks as on one machine, worked on by Spark."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.engines.blocks import BLOCK_ROWS, call_for
from shoal.engines.spark_files import address_of, private_folder, read_files, staged_output
from shoal.engines.spark_run import RELEASE, SparkRun
from shoal.engines.spark_sessions import active_session, failures_explained, prepared, require_spark
from shoal.errors import InputError, Reason, ShoalWarning, listing
from shoal.methods import Progress, silent
from shoal.models import Model
from shoal.release import RELEASE_FILES, BlockedRelease
from shoal.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, eq=False, repr=False)
class SparkRelease(BlockedRelease):
    """A release that Spark made block by block and wrote to a folder.

    Parameters
    ----------
    folder, certified
        As of `BlockedRelease`; the folder may also be an address.
    session
        The Spark session that made it.

    Examples
    --------
    >>> with shoal.spark_session("local[2]") as session:  # doctest: +SKIP
    ...     release = shoal.anonymize_spark("visits/", schema, shoal.Freeform(k=10), "out", session=session)
    ...     release.table.count()
    """

    session: SparkSession

    @property
    def table(self) -> DataFrame:
        """The released table, read from the folder."""
        return self.session.read.parquet(f"{address_of(self.folder)}/{RELEASE}")


def anonymize_spark(
    table: DataFrame | str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    schema: Schema,
    model: Model,
    output: str | os.PathLike[str],
    *,
    session: SparkSession | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    method: str | None = None,
    seed: int | None = None,
    most_per_person: int | None = None,
    block_rows: int = BLOCK_ROWS,
    work: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    strict: bool = False,
    about: Mapping[str, str] | None = None,
    progress: Progress = silent,
    **options: Any,
) -> SparkRelease:
    """Make a release of a table with Spark, block by block.

    Parameters
    ----------
    table
        A Spark frame, or files or folders of delimited text or Parquet, as paths that all workers see or as
        addresses such as ``s3a://bucket/table``. It is read three times: a frame must be the same each time.
    schema, model, method, seed, most_per_person, about, progress, **options
        As for `anonymize`.
    output
        Folder for the release, a path that all workers see or an address; it appears when everything is done.
        The released table in it is Parquet, in several files, in random order over all of them.
    session
        The Spark session that reads files; the active one if omitted.
    delimiter, encoding, block_rows, overwrite, strict
        As for `anonymize_file`.
    work
        Folder for temporary files, which contain personal data; beside `output` if omitted. Only its owner
        can read it, and it is removed at the end.

    Returns
    -------
    SparkRelease
        A release whose blocks all passed the audit.

    Raises
    ------
    InputError
        If the table, the schema or the options are wrong, cutting the table could break the guarantee, or
        Spark is not installed or fails.
    InfeasibleError, PromiseError
        As for `anonymize_file`.

    Warns
    -----
    ShoalWarning
        Once for each of `SparkRelease.warnings`.

    Examples
    --------
    >>> with shoal.spark_session("local[2]") as session:  # doctest: +SKIP
    ...     release = shoal.anonymize_spark("visits/", schema, shoal.Freeform(k=10), "out", session=session)
    """
    require_spark()
    from pyspark.sql import DataFrame

    if isinstance(table, DataFrame):
        session = table.sparkSession
    session = session or active_session()
    with ExitStack() as stack:
        stack.enter_context(failures_explained())
        stack.enter_context(prepared(session))
        if not isinstance(table, DataFrame):
            table = read_files(session, table, delimiter=delimiter, encoding=encoding)
        _require_different(table.columns)
        call = call_for(
            table.columns, schema, model, method, options, seed, block_rows, most_per_person, about=about
        )
        staging = stack.enter_context(staged_output(session, output, overwrite=overwrite, ours=RELEASE_FILES))
        beside = output if work is None else f"{os.fspath(work)}/shoal"
        folder = stack.enter_context(private_folder(session, beside))
        certificate = SparkRun(call, table, folder, progress).finished(staging)
        if strict:
            certificate.require_no_warnings()
    for text in certificate.warnings:
        warnings.warn(text, ShoalWarning, stacklevel=2)
    return SparkRelease(os.fspath(output), certificate, session)


def _require_different(names: Sequence[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(
            f"the table has more than one column called {listing(repeated)}; rename all but one",
            reason=Reason.DUPLICATE_COLUMN,
        )
