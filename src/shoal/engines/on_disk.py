"""The engine for tables that do not fit into memory: blocks on disk, some at a time, joined in one order.

Temporary files are in a working folder that only its owner can read. An interrupted run leaves it behind, and
the same call continues from there. A run that was refused leaves nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from shoal.base.distribution import version
from shoal.engines.blocks import BLOCK_ROWS, Call, call_for
from shoal.engines.disk_run import DiskRun
from shoal.engines.workspace import default_folder, workspace
from shoal.errors import InputError, Reason, ShoalWarning
from shoal.files.formats import Reading
from shoal.files.staging import staged_folder
from shoal.files.streams import BatchedTable, opened_source
from shoal.methods import Progress, method_for, silent
from shoal.models import Model
from shoal.release import RELEASE_FILES, BlockedRelease, Format, require_format
from shoal.schema import Schema

MEMORY_ROWS = 500_000
"""Tables with more rows are cut into blocks by default, because time grows faster than the table."""
SMALL = 1 << 22
"""Files with fewer bytes are never cut by default."""
MEMORY_SHARE = 0.05
"""Files larger than this share of the machine's memory are cut by default."""


def exceeds_memory(source: BatchedTable) -> bool:
    """Return whether a table is so large that it should be cut into blocks."""
    if source.size < SMALL:
        return False
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return source.rows_about() > MEMORY_ROWS or source.size > MEMORY_SHARE * memory


def anonymize_file(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | BatchedTable,
    schema: Schema,
    model: Model,
    output: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    table: str | None = None,
    query: str | None = None,
    skip_rows: int = 0,
    decimal: str | None = None,
    thousands: str | None = None,
    format: Format = "csv",  # noqa: A002 - the word of the command line
    method: str | None = None,
    seed: int | None = None,
    most_per_person: int | None = None,
    block_rows: int = BLOCK_ROWS,
    jobs: int | None = None,
    work: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    overwrite: bool = False,
    strict: bool = False,
    about: Mapping[str, str] | None = None,
    progress: Progress = silent,
    **options: Any,
) -> BlockedRelease:
    """Make a release of a table of any size, from files to files, block by block.

    Parameters
    ----------
    path
        A file, several files with the same columns, or a folder of them, in any format that `read_table`
        reads; the address of a database; or a table that is already open.
    schema, model, method, seed, most_per_person, about, progress, **options
        As for `anonymize`.
    output
        Folder for the release; it appears when everything is done.
    delimiter, encoding, table, query, skip_rows, decimal, thousands
        As for `read_table`.
    format
        Format of the release: text (``csv``) or typed (``parquet``).
    block_rows
        Approximate number of records in a block; small numbers are raised to what the model needs.
    jobs
        Number of blocks worked on at a time; one for each core if omitted.
    work
        Folder for temporary files, which contain personal data; beside `output` if omitted. Only its owner
        can read it. It is removed at the end, also after an error, unless the run was interrupted and the
        same call can continue it; the error then says so.
    fresh
        Whether to discard what an interrupted run left in `work`, and start over.
    overwrite
        Whether to replace an earlier release in `output`.
    strict
        Whether to write nothing if the audit passes, but there are warnings.

    Returns
    -------
    BlockedRelease
        A release whose blocks all passed the audit.

    Raises
    ------
    InputError
        If files, schema or options are wrong, or cutting the table could break the guarantee.
    InfeasibleError
        If no release of this table keeps the guarantee.
    PromiseError
        If there are warnings and `strict` is set.

    Warns
    -----
    ShoalWarning
        Once for each of `BlockedRelease.warnings`.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> hospital(200).write_csv("patients.csv")
    >>> schema = shoal.scan(shoal.read_table("patients.csv")).schema
    >>> release = shoal.anonymize_file("patients.csv", schema, shoal.KAnonymity(k=5), "out", jobs=1)
    >>> release.certificate["audit"]["k"] >= 5
    True
    """
    require_format(format)
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs = {jobs} is below 1", reason=Reason.PARAMETER, parameter="jobs")
    output = Path(output)
    folder = Path(os.path.realpath(work)) if work is not None else default_folder(output)
    reading = Reading(
        delimiter,
        encoding,
        skip_rows=skip_rows,
        table=table,
        query=query,
        decimal=decimal,
        thousands=thousands,
    )
    with _opened(path, reading) as source:
        columns = source.head.columns
        call = call_for(columns, schema, model, method, options, seed, block_rows, most_per_person, about)
        with (
            staged_folder(output, overwrite=overwrite, ours=RELEASE_FILES) as staging,
            workspace(folder, _fingerprint(call, source, format), fresh=fresh, progress=progress) as working,
        ):
            run = DiskRun(call, source, format, folder, jobs or os.cpu_count() or 1, working.progress)
            certificate = run.finished(staging)
            if strict:
                certificate.require_no_warnings()
    for text in certificate.warnings:
        warnings.warn(text, ShoalWarning, stacklevel=2)
    return BlockedRelease(output, certificate)


def _opened(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | BatchedTable, reading: Reading
) -> AbstractContextManager[BatchedTable]:
    """Return a table as a context: one that is open stays so."""
    if isinstance(path, str | os.PathLike | Sequence):
        return opened_source(path, reading)
    return nullcontext(path)


def _fingerprint(call: Call, source: BatchedTable, form: Format) -> str:
    """Return a digest of everything that the result depends on."""
    said = [
        version(),
        source.fingerprint,
        call.schema.to_toml(),
        [call.model.name, call.model.parameters],
        [method_for(call.model, call.method)[0], dict(call.options)],
        [call.seed, form, call.block_rows, call.most_per_person, dict(call.about)],
    ]
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()
