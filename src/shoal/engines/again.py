"""Publishing again: new persons alone, or the same table later, with the rows of unchanged records kept."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from narwhals.stable.v2.typing import IntoDataFrameT
from numpy.typing import NDArray

from shoal.auditing import audit_table
from shoal.auditing.linking import numbered_copies, recognized
from shoal.auditing.together import Earlier, JointAudit, joint_audit, require_joint
from shoal.base import fresh_columns
from shoal.base.randomness import checked_seed
from shoal.base.statements import checked_about
from shoal.base.wording import plural
from shoal.engines.keeping import KeptRows, followed
from shoal.engines.local import anonymize, anonymize_table
from shoal.errors import InfeasibleError, InputError, PromiseError, Reason, ShoalWarning
from shoal.kinds.encoding import to_polars
from shoal.kinds.hierarchy import MISSING
from shoal.measures import measure
from shoal.methods import Progress, method_for, require_options, silent
from shoal.models import Model, require_model
from shoal.recoding import Recoding
from shoal.release import Release
from shoal.schema import Schema, as_frame, flavour_of
from shoal.table import Table

Integers = NDArray[np.int64]


def anonymize_new(
    frame: IntoDataFrameT,
    schema: Schema | str | os.PathLike[str],
    model: Model,
    *,
    after: Sequence[Earlier],
    **options: Any,
) -> Release[IntoDataFrameT]:
    """Make a release of those persons of a table who are in no earlier release.

    Records that were published before, and did not change, are left out.

    Parameters
    ----------
    frame, schema, model
        As for `anonymize`. Without a person column, all records that were published must be in the table
        again, as they were.
    after
        The earlier originals, each with its release and, if known, its key. With a key, only records that
        were released count as published.
    **options
        As for `anonymize`.

    Raises
    ------
    InputError
        If persons who were published before have other records now or, without a person column, if records
        that were published are not in the table.
    InfeasibleError
        If there are too few new persons for the guarantee.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(200)
    >>> roles = {"quasi": ["age", "sex"], "drop": ["name"], "person": "patient"}
    >>> schema, model = shoal.Schema.infer(patients, **roles), shoal.KAnonymity(k=5)
    >>> first = shoal.anonymize(patients[:150], schema, model)
    >>> before = (patients[:150], first.table, first.key)
    >>> len(shoal.anonymize_new(patients, schema, model, after=[before]).table)
    50
    """
    schema = Schema.of(schema)
    require_model(model)
    now = as_frame(frame)
    persons, records = _recognized(now, after, schema, kept=False)
    before = np.isin(persons[0], np.concatenate(persons[1:]))
    changed = before & ~np.isin(records[0], np.concatenate(records[1:]))
    if changed.any():
        again = len(np.unique(persons[0][changed]))
        raise InputError(
            f"{plural(again, 'person')} with {plural(int(changed.sum()), 'record')} were published before "
            "and have other records now: an attacker can link the two; leave them out",
            reason=Reason.PUBLISHED_BEFORE,
        )
    return released_alone(frame, schema, model, np.flatnonzero(~before), options)


def released_alone(
    frame: IntoDataFrameT, schema: Schema, model: Model, new: Integers, options: Mapping[str, Any]
) -> Release[IntoDataFrameT]:
    """Make a release of those records of a table that are new.

    Parameters
    ----------
    frame, schema, model, options
        As for `anonymize`.
    new
        The positions of the new records.

    Raises
    ------
    InfeasibleError
        If there are too few new persons for the guarantee.
    """
    now = as_frame(frame)
    person = schema.person
    some = now[new]
    _require_enough(len(new) if person is None or not len(new) else some[person.name].n_unique(), model)
    release = anonymize(some.to_native(), schema, model, **options)
    table = release.recoding.table
    recoding = replace(release.recoding, table=replace(table, rows=new[table.rows]))
    made = {**release.circumstances, "again": {"new": len(new), "published_before": len(now) - len(new)}}
    return replace(release, recoding=recoding, circumstances=made, flavour=flavour_of(frame))


def anonymize_again(
    frame: IntoDataFrameT,
    schema: Schema | str | os.PathLike[str],
    model: Model,
    *,
    after: Sequence[Earlier],
    method: str | None = None,
    seed: int | None = None,
    about: Mapping[str, str] | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Release[IntoDataFrameT]:
    """Make a second release of a table that keeps the rows of the first for records that did not change.

    A class with a record that is gone is removed as a whole: its other members are left out from then on. A
    class whose members are all there, and whose carried columns did not change, or the same ones changed for
    all of them, is redrawn around the same persons (`KAnonymity` only); if other records changed, the class
    is removed. New persons are released among themselves; if there are too few, they have to wait. A person
    who was published before is never in a class with others than before. Models whose crowds are not classes
    of identical rows allow new persons only. The outcome passes its own audit and that of all releases
    together.

    Parameters
    ----------
    frame, schema, model
        As for `anonymize`. Model and schema must be those of the earlier releases, and each person has one
        record. Without a person column, all records that were published must be in the table again, as they
        were.
    after
        All earlier releases, the newest first: the original, the release and its key. Rows of the newest are
        kept.
    method, seed, about, progress, **options
        As for `anonymize`; method and options are for the new persons.

    Raises
    ------
    InputError
        If a person has several records, a key is missing, the model does not support it, or records changed
        or are gone although the model allows new persons only or there is no person column.
    InfeasibleError
        If no row could be released.
    PromiseError
        If the releases together would not keep the guarantee, because earlier ones do not.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(200)
    >>> roles = {"quasi": ["age", "sex"], "drop": ["name"], "person": "patient"}
    >>> schema, model = shoal.Schema.infer(patients, **roles), shoal.KAnonymity(k=5)
    >>> first = shoal.anonymize(patients[:150], schema, model)
    >>> before = (patients[:150], first.table, first.key)
    >>> shoal.anonymize_again(patients[:150], schema, model, after=[before]).table.equals(first.table)
    True
    """
    started = time.perf_counter()
    schema = Schema.of(schema)
    require_model(model)
    require_options(*method_for(model, method), options)
    seed = checked_seed(seed)
    _require_stable(schema, model, after)
    table = Table.encode(as_frame(frame).to_native(), schema)
    if table.owners is not None:
        raise _several()
    plan = KeptRows.of(table, model, after, _recognized(table.frame, after, schema, kept=True))
    settings = {"method": method, "seed": seed, "progress": progress, **options}
    release = _first_that_holds(table, plan, model, settings)
    made = {**release.circumstances, "seconds": round(time.perf_counter() - started, 3)}
    made |= {"about": stated} if (stated := checked_about(about)) else {}
    release = replace(release, circumstances=made, flavour=flavour_of(frame))
    for text in release.warnings:
        warnings.warn(text, ShoalWarning, stacklevel=2)
    return release


def _first_that_holds(
    table: Table, plan: KeptRows, model: Model, settings: Mapping[str, Any]
) -> Release[Any]:
    """Return the release with as much in it as possible: new persons wait before classes are removed."""
    plans = [plan, plan.without_redrawn()] if len(plan.redrawn_records) else [plan]
    for each in plans:
        for attempt in [each, each.waiting()] if len(each.new) else [each]:
            if attempt.enough(model):
                release = _composed(table, attempt, model, settings)
                if release is not None:
                    return release
    raise _broken(table, plans[-1].waiting(), model)


def _composed(table: Table, plan: KeptRows, model: Model, settings: Mapping[str, Any]) -> Release | None:
    """Return the release of kept rows and new persons; None if it does not keep the guarantee."""
    _, released, _ = _whole(plan.after[0])
    parts = [_text_frame(released, table)[plan.kept_rows]]
    records = [plan.kept_records]
    made: dict[str, Any] = {"method": "kept rows", "options": {}, "seeded": settings["seed"] is not None}
    if len(plan.redrawn_records):
        rows, members = plan.redrawn(table)
        parts.append(rows)
        records.append(members)
    if len(plan.new):
        try:
            subset = Table.encode(table.frame[plan.new].to_native(), table.schema)
            fresh = anonymize_table(subset, model, typed=False, **settings)
        except (InfeasibleError, InputError):
            return None
        parts.append(fresh.written("csv"))
        records.append(plan.new[subset.rows][fresh.order])
        made = dict(fresh.circumstances)
    if not sum(len(part) for part in parts):
        raise InfeasibleError(
            "no row can be released: each class has a record that changed or is gone, and there are too few "
            "new persons",
            parameter="k",
        )
    shown = _joined(parts, table)
    chosen = np.concatenate(records)
    some = np.sort(chosen)
    kept = Table.encode(table.frame[some].to_native(), table.schema)
    order = np.searchsorted(some, chosen)
    recoding = _recoded(kept, shown, order)
    found = audit_table(kept, shown, model, key=order)
    together, *others = _together(table, plan, model, shown, chosen)
    if not found.holds or not all(each.holds for each in (together, *others)):
        return None
    made |= {"again": dict(plan.counts), "together": together.as_dict()}
    made["notes"] = [*made.get("notes", ()), *_notes(plan)]
    bare = replace(kept, rows=table.rows[some]).without_identifiers()
    loss = measure(recoding, model.crowd, records_per_row=model.records_per_row)
    everything = np.arange(len(chosen))
    return Release(replace(recoding, table=bare), everything, order, model, loss, found, made, shown, False)


def _together(table: Table, plan: KeptRows, model: Model, shown: Any, chosen: Integers) -> list[JointAudit]:
    """Return the audit of all releases together and, if rows were redrawn, that of who follows classes."""
    asked = [plan.after, followed(table, shown, chosen, plan.after)]
    frame = table.frame.to_native()
    return [
        joint_audit(frame, shown, table.schema, model, earlier=earlier, key=chosen)
        for earlier in asked
        if earlier is not None
    ]


def _broken(table: Table, plan: KeptRows, model: Model) -> PromiseError:
    """Return the error for releases that do not keep the guarantee even without new persons."""
    _, released, _ = _whole(plan.after[0])
    shown = _joined([_text_frame(released, table)[plan.kept_rows]], table)
    found = _together(table, plan, model, shown, plan.kept_records)
    verdict = next((each.verdict for each in found if not each.holds), found[0].verdict)
    return PromiseError(f"nothing is released: {verdict}")


def _recoded(table: Table, shown: Any, order: Integers) -> Recoding:
    """Return the recoding that a frame shows: one box for each different row."""
    frame: Any = as_frame(shown)
    names = [attribute.column.name for attribute in table.attributes]
    cells = pl.DataFrame([to_polars(frame[name]).cast(pl.String).fill_null(MISSING) for name in names])
    boxes = cells.unique(maintain_order=True).with_row_index("box number")
    box = cells.join(boxes, on=names, how="left", maintain_order="left")["box number"].to_numpy()
    values = tuple(
        attribute.domain.read_released(boxes[attribute.column.name].to_list(), attribute.column)
        for attribute in table.attributes
    )
    return Recoding(table, values, box.astype(np.int32), assignment=order.astype(np.int32))


def _text_frame(released: Any, table: Table) -> pl.DataFrame:
    """Return a release as a frame of Polars; its quasi-identifiers must be text, not typed."""
    frame: Any = as_frame(released)
    shown = pl.DataFrame([to_polars(column) for column in frame.iter_columns()])
    if any(shown[attribute.column.name].dtype.is_nested() for attribute in table.attributes):
        raise InputError(
            "no second release with kept rows: rows are kept as text, but the earlier release has typed "
            "cells; give it as text, as in release.csv",
            reason=Reason.PARAMETER,
            parameter="after",
        )
    return shown


def _joined(parts: Sequence[pl.DataFrame], table: Table) -> Any:
    """Return rows of several frames, as text where their types differ, as a frame like the table's."""
    columns = {}
    for name in parts[0].columns:
        series = [part[name] for part in parts if len(part)]
        if len({each.dtype for each in series}) > 1:
            series = [each.cast(pl.String) for each in series]
        columns[name] = fresh_columns.in_flavour(pl.concat(series), table.frame)
    return fresh_columns.frame_of(columns, table.frame)


