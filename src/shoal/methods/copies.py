"""Equal records: a row that covers a copy of a record takes it in at no cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal import kernels


class Copies:
    """The records that are equal to others.

    Parameters
    ----------
    codes
        One row for each record.
    """

    def __init__(self, codes: NDArray[np.int32]) -> None:
        self._type, _ = kernels.group_rows(codes)
        self._size = np.bincount(self._type)
        self._by_type = np.argsort(self._type, kind="stable")
        self._start = np.cumsum(self._size) - self._size
        self._number = np.empty(len(codes), dtype=np.int64)
        self._number[self._by_type] = np.arange(len(codes)) - self._start[self._type[self._by_type]]

    def pairs(self, turn: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the records with more than `turn` copies, and for each the box of its turn-th next copy."""
        records = np.flatnonzero(self._size[self._type] > turn)
        kind = self._type[records]
        boxes = self._by_type[self._start[kind] + (self._number[records] + turn) % self._size[kind]]
        return records, boxes
