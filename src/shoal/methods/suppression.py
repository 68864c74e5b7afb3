"""Pattern-guided k-anonymity (Bredereck, Nichterlein and Niedermeier 2013): cells are exact or suppressed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.errors import InfeasibleError, InputError, Reason, listing
from shoal.kernels import ANY_LABELS, VariedLabels
from shoal.measures.geometry import refuse_items
from shoal.methods.feasibility import require_feasible, require_persons
from shoal.methods.method import Circumstances, Effort, Progress, Seconds, keeps, silent
from shoal.methods.pattern_diversity import Settling, labels_of, require_varied
from shoal.methods.pattern_persons import person_patterns
from shoal.methods.pattern_prices import Prices
from shoal.methods.pattern_program import MOST_SOLVED, PatternProgram, Solution, solve
from shoal.methods.varied_program import solve_varied
from shoal.models import Patterned
from shoal.models.patterns import Mask
from shoal.recoding import Recoding
from shoal.table import Table

WORTHWHILE = 1e-3
"""The local search ends when a sweep over all patterns saves less than this share of the cost."""
MOST_TRIED = 400_000
"""With more pairs, the integer program is not tried even if nothing else has found a solution."""
MOST_VARIED = 5_000
"""With more pairs, the integer program for diverse sensitive values is not tried to prove an optimum."""
STEPS_BETWEEN = 20
"""Number of steps of prices between two solutions."""
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Patterns:
    """The patterns that rows may have, the cheapest first.

    Parameters
    ----------
    suppressed
        The columns that each suppresses.
    costs
        The cost of a row under each.
    """

    suppressed: NDArray[np.bool_]
    costs: NDArray[np.float64]

    @classmethod
    def of(cls, mask: Mask) -> Patterns:
        """Return all patterns that a mask allows."""
        suppressed = mask.patterns()
        return cls(suppressed, mask.costs(suppressed))

    def __len__(self) -> int:
        return len(self.costs)

    @cached_property
    def kept(self) -> NDArray[np.uint64]:
        """The columns that each keeps, as bits."""
        bits = np.uint64(1) << np.arange(self.suppressed.shape[1], dtype=np.uint64)
        return np.asarray(np.where(self.suppressed, np.uint64(0), bits).sum(axis=1, dtype=np.uint64))

    @property
    def coarsest(self) -> bool:
        """Whether the last one suppresses all columns that any other suppresses."""
        return bool((self.suppressed[-1] >= self.suppressed.any(axis=0)).all())


@keeps(Patterned, default=True, persons=True, k_alone="persons")
def suppression(
    table: Table,
    model: Patterned,
    circumstances: Circumstances,
    /,
    *,
    effort: Effort = "balanced",
    seconds: Seconds = 60.0,
) -> Recoding:
    """Return rows in which every cell is exact or suppressed, by patterns that the model allows.

    The greedy heuristic (Algorithm 1) gives each row the cheapest pattern under which it looks the same as
    enough others that have none yet. Rows that are left over are joined by the cheapest others, until there
    are k of them. O(patterns x records x columns) for the heuristic. Deterministic, unless an integer program
    runs out of time.

    If persons have several records, the heuristic takes as many of the records that look the same as persons
    allow, and there is no search beyond it.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    effort
        ``fast`` is the heuristic alone; ``balanced`` lets rows change from class to class while this reduces
        the cost; ``best`` also proves a lower bound, finds better solutions on the way, and solves an integer
        program if it is not too large. With any effort, that program finds patterns for all rows if nothing
        else does.
    seconds
        Time limit for bounds and integer programs.

    Raises
    ------
    InputError
        If the patterns name other columns, contradict each other, or are too many.
    InfeasibleError
        If not every row can have a pattern.
    """
    require_feasible(table, model)
    refuse_items(table)  # which are never exact or suppressed as a whole
    patterns = Patterns.of(model.mask({a.column.name: a.column.weight for a in table.attributes}))
    _require_room(table, model, patterns)
    labels = labels_of(table, model)
    circumstances.progress("giving rows their patterns", 0.0)
    if table.owners is not None:
        return _for_persons(table, table.owners, patterns, model)
    pattern_of = heuristic(table.codes, patterns, model.k, search=effort != "fast", labels=labels)
    account: dict[str, float] = {"patterns": len(patterns)}
    left = int((pattern_of < 0).sum())
    if left or effort == "best":
        circumstances.progress("proving the optimum", 0.0)
        search = held if left else partial(improved, progress=circumstances.progress)
        pattern_of, bound = search(table.codes, patterns, model.k, pattern_of, float(seconds), labels=labels)
        account["bound"] = bound
    account["cost"] = float(patterns.costs[pattern_of].sum())
    circumstances.progress("giving rows their patterns", 1.0)
    return Recoding.of_suppression(table, patterns.suppressed, pattern_of, account)


def _for_persons(table: Table, owners: NDArray[np.int32], patterns: Patterns, model: Patterned) -> Recoding:
    """Return the recoding by patterns such that no person has more than 1 in k rows of a class."""
    if model.diversity is not None:
        raise InputError(
            "some persons have several records; with these, the method 'suppression' supports k alone; leave "
            "out l, p and entropy_l, or choose the model k-anonymity",
            reason=Reason.PARAMETER,
            parameter="model",
        )
    require_persons(table, model.k)
    pattern_of = person_patterns(table.codes, owners, patterns.suppressed, patterns.costs, model.k)
    account: dict[str, float] = {"patterns": len(patterns), "cost": float(patterns.costs[pattern_of].sum())}
    return Recoding.of_suppression(table, patterns.suppressed, pattern_of, account)


def heuristic(
    codes: NDArray[np.int32],
    patterns: Patterns,
    k: int,
    *,
    search: bool,
    labels: VariedLabels = ANY_LABELS,
) -> NDArray[np.int32]:
    """Return the pattern of each row by the greedy heuristic, and by local search if `search` is set.

    If the greedy heuristic leaves rows over, there is always a local search. Rows that still have no pattern
    have -1. With `labels`, classes are as diverse as these require.
    """
    pattern_of = kernels.cover(codes, patterns.kept, k, labels=labels).pattern_of
    if labels.columns and patterns.coarsest and (pattern_of < 0).any():
        pattern_of = Settling(codes, patterns.suppressed, k, labels, pattern_of).settle()
    if search or (pattern_of < 0).any():
        pattern_of = searched(codes, patterns, k, pattern_of, thoroughly=search, labels=labels)
    return pattern_of


def searched(
    codes: NDArray[np.int32],
    patterns: Patterns,
    k: int,
    pattern_of: NDArray[np.int32],
    *,
    thoroughly: bool = True,
    labels: VariedLabels = ANY_LABELS,
) -> NDArray[np.int32]:
    """Return a cover after local search; rows that are left over (-1) find a pattern if possible."""
    # A row that is left over costs more than all other rows could save.
    beyond = (len(codes) + 1.0) * float(patterns.costs[-1] + 1.0)
    found = kernels.PatternSearch(codes, patterns.kept, patterns.costs, beyond, k, pattern_of, labels)
    if patterns.coarsest:
        found.sweep(len(patterns) - 1)
    going = thoroughly or bool((found.pattern_of < 0).any())
    while going:
        before = found.cost
        found.sweep()
        going = before - found.cost > WORTHWHILE * found.cost
    return found.pattern_of


def lower_bound(codes: NDArray[np.int32], patterns: Patterns, k: int) -> float:
    """Return a lower bound of the cost: each row has the cheapest pattern that it could have."""
    return float(patterns.costs[kernels.cover(codes, patterns.kept, k, shared=True).pattern_of].sum())


def improved(
    codes: NDArray[np.int32],
    patterns: Patterns,
    k: int,
    known: NDArray[np.int32],
    seconds: float,
    progress: Progress = silent,
    labels: VariedLabels = ANY_LABELS,
) -> tuple[NDArray[np.int32], float]:
    """Return the best patterns that are found in time, and a lower bound of the cost.

    Prices on row types (a Lagrangian relaxation) bound the cost and lead to other solutions. Then classes
    that no better solution can have are removed, and if few enough are left, the integer program decides.
    Prices do not consider how diverse classes must be; their bound holds nevertheless.
    """
    started = time.monotonic()
    bound = lower_bound(codes, patterns, k)
    cost = float(patterns.costs[known].sum())
    program = (
        PatternProgram.of(codes, patterns.suppressed, patterns.costs, k, labels)
        if bound < cost - ROUNDING
        else None
    )
    if program is None:
        return known, bound
    prices = Prices(program, k)
    going, turn = True, 0
    # A program that is small enough gets at least half of the time.
    until = seconds / 2 if len(program.row_type) <= _most_solved(labels) else seconds
    while going and time.monotonic() - started < until:
        going, turn = prices.improve(cost), turn + 1
        if turn % STEPS_BETWEEN == 0 or not going:
            progress("proving the optimum", min((time.monotonic() - started) / seconds, 1.0))
            if labels.columns:
                continue  # its solutions need not be diverse
            other = searched(codes, patterns, k, prices.solution())
            if (other >= 0).all() and (found := float(patterns.costs[other].sum())) < cost - ROUNDING:
                known, cost = other, found
    bound = max(bound, prices.offer.bound)
    program = program.without(prices.offer.bound + prices.offer.worth > cost + ROUNDING)
    left = seconds - (time.monotonic() - started)
    if left > 0 and bound < cost - ROUNDING and len(program.row_type) <= _most_solved(labels):
        solution = _solved(program, k, left, labels)
        if solution.pattern_of is not None and patterns.costs[solution.pattern_of].sum() < cost - ROUNDING:
            known = solution.pattern_of
        # Classes that no better solution has were removed, so its bound holds for better solutions only.
        bound = max(bound, min(solution.bound, cost))
    if (patterns.costs == np.round(patterns.costs)).all():
        bound = float(np.ceil(bound - ROUNDING))
    return known, min(bound, float(patterns.costs[known].sum()))


def held(
    codes: NDArray[np.int32],
    patterns: Patterns,
    k: int,
    known: NDArray[np.int32],
    seconds: float,
    labels: VariedLabels = ANY_LABELS,
) -> tuple[NDArray[np.int32], float]:
    """Return patterns for all rows where heuristics found none, and a lower bound of the cost.

    Raises
    ------
    InfeasibleError
        If there are none, or none are found in time.
    """
    program = PatternProgram.of(codes, patterns.suppressed, patterns.costs, k, labels)
    tried = program is not None and len(program.row_type) <= MOST_TRIED
    solution = _solved(program, k, seconds, labels) if program is not None and tried else None
    if solution is not None and solution.pattern_of is not None:
        return solution.pattern_of, solution.bound
    proven = solution is not None and solution.impossible
    varied = " with diverse sensitive values" if labels.columns else ""
    raise InfeasibleError(
        f"{'there is no way' if proven else 'no way was found'} to give each record a pattern together with "
        f"k = {k} records{varied}: {int((known < 0).sum())} are left over; allow more patterns, or let "
        "leftovers be suppressed"
    )


def _most_solved(labels: VariedLabels) -> int:
    return MOST_VARIED if labels.columns else MOST_SOLVED


def _solved(program: PatternProgram, k: int, seconds: float, labels: VariedLabels) -> Solution:
    return solve_varied(program, k, seconds, labels) if labels.columns else solve(program, k, seconds)


def _require_room(table: Table, model: Patterned, patterns: Patterns) -> None:
    """Refuse patterns of which some row can have none.

    Raises
    ------
    InfeasibleError
        If some rows are too rare for each of them; the message says what is achievable.
    """
    if not patterns.coarsest:
        found = kernels.cover(table.codes, patterns.kept, model.k, shared=True).pattern_of
        if (found < 0).any():
            raise InfeasibleError(
                f"no pattern can hold {int((found < 0).sum())} records: fewer than k = {model.k} look the "
                "same under each of them; allow more patterns, or let leftovers be suppressed"
            )
        return
    shown = np.flatnonzero(~patterns.suppressed[-1])
    if not len(shown):
        return
    group, _ = kernels.group_rows(table.codes[:, shown])
    sizes = np.bincount(group)
    if sizes.min() < model.k:
        names = [table.attributes[column].column.name for column in shown]
        raise InfeasibleError(
            f"no pattern can hold {int(sizes[sizes < model.k].sum())} records: fewer than k = {model.k} have "
            f"their values in {listing(names)}, which none may suppress; allow that, or take k = "
            f"{sizes.min()} at most"
        )
    if model.diversity is not None:
        require_varied(table, model, group, shown)
