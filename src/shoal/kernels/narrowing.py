"""Rows that become narrower for as long as every few columns still hide each record and each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.base.ragged import Lists
from shoal.kernels import _native

MOST_KNOWN = 8
"""The largest number of columns that an attacker may know; see native/rows/narrowing.hpp."""


class CellColumn(NamedTuple):
    """What the cells of a column may be.

    Parameters
    ----------
    kind
        `RANGE`, `SET` or `TREE`.
    size
        The number of codes.
    missing
        Of a range, the code of the missing value, which only the cell of all codes shares with others.
    tree
        Of a tree: the parent, the first and the last code of each node, and the node of each code.
    """

    kind: int
    size: int
    missing: int | None
    tree: tuple[NDArray[np.int32], ...] = ()


class Narrowing:
    """Rows of their own, and cells that become narrower one after the other.

    Row i belongs to record i and covers it. In each combination of `knows` columns, at least k rows cover
    each record, and each row covers at least k records: this holds for the rows at first, and stays so.

    Parameters
    ----------
    codes, columns
        The records, and what cells may be.
    rows, cells
        The rows of each class, and for each column the codes in the cell of each class.
    knows
        The number of columns that an attacker knows, up to `MOST_KNOWN`.
    k
        The minimum number of rows that cover a record, and of records that a row covers.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        columns: Sequence[CellColumn],
        rows: Lists,
        cells: Sequence[Lists],
        knows: int,
        k: int,
    ) -> None:
        about = [[each.kind, each.size, -1 if each.missing is None else each.missing] for each in columns]
        trees = [[array.astype(np.int32) for array in each.tree] for each in columns]
        self._rows = _native.Narrowing(codes, np.array(about, dtype=np.int32), trees, knows, k)
        self._rows.add(rows.starts, rows.values.astype(np.int32), [_arrays(each) for each in cells])

    def narrow(self, cells: NDArray[np.int64]) -> int:
        """Make cells narrower, one after the other; return how many are now.

        A cell becomes exact if this is allowed, and otherwise as narrow as single steps make it.

        Parameters
        ----------
        cells
            Each as row * number of columns + column.
        """
        return self._rows.narrow(cells)

    def cells(self, column: int) -> Lists:
        """Return the codes in the cell of each row, ascending."""
        return Lists(*self._rows.cells(column))


def _arrays(lists: Lists) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    return lists.starts, np.ascontiguousarray(lists.values, dtype=np.int32)
