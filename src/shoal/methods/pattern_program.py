"""The optimum of pattern-guided k-anonymity by integer programming (Bredereck et al. 2013)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.base.distribution import require
from shoal.kernels import ANY_LABELS, VariedLabels

MOST_PAIRS = 3_000_000
"""Maximum number of pairs of a row type and a class that it can join in a program."""
MOST_SOLVED = 50_000
"""With more pairs, the integer program is not tried: its first relaxation takes minutes."""
INFEASIBLE = 2
"""SciPy's status of a program without a solution."""
MOST_COMPARED = 128
"""Up to this many patterns, each is compared with all others to find classes that are not needed."""


@dataclass(frozen=True, eq=False)
class PatternProgram:
    """Which classes to open, and how many rows of each row type go there.

    Parameters
    ----------
    kind
        The row type of each row: rows of one type can join the same classes. They are equal in all columns,
        or differ only in columns that all these classes suppress.
    copies
        Number of rows of each row type.
    row_type, class_of
        The pairs of a row type and a class that it can join, by row type.
    pattern, cost
        The pattern of each class, and the cost of a row in it.
    """

    kind: NDArray[np.int32]
    copies: NDArray[np.int64]
    row_type: NDArray[np.int64]
    class_of: NDArray[np.int64]
    pattern: NDArray[np.int32]
    cost: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        codes: NDArray[np.int32],
        suppressed: NDArray[np.bool_],
        costs: NDArray[np.float64],
        k: int,
        labels: VariedLabels = ANY_LABELS,
    ) -> PatternProgram | None:
        """Return the program of a table, without needless classes; None if it is too large.

        O(patterns x records x columns), plus all pairs of patterns if these are few.

        Parameters
        ----------
        codes
            One row for each record.
        suppressed, costs
                The columns that each pattern suppresses, and the cost of a row under it; the cheapest first.
        k
            Minimum number of rows of a class.
        labels
            Sensitive values, if they must be diverse: rows of one type then have the same ones.
        """
        whole = np.column_stack((codes, *(column for column, _ in labels.columns)))
        kind, first = kernels.group_rows(np.ascontiguousarray(whole, dtype=np.int32))
        copies = np.bincount(kind)
        classes = np.full((len(costs), len(copies)), -1, dtype=np.int32)  # of each pattern and row type
        pairs = 0
        for turn, blank in enumerate(suppressed):
            group, _ = kernels.group_rows(np.where(blank, np.int32(-1), codes[first]))
            large = np.bincount(group, weights=copies)[group] >= k
            classes[turn, large] = group[large]
            pairs += int(large.sum())
            if pairs > MOST_PAIRS:
                return None
        if len(costs) <= MOST_COMPARED:
            classes = _needed(classes, costs, copies)
        # Row types that can join the same classes, and have the same labels, need not be distinguished.
        fits = np.column_stack((classes.T, *(column[first] for column, _ in labels.columns)))
        same, of_type = kernels.group_rows(np.ascontiguousarray(fits, dtype=np.int32))
        apart = np.int64(len(copies))
        kind, copies, classes = same[kind], np.bincount(same, copies).astype(np.int64), classes[:, of_type]
        row_type, pattern_of_pair = np.nonzero(classes.T >= 0)
        place = classes[pattern_of_pair, row_type].astype(np.int64) + pattern_of_pair * apart
        places, class_of = np.unique(place, return_inverse=True)
        pattern = (places // apart).astype(np.int32)
        return cls(kind, copies, row_type, class_of, pattern, costs[pattern])

    def without(self, needless: NDArray[np.bool_]) -> PatternProgram:
        """Return the program without some of the classes."""
        kept = ~needless[self.class_of]
        number = np.cumsum(~needless) - 1
        return PatternProgram(
            self.kind,
            self.copies,
            self.row_type[kept],
            number[self.class_of[kept]],
            self.pattern[~needless],
            self.cost[~needless],
        )

    def spread(self, often: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the pattern of each row, given the number of rows of each pair, which add up to all rows."""
        patterns = np.repeat(self.pattern[self.class_of], often)
        found = np.empty(len(self.kind), dtype=np.int32)
        found[np.argsort(self.kind, kind="stable")] = patterns
        return found


def _needed(
    classes: NDArray[np.int32], costs: NDArray[np.float64], copies: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the classes without those inside a class of another pattern that costs no more.

    The rows of such a class could be in the other one as well. Of two equal classes, the first stays.
    """
    kept = classes.copy()
    for pattern, own in enumerate(classes):
        member = np.flatnonzero(own >= 0)
        if not len(member):
            continue
        member = member[np.argsort(own[member], kind="stable")]
        starts = np.flatnonzero(np.diff(own[member], prepend=-1))
        rows = np.add.reduceat(copies[member], starts)
        needless = np.zeros(len(starts), dtype=np.bool_)
        for other in np.flatnonzero(costs <= costs[pattern]):
            there = classes[other, member]
            one = there[starts]
            within = (one >= 0) & (np.minimum.reduceat(there, starts) == np.maximum.reduceat(there, starts))
            if other >= pattern:
                sizes = np.bincount(classes[other] + 1, weights=copies)[one + 1]
                within &= sizes > rows
            needless |= within
        kept[pattern, member[np.repeat(needless, np.diff(np.append(starts, len(member))))]] = -1
    return kept


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of the search for the optimum.

    Parameters
    ----------
    pattern_of
        The pattern of each row in the best solution found, if any.
    bound
        A lower bound of the cost of every solution.
    impossible
        Whether it is proven that there is no solution.
    """

    pattern_of: NDArray[np.int32] | None
    bound: float
    impossible: bool = False


def solve(program: PatternProgram, k: int, seconds: float) -> Solution:
    """Return the best solution that HiGHS finds within a time limit.

    The program is that of Equations 1 to 4 of Bredereck et al. (2013), but every pair is linked to its class
    individually, which gives a better bound than linking all pairs of a class together.
    """
    require("scipy", "exact", "the proof of an optimum")
    from scipy.optimize import Bounds, milp  # imported late: only this method needs it

    pairs, classes = len(program.row_type), len(program.pattern)
    often = program.copies[program.row_type].astype(np.float64)
    costs = np.concatenate([program.cost[program.class_of], np.zeros(classes)])
    constraints = equations(program, k)
    most = np.concatenate([often, np.ones(classes)])
    # Only the choice of classes has to be integral. Once it is made, rows flow from row types to classes, and
    # a basic solution of this flow problem is integral: the simplex method ends in one.
    chosen = milp(
        costs,
        integrality=np.repeat([0, 1], [pairs, classes]),
        bounds=Bounds(0, most),
        constraints=constraints,
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )
    bound = 0.0 if chosen.mip_dual_bound is None else float(chosen.mip_dual_bound)
    if chosen.x is None:
        return Solution(None, bound, chosen.status == INFEASIBLE)
    whole = np.round(chosen.x[pairs:])
    flow = milp(
        costs,
        bounds=Bounds(np.concatenate([np.zeros(pairs), whole]), np.concatenate([often, whole])),
        constraints=constraints,
    )
    if flow.x is None:
        return Solution(None, bound)
    return Solution(program.spread(np.round(flow.x[:pairs]).astype(np.int64)), bound)


def equations(program: PatternProgram, k: int, others: int = 0) -> list[Any]:
    """Return the constraints on the rows of each pair, then on the classes that are open.

    Every row has a class, only open classes have rows, and an open class has at least k. `others` is the
    number of further variables, which they leave alone.
    """
    from scipy.optimize import LinearConstraint
    from scipy.sparse import csr_array, eye_array, hstack

    pairs, classes = len(program.row_type), len(program.pattern)
    pair, often = np.arange(pairs), program.copies[program.row_type].astype(np.float64)
    by_type = csr_array((np.ones(pairs), (program.row_type, pair)), shape=(len(program.copies), pairs))
    by_class = csr_array((np.ones(pairs), (program.class_of, pair)), shape=(classes, pairs))
    opened = csr_array((often, (pair, program.class_of)), shape=(pairs, classes))

    def beside(*parts: Any) -> Any:
        return hstack([*parts, csr_array((parts[0].shape[0], others))]) if others else hstack(parts)

    return [
        LinearConstraint(
            beside(by_type, csr_array((len(program.copies), classes))), program.copies, program.copies
        ),
        LinearConstraint(beside(eye_array(pairs), -opened), -np.inf, 0),
        LinearConstraint(beside(by_class, -k * eye_array(classes)), 0, np.inf),
    ]
