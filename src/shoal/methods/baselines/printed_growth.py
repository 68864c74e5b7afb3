"""Baselines for freeform: Greedy and SortGreedy (Doka et al. 2015) exactly as printed, for small tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InfeasibleError, InputError, Reason
from shoal.kernels import RANGE, SET, Geometry
from shoal.measures.geometry import geometry
from shoal.methods.diversity import recoded
from shoal.methods.feasibility import require_feasible
from shoal.methods.greedy import lexicographic_order
from shoal.methods.method import Circumstances, keeps
from shoal.models import Freeform
from shoal.recoding import Recoding
from shoal.table import Table

MOST_RECORDS = 5_000
"""The maximum number of records: the weights of all pairs are kept in memory."""
STRETCH = 100_000
"""Number of edges that are looked at together, to skip those that have lost an end before."""

Costs = NDArray[np.float64]
"""The weight of the edge from each record (first axis) to each row (second axis); infinite if it is used."""
Iteration = Callable[[Costs, NDArray[np.int64]], NDArray[np.int64]]
"""From the weights and the order of the records to the row of each record."""


@keeps(Freeform, persons="it follows the paper to the letter, where each record is a person")
def printed_greedy(table: Table, model: Freeform, circumstances: Circumstances, /) -> Recoding:
    """Return rows that grow by Algorithm 1 of Doka et al. (2015) exactly as printed; a baseline.

    Records choose in lexicographic order. A record that finds no row takes that of the nearest predecessor in
    this order that can move to a free row. For tables of up to 5,000 records: O(k n^2) time, O(n^2) memory.

    Parameters
    ----------
    table, model, circumstances
        As for every method.

    Raises
    ------
    InputError
        If the table has too many records.
    InfeasibleError
        If no predecessor can move, for which the paper has no rule; not with 2k - 1 records or more.
    """
    return _printed(table, model, circumstances, one_after_the_other)


@keeps(Freeform, persons="it follows the paper to the letter, where each record is a person")
def printed_sort_greedy(table: Table, model: Freeform, circumstances: Circumstances, /) -> Recoding:
    """Return rows that grow by Algorithm 2 of Doka et al. (2015) exactly as printed; a baseline.

    The lightest edge of all comes first. A record that is left over takes the row of the nearest record in
    lexicographic order, on either side, that can move to a free row. For tables of up to 5,000 records:
    O(k n^2 log n) time, O(n^2) memory.

    Parameters
    ----------
    table, model, circumstances
        As for every method.

    Raises
    ------
    InputError
        If the table has too many records.
    InfeasibleError
        If no other record can move, for which the paper has no rule; not with 2k - 1 records or more.
    """
    return _printed(table, model, circumstances, lightest_first)


def _printed(table: Table, model: Freeform, circumstances: Circumstances, iteration: Iteration) -> Recoding:
    require_feasible(table, model)
    if len(table) > MOST_RECORDS:
        raise InputError(
            f"the algorithm as printed takes up to {MOST_RECORDS:,} records, not {len(table):,}; use method "
            "'greedy' or 'sort_greedy', which need no list of all pairs",
            reason=Reason.TOO_LARGE,
        )
    graph = grow_as_printed(table, model.k, iteration, circumstances)
    return recoded(table, model, graph, circumstances)


def grow_as_printed(
    table: Table, k: int, iteration: Iteration, circumstances: Circumstances
) -> NDArray[np.int32]:
    """Return the records of each row, its own first, after k - 1 iterations."""
    n, codes, attributes = len(table), table.codes, geometry(table)
    order = lexicographic_order(codes)
    graph = np.arange(n, dtype=np.int32)[:, None]
    for turn in range(1, k):
        circumstances.progress("letting rows take in records", (turn - 1) / (k - 1))
        costs = extra_costs(attributes, codes, graph)
        costs[graph, np.arange(n)[:, None]] = np.inf
        graph = np.column_stack([graph, np.argsort(iteration(costs, order)).astype(np.int32)])
    circumstances.progress("letting rows take in records", 1.0)
    return graph


def extra_costs(attributes: Sequence[Geometry], codes: NDArray[np.int32], rows: NDArray[np.int32]) -> Costs:
    """Return what it costs in addition to take each record (first axis) into each row (second axis).

    Parameters
    ----------
    attributes, codes
        What it costs to cover several codes, and the codes of each record.
    rows
        The records of each row.
    """
    total = np.zeros((len(codes), len(rows)))
    for attribute, column in zip(attributes, codes.T, strict=True):
        inside = column[rows]
        if attribute.kind == SET:
            has = np.zeros((len(rows), attribute.size), dtype=np.bool_)
            has[np.arange(len(rows))[:, None], inside] = True
            total += (~has[:, column].T) * (attribute.weight / max(1.0, float(attribute.table[0]) - 1))
            continue
        low, high = inside.min(axis=1), inside.max(axis=1)
        wider = _interval_cost(attribute, np.minimum(column[:, None], low), np.maximum(column[:, None], high))
        total += attribute.weight * (wider - _interval_cost(attribute, low, high))
    return total


def _interval_cost(
    attribute: Geometry, low: NDArray[np.int32], high: NDArray[np.int32]
) -> NDArray[np.float64]:
    if attribute.kind == RANGE:
        return np.minimum(1.0, attribute.table[high] - attribute.table[low])
    # The largest cost at which two neighbours between the ends meet, for all ends at once.
    dearest = np.zeros((attribute.size, attribute.size))
    for end in range(1, attribute.size):
        dearest[:end, end] = np.maximum(dearest[:end, end - 1], attribute.table[end - 1])
    return np.asarray(dearest[low, high])


def one_after_the_other(costs: Costs, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row of each record if the records choose in their order (Algorithm 1)."""
    n = len(costs)
    box_of, free = np.full(n, -1), np.ones(n, dtype=np.bool_)
    for place, record in enumerate(order):
        box = int(np.where(free, costs[record], np.inf).argmin())
        if free[box] and np.isfinite(costs[record, box]):
            box_of[record] = box
        else:
            box = _substitute(record, order[:place][::-1], box_of, costs, free)
        free[box] = False
    return box_of


