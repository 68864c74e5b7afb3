"""Freeform k-anonymity (Doka et al. 2015): a regular graph of who hides in whose row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.measures.geometry import geometry
from shoal.methods.contract import Circumstances
from shoal.methods.feasibility import require_feasible
from shoal.methods.growth import grow
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
    require_effort(effort)
    require_feasible(table, model)
    graph = grow(table, model.k, circumstances, cheapest_first).graph
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
        if refinement.exchange() == 0 or before - refinement.cost < WORTHWHILE * before:
            break
    circumstances.progress("exchanging records", 1.0)
    return refinement.graph


def require_effort(effort: str) -> None:
    """Refuse an effort that there is not.

    Raises
    ------
    InputError
        If it is unknown; the message names those there are.
    """
    if effort not in EFFORTS:
        raise InputError(
            f"effort {effort!r} is unknown{did_you_mean(effort, EFFORTS)}; it is one of {listing(EFFORTS)}",
            reason=Reason.PARAMETER,
        )


def cheapest_first(
    tree: kernels.BoxTree, copies: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> kernels.Matching:
    """Match records and boxes, equal ones beforehand, then the cheapest pair first."""
    others = np.setdiff1d(np.arange(len(tree.order)), copies[0], assume_unique=True)
    return tree.match_cheapest_first(others, others, copies)
