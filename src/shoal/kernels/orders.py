"""Orders of records in which neighbours are similar: chains and rings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native
from shoal.kernels.geometry import Geometry


class Ring:
    """A cyclic order of distinct records, and moves that lower the cost of its windows of k neighbours.

    Parameters
    ----------
    codes
        One row for each distinct record, in the order in which they stand at first.
    copies
        Number of copies of each; they stay together.
    attributes
        What it costs to cover several codes.
    k
        How many neighbours are a window; at least 2, and there are as many records.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        copies: NDArray[np.integer[Any]],
        attributes: Sequence[Geometry],
        k: int,
    ) -> None:
        self._ring = _native.Ring(codes, copies.astype(np.int32), attributes, k)

    @property
    def cost(self) -> float:
        """The cost of all windows together."""
        return self._ring.cost()

    @property
    def order(self) -> NDArray[np.int32]:
        """The distinct records as they stand, from the first of all."""
        return self._ring.order()

    def sweep(self) -> int:
        """Move each record to where it costs least, nearby or, if it is expensive, anywhere, on all cores.

        Returns how many moved. Each move lowers the cost; records around which nothing changed since the last
        sweep are left alone.
        """
        return self._ring.sweep()


def chain(
    codes: NDArray[np.int32],
    copies: NDArray[np.integer[Any]],
    elsewhere: NDArray[np.float64],
    attributes: Sequence[Geometry],
    k: int,
) -> NDArray[np.int32]:
    """Order distinct records so that each is the one that costs least next to those before it.

    Parameters
    ----------
    codes
        One row for each distinct record.
    copies
        Number of copies of each; they stay together.
    elsewhere
        What each is expected to cost elsewhere; it is taken off its cost.
    attributes
        What it costs to cover several codes.
    k
        Cost is what a record adds to the last record, the last two, ..., the last k - 1, all summed.

    Returns
    -------
    NDArray
        The numbers of the records, in order.
    """
    return _native.chain(
        codes,
        copies.astype(np.int32),
        elsewhere,
        attributes,
        k,
    )
