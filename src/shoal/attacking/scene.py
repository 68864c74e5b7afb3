"""What an attacker sees and knows: the release, and the quasi-identifiers of records in it and of others."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.attacking.predicates import Predicates
from shoal.auditing.auditor import with_marks
from shoal.auditing.posterior import Labels, labels_of
from shoal.auditing.released import ReleasedTable
from shoal.base.randomness import Randomness
from shoal.errors import InputError, Reason, unknown_column
from shoal.kinds.encoding import to_polars
from shoal.recoding.coverage import Matches
from shoal.schema import Role, Schema, as_frame
from shoal.table import Table

PAIRS = 1 << 22
"""Maximum number of pairs of a target and a predicate that are looked at at a time."""


@dataclass(frozen=True, eq=False)
class Scene:
    """A release, and everyone whose quasi-identifiers the attacker knows.

    The attacker does not know who of them is in the release, and treats all of them alike.

    Parameters
    ----------
    release
        The release, beside the table of all records that the attacker knows.
    is_member
        Which of these records are in the original.
    members, control
        The targets: records of the original, and of the control group.
    randomness
        The source of random choices.
    """

    release: ReleasedTable
    is_member: NDArray[np.bool_]
    members: NDArray[np.int64]
    control: NDArray[np.int64]
    randomness: Randomness

    @property
    def codes(self) -> NDArray[np.int32]:
        """The quasi-identifiers of all records that the attacker knows."""
        return self.release.table.codes

    @cached_property
    def rows(self) -> Predicates:
        """Each type of released row as a predicate."""
        graph = self.release.graph
        return Predicates(graph.attributes, graph.boxes)

    @cached_property
    def copies(self) -> NDArray[np.int64]:
        """How many released rows are of each type."""
        return np.bincount(self.release.graph.row_type, minlength=len(self.rows))

    @cached_property
    def strangers(self) -> int:
        """The number of released rows that cover no record of the original."""
        covered = self.rows.counts(self.codes[self.is_member])
        return int(self.copies[covered == 0].sum())

    @cached_property
    def matches(self) -> Matches:
        """Which rows can be whose, if every row is that of one record that the attacker knows."""
        return self.release.matches

    @cached_property
    def labels(self) -> tuple[Labels, ...]:
        """The sensitive columns that the release has."""
        return labels_of(self.release.table, self.release.sensitive)

    def stretches(self, targets: NDArray[np.int64], predicates: int) -> Iterator[NDArray[np.int64]]:
        """Yield the targets, as many at a time as there is memory for."""
        step = max(PAIRS // max(predicates, 1), 1)
        for begin in range(0, len(targets), step):
            yield targets[begin : begin + step]


def scene_of(
    original: Any,
    released: Any,
    schema: Schema,
    control: Any,
    *,
    targets: int,
    randomness: Randomness,
    suppressed_marks: Collection[str] = (),
) -> Scene:
    """Read the tables, and draw the targets of attacks: one record of each person at most.

    Raises
    ------
    InputError
        If a table does not match the schema, or a person of the control group is in the original.
    """
    known = _together(original, control, schema)
    wanted = Schema(tuple(column for column in schema if column.name in known.columns))
    table = Table.encode(known, wanted, times=True)
    is_member = table.rows < len(as_frame(original))
    if control is not None and is_member.all():
        raise InputError("the control group has no records", reason=Reason.NO_ROWS)
    _require_others(table, is_member)
    frame = with_marks(released, schema, suppressed_marks) if suppressed_marks else released
    order = randomness.permutation(len(table))
    if table.owners is not None:
        order = order[np.sort(np.unique(table.owners[order], return_index=True)[1])]
    return Scene(
        ReleasedTable(frame, table),
        is_member,
        order[is_member[order]][:targets],
        order[~is_member[order]][:targets],
        randomness,
    )


def _together(original: Any, control: Any, schema: Schema) -> pl.DataFrame:
    """Return the records of the original and then those of the control group, what attacks need of them."""
    roles = (Role.QUASI, Role.SENSITIVE, Role.PERSON)
    names = [column.name for column in schema if column.role in roles]
    parts = []
    for given, where in ((original, "the original"), (control, "the control group")):
        if given is None:
            continue
        frame = as_frame(given)
        for name in names:
            if name not in frame.columns:
                raise unknown_column(name, frame.columns, where)
        parts.append(pl.DataFrame([to_polars(frame[name]).rename(name) for name in names]))
    if len(parts) == 1:
        return parts[0]
    try:
        return pl.concat(parts, how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        differing = [name for name in names if parts[0].schema[name] != parts[1].schema[name]]
        raise InputError(
            f"the control group has types that differ from the original in {', '.join(map(repr, differing))}",
            reason=Reason.PARAMETER,
        ) from None


def _require_others(table: Table, is_member: NDArray[np.bool_]) -> None:
    """Refuse a control group with a person who is also in the original."""
    if table.owners is None or is_member.all():
        return
    both = np.intersect1d(table.owners[is_member], table.owners[~is_member])
    if len(both):
        raise InputError(
            f"{len(both):,} persons are both in the original and in the control group, which must be others",
            reason=Reason.PARAMETER,
            parameter="control",
        )