def _notes(plan: KeptRows) -> list[str]:
    """Return what the certificate says about records that are not in the release."""
    counts, notes = plan.counts, []
    if counts["left_out"]:
        notes.append(
            f"{plural(counts['left_out'], 'record')} of persons who were published before are left out, "
            "because their class was removed or their record changed."
        )
    if counts["redrawn"]:
        notes.append(
            f"{plural(counts['redrawn'], 'row')} of classes with changed records are redrawn around the same "
            "persons."
        )
    if counts["waiting"]:
        notes.append(
            f"{plural(counts['waiting'], 'new person')} wait for a later release: they are too few, or could "
            "not be released with this guarantee."
        )
    return notes


def _recognized(
    now: nw.DataFrame[Any], after: Sequence[Earlier], schema: Schema, *, kept: bool
) -> tuple[tuple[Integers, ...], tuple[Integers, ...]]:
    """Return the persons and the records of a table and of the earlier originals.

    Parameters
    ----------
    now, after, schema
        The table, the earlier releases with their originals, and the schema.
    kept
        Whether each release has the rows of the one before; otherwise, no person is in two of them.
    """
    if not after:
        raise InputError(
            "there is no earlier release to publish after", reason=Reason.PARAMETER, parameter="after"
        )
    frames = []
    for each in after:
        original, _, key = (*each, None)[:3]
        frame = as_frame(original)
        frames.append(frame if key is None else frame[np.asarray(key)])
    found = recognized([now, *frames], schema.completed(now.columns))
    return found if schema.person is not None else _by_records(found[1], kept=kept)


