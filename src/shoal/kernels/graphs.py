"""Regular graphs: exchanges that lower their cost, and changes that make labels more diverse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native
from shoal.kernels.geometry import Geometry, given
from shoal.kernels.trees import BoxTree

LOOKS = 128
"""The number of near records that a row looks at."""


class Diversification:
    """Rows with the labels of one record each, and changes that make the labels around records more diverse.

    A record is violated if the labels of the rows that cover it are less diverse than required.

    Parameters
    ----------
    tree
        A tree over the records with room for those that a row is made to cover. It is changed from then on.
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
        tree: BoxTree,
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
            tree.native,
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
        """Repair each violated record by letting rows grow at the least cost; return how many grew.

        Other records may be violated afterwards. Returns 0 only if no record is violated, or if every row
        covers each of those who are.
        """
        return self._native.widen()

    def allow_wider(self) -> None:
        """Let rows cover twice as many records as before while another move helps."""
        self._native.allow_wider()

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


@dataclass(frozen=True, eq=False)
class Crowds:
    """The rows whose labels are looked at together.

    Parameters
    ----------
    starts, crowds, weights
        The rows of unit i count in the crowds ``crowds[starts[i]:starts[i + 1]]``, with these weights.
    around
        For each crowd a record whose rows are in it.
    """

    starts: NDArray[np.int64]
    crowds: NDArray[np.int32]
    weights: NDArray[np.float64]
    around: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Shares:
    """With which probability a row of a unit carries a record of a type: records of a type are equal.

    Parameters
    ----------
    type_of
        The type of each record.
    starts, units, shares
        Rows of the units ``units[starts[i]:starts[i + 1]]``, ascending, carry a single record of type i with
        these probabilities, each of their rows.
    """

    type_of: NDArray[np.int32]
    starts: NDArray[np.int64]
    units: NDArray[np.int32]
    shares: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DrawnColumn:
    """A sensitive column, and what its labels must be in each crowd.

    Parameters
    ----------
    labels
        The label of each record.
    frequency_l, distinct, entropy
        No label above a share of 1 / `frequency_l`, different labels, entropy of the labels in nats; 0 is no
        demand.
    own_starts, own
        If given, only the labels ``own[own_starts[i]:own_starts[i + 1]]`` count in crowd i; ascending.
    """

    labels: NDArray[np.int32]
    frequency_l: float = 0.0
    distinct: int = 0
    entropy: float = 0.0
    own_starts: NDArray[np.int64] | None = None
    own: NDArray[np.int32] | None = None


class DiverseDraw:
    """An assignment of records to rows that is changed at random until the labels of all crowds are diverse.

    See native/matching/diverse_draw.hpp for the distribution that is drawn from.

    Parameters
    ----------
    shares
        Which rows can carry which records, and with which probability they should.
    units
        The unit of each row, numbered from 0.
    crowds, columns
        The crowds, and what is asked of them.
    assignment
        The record of each row to start with.
    key
        Four random words that all random choices follow from.
    """

    def __init__(
        self,
        shares: Shares,
        units: NDArray[np.int32],
        crowds: Crowds,
        columns: Sequence[DrawnColumn],
        assignment: NDArray[np.int32],
        key: NDArray[np.uint64],
    ) -> None:
        self._native = _native.DiverseDraw(
            (shares.type_of, shares.starts, shares.units, shares.shares),
            units,
            crowds.starts,
            crowds.crowds,
            crowds.weights,
            crowds.around,
            [
                (
                    column.labels,
                    column.frequency_l,
                    column.distinct,
                    column.entropy,
                    np.empty(0, dtype=np.int64) if column.own_starts is None else column.own_starts,
                    given(column.own),
                )
                for column in columns
            ],
            assignment,
            key,
        )

    @property
    def violated(self) -> int:
        """Number of violated crowds."""
        return self._native.violated()

    @property
    def violated_crowds(self) -> NDArray[np.int32]:
        """The violated crowds."""
        return self._native.violated_crowds()

    @property
    def shortfall(self) -> float:
        """Total by which crowds miss the requirement: about the number of labels too many or too few."""
        return self._native.shortfall()

    def search(self, steps: int) -> int:
        """Change rows of violated crowds until none is left or `steps` are done; return `violated`."""
        return self._native.search(steps)

    def mix(self, steps: int, price: float) -> None:
        """Make `steps` random moves; crowds may be violated afterwards.

        An assignment with one row too many in a crowd is e^price times less likely than a valid one.
        """
        self._native.mix(steps, price)

    @property
    def assignment(self) -> NDArray[np.int32]:
        """The record of each row."""
        return self._native.record_of()


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

    def reassign(self, times: int, temperature: float = 0.0, most: int = 1) -> int:
        """Let all rows give away records and reassign these at the least cost; return the number of moves.

        Parameters
        ----------
        times, temperature
            As for every graph.
        most
            The maximum number of records that a row gives away together, at most half of its own. Half of the
            times, all rows give away a single one, and otherwise the same number of similar ones.
        """
        return self._refinement.reassign(times, temperature, most)

    def exchange(self, foresight: float = 0.0, looks: int = LOOKS) -> int:
        """Let each row try to exchange each of its records with another row; return the number of exchanges.

        Parameters
        ----------
        foresight
            Weight, from 0 to 1, of the cost of a row without its outermost records. With 0, each exchange
            lowers the cost; with more, the cost may rise at first and fall further later.
        looks
            The number of near records that each row looks at, for all of its records together.
        """
        return self._refinement.exchange(foresight, looks)
