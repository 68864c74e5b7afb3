"""The optimum of freeform k-anonymity for small tables, proven by integer programming."""

from __future__ import annotations

import time
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.base.distribution import require
from shoal.errors import InputError, InternalError, Reason
from shoal.measures.gcp import ncp
from shoal.measures.geometry import refuse_items
from shoal.methods.diversity import recoded
from shoal.methods.feasibility import refuse_diversity, require_feasible
from shoal.methods.method import Circumstances, Seconds, keeps
from shoal.models import Freeform
from shoal.recoding import Recoding
from shoal.table import Table

MOST_CELLS = 2_000_000
"""Maximum number of cells, k to a row, of the list of all possible rows."""
FIRST_ROWS = 500
"""Number of possible rows that are tried first."""
TOLERANCE = 1e-6
"""Tolerance of HiGHS in the sum of the penalties of all rows."""


@keeps(Freeform, persons=True, k_alone="always")
def exact(
    table: Table, model: Freeform, circumstances: Circumstances, /, *, seconds: Seconds = 60.0
) -> Recoding:
    """Return rows with the smallest loss of any regular graph, in the sum of their penalties.

    All possible rows are listed, and an integer program (HiGHS) decides how often each is used so that every
    record is in k rows. This solves the problem of Doka et al. (2015) exactly. The list grows as O(n^k / k!),
    so the method is for small tables: 20 records at any k, 35 if
    k = 5, 150 if k = 3, 1,400 if k = 2. Deterministic, and exact to within `TOLERANCE`.
    If persons have several records, only rows with records of k persons are listed; some of the optimal rows
    may grow afterwards, so that at most 1 in k of the rows around a record carry records of its person.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    seconds
        Time limit for the search for the optimum and its proof.

    Raises
    ------
    InputError
        If there are too many possible rows, or the proof was not complete in time; only a proven optimum is
        returned. Also if the model has `l`, `p` or `entropy_l`.
    """
    refuse_diversity(model, "exact", instead="matching")
    require_feasible(table, model)
    refuse_items(table)
    n, k = len(table), model.k
    owners = table.owners
    kinds = table.codes if owners is None else np.column_stack((table.codes, owners))
    kind, first = kernels.group_rows(np.ascontiguousarray(kinds))
    copies = np.bincount(kind)
    if n * k > MOST_CELLS or k * _count(copies, k) > MOST_CELLS:
        raise InputError(
            f"method 'exact' is for small tables: {n} records, {len(copies)} of them different, have too "
            f"many possible rows of k = {k} records; take fewer records, or choose the method 'matching'",
            reason=Reason.TOO_LARGE,
        )
    circumstances.progress("listing possible rows", 0.0)
    rows = _possible_rows(copies, k)
    if owners is not None:
        whose = np.sort(owners[first][rows], axis=1)
        rows = rows[(np.diff(whose, axis=1) > 0).all(axis=1)]
    costs = ncp(Recoding.of_graph(table, first[rows].astype(np.int32)))
    circumstances.progress("proving the optimum", 0.0)
    often = _RowProgram(rows, costs, copies, seconds).optimum()
    circumstances.progress("proving the optimum", 1.0)
    return recoded(table, model, _spread(np.repeat(rows, often, axis=0), kind, copies), circumstances)


# Equal records are of one kind and interchangeable: rows and the program consist of kinds.


def _count(copies: NDArray[np.int64], k: int) -> int:
    """Return the number of possible rows, or a lower number that is already too large."""
    ways = [1] + [0] * k  # by number of records, of the kinds so far
    for most in copies.tolist():
        before = [0, *accumulate(ways)]
        ways = [before[taken + 1] - before[max(taken - most, 0)] for taken in range(k + 1)]
        if ways[k] > MOST_CELLS:
            break
    return ways[k]