def _by_records(
    records: Sequence[Integers], *, kept: bool
) -> tuple[tuple[Integers, ...], tuple[Integers, ...]]:
    """Return the persons and the records of a table without a person column: equal records are the same.

    A person whose record changed cannot be recognized. So every record that was published must still be in
    the table: then no record changed, and all other records are of new persons.

    Raises
    ------
    InputError
        If records that were published are not in the table.
    """
    now, *earlier = records
    if kept:  # what is in an older release is in the newer one
        parts = numbered_copies(records)
        within = zip(parts[1:], parts, strict=False)
    else:
        lengths = np.cumsum([len(each) for each in earlier])[:-1]
        table, published = numbered_copies([now, np.concatenate(earlier)])
        parts = (table, *np.split(published, lengths))
        within = zip([published], [table], strict=True)
    absent = sum(int((~np.isin(older, newer)).sum()) for older, newer in within)
    if absent:
        raise InputError(
            f"{plural(absent, 'record')} of earlier releases are not in the table; without a column that "
            "says whose record each is, it is unknown whether they are gone or changed: name it (person)",
            reason=Reason.PUBLISHED_BEFORE,
            parameter="person",
        )
    return parts, parts


def _whole(earlier: Earlier) -> tuple[Any, Any, Any]:
    original, released, key = (*earlier, None)[:3]
    return original, released, key


