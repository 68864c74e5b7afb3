"""The auditor: measures a release from it and its original alone, and checks it against a guarantee."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.stable.v2.typing import IntoDataFrame
from numpy.typing import NDArray

from shoal.auditing.carried import carried_along
from shoal.auditing.chance import Chance, chance_of
from shoal.auditing.contribution import contributions_of
from shoal.auditing.knowledge import partial_knowledge, require_countable, require_knows
from shoal.auditing.limits import beyond_limits, too_many_left_out, without_left_out
from shoal.auditing.outcome import Audit
from shoal.auditing.posterior import Posterior, labels_of, posterior
from shoal.auditing.proximity import proximity_of_classes, proximity_of_records
from shoal.auditing.released import ReleasedTable
from shoal.auditing.risks import consistency_with_population, risks_of
from shoal.auditing.rules import few_persons, rule_for
from shoal.auditing.samples import sample_risks
from shoal.auditing.uniqueness import uniqueness
from shoal.errors import InputError, Reason, listing
from shoal.kinds.notation import SUPPRESSED
from shoal.measures.distances import has_distance
from shoal.models import Model, require_model
from shoal.schema import Schema, as_frame
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
    leave_out: float = 0.0,
    knows: int | None = None,
    posterior: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    distance: str | Callable[[Any, Any], float] | None = None,
    population: Any = None,
    sampling_fraction: float | None = None,
    survey_weight: str | None = None,
    suppressed_marks: Collection[str] = (),
) -> Audit:
    """Audit a release of any tool; `Audit.holds` says whether the guarantee of the model holds.

    Parameters
    ----------
    original, released
        The two tables, as any frames that narwhals supports. Released cells may be written as Shoal or ARX
        writes them, or be typed.
    schema
        What the columns of the original are.
    model
        The guarantee to check; None reports without judging.
    key
        The position (from 0) in the original of the record of each released row, if known: each row must
        then cover its own record, too.
    may_leave_out
        Whether the release may have fewer rows than records beyond what the model allows.
    leave_out
        The largest share of the records that may be left out because they cannot be hidden within the limits
        of the columns. Records that fewer rows cover than promised must be among them.
    knows
        Check the guarantee of `Freeform` only against attackers who know at most this number of the
        quasi-identifiers, whichever they are; without a model, report what they find.
    posterior
        Number of seconds to estimate how likely the attacker's best guesses are; None omits this.
    epsilon, delta, distance
        Measure how much of each crowd has sensitive values within `epsilon` of each other; at most a share of
        1 - `delta` should. `distance` (see `Dissimilarity`) takes all sensitive columns as one value.
    population
        Table of everyone who could be in the original, for an attacker who does not know who is.
    sampling_fraction
        Estimate who is unique in the population of which the original is this share, drawn at random.
    survey_weight
        Compute the individual risk by the survey weights in this column of the original; by default by the
        column of the role `weight`, if there is one.
    suppressed_marks
        Texts for suppressed cells of quasi-identifiers in the release, besides ``*``.

    Raises
    ------
    InputError
        If a table does not match the schema, a released cell is unreadable, or a parameter is impossible.

    Examples
    --------
    >>> patients = shoal.samples.hospital(100).select("age", "sex")
    >>> shoal.audit(patients, patients, shoal.Schema.infer(patients, quasi=["age", "sex"])).k
    1
    """
    schema = Schema.of(schema)
    if model is not None:
        require_model(model)
    table = Table.encode(original, schema, times=True)
    if suppressed_marks:
        released = with_marks(released, schema, suppressed_marks)
    require_knows(knows, len(table.attributes), model)
    records = None if key is None else _records(key, table, len(as_frame(released)))
    release = ReleasedTable(released, table, records)
    near = _proximity(release, epsilon, delta, distance)
    found = _audited(
        release,
        model,
        may_leave_out=may_leave_out,
        leave_out=leave_out,
        knows=knows,
        thorough=True,
        posterior_seconds=posterior,
    )
    if sampling_fraction is not None or survey_weight is not None:
        sample = sample_risks(release, sampling_fraction, survey_weight, found.risks.threshold)
        found = replace(found, sample=sample)
    found = replace(found, **near)
    return found if population is None else _with_population(found, release, population)


def audit_table(
    table: Table,
    released: IntoDataFrame,
    model: Model | None = None,
    key: NDArray[np.int64] | None = None,
    *,
    may_leave_out: bool = False,
    leave_out: float = 0.0,
    thorough: bool = False,
    posterior_seconds: float | None = None,
) -> Audit:
    """Audit a release of a table that is already encoded.

    Parameters
    ----------
    table, released, model, may_leave_out, leave_out, posterior_seconds
        As for `audit`.
    key
        For each released row, the record of the table it was made from, if the auditor may know.
    thorough
        Whether to measure also what no guarantee is about: contributions, uniqueness, other principles, and
        the least chance also where it takes long or rows are in classes.
    """
    return _audited(
        ReleasedTable(released, table, key),
        model,
        may_leave_out=may_leave_out,
        leave_out=leave_out,
        thorough=thorough,
        posterior_seconds=posterior_seconds,
    )


def _audited(
    whole: ReleasedTable,
    model: Model | None,
    *,
    may_leave_out: bool = False,
    leave_out: float = 0.0,
    knows: int | None = None,
    thorough: bool = False,
    posterior_seconds: float | None = None,
) -> Audit:
    """Return what `audit_table` finds out about a release."""
    release = without_left_out(whole, model, leave_out)
    k = None if model is None else model.crowd_in_known
    if model is not None and model.known_columns is not None:
        knows = model.known_columns
        require_countable(release, model.name, knows)
    partial = None if knows is None else partial_knowledge(release, knows, k)
    findings = (
        *too_many_left_out(whole, leave_out),
        *_findings(release, None if partial else model, may_leave_out or leave_out > 0),
        *(() if partial is None or k is None else partial.findings(k)),
        *beyond_limits(release),
    )
    carried = carried_along(release.frame, release.table, release.columns)
    apart = None if model is None else model.required_distance
    near = None if apart is None else release.proximity(apart)
    # With classes alone, the values around each record are of interest only if values are guaranteed.
    around = thorough or model is None or model.crowd_kind == "rows" or model.needs_sensitive
    risks = risks_of(release.classes, release.consistency, persons=release.persons)
    found = Audit(
        len(whole.table),
        len(release),
        release.classes,
        release.consistency,
        release.matches,
        risks,
        release.diversity,
        model,
        findings=findings,
        diversity_around=release.diversity_around if around else (),
        diversity_consistent=release.diversity_consistent if around else (),
        diversity_overall=release.diversity_overall,
        proximity=() if near is None else (near,),
        suppressions=release.suppressions if model is not None and model.cells == "suppression" else (),
        principles=release.principles(None) if model is not None and model.compared_with_whole else (),
        carried=carried,
        warnings=tuple(each.warning for each in carried),
        persons=release.persons,
        partial=partial,
        sample=sample_risks(release, None, None, risks.threshold),
    )
    if thorough or (model is not None and model.crowd_kind == "rows"):
        found = replace(found, chance=_chance(release, model, thorough=thorough))
    if thorough:
        found = replace(found, **_details(release, model))
    if posterior_seconds is not None and release.matches.unmatched_rows == 0:
        found = replace(found, posterior=_posterior(release, model, posterior_seconds))
    return found


def _findings(release: ReleasedTable, model: Model | None, may_leave_out: bool) -> Iterator[str]:
    """Yield everything that is wrong with a release."""
    check = None if model is None else rule_for(model)
    yield from _leaks(release)
    yield from _strangers(release, may_leave_out or (model is not None and model.may_leave_out))
    if model is not None and check is not None:
        yield from check(model, release)
        yield from few_persons(model, release.persons)


def _chance(release: ReleasedTable, model: Model | None, *, thorough: bool) -> Chance | None:
    """Return the least chance; if the model says nothing of it, not where it would take long."""
    if model is not None and model.degree > 1:
        return release.chance
    return chance_of(release.graph, release.matches, quick=not thorough)


def _details(release: ReleasedTable, model: Model | None) -> dict[str, Any]:
    """Return what no guarantee is about: other principles, contributions, and unique combinations."""
    table = release.table
    names = [attribute.column.name for attribute in table.attributes]
    apart = None if model is None else model.required_distance
    close = None if apart is None else apart.epsilon
    return {
        "principles": release.principles(close) if release.classes.smallest > 1 else (),
        "contributions": contributions_of(names, release.graph) if len(names) > 1 else (),
        "uniqueness": uniqueness(table.codes, names, most=WORST_COMBINATIONS, owners=table.owners),
    }


def _posterior(release: ReleasedTable, model: Model | None, seconds: float) -> Posterior:
    """Return the probabilities of the best guesses of an attacker who knows every record."""
    promised = None if model is None else model.crowd
    labels = labels_of(release.table, release.sensitive)
    owners = release.table.owners
    return posterior(release.graph, release.matches, labels, k=promised, seconds=seconds, owners=owners)


def _with_population(found: Audit, release: ReleasedTable, population: Any) -> Audit:
    """Return an audit with the risk from an attacker who knows the population."""
    covered = consistency_with_population(release.frame, population, release.table.schema)
    risks = risks_of(found.classes, found.consistency, population=covered, persons=found.persons)
    return replace(found, risks=risks)


def _proximity(
    release: ReleasedTable,
    epsilon: float | None,
    delta: float | None,
    distance: str | Callable[[Any, Any], float] | None,
) -> dict[str, Any]:
    """Return how close sensitive values are, for each column with a distance, or for all by the given one."""
    if epsilon is None:
        if delta is not None or distance is not None:
            raise InputError("delta and distance need an epsilon", reason=Reason.PARAMETER)
        return {}
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
            "epsilon needs a distance, or a sensitive column in the release that is numeric, a date, ordered "
            "or has a hierarchy",
            reason=Reason.NO_SENSITIVE,
        )
    limits: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
    return {
        "proximity": tuple(proximity_of_classes(release.classes, *what, **limits) for what in measured),
        "proximity_around": tuple(proximity_of_records(release.graph, *what, **limits) for what in measured),
    }


def with_marks(released: IntoDataFrame, schema: Schema, marks: Collection[str]) -> Any:
    """Return a release in which suppressed cells are written as Shoal writes them."""
    frame = as_frame(released)
    names = [c.name for c in schema.quasi if c.name in frame.columns and frame[c.name].dtype == nw.String]
    everything = nw.new_series("", [SUPPRESSED] * len(frame), nw.String, backend=frame.implementation)
    cells = [frame[name].zip_with(~frame[name].is_in(list(marks)), everything) for name in names]
    return frame.with_columns(*cells).to_native()


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
    """Yield what must not be in a release, whatever was promised."""
    hidden = [column for column in release.table.schema if not column.role.released]
    names = [column.name for column in hidden if column.name in release.frame.columns]
    if names:
        yield f"the release still has the identifying columns {listing(names)}"


def _strangers(release: ReleasedTable, may_leave_out: bool) -> Iterator[str]:
    """Yield why the release cannot have been made from this table."""
    consistency, rows, records = release.consistency, len(release), len(release.table)
    orphans = consistency.rows_without_record
    if orphans:
        cells = [f"{each.name} = {each.strangers[0]!r}" for each in release.columns if each.strangers]
        hint = f" (no original value is in {', '.join(cells[:3])}; is a hierarchy missing?)" if cells else ""
        yield f"{orphans:,} released rows cover no original record{hint}"
    missing = records - rows
    if missing < 0:
        yield f"the release has {rows:,} rows, the original only {records:,} records"
    if missing > 0 and not may_leave_out:
        yield (
            f"the release has {rows:,} rows, the original {records:,} records; if {missing:,} were left out "
            "on purpose, allow it (may_leave_out)"
        )
    uncovered = consistency.records_without_row
    if uncovered > max(missing, 0):
        yield (
            f"{uncovered:,} original records are covered by no released row, although only "
            f"{max(missing, 0):,} were left out"
        )
    homeless = release.matches.unmatched_rows
    if homeless > max(orphans, -missing):
        yield (
            f"{homeless:,} released rows are left without a record of their own in every assignment of "
            "records to rows: the release was not made from this table"
        )
    if consistency.strayed:
        yield f"{consistency.strayed:,} released rows do not cover the record they were made from"
