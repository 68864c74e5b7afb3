"""The auditor: finds levels from original and release alone, and holds them against a promise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from narwhals.stable.v2.typing import IntoDataFrame
from numpy.typing import NDArray

from shoal.auditing.carried import carried_along
from shoal.auditing.contribution import contributions_of
from shoal.auditing.outcome import Audit
from shoal.auditing.posterior import labels_of, posterior
from shoal.auditing.proximity import proximity_of_classes, proximity_of_records
from shoal.auditing.reading import ReleasedColumn
from shoal.auditing.released import ReleasedTable
from shoal.auditing.risks import consistency_with_population, risks_of
from shoal.auditing.rules import rule_for
from shoal.auditing.suppression import suppressions_of
from shoal.auditing.uniqueness import uniqueness
from shoal.errors import InputError, Reason, listing
from shoal.measures.distances import has_distance
from shoal.models import Dissimilarity, Model
from shoal.schema import Role, Schema, as_frame
from shoal.table import Table

WORST_COMBINATIONS = 5


def audit(
    original: IntoDataFrame,
    released: IntoDataFrame,
    schema: Schema,
    model: Model | None = None,
    *,
    key: Sequence[int] | NDArray[np.int64] | None = None,
    may_leave_out: bool = False,
    posterior: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    distance: str | Callable[[Any, Any], float] | None = None,
    population: Any = None,
) -> Audit:
    """Audit a release of any tool.

    Parameters
    ----------
    original, released
        The two tables, as any frames that narwhals supports. Released cells may be written as Shoal writes
        them, as ARX does, or be typed.
    schema
        What the columns of the original are.
    model
        The promise to hold the release against.
    key
        The secret of a release, if it is at hand: for each released row, the position (from 0) of its record
        in the original. Each row must then cover its own record, too.
    may_leave_out
        Whether the release may have fewer rows than the original has records, beyond what the promise says.
    posterior
        How many seconds to sample how likely best guesses are; None leaves that out.
    epsilon
        Sensitive values at most so far apart, in their column's own unit, are nearly the same: tells how much
        of each crowd carries nearly the same. None leaves that out.
    delta
        At most a share of 1 - delta of a crowd should be nearly the same; needs `epsilon`.
    distance
        How far apart sensitive values are, see `Dissimilarity`: all sensitive columns are then one composite
        value. By default each has the distance that suits it. Needs `epsilon`.
    population
        A table of everybody who could be in the original, with its quasi-identifiers: tells how often an
        attacker is right who does not know who is in it.

    Returns
    -------
    Audit
        What was found; `Audit.holds` says whether the promise does.

    Raises
    ------
    InputError
        If the tables do not fit the schema, a released cell cannot be read, or a parameter is impossible.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(100)
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["patient", "name"])
    >>> release = shoal.anonymize(patients, schema, shoal.KAnonymity(k=5))
    >>> shoal.audit(patients, release.table, schema, shoal.KAnonymity(k=5)).holds
    True
    """
    if (delta is not None or distance is not None) and epsilon is None:
        raise InputError("delta and distance say nothing without an epsilon", reason=Reason.PARAMETER)
    table = Table.encode(original, schema, times=True)
    records = None if key is None else _records(key, table, len(as_frame(released)))
    release = ReleasedTable(released, table, records)
    found = _audited(
        release,
        model,
        may_leave_out=may_leave_out,
        thorough=True,
        posterior_seconds=posterior,
    )
    if epsilon is not None:
        found = _with_proximity(found, release, epsilon, delta, distance)
    if population is not None:
        everybody = consistency_with_population(released, population, schema)
        risks = risks_of(found.classes, found.consistency, population=everybody)
        found = replace(found, risks=risks)
    return found


def audit_table(
    table: Table,
    released: IntoDataFrame,
    model: Model | None = None,
    key: NDArray[np.int64] | None = None,
    *,
    may_leave_out: bool = False,
    thorough: bool = False,
    posterior_seconds: float | None = None,
) -> Audit:
    """Audit a release of a table that is already encoded.

    Parameters
    ----------
    table, released, model, may_leave_out, posterior_seconds
        As for `audit`.
    key
        For each released row, the record of the table it was made from, where the auditor may know.
    thorough
        Whether to look at what no promise is about, too: contributions, uniqueness and diversity.
    """
    return _audited(
        ReleasedTable(released, table, key),
        model,
        may_leave_out=may_leave_out,
        thorough=thorough,
        posterior_seconds=posterior_seconds,
    )


def _audited(
    release: ReleasedTable,
    model: Model | None,
    *,
    may_leave_out: bool = False,
    thorough: bool = False,
    posterior_seconds: float | None = None,
) -> Audit:
    """Return what `audit_table` finds out about a release."""
    rule = None if model is None else rule_for(model)
    needs = frozenset() if rule is None else rule.needs
    table = release.table
    around = (thorough or rule is None or "around" in needs) and release.consistency.rows_of_record.any()
    found = Audit(
        len(table),
        len(release),
        release.classes,
        release.consistency,
        release.matches,
        risks_of(release.classes, release.consistency),
        release.diversity,
        model,
        diversity_around=release.diversity_around if around else (),
        diversity_consistent=release.diversity_consistent if around else (),
        diversity_overall=release.diversity_overall,
        suppressions=suppressions_of(release.columns, table) if "suppressions" in needs else (),
    )
    close = None
    if isinstance(model, Dissimilarity):
        close = model.epsilon
        if "proximity" in needs and release.sensitive:
            what = release.composite(table.schema.sensitive, model.distance)
            near = proximity_of_classes(release.classes, *what, epsilon=close, delta=model.delta)
            found = replace(found, proximity=(near,))
    if thorough:
        names = [attribute.column.name for attribute in table.attributes]
        found = replace(
            found,
            principles=release.principles(close) if found.k > 1 else (),
            contributions=contributions_of(release.columns, table) if len(names) > 1 else (),
            uniqueness=uniqueness(table.codes, names, most=WORST_COMBINATIONS),
        )
    if posterior_seconds is not None and release.matches.unmatched_rows == 0:
        promised = None if model is None else model.crowd
        labels = labels_of(table, release.sensitive)
        links = posterior(release.graph, release.matches, labels, k=promised, seconds=posterior_seconds)
        found = replace(found, posterior=links)
    findings = (
        *_leaks(release),
        *_strangers(release.columns, found, may_leave_out or (model is not None and model.may_leave_out)),
        *(() if rule is None else rule.check(model, found, table.schema)),
    )
    carried = carried_along(release.frame, table, release.columns)
    warnings = tuple(each.warning for each in carried)
    return replace(found, findings=findings, carried=carried, warnings=warnings)


def _with_proximity(
    found: Audit,
    release: ReleasedTable,
    epsilon: float,
    delta: float | None,
    distance: str | Callable[[Any, Any], float] | None,
) -> Audit:
    """Add the proximity risk of the sensitive columns that have a distance, or of all as one by this one."""
    columns = release.table.schema.sensitive
    if distance is not None:
        measured = [release.composite(columns, distance)]
    else:
        measured = [
            release.composite([column], None)
            for column in columns
            if column.name in release.sensitive and has_distance(column)
        ]
    if not measured:
        raise InputError(
            "epsilon needs a sensitive column of the release that is numeric, a date, ordered or has a "
            "hierarchy, or a distance",
            reason=Reason.NO_SENSITIVE,
        )
    in_classes, around = [], []
    for what in measured:
        in_classes.append(proximity_of_classes(release.classes, *what, epsilon=epsilon, delta=delta))
        around.append(proximity_of_records(release.graph, *what, epsilon=epsilon, delta=delta))
    return replace(found, proximity=tuple(in_classes), proximity_around=tuple(around))


def _records(key: Sequence[int] | NDArray[np.int64], table: Table, rows: int) -> NDArray[np.int64]:
    """Return a key in terms of the table's records instead of positions in the original."""
    positions = np.asarray(key)
    if positions.shape != (rows,) or not np.issubdtype(positions.dtype, np.integer):
        raise InputError(
            f"the key must have one whole number for each of the {rows} released rows",
            reason=Reason.PARAMETER,
        )
    places = np.searchsorted(table.rows, positions)
    known = np.append(table.rows, -1)[places] == positions
    if not known.all():
        raise InputError(
            f"the key sends released row {int((~known).argmax()) + 1} to record "
            f"{int(positions[~known][0]) + 1}, which the original does not have or leaves out",
            reason=Reason.PARAMETER,
        )
    if len(np.unique(places)) < rows:
        raise InputError("the key sends two released rows to the same record", reason=Reason.PARAMETER)
    return places