def _require_stable(schema: Schema, model: Model, after: Sequence[Earlier]) -> None:
    """Refuse what a release with kept rows does not support."""
    require_joint(model)
    problem = None
    if model.may_leave_out:
        problem = f"{model.name} with records that are left out cannot be checked across releases"
    elif any(column.kind.several for column in schema.quasi):
        problem = "sets of items are not supported"
    elif schema.survey_weight is not None:
        problem = "survey weights are put into groups of each release by itself; leave them out (identifier)"
    elif any(_whole(each)[2] is None for each in after):
        problem = "the key of each earlier release is needed, which says whose rows are kept"
    if problem is not None:
        raise InputError(
            f"no second release with kept rows: {problem}", reason=Reason.PARAMETER, parameter="after"
        )
    for frame in (as_frame(_whole(each)[0]) for each in after):
        person = schema.person
        if person is not None and frame[person.name].n_unique() < len(frame):
            raise _several()


def _several() -> InputError:
    return InputError(
        "no second release with kept rows: some persons have several records",
        reason=Reason.PARAMETER,
        parameter="person",
    )


def _require_enough(new: int, model: Model) -> None:
    if new < model.crowd:
        raise InfeasibleError(
            f"only {plural(new, 'person')} were not published before, and {model.name} needs {model.crowd}: "
            f"wait for {model.crowd - new:,} more",
            parameter="k",
        )
