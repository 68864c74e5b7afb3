"""The generalized quasi-identifiers of a release: one generalized value for each row and attribute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.kinds.generalized import Cells, Generalized
from shoal.table import Table


@dataclass(frozen=True, eq=False)
class Recoding:
    """The generalized quasi-identifiers of a release: boxes of generalized values, and the box of each row.

    Parameters
    ----------
    table
        The table that was recoded.
    values
        For each attribute, the generalized value of each box.
    box
        For each released row, which box it shows. Where there are classes, row i shows record i's.
    graph
        For each released row, the records it was made to cover, equally many and each of them equally often;
        None if records hide in classes of identical rows, or in no declared structure.
    assignment
        For each released row, the record whose other columns it has; None if the record is drawn at random,
        or, without a graph, if each record has its own row, in the order of the records.
    account
        What the method reports for the certificate; nothing about single records.
    """

    table: Table
    values: tuple[Generalized, ...]
    box: NDArray[np.int32]
    graph: NDArray[np.int32] | None = None
    assignment: NDArray[np.int32] | None = None
    account: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Recoding({len(self.box)} rows of {self.table!r})"

    @classmethod
    def of_classes(cls, table: Table, classes: NDArray[np.int32]) -> Self:
        """Return the recoding in which each class of records shows its closure; classes are 0, 1, 2, ..."""
        order = np.argsort(classes, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(classes))))
        values = tuple(a.domain.closure(a.codes[order], starts) for a in table.attributes)
        return cls(table, values, classes)

    @classmethod
    def of_suppression(
        cls,
        table: Table,
        suppressed: NDArray[np.bool_],
        pattern: NDArray[np.int32],
        account: Mapping[str, Any],
    ) -> Self:
        """Return the recoding in which records with the same pattern and the same kept values are a class.

        Parameters
        ----------
        table, account
            As for the recoding.
        suppressed
            Which columns each pattern suppresses.
        pattern
            The pattern of each record.
        """
        shown = np.where(suppressed[pattern], np.int32(-1), table.codes)
        box, first = kernels.group_rows(shown)
        values = tuple(
            Cells.of(attribute.domain, attribute.codes[first], suppressed[pattern[first], column])
            for column, attribute in enumerate(table.attributes)
        )
        return cls(table, values, box, account=account)

    @classmethod
    def of_graph(
        cls,
        table: Table,
        graph: NDArray[np.int32],
        *,
        grown: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None,
        assignment: NDArray[np.int32] | None = None,
    ) -> Self:
        """Return the recoding in which row i shows the closure of the records in row i of a regular graph.

        Parameters
        ----------
        table, graph, assignment
            As for the recoding.
        grown
            Pairs of a row and a further record that it covers.
        """
        n, degree = graph.shape
        members = graph.ravel()
        starts = np.arange(0, n * degree + 1, degree, dtype=np.int64)
        if grown is not None:
            rows, records = grown
            members = np.insert(members, starts[rows + 1], records)
            starts = starts + np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n))))
        values = tuple(a.domain.closure(a.codes[members], starts) for a in table.attributes)
        return cls(table, values, np.arange(n, dtype=np.int32), graph, assignment)

    @classmethod
    def of_rows(
        cls, table: Table, starts: NDArray[np.int64], members: NDArray[np.int32], kept: NDArray[np.int64]
    ) -> Self:
        """Return the recoding in which each record that is kept has a row of its own.

        Parameters
        ----------
        table
            The table.
        starts, members
            The row of record i shows the closure of the records ``members[starts[i]:starts[i + 1]]``.
        kept
            The records whose rows are released, ascending.
        """
        sizes = np.diff(starts)[kept]
        ends = np.cumsum(sizes)
        which = np.arange(ends[-1]) - np.repeat(ends - sizes - starts[kept], sizes)
        groups = np.concatenate(([0], ends))
        values = tuple(a.domain.closure(a.codes[members[which]], groups) for a in table.attributes)
        box = np.arange(len(kept), dtype=np.int32)
        return cls(table, values, box, assignment=kept.astype(np.int32))

    @property
    def withheld(self) -> int:
        """Number of records without a row."""
        return len(self.table) - len(self.box)

    @cached_property
    def records(self) -> NDArray[np.int64]:
        """The record that each row was made for; if it is drawn later, the one with the same number."""
        if self.graph is None and self.assignment is not None:
            return self.assignment.astype(np.int64)
        return np.arange(len(self.box))

    @cached_property
    def types(self) -> NDArray[np.int32]:
        """The row type of each row: rows have the same if and only if they show the same values."""
        boxes = np.column_stack([key for values in self.values for key in values.keys()])  # noqa: SIM118 - not a dict
        type_of_box, _ = kernels.group_rows(boxes)
        return type_of_box[self.box]

    def covers(self) -> NDArray[np.bool_]:
        """Return for each row whether it covers, in every attribute, the record whose other columns it has.

        If that record is drawn later, or each record has its own row, it is the one of `records`.
        """
        carried = self.records if self.assignment is None else self.assignment
        inside = [
            v.covers(self.box, a.codes[carried])
            for v, a in zip(self.values, self.table.attributes, strict=True)
        ]
        return np.asarray(np.logical_and.reduce(inside))
