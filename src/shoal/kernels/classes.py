"""Equivalence classes: Mondrian, cuts of an order, and moves between classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native
from shoal.kernels.geometry import Geometry


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
        How many records a class has at least.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        attributes: Sequence[Geometry],
        class_of: NDArray[np.integer[Any]],
        k: int,
    ) -> None:
        self._classes = _native.Classes(codes, attributes, class_of.astype(np.int32), k)

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


def cut(codes: NDArray[np.int32], attributes: Sequence[Geometry], k: int) -> NDArray[np.int32]:
    """Cut a row of at least k records into classes of k to 2 k - 1 neighbours that cost least together.

    Parameters
    ----------
    codes
        One row for each record, in order.
    attributes
        What it costs to cover several codes.
    k
        How many records a class has at least.

    Returns
    -------
    NDArray
        Where each class begins. No other cuts of this order cost less; O(records x k).
    """
    return _native.cut(codes, attributes, k)


def mondrian(
    codes: NDArray[np.int32],
    attributes: Sequence[Geometry],
    sensitive: Sequence[tuple[NDArray[np.int32], int]],
    *,
    k: int,
    frequency_l: float = 0.0,
    distinct: int = 0,
    entropy: float = 0.0,
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
    relaxed
        Whether records with the same value may be divided.

    Returns
    -------
    NDArray
        The class of each record, numbered 0, 1, 2, ...
    """
    return _native.mondrian(codes, attributes, sensitive, k, frequency_l, distinct, entropy, relaxed)
