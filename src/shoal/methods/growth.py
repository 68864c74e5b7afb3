"""Rows that grow by one record a round: the shell that Greedy and SortGreedy share (Doka et al. 2015)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import BoxTree, Matching
from shoal.measures.geometry import geometry
from shoal.methods.contract import Circumstances
from shoal.methods.copies import Copies
from shoal.table import Table

Round = Callable[[BoxTree, tuple[NDArray[np.int64], NDArray[np.int64]]], Matching]
"""Matches all records of a tree with its boxes, given records and boxes that are equal to each other."""


@dataclass(frozen=True, eq=False)
class Growth:
    """How rows grew.

    Parameters
    ----------
    graph
        The records of each row in the order in which they joined, its own first.
    exchanged
        Whether a record joined by an exchange at a dead end, in the shape of the graph.
    dead_ends
        How many records found only rows that had them already, in each round.
    """

    graph: NDArray[np.int32]
    exchanged: NDArray[np.bool_]
    dead_ends: tuple[int, ...]


def grow(table: Table, k: int, circumstances: Circumstances, match: Round) -> Growth:
    """Let each row take in one record in each of k - 1 rounds, as `match` decides."""
    n = len(table)
    tree = BoxTree(table.codes, geometry(table), k)
    copies = Copies(table.codes[tree.order])
    exchanged = np.zeros((n, k), dtype=np.bool_)
    dead_ends = []
    for turn in range(1, k):
        circumstances.progress("letting rows take in records", (turn - 1) / (k - 1))
        matching = match(tree, copies.pairs(turn))
        tree.add(matching.box_of, np.arange(n))
        exchanged[tree.order[matching.box_of[matching.exchanged]], turn] = True
        dead_ends.append(matching.dead_ends)
    circumstances.progress("letting rows take in records", 1.0)
    graph = np.empty((n, k), dtype=np.int32)
    graph[tree.order] = tree.order[tree.members()]
    return Growth(graph, exchanged, tuple(dead_ends))
