"""The audit of a release: levels found from original and release alone, held against a promise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from shoal.audit.classes import Classes, Diversity, classes_of, diversity_of
from shoal.audit.consistency import Consistency, consistency_of, diversity_around, graph_of
from shoal.audit.contribution import Contribution, contributions_of
from shoal.audit.posterior import Posterior, labels_of, posterior
from shoal.audit.reading import ReleasedColumn, read_release
from shoal.audit.risks import Risks, risks_of
from shoal.audit.uniqueness import Combination, uniqueness
from shoal.errors import InputError, PromiseError, Reason, listing
from shoal.matches import Matches
from shoal.models import Freeform, KAnonymity, Model
from shoal.schema import Role, Schema, as_frame
from shoal.table import Table

_ROUNDING = 1e-9
WORST_COMBINATIONS = 5


@dataclass(frozen=True, eq=False)
class Audit:
    """What an auditor found.

    Parameters
    ----------
    records
        How many records the original has, less those its schema leaves out.
    rows
        How many rows were released.
    classes
        The classes of equal rows.
    consistency
        Which rows could be whose, seen one at a time.
    matches
        Which rows could be whose to somebody who knows everybody, so that all must have a row.
    risks
        How often attackers who pick a row at random are right.
    diversity
        How varied each sensitive column is in the classes.
    promise
        The promise the release was held against, if any.
    findings
        What breaks it, in plain words; nothing if it holds.
    diversity_around
        How varied each sensitive column is among the matches of each record; found if nothing was
        promised, or if this was.
    diversity_consistent
        The same among all rows that each record is consistent with.
    contributions
        What each quasi-identifier adds to the risk; empty if nobody asked.
    uniqueness
        Which combinations of quasi-identifiers single out most people in the original, worst first; empty if
        nobody asked.
    posterior
        How likely best guesses are; None if nobody asked.
    """

    records: int
    rows: int
    classes: Classes
    consistency: Consistency
    matches: Matches
    risks: Risks
    diversity: tuple[Diversity, ...]
    promise: Model | None
    findings: tuple[str, ...] = ()
    diversity_around: tuple[Diversity, ...] = ()
    diversity_consistent: tuple[Diversity, ...] = ()
    contributions: tuple[Contribution, ...] = ()
    uniqueness: tuple[Combination, ...] = ()
    posterior: Posterior | None = None

    @property
    def k(self) -> int:
        """The size of the smallest class of equal rows."""
        return int(self.classes.sizes.min())

    @property
    def concealment(self) -> int:
        """Among how many rows the strongest adversary has to guess, for the person hidden least."""
        return self.matches.concealment

    @property
    def holds(self) -> bool:
        """Whether nothing was found against the release."""
        return not self.findings

    @property
    def verdict(self) -> str:
        """The outcome in one sentence."""
        if self.findings:
            return "The release does not hold: " + "; ".join(self.findings) + "."
        if self.promise is None:
            crowd = f"at least {self.concealment} released rows"
            return f"Each person hides among {crowd}; no promise was asked for."
        return f"The promise holds: {self.promise.sentence()}."

    def require(self) -> None:
        """Raise an error if anything was found, for pipelines that must stop there.

        Raises
        ------
        PromiseError
            With the verdict.
        """
        if not self.holds:
            raise PromiseError(self.verdict)

    def as_dict(self) -> dict[str, Any]:
        """Return the audit as plain data, for JSON."""
        promise = self.promise
        return {
            "holds": self.holds,
            "verdict": self.verdict,
            "findings": list(self.findings),
            "promise": None if promise is None else {"model": promise.name, **promise.parameters},
            "records": self.records,
            "rows": self.rows,
            "k": self.k,
            "classes": self.classes.as_dict(),
            "consistency": self.consistency.as_dict(),
            "concealment": self.concealment,
            "matches": self.matches.as_dict(),
            "risks": self.risks.as_dict(),
            "diversity": [column.as_dict() for column in self.diversity],
            "diversity_around": [column.as_dict() for column in self.diversity_around],
            "diversity_consistent": [column.as_dict() for column in self.diversity_consistent],
            "contributions": [each.as_dict() for each in self.contributions],
            "uniqueness": [each.as_dict() for each in self.uniqueness],
            "posterior": None if self.posterior is None else self.posterior.as_dict(),
        }


def audit(
    original: Any,
    released: Any,
    schema: Schema,
    model: Model | None = None,
    *,
    key: Sequence[int] | NDArray[np.int64] | None = None,
    may_leave_out: bool = False,
    posterior_seconds: float | None = None,
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
        Whether the release may have fewer rows than the original has records.
    posterior_seconds
        How long to sample how likely best guesses are; None leaves that out.

    Returns
    -------
    Audit
        What was found; `Audit.holds` says whether the promise does.

    Raises
    ------
    InputError
        If the tables do not fit the schema or a released cell cannot be read.
    """
    table = Table.encode(original, schema)
    return audit_table(
        table,
        released,
        model,
        None if key is None else _records(key, table, len(as_frame(released))),
        may_leave_out=may_leave_out,
        thorough=True,
        posterior_seconds=posterior_seconds,
    )