def lightest_first(costs: Costs, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row of each record if the lightest edge is taken first (Algorithm 2)."""
    n = len(costs)
    edges = np.argsort(costs, axis=None, kind="stable")
    edges = edges[: n * n - np.isinf(costs).sum()]
    box_of, free = np.full(n, -1), np.ones(n, dtype=np.bool_)
    for begin in range(0, len(edges), STRETCH):
        records, boxes = np.divmod(edges[begin : begin + STRETCH], n)
        both = (box_of[records] < 0) & free[boxes]
        for record, box in zip(records[both].tolist(), boxes[both].tolist(), strict=True):
            if box_of[record] < 0 and free[box]:
                box_of[record] = box
                free[box] = False
    for place in np.flatnonzero(box_of[order] < 0):
        others = order[np.argsort(np.abs(np.arange(n) - place), kind="stable")]
        free[_substitute(order[place], others, box_of, costs, free)] = False
    return box_of


def _substitute(
    record: int,
    others: NDArray[np.int64],
    box_of: NDArray[np.int64],
    costs: Costs,
    free: NDArray[np.bool_],
) -> int:
    """Give a record the row of the first of the others that can take a free row; return that row."""
    for other in others:
        box = box_of[other]
        spare = int(np.where(free, costs[other], np.inf).argmin())
        if box >= 0 and np.isfinite(costs[record, box]) and free[spare] and np.isfinite(costs[other, spare]):
            box_of[record], box_of[other] = box, spare
            return spare
    raise InfeasibleError(
        "the algorithm as printed ends here: no other record can move to a free row; use method 'greedy' or "
        "'sort_greedy', or a table with at least 2k - 1 records"
    )
