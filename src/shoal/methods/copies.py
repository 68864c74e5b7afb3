"""Equal records: a row that covers a copy of a record takes it in at no cost."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal import kernels


class Copies:
    """The records that are equal to others.

    Parameters
    ----------
    codes
        One row for each record.
    owners
        The person of each, if persons have several; copies that belong to one person are then kept apart.
    """

    def __init__(self, codes: NDArray[np.int32], owners: NDArray[np.int32] | None = None) -> None:
        self._type, _ = kernels.group_rows(codes)
        self._size = np.bincount(self._type)
        if owners is None:
            self._by_type = np.argsort(self._type, kind="stable")
        else:
            self._by_type = np.lexsort((owners, occurrence(self._type, owners), self._type))
        self._start = np.cumsum(self._size) - self._size
        self._number = np.empty(len(codes), dtype=np.int64)
        self._number[self._by_type] = np.arange(len(codes)) - self._start[self._type[self._by_type]]

    def pairs(self, turn: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the records with more than `turn` copies, and for each the box of its turn-th next copy."""
        records = np.flatnonzero(self._size[self._type] > turn)
        kind = self._type[records]
        boxes = self._by_type[self._start[kind] + (self._number[records] + turn) % self._size[kind]]
        return records, boxes


def occurrence(types: NDArray[np.integer[Any]], owners: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return for each record how many records of its type and its person come before it."""
    order = np.lexsort((owners, types))
    same = (np.diff(types[order]) == 0) & (np.diff(owners[order]) == 0)
    first = np.flatnonzero(np.concatenate(([True], ~same)))
    number = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    occurrence = np.empty(len(order), dtype=np.int64)
    occurrence[order] = number
    return occurrence


def share_with_copies(codes: NDArray[np.int32]) -> float:
    """Return the share of records that are equal to another one."""
    types, first = kernels.group_rows(codes)
    return float(1.0 - np.count_nonzero(np.bincount(types, minlength=len(first)) == 1) / len(codes))
