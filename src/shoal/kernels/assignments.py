"""Assignments of records to rows: at random, or at the least cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native


@dataclass(frozen=True, eq=False)
class Walked:
    """An assignment and the work it took.

    Parameters
    ----------
    assignment
        The record of each box; empty if the time was up.
    steps
        Edges examined and steps back of all walks, including those of the assignments before.
    assigned
        Number of records that got a box, in all these assignments.
    """

    assignment: NDArray[np.int32]
    steps: int
    assigned: int


def walk(members: NDArray[np.int32], which: int, key: NDArray[np.uint64]) -> Walked:
    """Return one of the disjoint assignments that random walks decompose a regular graph into.

    O(n log n) expected for each assignment.

    Parameters
    ----------
    members
        The records of each box, one row for each; every record lies in as many boxes as boxes have records.
    which
        The number of the assignment, from 0.
    key
        Four random words that all random choices follow from.
    """
    return Walked(*_native.walk(members, which, key))


def cheapest_assignment(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    costs: NDArray[np.float64],
    count: int,
    slack: float = 0.0,
) -> NDArray[np.int32]:
    """Assign all rows to columns at the least sum of costs, where each row can take only some of them.

    Parameters
    ----------
    starts
        Row i can take ``columns[starts[i]:starts[i + 1]]``, at these `costs`; one entry more than rows.
    columns, costs
        No column twice in a row.
    count
        Number of columns.
    slack
        How much the sum may be above the least for each row, which takes less time.

    Returns
    -------
    NDArray
        The column of each row. If not all can have one, as many as possible do, at any cost; -1 for others.
    """
    return _native.cheapest_assignment(
        starts,
        columns,
        costs,
        count,
        slack,
    )
