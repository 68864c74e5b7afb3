"""Sparse matrices: as much of them as the reader of releases needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native

Numbers = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A matrix of which only some entries are stored, row after row; all others are 0.

    Parameters
    ----------
    values
        The entries.
    columns
        The column of each.
    starts
        Where the entries of each row begin, and the end of the last.
    width
        The number of columns.
    """

    values: Numbers
    columns: NDArray[np.int32]
    starts: NDArray[np.int64]
    width: int

    @classmethod
    def of_places(
        cls,
        values: Numbers,
        rows: NDArray[np.integer[Any]],
        columns: NDArray[np.integer[Any]],
        shape: tuple[int, int],
    ) -> Self:
        """Return the matrix with these values at these places, each place's values summed up."""
        height, width = shape
        places = rows.astype(np.int64) * width + columns
        order = np.argsort(places, kind="stable")
        found, first = np.unique(places[order], return_index=True)
        summed = np.add.reduceat(values[order], first) if len(found) else values[:0]
        starts = np.searchsorted(found, np.arange(height + 1) * width)
        return cls(summed, (found % max(width, 1)).astype(np.int32), starts.astype(np.int64), width)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of entries of each row."""
        return np.diff(self.starts)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The row of each entry."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @property
    def places(self) -> NDArray[np.int64]:
        """The place of each entry, counted along the rows."""
        return self.rows * self.width + self.columns

    def where(self, chosen: NDArray[np.bool_]) -> SparseMatrix:
        """Return the matrix of some of the entries."""
        before = np.concatenate([[0], np.cumsum(chosen, dtype=np.int64)])
        return SparseMatrix(self.values[chosen], self.columns[chosen], before[self.starts], self.width)

    def __matmul__(self, dense: NDArray[Any]) -> Numbers:
        """Return the product with a vector or a dense matrix; O(entries x its columns)."""
        return self._product(dense, len(self), self.width, transposed=False)

    def spread(self, dense: NDArray[Any]) -> Numbers:
        """Return the product of the transpose with a vector or a dense matrix."""
        return self._product(dense, self.width, len(self), transposed=True)

    def _product(self, dense: NDArray[Any], height: int, length: int, *, transposed: bool) -> Numbers:
        if len(dense) != length:
            raise ValueError(f"a matrix of {length} rows is needed, not of {len(dense)}")
        kind = np.result_type(self.values, dense, np.float32)
        given = np.ascontiguousarray(dense.reshape(length, -1), dtype=kind)
        found = np.zeros((height, given.shape[1]), dtype=kind)
        values = self.values.astype(kind, copy=False)
        _native.add_product(self.starts, self.columns, values, given, found, transposed)
        return found.reshape(height, *dense.shape[1:])

    def __getitem__(self, index: Any) -> SparseMatrix:
        """Return some rows: those of a slice, of a list of numbers, or those that are marked."""
        chosen = np.arange(len(self))[index]
        sizes = self.sizes[chosen]
        starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        entries = np.repeat(self.starts[chosen] - starts[:-1], sizes) + np.arange(starts[-1])
        return SparseMatrix(self.values[entries], self.columns[entries], starts, self.width)

    def dense(self, columns: NDArray[np.integer[Any]]) -> Numbers:
        """Return some columns as a dense matrix."""
        place = np.full(self.width, -1, dtype=np.int64)
        place[columns] = np.arange(len(columns))
        there = place[self.columns] >= 0
        found = np.zeros((len(self), len(columns)), dtype=self.values.dtype)
        found[self.rows[there], place[self.columns[there]]] = self.values[there]
        return found