def _leaks(release: ReleasedTable) -> Iterator[str]:
    """Yield what stands in the release and must not, whatever was promised."""
    identifiers = release.table.schema.having(Role.IDENTIFIER)
    names = [column.name for column in identifiers if column.name in release.frame.columns]
    if names:
        yield f"the release still has the identifying columns {listing(names)}"


def _strangers(columns: tuple[ReleasedColumn, ...], audit: Audit, may_leave_out: bool) -> Iterator[str]:
    """Yield why the release cannot be one of this table."""
    orphans = audit.consistency.rows_without_record
    if orphans:
        cells = [f"{column.name} = {column.strangers[0]!r}" for column in columns if column.strangers]
        hint = f" (no original value fits {', '.join(cells[:3])}; is a hierarchy missing?)" if cells else ""
        yield f"{orphans} released rows are consistent with no original record{hint}"
    missing = audit.records - audit.rows
    if missing < 0:
        yield f"the release has {audit.rows} rows, the original only {audit.records} records"
    if missing > 0 and not may_leave_out:
        yield (
            f"the release has {audit.rows} rows, the original {audit.records} records; if {missing} were "
            "left out on purpose, allow it (may_leave_out)"
        )
    unmatched = audit.consistency.records_without_row
    if unmatched > max(missing, 0):
        yield (
            f"{unmatched} original records are consistent with no released row, although only "
            f"{max(missing, 0)} were left out"
        )
    homeless = audit.matches.unmatched_rows
    if homeless > max(orphans, -missing):
        yield (
            f"{homeless} released rows cannot all have a record of their own: the release does not belong to "
            "this table"
        )
    if audit.consistency.strayed:
        yield f"{audit.consistency.strayed} released rows do not cover the record they were made from"
