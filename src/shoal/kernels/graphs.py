"""Regular graphs: exchanges that lower their cost, and changes that make labels more varied."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native
from shoal.kernels.geometry import Geometry


class Diversification:
    """Rows that cover records and carry the labels of one each, and changes that make labels more varied.

    A record is violated if the labels of the rows that cover it are not as varied as is asked.

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
    ) -> None:
        self._native = _native.Diversification(
            codes,
            attributes,
            graph,
            sensitive,
            frequency_l,
            distinct,
            entropy,
            assignment,
            widest,
        )

    @property
    def violated(self) -> int:
        """How many records are."""
        return self._native.violated()

    @property
    def shortfall(self) -> float:
        """By how much, all equal records together: about how many labels too many or too few there are."""
        return self._native.shortfall()

    def swap(self) -> int:
        """Let rows that cover both their records swap them where that mends something; return how many did.

        Each swap lowers the shortfall.
        """
        return self._native.swap()

    def widen(self) -> int:
        """Mend each violated record by letting rows grow, as cheaply as that goes; return how many grew.

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
    """A regular graph of rows and the records they cover, all of which can be assigned anew.

    Parameters
    ----------
    native
        The graph in the compiled core.
    shape
        Its rows, and how many records each covers.
    """

    def __init__(self, native: _native.Refinement | _native.SetGraph, shape: tuple[int, ...]) -> None:
        self._native, self._shape = native, shape

    def reassign(self, times: int, temperature: float = 0.0) -> int:
        """Let all rows give away a record and assign these anew at the least cost; return how many moved.

        Parameters
        ----------
        times
            How often.
        temperature
            How much costs are blurred. Above zero, the graph may cost more afterwards: so it leaves local
            minima.
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
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        attributes: Sequence[Geometry],
        graph: NDArray[np.int32],
        key: NDArray[np.uint64],
    ) -> None:
        self._refinement = _native.Refinement(codes, attributes, graph, key)
        super().__init__(self._refinement, graph.shape)

    def exchange(self, foresight: float = 0.0) -> int:
        """Let each row try to exchange each of its records with another row; return how often two did.

        Parameters
        ----------
        foresight
            How much it counts what would become of a row without its outermost records, from 0 to 1. With 0,
            each exchange lowers the cost; with more, the cost may rise at first and fall further then.
        """
        return self._refinement.exchange(foresight)
