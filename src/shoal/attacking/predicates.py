"""Predicates: conjunctions of cells, such as "age 28..39 and sex F", and the records that satisfy them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.base.ragged import Subsets
from shoal.kernels import CodeIntervals
from shoal.recoding.coverage import Graph

Cells = CodeIntervals | Subsets
"""The different cells of a column, each as a set of codes."""


@dataclass(frozen=True, eq=False)
class Predicates:
    """Predicates over some columns.

    Parameters
    ----------
    columns
        The different cells of each column.
    cells
        Which of them each predicate has, one column for each of `columns`.
    """

    columns: tuple[Cells, ...]
    cells: NDArray[np.int32]

    def __len__(self) -> int:
        """Return how many predicates there are."""
        return len(self.cells)

    def of(self, columns: NDArray[np.int64]) -> Predicates:
        """Return the predicates without their conditions on other columns."""
        return Predicates(
            tuple(self.columns[c] for c in columns), np.ascontiguousarray(self.cells[:, columns])
        )

    def some(self, which: NDArray[Any]) -> Predicates:
        """Return some of the predicates."""
        return Predicates(self.columns, self.cells[which])

    def graph(self, codes: NDArray[np.int32]) -> Graph:
        """Return which predicates hold for which records."""
        record_type, first_record = kernels.group_rows(codes)
        row_type, first_row = kernels.group_rows(self.cells)
        return Graph(codes[first_record], record_type, self.cells[first_row], row_type, self.columns)

    def counts(self, codes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return for how many records each predicate holds."""
        if not len(self):
            return np.zeros(0, dtype=np.int64)
        return self.graph(np.ascontiguousarray(codes)).degrees()[1]

    def conditions(self, codes: NDArray[np.int32]) -> NDArray[np.int16]:
        """Return for each record and predicate on how many columns the predicate agrees with the record."""
        agreed = np.zeros((len(codes), len(self)), dtype=np.int16)
        for number, cells in enumerate(self.columns):
            agreed += _inside(cells, codes[:, number])[:, self.cells[:, number]]
        return agreed

    def holding(self, codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return for each record and predicate whether the predicate holds."""
        holds = np.ones((len(codes), len(self)), dtype=np.bool_)
        for number, cells in enumerate(self.columns):
            holds &= _inside(cells, codes[:, number])[:, self.cells[:, number]]
        return holds


def _inside(cells: Cells, codes: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return for each code and each different cell whether the code is in it."""
    if isinstance(cells, CodeIntervals):
        return (cells.low <= codes[:, None]) & (codes[:, None] <= cells.high)
    asked, place = np.unique(codes, return_inverse=True)
    number = np.full(cells.size, -1, dtype=np.int64)
    number[asked] = np.arange(len(asked))
    among = number[cells.values]
    inside = np.zeros((len(asked), len(cells)), dtype=np.bool_)
    inside[among[among >= 0], cells.owners[among >= 0]] = True
    return inside[place]


def with_single_codes(cells: Cells) -> Cells:
    """Return the different cells of a column, and after them one cell for each single code."""
    singles = np.arange(cells.size, dtype=np.int32)
    if isinstance(cells, CodeIntervals):
        return CodeIntervals(
            cells.size, np.concatenate((cells.low, singles)), np.concatenate((cells.high, singles))
        )
    starts = np.concatenate((cells.starts, cells.starts[-1] + 1 + np.arange(cells.size)))
    return Subsets(starts, np.concatenate((cells.values, singles)), cells.size)


def sizes_of(cells: Cells) -> NDArray[np.int64]:
    """Return how many codes each different cell has."""
    if isinstance(cells, CodeIntervals):
        return np.asarray(np.maximum(cells.high.astype(np.int64) - cells.low + 1, 0))
    return cells.sizes
