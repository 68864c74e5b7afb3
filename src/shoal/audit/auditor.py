"""The audit of a release: levels found from original and release alone, held against a promise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from shoal.audit.classes import Classes, Diversity, classes_of, diversity_of
from shoal.audit.consistency import Consistency, consistency_of, diversity_around
from shoal.audit.reading import ReleasedColumn, read_release
from shoal.errors import InputError, PromiseError, Reason, listing
from shoal.models import Freeform, KAnonymity, Model
from shoal.schema import Role, Schema, as_frame
from shoal.table import Table

_ROUNDING = 1e-9


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
        Which rows could be whose.
    diversity
        How varied each sensitive column is in the classes.
    promise
        The promise the release was held against, if any.
    findings
        What breaks it, in plain words; nothing if it holds.
    diversity_around
        How varied each sensitive column is among the rows that each record is consistent with; found if
        nothing was promised, or if this was.
    """

    records: int
    rows: int
    classes: Classes
    consistency: Consistency
    diversity: tuple[Diversity, ...]
    promise: Model | None
    findings: tuple[str, ...]
    diversity_around: tuple[Diversity, ...] = ()

    @property
    def k(self) -> int:
        """The size of the smallest class of equal rows."""
        return int(self.classes.sizes.min())

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
            return (
                f"Each released row looks the same as at least {self.k - 1} others; no promise was asked for."
            )
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
            "diversity": [column.as_dict() for column in self.diversity],
            "diversity_around": [column.as_dict() for column in self.diversity_around],
        }


def audit(
    original: Any,
    released: Any,
    schema: Schema,
    model: Model | None = None,
    *,
    key: Sequence[int] | NDArray[np.int64] | None = None,
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
        table, released, model, None if key is None else _records(key, table, len(as_frame(released)))
    )


def audit_table(
    table: Table, released: Any, model: Model | None = None, key: NDArray[np.int64] | None = None
) -> Audit:
    """Audit a release of a table that is already encoded.

    Parameters
    ----------
    table, released, model
        As for `audit`.
    key
        For each released row, the record of the table it was made from, where the auditor may know.
    """
    frame = as_frame(released)
    columns = read_release(frame, table)
    classes = classes_of(columns)
    consistency = consistency_of(columns, table, key)
    sensitive = [column for column in table.schema.sensitive if column.name in frame.columns]
    diversity = tuple(diversity_of(frame, column, classes) for column in sensitive)
    around: tuple[Diversity, ...] = ()
    asked = model is None or (isinstance(model, Freeform) and model.diverse)
    if asked and consistency.rows_of_record.any():
        around = tuple(diversity_around(frame, column, columns, table) for column in sensitive)
    found = Audit(len(table), len(frame), classes, consistency, diversity, model, (), around)
    findings = (*_leaks(frame, table.schema), *_strangers(columns, found), *_broken(found, table.schema))
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


def _strangers(columns: tuple[ReleasedColumn, ...], audit: Audit) -> Iterator[str]:
    """Yield why the release cannot be one of this table."""
    orphans = audit.consistency.rows_without_record
    if orphans:
        cells = [f"{column.name} = {column.strangers[0]!r}" for column in columns if column.strangers]
        hint = f" (no original value fits {', '.join(cells[:3])}; is a hierarchy missing?)" if cells else ""
        yield f"{orphans} released rows are consistent with no original record{hint}"
    if audit.rows > audit.records:
        yield f"the release has {audit.rows} rows, the original only {audit.records} records"
    unmatched = audit.consistency.records_without_row
    if unmatched > max(audit.records - audit.rows, 0):
        yield (
            f"{unmatched} original records are consistent with no released row, although only "
            f"{max(audit.records - audit.rows, 0)} were left out"
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
    if model.diverse:
        yield from _undiverse(audit, model, schema)


def _undiverse(audit: Audit, model: Model, schema: Schema) -> Iterator[str]:
    freeform = isinstance(model, Freeform)
    crowds = audit.diversity_around if freeform else audit.diversity
    where = "among the rows that some record fits" if freeform else "in some class"
    measured = {column.column for column in crowds}
    absent = [column.name for column in schema.sensitive if column.name not in measured]
    if absent or not measured:
        what = (
            f"the sensitive columns {listing(absent)} are not in the release" if absent else "there is none"
        )
        yield f"diversity of sensitive values was promised, but {what}"
    for column in crowds:
        for name, asked, found in (
            ("l", model.l, column.l),
            ("p", model.p, column.p),
            ("entropy_l", model.entropy_l, column.entropy_l),
        ):
            if asked is not None and found < asked * (1 - _ROUNDING):
                yield f"{column.column!r} has only {name} = {found:.4g} instead of {asked:g} {where}"
