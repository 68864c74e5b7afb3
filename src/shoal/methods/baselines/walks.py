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
        The record of each row. Every edge is in exactly one of the k assignments, of which one is drawn.
        O(k^2 n^2) at worst.
    """
    which = randomness.below(graph.shape[1])
    return baselines.closed_walk(graph, which, randomness.words(4)).assignment
