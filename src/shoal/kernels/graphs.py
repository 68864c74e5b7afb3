"""Regular graphs: exchanges that lower their cost, and changes that make labels more varied."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native
from shoal.kernels.geometry import Geometry, given

LOOKS = 64
"""The number of near records that a record may be exchanged for."""


class Diversification:
    """Rows with the labels of one record each, and changes that make the labels around records more varied.

    A record is violated if the labels of the rows that cover it are less varied than required.

    Parameters
    ----------
    codes, attributes
        The records, and what it costs to cover several codes.
    graph
        The records that each row is made to cover; equally many for each row.
    sensitive
        Labels and number of different ones of each sensitive column.
    assignment
        The record of each row whose labels it carries; the row covers it.
    frequency_l, distinct, entropy
        What the rows that cover a record must have: no label above a share of 1 / `frequency_l`, different
        labels, entropy of the labels in nats. 0 is no demand.
    widest
        No row grows beyond this many records, unless nothing else helps.
    owners, least
        The person of each record, if persons have several: of the rows that cover a record of hers, at most a
        share of 1 / `least` must carry records of hers.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        attributes: Sequence[Geometry],
        graph: NDArray[np.int32],
        sensitive: Sequence[tuple[NDArray[np.int32], int]],
        assignment: NDArray[np.int32],
        *,
        frequency_l: float = 0.0,
        distinct: int = 0,
        entropy: float = 0.0,
        widest: int,
        owners: NDArray[np.int32] | None = None,
        least: float = 0.0,
    ) -> None:
        self._native = _native.Diversification(
            codes,
            attributes,
            graph,
            sensitive,
            frequency_l,
            distinct,
            entropy,
            given(owners),
            least,
            assignment,
            widest,
        )

    @property
    def violated(self) -> int:
        """Number of violated records."""
        return self._native.violated()

    @property
    def shortfall(self) -> float:
        """Total shortfall: about the number of labels too many or too few, equal records counted once."""
        return self._native.shortfall()

    def swap(self) -> int:
        """Let rows that cover both their records swap them where this helps; return the number of swaps.

        Each swap lowers the shortfall.
        """
        return self._native.swap()

    def widen(self) -> int:
        """Mend each violated record by letting rows grow at the least cost; return how many grew.

        Other records may be violated afterwards. Returns 0 only if no record is violated, or if every row
        covers each of those who are.
        """
        return self._native.widen()

    def grow(self, rows: NDArray[np.int32], records: NDArray[np.int32]) -> None:
        """Let each of some rows grow around a record."""
        self._native.grow(rows, records)

    @property
    def assignment(self) -> NDArray[np.int32]:
        """The record of each row."""
        return self._native.record_of()

    @property
    def grown(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Rows that grew, and around which records."""
        return self._native.grown()


class Reassignable:
    """A regular graph of rows and the records they cover, which can be reassigned.

    Parameters
    ----------
    native
        The graph in the compiled core.
    shape
        Number of rows, and of records in each.
    """

    def __init__(self, native: _native.Refinement | _native.SetGraph, shape: tuple[int, ...]) -> None:
        self._native, self._shape = native, shape

    def reassign(self, times: int, temperature: float = 0.0) -> int:
        """Let all rows give away a record and reassign these at the least cost; return the number of moves.

        Parameters
        ----------
        times
            Number of reassignments.
        temperature
            Random noise in costs. Above zero, the graph may cost more afterwards, and so leave a local
            minimum.
        """
        return self._native.reassign(times, temperature)

    @property
    def cost(self) -> float:
        """The cost of all rows together."""
        return self._native.cost()

    @property
    def graph(self) -> NDArray[np.int32]:
        """The records of each row."""
        return self._native.members().reshape(self._shape)


class Refinement(Reassignable):
    """A regular graph of rows and the records they cover, and exchanges that lower its cost.

    Parameters
    ----------
    codes, attributes
        The records, and what it costs to cover several codes.
    graph
        The records of each row; every record is in as many rows as rows have records.
    key
        Four random words that all random choices follow from.
    owners
        The person of each record, if persons have several; no row has two records of one, and none will.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        attributes: Sequence[Geometry],
        graph: NDArray[np.int32],
        key: NDArray[np.uint64],
        owners: NDArray[np.int32] | None = None,
    ) -> None:
        self._refinement = _native.Refinement(codes, attributes, graph, key, given(owners))
        super().__init__(self._refinement, graph.shape)

    def exchange(self, foresight: float = 0.0, looks: int = LOOKS) -> int:
        """Let each row try to exchange each of its records with another row; return the number of exchanges.

        Parameters
        ----------
        foresight
            Weight, from 0 to 1, of the cost of a row without its outermost records. With 0, each exchange
            lowers the cost; with more, the cost may rise at first and fall further later.
        looks
            The number of near records that each record may be exchanged for.
        """
        return self._refinement.exchange(foresight, looks)
