"""Equivalence classes: Mondrian, cuts of an order, and moves between classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native
from shoal.kernels.geometry import Geometry, given


class ClassMoves:
    """Classes of at least k records, and moves between them that lower their cost.

    Parameters
    ----------
    codes, attributes
        The records, and what it costs to cover several codes.
    class_of
        The class of each record, numbered 0, 1, 2, ...; near classes should have near numbers, or the search
        takes long.
    k
        Minimum number of records of a class.
    owners
        The person of each record, if persons have several: no record comes to a class that has another one of
        its person, and a class that has several of one person is left as it is.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        attributes: Sequence[Geometry],
        class_of: NDArray[np.integer[Any]],
        k: int,
        owners: NDArray[np.int32] | None = None,
    ) -> None:
        self._classes = _native.Classes(codes, attributes, class_of.astype(np.int32), k, given(owners))

    @property
    def cost(self) -> float:
        """The cost of all classes, each times its size."""
        return self._classes.cost()

    @property
    def class_of(self) -> NDArray[np.int32]:
        """The class of each record."""
        return self._classes.class_of()

    def sweep(self) -> int:
        """Let each record go to another class, or change places with a record there, if that saves anything.

        Returns how many did. Each lowers the cost; only the few classes that suit a record are looked at.
        """
        return self._classes.sweep()


def spaced(owners: NDArray[np.int32], gap: int) -> NDArray[np.int32]:
    """Put records into an order in which those of one person are at least `gap` places apart.

    Parameters
    ----------
    owners
        The person of each record, in an order in which neighbours are similar.
    gap
        How far apart. A record that comes too soon waits, and is the next as soon as it may be.

    Returns
    -------
    NDArray
        The places of the records in the given order. Those that wait to the end are left out. O(n log n).
    """
    return _native.spaced(given(owners), gap)


def cut(
    codes: NDArray[np.int32],
    attributes: Sequence[Geometry],
    k: int,
    owners: NDArray[np.int32] | None = None,
) -> NDArray[np.int32]:
    """Cut a row of at least k records into classes of k to 2 k - 1 neighbours that cost least together.

    Parameters
    ----------
    codes
        One row for each record, in order.
    attributes
        What it costs to cover several codes.
    k
        Minimum number of records of a class.
    owners
        The person of each record, if persons have several: no class has two records of one.

    Returns
    -------
    NDArray
        Where each class begins. No other cuts of this order cost less; O(records x k). Empty if there are
        none without two records of a person in a class.
    """
    return _native.cut(codes, attributes, k, given(owners))


def mondrian(
    codes: NDArray[np.int32],
    attributes: Sequence[Geometry],
    sensitive: Sequence[tuple[NDArray[np.int32], int]],
    *,
    k: int,
    frequency_l: float = 0.0,
    distinct: int = 0,
    entropy: float = 0.0,
    owners: NDArray[np.int32] | None = None,
    relaxed: bool = False,
) -> NDArray[np.int32]:
    """Cut a table into classes of at least k neighbouring records, on all cores.

    Parameters
    ----------
    codes
        One row for each record, one column for each attribute.
    attributes
        What it costs to cover several codes.
    sensitive
        Codes and number of different values of each sensitive column.
    k, frequency_l, distinct, entropy
        What each class must have: records, no sensitive value above a share of 1 / `frequency_l`, different
        sensitive values, entropy of the sensitive values in nats. 0 is no demand.
    owners
        The person of each record, if persons have several: none has more than 1 / k of the records of a
        class.
    relaxed
        Whether records with the same value may be divided.

    Returns
    -------
    NDArray
        The class of each record, numbered 0, 1, 2, ...
    """
    whose = given(owners)
    persons = int(whose.max()) + 1 if len(whose) else 0
    return _native.mondrian(
        codes, attributes, sensitive, k, frequency_l, distinct, entropy, whose, persons, relaxed
    )
