"""Efforts for regular graphs: rows exchange records while this reduces the loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import BoxTree, Geometry, Refinement
from shoal.measures.geometry import geometry
from shoal.methods.method import Circumstances
from shoal.table import Table

MOST_SWEEPS = 13
"""Maximum number of sweeps without foresight."""

PER_CUT = 5
"""Number of reassignments before the rows are cut into other parts."""

COOLED = 0.95
"""The share of the last reassignments in which costs have noise."""


@dataclass(frozen=True)
class Exchanges:
    """What is done beyond the algorithms of the paper.

    Parameters
    ----------
    growing
        The foresight of each sweep of exchanges while rows grow.
    foresight
        The foresight of the first sweeps of exchanges over complete rows; later ones have none.
    reassignments
        Number of reassignments while rows grow: all rows give away one record, and these are reassigned.
    last
        Number of reassignments when rows are complete, with random noise in costs that decreases to 0.
    looks
        The number of near records that each row looks at, for all of its records together.
    worthwhile
        Exchanges without foresight end when a sweep saves less than this share, or after `MOST_SWEEPS`.
    pieces
        Whether rows that grow take in whole rows where this is possible, instead of single records.
    halved
        With a larger k, rows are made from rows for half of k; 0 if they always grow.
    between
        The foresight of each sweep of exchanges over rows that were made from halves and will be halves
        themselves.
    heat
        Random noise in costs when the last reassignments begin, as a share of what a row costs for each of
        its records; less if there are too few of them for rows of many records to settle again.
    together
        The maximum number of records that each row gives away at once in the last reassignments.
    """

    growing: tuple[float, ...]
    foresight: tuple[float, ...]
    reassignments: int
    last: int
    looks: int = 128
    worthwhile: float = 5e-4
    pieces: bool = False
    halved: int = 0
    between: tuple[float, ...] = ()
    heat: float = 0.6
    together: int = 1


BALANCED = Exchanges((0.5, 0.25), (0.6, 0.6, 0.4, 0.4, 0.2, 0.2, 0.1), 0, 0)
BEST = Exchanges(
    (0.6, 0.4, 0.2, 0.1),
    tuple(np.repeat((0.8, 0.6, 0.45, 0.3, 0.2, 0.1), 3).tolist()),
    10,
    200,
    looks=160,
)
EXCHANGES: dict[str, Exchanges | None] = {"fast": None, "balanced": BALANCED, "best": BEST}


class Refiner:
    """Improves graphs over the same records; records with near numbers should be near each other.

    Parameters
    ----------
    codes, attributes
        The records, and what it costs to cover several codes.
    effort
        The effort.
    circumstances
        The source of random choices, and the callback for progress.
    owners
        The person of each record, if persons have several.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        attributes: list[Geometry],
        effort: Exchanges,
        circumstances: Circumstances,
        owners: NDArray[np.int32] | None = None,
    ) -> None:
        self._owners = owners
        self._codes = codes
        self._attributes = attributes
        self._effort = effort
        self._circumstances = circumstances

    def while_growing(self, graph: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return a better graph for rows that will grow further, near rows together."""
        refinement = self._refinement(graph)
        for foresight in self._effort.growing:
            refinement.exchange(foresight, self._effort.looks)
        if self._effort.reassignments:
            refinement.reassign(self._effort.reassignments)
        return rows_in_order(refinement.graph)

    def between(self, graph: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return a better graph for rows that will be part of larger ones."""
        refinement = self._refinement(graph)
        for foresight in self._effort.between:
            refinement.exchange(foresight, self._effort.looks)
        return refinement.graph

    def at_last(self, graph: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return a graph that costs no more, after all exchanges and reassignments of the effort."""
        refinement = self._refinement(graph)
        progress = self._circumstances.progress
        least, best = refinement.cost, graph
        looking_ahead = self._effort.foresight
        most = len(looking_ahead) + MOST_SWEEPS
        for sweep, foresight in enumerate(looking_ahead):
            progress("exchanging records", sweep / most)
            refinement.exchange(foresight, self._effort.looks)
        for sweep in range(len(looking_ahead), most):
            progress("exchanging records", sweep / most)
            before = refinement.cost
            if (
                refinement.exchange(0.0, self._effort.looks) == 0
                or before - refinement.cost < self._effort.worthwhile * before
            ):
                break
        progress("exchanging records", 1.0)
        if refinement.cost < least:
            least, best = refinement.cost, refinement.graph
        settling = min(1.0, self._effort.last / (20 * graph.shape[1]))
        heat = self._effort.heat * settling * refinement.cost / graph.size
        for done in range(0, self._effort.last, PER_CUT):
            share = done / self._effort.last
            progress("reassigning records", share)
            refinement.reassign(PER_CUT, heat * max(0.0, 1 - share / COOLED), self._effort.together)
        if self._effort.last:
            progress("reassigning records", 1.0)
        return refinement.graph if refinement.cost < least else best

    def _refinement(self, graph: NDArray[np.int32]) -> Refinement:
        key = self._circumstances.randomness.words(4)
        return Refinement(self._codes, self._attributes, rows_in_order(graph), key, self._owners)


def rows_in_order(graph: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows ordered by the median of their records, so that near rows are together."""
    middle = graph.shape[1] // 2
    return graph[np.argsort(np.partition(graph, middle, axis=1)[:, middle], kind="stable")]


def refined(
    table: Table, graph: NDArray[np.int32], effort: Exchanges | None, circumstances: Circumstances
) -> NDArray[np.int32]:
    """Return a graph that costs no more, or the same one without an effort.

    Parameters
    ----------
    table
        The table.
    graph
        The records of each row: a regular and simple graph, as is the result.
    effort
        The effort.
    circumstances
        The source of random choices, and the callback for progress.
    """
    if effort is None:
        return graph
    order, place = order_of_records(BoxTree(table.codes, geometry(table), 1))
    codes = np.ascontiguousarray(table.codes[order])
    owners = None if table.owners is None else table.owners[order]
    refiner = Refiner(codes, geometry(table), effort, circumstances, owners)
    return order[refiner.at_last(place[graph])]


def order_of_records(tree: BoxTree) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the records in the order of a tree over them, near records together, and the place of each."""
    order = tree.order
    place = np.empty_like(order)
    place[order] = np.arange(len(order), dtype=order.dtype)
    return order, place


def cost_of(table: Table, graph: NDArray[np.int32]) -> float:
    """Return what all rows of a regular graph cost together."""
    unused = np.zeros(4, dtype=np.uint64)  # nothing is drawn
    return Refinement(table.codes, geometry(table), graph, unused).cost
