"""Kernels that only baselines use: algorithms from the literature, for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.base.ragged import Subsets
from shoal.kernels import _native
from shoal.kernels.assignments import Walked
from shoal.kernels.geometry import Geometry
from shoal.kernels.itemsets import spec_of


class Agglomeration:
    """Clusters of records, of which the two closest are merged repeatedly; one of k records is a class.

    Parameters
    ----------
    codes
        One row for each distinct record.
    copies
        Number of copies of each.
    attributes
        What it costs to cover several codes.
    k
        Number of records of a class, at most all. A larger cluster expels the most distant records.
    counts
        For each attribute, the number of records with each code, to measure cost by entropy instead of
        `attributes`; empty for these.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        copies: NDArray[np.integer[Any]],
        attributes: Sequence[Geometry],
        k: int,
        counts: Sequence[NDArray[np.integer[Any]]] = (),
    ) -> None:
        self._agglomeration = _native.Agglomeration(
            codes, copies.astype(np.int32), attributes, _floats(counts), k
        )

    def advance(self, pairs: int) -> int:
        """Merge up to a number of pairs; return the number of records in classes, in the end all.

        At the end, fewer than k records are left and join the classes where they cost least.
        """
        return self._agglomeration.advance(pairs)

    @property
    def classes(self) -> NDArray[np.int32]:
        """The class of each copy of the first record, then of the second, ...; once all are in classes."""
        return self._agglomeration.classes()


def forest(
    codes: NDArray[np.int32],
    copies: NDArray[np.integer[Any]],
    attributes: Sequence[Geometry],
    k: int,
    counts: Sequence[NDArray[np.integer[Any]]] = (),
) -> NDArray[np.int32]:
    """Link each tree of fewer than k records to the nearest one outside; cut trees into classes.

    Parameters
    ----------
    codes, copies, attributes, k, counts
        As for `Agglomeration`.

    Returns
    -------
    NDArray
        The class of each copy of the first record, then of the second, ... Classes have k to
        max(2k - 1, 3k - 5) records, or rarely up to 3k - 3.
    """
    return _native.forest(codes, copies.astype(np.int32), attributes, _floats(counts), k)


def unify(
    codes: NDArray[np.int32],
    class_of: NDArray[np.int32],
    attributes: Sequence[Geometry],
    sensitive: Sequence[tuple[NDArray[np.int32], int]],
    *,
    diversity: float,
    weight: float,
    counts: Sequence[NDArray[np.integer[Any]]] = (),
) -> NDArray[np.int32]:
    """Unite classes, the least diverse first, until in each no label has a share above 1 / `diversity`.

    Parameters
    ----------
    codes
        One row for each record.
    class_of
        The class of each, numbered 0, 1, 2, ...
    attributes, counts
        As for `Agglomeration`.
    sensitive
        Codes and number of different values of each sensitive column.
    diversity
        Records per record of the most frequent label, in each class and column.
    weight
        How much the loss of uniting two classes counts, from 0 to 1; the rest is for what diversity the
        united class lacks.

    Returns
    -------
    NDArray
        The class of each record, numbered 0, 1, 2, ...; all are one class if nothing less is diverse.
    """
    return _native.unify(codes, class_of, attributes, _floats(counts), sensitive, diversity, weight)


def greedy_extraction(
    sets: Subsets,
    order: NDArray[np.integer[Any]],
    labels: NDArray[np.integer[Any]],
    starts: Sequence[NDArray[np.integer[Any]]],
    most: int,
) -> NDArray[np.int32] | None:
    """Extract disjoint assignments from the complete graph greedily, as Xue et al. 2012 do in Section 4.4.

    Parameters
    ----------
    sets, labels
        The records and the label of each.
    order
        In which near records stand together.
    starts
        For each assignment all records, in the order in which walks begin at them. No record is matched twice
        with a row of a record that has the same label.
    most
        Maximum number of steps of walks.

    Returns
    -------
    NDArray or None
        The records of each row. None if a walk could not continue, or there were too many steps.
    """
    stacked = np.stack([records.astype(np.int32) for records in starts])
    members = _native.greedy_extraction(
        spec_of(sets), order.astype(np.int32), labels.astype(np.int32), stacked, most
    )
    return members.reshape(-1, len(stacked)) if len(members) else None


def cahd(
    sets: Subsets,
    order: NDArray[np.integer[Any]],
    labels: NDArray[np.integer[Any]],
    size: int,
    reach: int,
) -> NDArray[np.int32]:
    """Return the group of each record, made as CAHD does it (Ghinita, Kalnis and Tao 2011).

    Parameters
    ----------
    sets, labels
        The records and the label of each.
    order
        In which near records stand together.
    size
        Records of a group, and different labels in it; the last group takes in all that are left.
    reach
        Number of free records with other labels to consider on either side.
    """
    different = int(labels.max()) + 1
    return _native.cahd(
        spec_of(sets), order.astype(np.int32), labels.astype(np.int32), different, size, reach
    )


def backtracking_walk(
    members: NDArray[np.int32], which: int, key: NDArray[np.uint64], *, seconds: float = 0.0
) -> Walked:
    """Return one of the assignments that `walk` finds, by walks that never visit a record twice.

    A walk that cannot continue takes a step back (Wong, Mamoulis and Cheung 2010). O(k n^2) at worst.

    Parameters
    ----------
    members, which, key
        As for `walk`.
    seconds
        Time limit; 0 for none.
    """
    return Walked(*_native.backtracking_walk(members, which, key, seconds))


def closed_walk(members: NDArray[np.int32], which: int, key: NDArray[np.uint64]) -> Walked:
    """Return one of the assignments that closed walks find as printed (Xue et al. 2012, Algorithm 1).

    A walk prefers rows that it has not visited, and ends only where it began. O(k n^2) at worst.

    Parameters
    ----------
    members, which, key
        As for `walk`.
    """
    return Walked(*_native.closed_walk(members, which, key))


def _floats(arrays: Sequence[NDArray[np.integer[Any]]]) -> list[NDArray[np.float64]]:
    """Return counts as native code takes them."""
    return [np.ascontiguousarray(array, dtype=np.float64) for array in arrays]