def audit_table(
    table: Table,
    released: Any,
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
        Whether to look at what no promise is about, too: contributions and uniqueness.
    """
    frame = as_frame(released)
    columns = read_release(frame, table)
    classes = classes_of(columns)
    graph = graph_of(columns, table)
    consistency = consistency_of(columns, table, key, graph)
    matches = graph.matches(key)
    sensitive = [column for column in table.schema.sensitive if column.name in frame.columns]
    diversity = tuple(diversity_of(frame, column, classes) for column in sensitive)
    found = Audit(
        len(table),
        len(frame),
        classes,
        consistency,
        matches,
        risks_of(classes, consistency),
        diversity,
        model,
    )
    asked = model is None or (isinstance(model, Freeform) and model.diverse)
    if asked and consistency.rows_of_record.any():
        around = tuple(diversity_around(frame, column, graph) for column in sensitive)
        found = replace(found, diversity_around=around, diversity_consistent=around)
        if (matches.matches_of_record < consistency.rows_of_record).any():
            matched = tuple(diversity_around(frame, column, graph, matches) for column in sensitive)
            found = replace(found, diversity_around=matched)
    if thorough:
        names = [attribute.column.name for attribute in table.attributes]
        found = replace(
            found,
            contributions=contributions_of(columns, table) if len(columns) > 1 else (),
            uniqueness=uniqueness(table.codes, names, most=WORST_COMBINATIONS),
        )
    if posterior_seconds is not None and matches.unmatched_rows == 0:
        promised = None if model is None else model.k
        labels = labels_of(table, frame)
        found = replace(
            found, posterior=posterior(graph, matches, labels, k=promised, seconds=posterior_seconds)
        )
    findings = (
        *_leaks(frame, table.schema),
        *_strangers(columns, found, may_leave_out),
        *_broken(found, table.schema),
    )
    return replace(found, findings=findings)


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


def _leaks(frame: nw.DataFrame[Any], schema: Schema) -> Iterator[str]:
    """Yield what stands in the release and must not, whatever was promised."""
    names = [column.name for column in schema.having(Role.IDENTIFIER) if column.name in frame.columns]
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
            "left out on purpose, say so (--may-leave-out, or may_leave_out=True)"
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


def _broken(audit: Audit, schema: Schema) -> Iterator[str]:
    """Yield each part of the promise that does not hold."""
    model = audit.promise
    if model is None:
        return
    if isinstance(model, KAnonymity) and audit.k < model.k:
        small = audit.classes.sizes[audit.classes.sizes < model.k]
        yield (
            f"{len(small)} classes with {int(small.sum())} rows have fewer than k = {model.k} rows; "
            f"the smallest has {audit.k}"
        )
    crowd = audit.consistency.rows_per_record
    if crowd < model.k:
        few = audit.consistency.rows_of_record
        count = int(((few > 0) & (few < model.k)).sum())
        yield f"{count} records are consistent with fewer than k = {model.k} rows; the worst with {crowd}"
    least = int(audit.consistency.records_of_row.min())
    if isinstance(model, Freeform) and least < model.k:
        count = int((audit.consistency.records_of_row < model.k).sum())
        yield f"{count} released rows fit fewer than k = {model.k} records; the worst fits {least}"
    if crowd >= model.k > audit.concealment:
        count = int((audit.matches.matches_of_record < model.k).sum())
        yield (
            f"{count} records have fewer than k = {model.k} rows left once everybody must have one; "
            f"the worst has {audit.concealment}"
        )
    if model.diverse:
        yield from _undiverse(audit, model, schema)


def _undiverse(audit: Audit, model: Model, schema: Schema) -> Iterator[str]:
    places = {"in some class": audit.diversity}
    if isinstance(model, Freeform):
        places = {
            "among the rows that some record fits": audit.diversity_consistent,
            "among the matches of some record": audit.diversity_around,
        }
    measured = {column.column for crowds in places.values() for column in crowds}
    absent = [column.name for column in schema.sensitive if column.name not in measured]
    if absent or not measured:
        what = (
            f"the sensitive columns {listing(absent)} are not in the release" if absent else "there is none"
        )
        yield f"diversity of sensitive values was promised, but {what}"
    named = set()
    for where, crowds in places.items():
        for column in crowds:
            for name, asked, found in (
                ("l", model.l, column.l),
                ("p", model.p, column.p),
                ("entropy_l", model.entropy_l, column.entropy_l),
            ):
                if asked is None or found >= asked * (1 - _ROUNDING) or (column.column, name, found) in named:
                    continue
                named.add((column.column, name, found))
                yield f"{column.column!r} has only {name} = {found:.4g} instead of {asked:g} {where}"
