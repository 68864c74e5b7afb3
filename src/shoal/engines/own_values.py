"""The number of unique values in carried columns, counted part by part in little memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.auditing import Audit
from shoal.auditing.carried import Carried, identifying
from shoal.auditing.rules import few_persons
from shoal.schema import Role, Schema

SIZE = 1 << 14
"""The maximum number of values of a column that are remembered; beyond it, the count is estimated."""


@dataclass(frozen=True, eq=False)
class OwnValues:
    """Which values of a column occur once: all of them, or those with the lowest hashes.

    Parts can be counted anywhere and merged in any order. The share of unique values is exact up to `SIZE`
    different values; beyond that, its standard error is below 1%.

    Parameters
    ----------
    limit
        Only hashes below this are remembered.
    hashes, counts
        The remembered hashes, ascending, and the number of occurrences of each value: 1, or 2 for more.
    """

    limit: int = 2**64
    hashes: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @classmethod
    def of(cls, cells: pl.Series) -> OwnValues:
        """Return the unique values of some cells; missing values do not count."""
        known = cells.drop_nans() if cells.dtype.is_float() else cells
        known = known.filter(known != "") if known.dtype == pl.String else known
        found = known.drop_nulls().to_frame()
        hashes = found.hash_rows(seed=0).to_numpy() if found.height else np.empty(0, dtype=np.uint64)
        return cls(2**64, *np.unique(hashes, return_counts=True))._shortened()

    def merged(self, other: OwnValues) -> OwnValues:
        """Return the unique values of two parts together."""
        hashes, which = np.unique(np.concatenate((self.hashes, other.hashes)), return_inverse=True)
        counts = np.bincount(which, np.concatenate((self.counts, other.counts)), len(hashes))
        limit = min(self.limit, other.limit)
        return OwnValues(limit, hashes, counts.astype(np.int64))._shortened()

    def _shortened(self) -> OwnValues:
        limit = self.limit
        kept = int(np.searchsorted(self.hashes, np.uint64(limit - 1), side="right"))
        if kept > SIZE:
            limit, kept = int(self.hashes[SIZE]), SIZE
        return OwnValues(limit, self.hashes[:kept], np.minimum(self.counts[:kept], 2))

    def count(self, rows: int) -> int:
        """Return the approximate number of rows, out of `rows`, with a unique value."""
        once = self.counts == 1
        count = int(once.sum())
        if self.limit == 2**64:
            return count
        about = round(count * 2**64 / self.limit)
        if about > 0.97 * rows and once.all():
            return rows
        return min(about, rows - 1)


def carried_names(schema: Schema) -> list[str]:
    """Return the carried columns: those that are released unchanged."""
    return [c.name for c in schema if c.role in (Role.SENSITIVE, Role.OTHER)]


def seen_in(frame: pl.DataFrame, names: Sequence[str]) -> dict[str, OwnValues]:
    """Return the unique values of some columns in a part."""
    return {name: OwnValues.of(frame[name]) for name in names}


def merged(one: Mapping[str, OwnValues], other: Mapping[str, OwnValues]) -> dict[str, OwnValues]:
    """Return the unique values of two parts together, by column."""
    names = {**one, **other}
    return {name: one.get(name, OwnValues()).merged(other.get(name, OwnValues())) for name in names}


def judged(audits: Sequence[Audit], own: Mapping[str, OwnValues], schema: Schema) -> Audit:
    """Return the audit of all blocks together, with the risks of carried columns in the whole release.

    Parameters
    ----------
    audits
        The audit of each block.
    own
        The unique values in the whole release, by column.
    schema
        The schema of the table.
    """
    audit = Audit.merge(audits)
    rows, found = audit.rows, []
    for name in carried_names(schema):
        count = own[name].count(rows)
        sensitive = schema[name].role is Role.SENSITIVE
        share = count / rows if identifying(count, rows, sensitive) else None
        repeats = _anywhere(audits, name, lambda each: each.repeats)
        gives_away = _anywhere(audits, name, lambda each: each.gives_away)
        looks = next((c.looks for each in audits for c in each.carried if c.column == name and c.looks), None)
        if share is not None or repeats or gives_away or looks:
            found.append(Carried(name, share, repeats, gives_away, looks))
    hidden = any(not column.role.released for column in schema)
    unchecked = ("whether carried columns repeat identifiers",) if hidden else ()
    alone = () if audit.promise is None else tuple(few_persons(audit.promise, audit.persons))
    return replace(
        audit,
        findings=(*audit.findings, *alone),
        carried=tuple(found),
        warnings=tuple(each.warning for each in found),
        not_checked=unchecked,
    )


def _anywhere(
    audits: Sequence[Audit], name: str, told: Callable[[Carried], Sequence[str]]
) -> tuple[str, ...]:
    """Return what a column reveals in some blocks, with their share of the rows if it is not all."""
    rows: dict[str, int] = {}
    for audit in audits:
        for carried in audit.carried:
            if carried.column == name:
                for words in told(carried):
                    rows[words] = rows.get(words, 0) + audit.rows
    total = sum(audit.rows for audit in audits)
    return tuple(
        words if count == total else f"{words} (in blocks with {count / total:.0%} of the rows)"
        for words, count in rows.items()
    )
