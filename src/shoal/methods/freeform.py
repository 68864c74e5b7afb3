"""Freeform k-anonymity (Doka et al. 2015): a regular graph of who hides in whose row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.measures.geometry import geometry
from shoal.methods.contract import Circumstances
from shoal.methods.feasibility import require_feasible
from shoal.models import Freeform
from shoal.recoding import Recoding
from shoal.table import Table

EFFORTS = ("fast", "balanced")
MOST_SWEEPS = 20
WORTHWHILE = 5e-4
"""Exchanges end when a sweep saves less than this share."""


def sort_greedy(
    table: Table, model: Freeform, circumstances: Circumstances, /, *, effort: str = "balanced"
) -> Recoding:
    """Return rows that grow by one record in each of k - 1 rounds, cheapest pair of row and record first.

    SortGreedy (Algorithm 2) without its list of n^2 edges: the box tree finds the cheapest row for a record,
    and deferred acceptance the order of all pairs. Equal records take each other in first, for nothing.
    About O(k n log n) as long as the tree can leave out most rows. Unless `effort` is ``fast``, rows then
    exchange records as long as that pays.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    effort
        ``fast`` (the paper's algorithm, deterministic) or ``balanced``.
    """
    if effort not in EFFORTS:
        raise InputError(
            f"effort {effort!r} is unknown{did_you_mean(effort, EFFORTS)}; it is one of {listing(EFFORTS)}",
            reason=Reason.PARAMETER,
        )
    require_feasible(table, model)
    tree = kernels.BoxTree(table.codes, geometry(table), model.k)
    copies = _Copies(table.codes[tree.order])
    places = np.arange(len(table))
    for turn in range(1, model.k):
        circumstances.progress("letting rows take in records", (turn - 1) / (model.k - 1))
        settled = copies.pairs(turn)
        others = np.setdiff1d(places, settled[0], assume_unique=True)
        tree.add(tree.match_cheapest_first(others, others, settled), places)
    circumstances.progress("letting rows take in records", 1.0)
    graph = np.empty((len(table), model.k), dtype=np.int32)
    graph[tree.order] = tree.order[tree.members()]
    if effort == "balanced":
        graph = refined(table, graph, circumstances)
    return Recoding.of_graph(table, graph)


def refined(table: Table, graph: NDArray[np.int32], circumstances: Circumstances) -> NDArray[np.int32]:
    """Return a graph in which no exchange of records between two rows that was tried saves anything more.

    Parameters
    ----------
    table
        The table.
    graph
        The records of each row, a regular and simple graph; so is the one that is returned.
    circumstances
        The source of random choices, and whom to tell how far the work is.
    """
    refinement = kernels.Refinement(table.codes, geometry(table), graph, circumstances.randomness.words(4))
    for sweep in range(MOST_SWEEPS):
        circumstances.progress("exchanging records", sweep / MOST_SWEEPS)
        before = refinement.cost
        if refinement.sweep() == 0 or before - refinement.cost < WORTHWHILE * before:
            break
    circumstances.progress("exchanging records", 1.0)
    return refinement.graph


class _Copies:
    """Equal records: as long as a record has a copy it is not paired with yet, that one costs nothing."""

    def __init__(self, codes: NDArray[np.int32]) -> None:
        self._type, _ = kernels.group_rows(codes)
        self._size = np.bincount(self._type)
        self._by_type = np.argsort(self._type, kind="stable")
        self._start = np.cumsum(self._size) - self._size
        self._number = np.empty(len(codes), dtype=np.int64)
        self._number[self._by_type] = np.arange(len(codes)) - self._start[self._type[self._by_type]]

    def pairs(self, turn: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the records with more than `turn` copies, and for each the box of its turn-th next copy."""
        records = np.flatnonzero(self._size[self._type] > turn)
        kind = self._type[records]
        boxes = self._by_type[self._start[kind] + (self._number[records] + turn) % self._size[kind]]
        return records, boxes
