"""Baselines for the draw of the record of each row: walks that backtrack, and closed walks as printed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.base.randomness import Randomness
from shoal.kernels import baselines


def backtracking_assignment(graph: NDArray[np.int32], randomness: Randomness) -> NDArray[np.int32]:
    """Draw an assignment with the probabilities of `random_assignment`, by walks that backtrack.

    Parameters
    ----------
    graph, randomness
        As for `shoal.recoding.assignment.random_assignment`.

    Returns
    -------
    NDArray
        The record of each row. A walk never visits a record twice and takes a step back where it cannot
        continue (Wong, Mamoulis and Cheung 2010). O(k^2 n^2) at worst.
    """
    which = randomness.below(graph.shape[1])
    return baselines.backtracking_walk(graph, which, randomness.words(4)).assignment


def closed_walk_assignment(graph: NDArray[np.int32], randomness: Randomness) -> NDArray[np.int32]:
    """Draw one of k disjoint assignments, found by closed walks as printed (Xue et al. 2012, Algorithm 1).

    Parameters
    ----------
    graph, randomness
        As for `shoal.recoding.assignment.random_assignment`.

    Returns
    -------
    NDArray
        The record of each row. Every edge is in exactly one of the k assignments, of which one is drawn. In
        plain Python, for comparison.
    """
    return closed_walk_assignments(graph, randomness)[randomness.below(graph.shape[1])]


def closed_walk_assignments(graph: NDArray[np.int32], randomness: Randomness) -> list[NDArray[np.int32]]:
    """Return k disjoint assignments by closed walks as printed; each is the record of each row."""
    n, k = graph.shape
    hops: list[set[int]] = [set() for _ in range(n)]  # the rows to which each record still has an edge
    for row, records in enumerate(graph.tolist()):
        for record in records:
            hops[record].add(row)
    assignments = []
    for _ in range(k):
        row_of, record_of = list(range(n)), list(range(n))  # line 1; not all of these are edges
        matched = [False] * n
        for start in randomness.permutation(n).tolist():  # lines 3 and 5: one that is left, at random
            if matched[start]:
                continue
            child = closed_walk(start, hops, row_of, record_of, matched, randomness)
            cycle = [start]
            while child[cycle[-1]] != start:
                cycle.append(child[cycle[-1]])
            holders = [record_of[row] for row in cycle]
            for record, row in zip(holders, [*cycle[1:], start], strict=True):  # line 13
                row_of[record], record_of[row] = row, record
                matched[record] = True
        for record, row in enumerate(row_of):
            hops[record].remove(row)
        assignments.append(np.array(record_of, dtype=np.int32))
    return assignments


def closed_walk(
    start: int,
    hops: list[set[int]],
    row_of: list[int],
    record_of: list[int],
    matched: list[bool],
    randomness: Randomness,
) -> dict[int, int]:
    """Return the row that followed each row last on a walk from a row back to it (lines 4 to 12)."""
    child: dict[int, int] = {}
    traversed: dict[int, set[int]] = {}
    row = start
    while True:
        record = record_of[row]
        gone = traversed.setdefault(record, set())
        # What is matched in this round is a loop from a node to itself, and leads nowhere.
        possible = sorted(hops[record] - gone - ({row_of[record]} if matched[record] else set()))
        unvisited = [each for each in possible if each == start or (each not in child and each != row)]
        choices = unvisited or possible
        chosen = choices[randomness.below(len(choices))]
        gone.add(chosen)
        child[row] = chosen
        if chosen == start:
            return child
        row = chosen
