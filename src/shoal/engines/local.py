"""The engine for tables that fit into memory: encode, run one method, publish, audit."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from narwhals.stable.v2.typing import IntoDataFrameT

from shoal.auditing.rules import rule_for
from shoal.base.randomness import Randomness, checked_seed
from shoal.methods import Circumstances, Progress, method_for, require_options, silent
from shoal.models import Model
from shoal.release import Release, publish
from shoal.schema import Schema
from shoal.table import Table


def anonymize(
    frame: IntoDataFrameT,
    schema: Schema,
    model: Model,
    *,
    method: str | None = None,
    seed: int | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Release[IntoDataFrameT]:
    """Make a release of a table that keeps a promise.

    Parameters
    ----------
    frame
        The table: any frame that narwhals supports (pandas, Polars, PyArrow, ...).
    schema
        What its columns are.
    model
        The promise.
    method
        The name of another method than the model's default.
    seed
        Makes the release repeatable, for experiments only; it says so in its certificate.
    progress
        Called with what is being done and the share of it that is done; may raise to cancel.
    **options
        Choices of the method.

    Returns
    -------
    Release
        A release that the auditor has passed; its `table` is a frame of the same type.

    Raises
    ------
    InputError
        If the frame, the schema or the options are wrong.
    InfeasibleError
        If no release of this table can keep the promise.
    InternalError
        If a method failed its audit, which is a bug.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(100)
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["patient", "name"])
    >>> release = shoal.anonymize(patients, schema, shoal.KAnonymity(k=5))
    >>> release.audit.holds
    True
    >>> release.table.height
    100
    """
    started = time.perf_counter()
    name, function = method_for(model, method)
    require_options(name, function, options)
    rule_for(model)  # a model that cannot be audited is not used
    seed = checked_seed(seed)
    progress("reading values", 0.0)
    table = Table.encode(frame, schema)
    release = anonymize_table(table, model, method=method, seed=seed, progress=progress, **options)
    seconds = round(time.perf_counter() - started, 3)
    return replace(release, circumstances={**release.circumstances, "seconds": seconds})


def anonymize_table(
    table: Table,
    model: Model,
    *,
    method: str | None = None,
    seed: int | None = None,
    progress: Progress = silent,
    typed: bool | None = None,
    **options: Any,
) -> Release:
    """Make a release of a table that is already encoded; see `anonymize` and, on `typed`, `publish`."""
    name, function = method_for(model, method)
    randomness = Randomness(seed)
    circumstances = Circumstances(randomness, progress)
    recoding = function(table, model, circumstances, **options)
    progress("auditing", 0.0)
    notes = {"notes": circumstances.notes} if circumstances.notes else {}
    made = {"method": name, "options": options, "seeded": seed is not None, **notes}
    release = publish(recoding, model, randomness, made, typed=typed)
    progress("auditing", 1.0)
    return release
