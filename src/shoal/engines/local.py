"""The engine for tables that fit into memory: encode the table, run a method, publish and audit."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from narwhals.stable.v2.typing import IntoDataFrameT

from shoal.attacking import attack, held_out
from shoal.auditing.rules import rule_for
from shoal.base.memory import give_back_memory
from shoal.base.randomness import SEED_BITS, Randomness, checked_seed
from shoal.base.statements import checked_about
from shoal.engines.rerunning import checked_runs
from shoal.engines.rerunning import run_again as rerun
from shoal.errors import ShoalWarning
from shoal.measures.learning import learned, require_learnable
from shoal.methods import (
    Circumstances,
    Progress,
    method_for,
    paced,
    require_counting_persons,
    require_options,
    silent,
)
from shoal.methods.limits import require_share, within_limits
from shoal.models import Model, require_model
from shoal.release import Release, column_warnings, publish
from shoal.schema import Schema, as_frame, flavour_of
from shoal.table import Table

GUESSED = 4
"""Where the method runs again, one of this number of runs is to guess in, the others are to learn from."""


def anonymize(
    frame: IntoDataFrameT,
    schema: Schema | str | os.PathLike[str],
    model: Model,
    *,
    method: str | None = None,
    seed: int | None = None,
    most_per_person: int | None = None,
    hold_out: float | None = None,
    leave_out: float = 0.0,
    predict: str | None = None,
    run_again: int | None = None,
    about: Mapping[str, str] | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Release[IntoDataFrameT]:
    """Make a release of a table that keeps a guarantee.

    Parameters
    ----------
    frame
        The table: any frame that narwhals supports (pandas, Polars, PyArrow, ...).
    schema, model
        The roles and kinds of its columns, or the path of a schema file, and the privacy model.
    method
        Name of the method; the model's default if omitted.
    seed
        Makes the release repeatable, for experiments only; its certificate says so.
    most_per_person
        Keep at most this number of records of each person, drawn at random; the others are left out. Needs a
        person column.
    hold_out
        Share of the records, such as 0.05, to keep out of the release as a control group, drawn at random.
        The release is then attacked, and the certificate has the success rates (see `attack`).
    leave_out
        The largest share of the records that may be left out because they cannot be hidden within the limits
        of the columns (see `Column`).
    predict
        A released column. Models that predict it are trained on the release and on the original, and the
        certificate says how well both predict original records that they have not seen. Needs the extra
        ``learning``.
    run_again
        Number of times, such as 200, to run the method again as an attacker who has the code would, and at
        least 20. The certificate says how often the best guesses of this attacker are right (see
        `repeated_attack`). For tables of at most 5,000 records.
    about
        What to state in the certificate and the report: ``data_set``, ``purpose``, ``recipient``,
        ``decided_by``, ``risk_threshold`` and ``review_by``, as texts.
    progress
        Called with what is being done and the share of it that is done; may raise to cancel.
    **options
        Options of the method.

    Returns
    -------
    Release
        A release that passed its audit; its `table` is a frame of the same type.

    Raises
    ------
    InputError
        If the frame, the schema or the options are wrong.
    InfeasibleError
        If no release of this table keeps the guarantee.
    InternalError
        If the release failed its audit, which is a bug.

    Warns
    -----
    ShoalWarning
        Once for each of `Release.warnings`.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(100)
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["patient", "name"])
    >>> release = shoal.anonymize(patients, schema, shoal.KAnonymity(k=5))
    >>> release.audit.holds
    True
    """
    started = time.perf_counter()
    schema = Schema.of(schema)
    require_model(model)
    require_options(*method_for(model, method), options)
    rule_for(model)  # raises an error if there is no audit for this model
    seed = checked_seed(seed)
    stated = checked_about(about)
    if run_again is not None:
        checked_runs(run_again, as_frame(frame))
    progress("reading values", 0.0)
    flavour = flavour_of(frame)
    collected: Any = frame if flavour is None else as_frame(frame).to_native()
    control = None
    if hold_out is None:
        table = Table.encode(collected, schema)
    else:
        table, control = _split(collected, schema, hold_out, seed)
    if predict is not None:
        require_learnable(table, predict)
    if most_per_person is not None:
        table = table.with_fewer_records(most_per_person, Randomness(seed))
    release = anonymize_table(
        table, model, method=method, seed=seed, leave_out=leave_out, progress=progress, **options
    )
    cautions = [
        *release.circumstances.get("warnings", ()),
        *column_warnings(table.schema, release.audit, collected),
    ]
    seconds = round(time.perf_counter() - started, 3)
    made = {**release.circumstances, "warnings": cautions, "seconds": seconds}
    if control is not None:
        made |= _attacked(release, collected, table.schema, control, seed, progress)
    if predict is not None:
        made |= _learned(release, predict, seed, progress)
    if run_again is not None:
        chosen = {"method": method, "leave_out": leave_out, **options}
        made |= _repeated(
            as_frame(collected)[table.rows], table.schema, model, run_again, seed, chosen, progress
        )
    made |= {"about": stated} if stated else {}
    release = replace(release, circumstances=made, flavour=flavour)
    for text in release.warnings:
        warnings.warn(text, ShoalWarning, stacklevel=2)
    return release


def _split(frame: Any, schema: Schema, share: float, seed: int | None) -> tuple[Table, Any]:
    """Return the table of the records to release, and the control group."""
    data = as_frame(frame)
    out = held_out(data, schema, share, Randomness(seed))
    kept = np.flatnonzero(~out)
    table = Table.encode(data[kept], schema)
    return replace(table, rows=kept[table.rows]), data[np.flatnonzero(out)]


def _attacked(
    release: Release, frame: Any, schema: Schema, control: Any, seed: int | None, progress: Progress
) -> dict[str, Any]:
    """Return what a certificate says about the control group and attacks."""
    members = as_frame(frame)[np.sort(release.key)]
    other = None if seed is None else (seed + 1) % 2**SEED_BITS  # not the choices of the release again
    found = attack(members, release.shown, schema, control, seed=other, progress=progress)
    return {"held_out": len(control), "attacks": found.as_dict()}


def _learned(release: Release, target: str, seed: int | None, progress: Progress) -> dict[str, Any]:
    """Return what a certificate says about models that are trained on the release."""
    progress("training models", 0.0)
    other = None if seed is None else (seed + 2) % 2**SEED_BITS  # not the choices of the release again
    found = learned(release.reader(), release.recoding.table, release.order, target, Randomness(other))
    progress("training models", 1.0)
    return {"learned": found.as_dict()}


def _repeated(
    frame: Any,
    schema: Schema,
    model: Model,
    runs: int,
    seed: int | None,
    chosen: Mapping[str, Any],
    progress: Progress,
) -> dict[str, Any]:
    """Return what a certificate says about an attacker who runs the method again on the same records."""

    def make(dealt: Any, own_seed: int | None) -> Release:
        return anonymize_table(Table.encode(dealt, schema), model, seed=own_seed, **chosen)

    other = None if seed is None else (seed + 3) % 2**SEED_BITS  # not the choices of the release again
    tests = runs // GUESSED
    found = rerun(frame, schema, make, training=runs - tests, tests=tests, seed=other, progress=progress)
    return {"repeated": found.as_dict()}


def anonymize_table(
    table: Table,
    model: Model,
    *,
    method: str | None = None,
    seed: int | None = None,
    leave_out: float = 0.0,
    progress: Progress = silent,
    typed: bool | None = None,
    **options: Any,
) -> Release:
    """Make a release of a table that is already encoded; see `anonymize` and, on `typed`, `publish`."""
    name, function = method_for(model, method)
    require_share(leave_out, table)
    if table.owners is not None:
        require_counting_persons(model, name, function)
    randomness = Randomness(seed)
    with paced(progress) as moving:
        circumstances = Circumstances(randomness, moving)
        if table.limited:
            recoding = within_limits(function, table, model, circumstances, leave_out, options)
        else:
            recoding = function(table, model, circumstances, **options)
        give_back_memory(len(table))  # a method may need more beside its result than all that follows
        moving("auditing", 0.0)
        notes = {"notes": circumstances.notes} if circumstances.notes else {}
        made = {"method": name, "options": options, "seeded": seed is not None, **notes}
        made |= {"leave_out": leave_out} if leave_out else {}
        release = publish(recoding, model, randomness, made, typed=typed, whole=table, leave_out=leave_out)
        moving("auditing", 1.0)
    return release
