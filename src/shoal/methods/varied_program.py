"""The optimum of pattern-guided k-anonymity with diverse sensitive values, by integer programming."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.base.distribution import require
from shoal.kernels import VariedLabels
from shoal.methods.pattern_diversity import SLACK, missing
from shoal.methods.pattern_program import INFEASIBLE, PatternProgram, Solution, equations

BLUR = 1e-6
"""Share of a class that is spread evenly over its labels before an entropy is bounded there."""
MOST_CUTS = 2000
"""With more tangents, the search for the optimum ends."""


@dataclass(frozen=True, eq=False)
class _Labelled:
    """The labels of one sensitive column in the classes of a program.

    Parameters
    ----------
    place
        For each pair, the number of its class and label together.
    class_of
        The class of each such number.
    """

    place: NDArray[np.int64]
    class_of: NDArray[np.int64]


def solve_varied(program: PatternProgram, k: int, seconds: float, labels: VariedLabels) -> Solution:
    """Return the best solution with diverse classes that HiGHS finds within a time limit.

    Shares are linear in the numbers of rows of each pair, and numbers of different labels need one more
    choice for each label of a class. An entropy is concave: a solution in which a class has too little of it
    is cut off by a tangent, and the program is solved again.
    """
    require("scipy", "exact", "an integer program")
    from scipy.optimize import Bounds, LinearConstraint, milp  # imported late: only this method needs it
    from scipy.sparse import csr_array, vstack

    started = time.monotonic()
    pairs, classes = len(program.row_type), len(program.pattern)
    often = program.copies[program.row_type].astype(np.float64)
    first = np.unique(program.kind, return_index=True)[1]
    columns = [_labelled(program, codes[first]) for codes, _ in labels.columns]
    others = sum(len(column.class_of) for column in columns) if labels.distinct else 0
    width = pairs + classes + others
    constraints = equations(program, k, others)
    constraints += [c for c in (_shares(program, columns, labels, width),) if c is not None]
    constraints += _different(program, columns, labels, width)
    costs = np.concatenate([program.cost[program.class_of], np.zeros(classes + others)])
    most = np.concatenate([often, np.ones(classes + others)])
    cuts: list[Any] = []
    bound = 0.0
    while (left := seconds - (time.monotonic() - started)) > 0:
        tangents = [LinearConstraint(vstack(cuts), 0, np.inf)] if cuts else []
        chosen = milp(
            costs,
            integrality=np.ones(width),
            bounds=Bounds(0, most),
            constraints=[*constraints, *tangents],
            options={"time_limit": left, "mip_rel_gap": 0.0},
        )
        bound = max(bound, float(chosen.mip_dual_bound or 0.0))
        if chosen.x is None:
            return Solution(None, bound, chosen.status == INFEASIBLE)
        rows = np.round(chosen.x[:pairs]).astype(np.int64)
        wrong = _violated(program, labels, first, rows)
        if not wrong:
            return Solution(program.spread(rows), bound)
        before = len(cuts)
        for number, column in wrong:
            if labels.entropy:
                cuts.append(csr_array(_tangent(columns[column], rows, number, labels, width)))
        if len(cuts) == before or len(cuts) > MOST_CUTS:
            break
    return Solution(None, bound)


def _labelled(program: PatternProgram, label: NDArray[np.int32]) -> _Labelled:
    both = program.class_of * (int(label.max()) + 1) + label[program.row_type]
    numbers, place = np.unique(both, return_inverse=True)
    return _Labelled(place, numbers // (int(label.max()) + 1))


def _shares(
    program: PatternProgram, columns: list[_Labelled], labels: VariedLabels, width: int
) -> Any | None:
    """Return that frequency_l times the rows of a label are no more than all rows of its class."""
    from scipy.optimize import LinearConstraint
    from scipy.sparse import csr_array, vstack

    if not labels.frequency_l or not columns:
        return None
    pairs = len(program.row_type)
    parts = []
    for column in columns:
        shape = (len(column.class_of), width)
        own = csr_array((np.ones(pairs), (column.place, np.arange(pairs))), shape=shape)
        by_class = csr_array(
            (np.ones(pairs), (program.class_of, np.arange(pairs))), shape=(len(program.pattern), width)
        )
        parts.append(by_class[column.class_of] - labels.frequency_l * (1 - SLACK) * own)
    return LinearConstraint(vstack(parts), 0, np.inf)


def _different(
    program: PatternProgram, columns: list[_Labelled], labels: VariedLabels, width: int
) -> list[Any]:
    """Return that an open class has enough labels of which it has a row."""
    from scipy.optimize import LinearConstraint
    from scipy.sparse import csr_array

    if not labels.distinct:
        return []
    pairs, classes = len(program.row_type), len(program.pattern)
    found, begin = [], pairs + classes
    for column in columns:
        count = len(column.class_of)
        own = csr_array((np.ones(pairs), (column.place, np.arange(pairs))), shape=(count, width))
        there = csr_array(
            (np.ones(count), (np.arange(count), begin + np.arange(count))), shape=(count, width)
        )
        summed = csr_array(
            (np.ones(count), (column.class_of, begin + np.arange(count))), shape=(classes, width)
        )
        opened = csr_array(
            (np.ones(classes), (np.arange(classes), pairs + np.arange(classes))), shape=(classes, width)
        )
        found.append(LinearConstraint(own - there, 0, np.inf))
        found.append(LinearConstraint(summed - labels.distinct * opened, 0, np.inf))
        begin += count
    return found


def _violated(
    program: PatternProgram, labels: VariedLabels, first: NDArray[np.int64], rows: NDArray[np.int64]
) -> list[tuple[int, int]]:
    """Return classes that are not diverse enough, each with the sensitive column."""
    found = []
    for column, (codes, size) in enumerate(labels.columns):
        label = codes[first][program.row_type]
        counts = np.zeros((len(program.pattern), size), dtype=np.int64)
        np.add.at(counts, (program.class_of, label), rows)
        found += [
            (int(number), column)
            for number in np.flatnonzero(counts.sum(axis=1))
            if missing(labels, [counts[number]]) > 0
        ]
    return found


def _tangent(
    column: _Labelled, rows: NDArray[np.int64], number: int, labels: VariedLabels, width: int
) -> NDArray[np.float64]:
    """Return a linear bound of the entropy of a class, times its rows, above what is required.

    With shares q of its labels, n times the entropy is at most the sum of -log(q) over its rows.
    """
    counts = np.bincount(column.place, weights=rows, minlength=len(column.class_of))
    own = np.flatnonzero(column.class_of == number)
    shares = (1 - BLUR) * counts[own] / counts[own].sum() + BLUR / len(own)
    worth = np.zeros(len(column.class_of))
    worth[own] = -np.log(shares) - (labels.entropy - SLACK)
    line = np.zeros((1, width))
    line[0, : len(column.place)] = worth[column.place]
    return line