def _possible_rows(copies: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the kinds of the records of each possible row, ascending."""
    kind = np.repeat(np.arange(len(copies)), np.minimum(copies, k))
    places = np.arange(len(kind))
    opens = np.diff(kind, prepend=-1) > 0
    rows = np.flatnonzero(opens & (places <= len(kind) - k))[:, np.newaxis]
    for length in range(1, k):
        # Copies are taken in order, without gaps, so that each row is listed once.
        last = rows[:, -1:]
        follows = (places == last + 1) | (opens & (places > last))
        row, place = np.nonzero(follows & (places <= len(kind) - k + length))
        rows = np.column_stack((rows[row], place))
    return kind[rows]


def _spread(rows: NDArray[np.int64], kind: NDArray[np.int32], copies: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the graph of rows of kinds: the records of a kind take turns.

    No row has more records of a kind than there are, so no record is in it twice; and a kind of m records is
    wanted k m times, so every record is in k rows.
    """
    n, k = rows.shape
    members = np.split(np.argsort(kind, kind="stable"), np.cumsum(copies)[:-1])
    graph = np.empty(n * k, dtype=np.int32)
    graph[np.argsort(rows, axis=None, kind="stable")] = np.concatenate([np.tile(m, k) for m in members])
    return graph.reshape(n, k)


class _RowProgram:
    """The integer program: how often to use each row, at the least cost, so that each record is in k rows.

    Its linear relaxation prices the records. The excess of a row is its cost minus the prices of its records,
    and never negative. As each record is in k rows, every solution costs k times the sum of all prices, which
    is the bound, plus the excess of its rows. So the best solution among rows of little excess is optimal if
    its cost above the bound is at most the excess of any row that was left out.

    Parameters
    ----------
    rows
        The kinds of the records of each possible row.
    costs
        What each row costs.
    copies
        Number of records of each kind.
    seconds
        Time limit.
    """

    def __init__(
        self,
        rows: NDArray[np.int64],
        costs: NDArray[np.float64],
        copies: NDArray[np.int64],
        seconds: float,
    ) -> None:
        require("scipy", "exact", "the method 'exact'")
        from scipy.sparse import csc_array  # imported late: only this method needs it

        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._costs = costs
        self._records = int(copies.sum())
        self._wanted = rows.shape[1] * copies
        owner = np.repeat(np.arange(len(rows)), rows.shape[1])
        self._matrix = csc_array(
            (np.ones(rows.size), (rows.ravel(), owner)), shape=(len(copies), len(rows)), dtype=np.float64
        )

    def optimum(self) -> NDArray[np.int64]:
        """Return how often each row is used."""
        excess, bound = self._excess()
        ranked = np.sort(excess)
        size = FIRST_ROWS
        slack = ranked[:size][-1] + TOLERANCE
        best = None
        while True:
            kept = np.flatnonzero(excess <= slack)
            found = self._solve(kept)
            if found.x is not None and (best is None or found.fun < best):
                best = float(found.fun)
            if found.status == 1:
                raise self._unproven(bound, best)
            if found.status == 0 and (found.fun <= bound + slack or len(kept) == len(excess)):
                break
            if len(kept) == len(excess):
                raise InternalError(f"no regular graph was found: {found.message}")
            if best is None:
                size *= 4
                slack = ranked[:size][-1] + TOLERANCE
            else:
                slack = best - bound + TOLERANCE
        often = np.zeros(len(excess), dtype=np.int64)
        often[kept] = np.rint(found.x)
        if not np.array_equal(self._matrix @ often, self._wanted):
            raise InternalError("the solver's rows are not a regular graph")
        return often

    def _excess(self) -> tuple[NDArray[np.float64], float]:
        """Return the excess of each row, and a lower bound of the cost of every solution."""
        from scipy.optimize import linprog

        relaxed = linprog(
            self._costs,
            A_eq=self._matrix,
            b_eq=self._wanted,
            method="highs",
            options={"time_limit": self._remaining()},
        )
        if relaxed.status == 1:
            raise self._unproven()
        if relaxed.status != 0:
            raise InternalError(f"the linear program was not solved: {relaxed.message}")
        prices = relaxed.eqlin.marginals
        excess = self._costs - prices @ self._matrix
        # Prices that are slightly too high, within the solver's tolerance, would make the bound too high.
        below = min(float(excess.min()), 0.0)
        return excess - below, float(prices @ self._wanted) + self._records * below

    def _solve(self, kept: NDArray[np.int64]) -> Any:
        """Return the solution that uses only some of the rows."""
        from scipy.optimize import LinearConstraint, milp

        return milp(
            self._costs[kept],
            integrality=np.ones(len(kept)),
            constraints=LinearConstraint(self._matrix[:, kept], self._wanted, self._wanted),
            options={"time_limit": self._remaining(), "mip_rel_gap": 0.0},
        )

    def _remaining(self) -> float:
        return max(self._deadline - time.monotonic(), 0.0)

    def _unproven(self, bound: float | None = None, best: float | None = None) -> InputError:
        """Error for a proof that was not complete in time."""
        known = "" if bound is None else f"; no GCP can be below {bound / self._records:.6f}"
        known += "" if best is None else f", the best one found is {best / self._records:.6f}"
        return InputError(
            f"the optimum was not proven within {self._seconds:g} s{known}; allow more time (seconds), or "
            "choose the method 'matching'",
            reason=Reason.TOO_LARGE,
            parameter="seconds",
        )
