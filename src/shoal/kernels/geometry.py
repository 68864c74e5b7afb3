"""Attributes and their values as the compiled core takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native

ROUNDING = _native.ROUNDING
"""By what share a value may miss its limit in the audit; methods allow themselves half of it."""

RANGE, SET, TREE = 0, 1, 2
"""Kinds of attribute, as native/base/space.hpp numbers them."""


class Geometry(NamedTuple):
    """What it costs to cover several codes of one attribute; see native/base/space.hpp.

    Parameters
    ----------
    kind
        `RANGE`, `SET` or `TREE`.
    weight
        How much the attribute counts; the weights of a table sum to 1.
    size
        How many codes there are.
    table
        The position of each code (range), the number of possible values (set), or the cost of the lowest
        common ancestor of each code and the next (tree).
    """

    kind: int
    weight: float
    size: int
    table: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CodeIntervals:
    """Intervals of the codes 0..size-1, both ends included."""

    size: int
    low: NDArray[np.int32]
    high: NDArray[np.int32]


def group_rows(codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Group equal rows of a matrix.

    Parameters
    ----------
    codes
        One row for each record.

    Returns
    -------
    tuple
        The group of each row, numbered in order of first appearance, and the first row of each group.
        O(rows x columns) expected.
    """
    return _native.group_rows(codes)


class Refined(NamedTuple):
    """Groups of equal records after one more column was compared.

    Parameters
    ----------
    records
        The records that share a group, out of those that did.
    group
        The group of each, numbered from 0.
    groups
        How many groups there are, with those of a single record.
    shared
        How many of them several records share.
    smallest
        The size of the smallest; 0 without any.
    """

    records: NDArray[np.int32]
    group: NDArray[np.int32]
    groups: int
    shared: int
    smallest: int


def refine(
    records: NDArray[np.int32], group: NDArray[np.int32], groups: int, codes: NDArray[np.int32], size: int
) -> Refined:
    """Cut groups of records by one more column.

    Parameters
    ----------
    records
        Records in ascending order.
    group
        The group of each, out of 0..groups-1.
    groups
        How many groups there are.
    codes
        The codes of all records, those that are not asked about as well, out of 0..size-1.
    size
        How many codes there are.

    Returns
    -------
    Refined
        O(records) expected.
    """
    return Refined(*_native.refine(records, group, groups, codes, size))


Arrays = tuple[NDArray[np.int64], NDArray[np.int32]]
"""Lists in a row, where each begins and all of them: the i-th is values[starts[i]:starts[i + 1]]."""


NO_OWNERS = np.empty(0, dtype=np.int32)


def given(owners: NDArray[np.int32] | None) -> NDArray[np.int32]:
    """Return the persons of records as the compiled core takes them; none if each has one record."""
    return NO_OWNERS if owners is None else np.ascontiguousarray(owners, dtype=np.int32)
