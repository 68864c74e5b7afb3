"""Random assignments of records to the rows that cover them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.base.randomness import Randomness


def random_assignment(graph: NDArray[np.int32], randomness: Randomness) -> NDArray[np.int32]:
    """Draw one of the disjoint assignments that make up a regular graph, each with the same probability.

    Parameters
    ----------
    graph
        The records of each row; every record is in as many rows as rows have records.
    randomness
        Source of random choices.

    Returns
    -------
    NDArray
        The record of each row. The graph is decomposed into disjoint assignments by random walks, and one of
        them is drawn, so each edge of the graph is used with probability 1 / k. O(k n log n) expected.
    """
    degree = graph.shape[1]
    which = randomness.below(degree)
    return kernels.walk(graph, which, randomness.words(4)).assignment
