"""The least chance of a release, as a linear program finds it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog


def least_chance_by_program(covers: NDArray[np.bool_]) -> float:
    """Return the least chance as a linear program finds it: the plain definition."""
    row, record = np.nonzero(covers)
    edges = len(row)
    rows, records = covers.shape
    cost = np.append(np.zeros(edges), 1.0)
    of_row = np.zeros((rows, edges + 1))
    of_row[row, np.arange(edges)] = 1.0
    of_record = np.zeros((records, edges + 1))
    of_record[record, np.arange(edges)] = 1.0
    at_most_t = np.column_stack((np.eye(edges), -np.ones(edges)))
    limits = np.vstack((at_most_t, of_record))
    bounds = np.append(np.zeros(edges), np.ones(records))
    found = linprog(cost, limits, bounds, of_row, np.ones(rows), bounds=(0, None))
    assert found.status == 0
    return float(found.fun)
