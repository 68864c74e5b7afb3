"""SortGreedy as printed (Doka et al. 2015), all pairs in one sorted list: the reference for loss and time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import adult, adult_schema, markdown_table, remembered, timed
from shoal.kernels import RANGE, SET, Geometry
from shoal.measures.gcp import gcp
from shoal.measures.geometry import geometry
from shoal.methods.greedy import lexicographic_order
from shoal.methods.method import Circumstances
from shoal.methods.sort_greedy import sort_greedy
from shoal.models import Freeform
from shoal.recoding import Recoding
from shoal.table import Table

ROWS, K = 4_000, 10
STRETCH = 100_000
"""Number of edges looked at together, to leave out those that have lost an end before."""


def section() -> str:
    """Return a section of a results page: the algorithm as printed, and ours, on a sample of Adult."""
    literal, ours = (remembered("literal_sort_greedy", rows=ROWS, k=K)[who] for who in ("literal", "ours"))
    loss, seconds = (ours[figure] / literal[figure] for figure in ("gcp", "seconds"))
    return "\n\n".join(
        (
            "## The algorithm as printed",
            "SortGreedy with its sorted list of all pairs (NumPy), and Shoal's version without that list "
            f"(effort `fast`), on {ROWS:,} random records of Adult, k = {K}, without audit. The paper does "
            "not say which of two pairs with equal cost goes first; this explains the difference in loss.",
            markdown_table(
                ("", "GCP", "seconds"),
                (
                    ("as printed", f"{literal['gcp']:.5f}", f"{literal['seconds']:.2f}"),
                    ("Shoal", f"{ours['gcp']:.5f}", f"{ours['seconds']:.2f}"),
                    ("ratio", f"{loss:.3f}", f"{seconds:.4f}"),
                ),
            ),
        )
    )


def work(rows: int, k: int) -> dict[str, Any]:
    """Return GCP and seconds of the algorithm as printed, and of ours."""
    frame = adult().sample(rows, seed=1)
    table = Table.encode(frame, adult_schema(frame))
    literal, literal_seconds = timed(literal_sort_greedy, table, k)
    ours, seconds = timed(sort_greedy, table, Freeform(k=k), Circumstances(), effort="fast")
    return {
        "literal": {"gcp": gcp(Recoding.of_graph(table, literal)), "seconds": literal_seconds},
        "ours": {"gcp": gcp(ours), "seconds": seconds},
    }


def literal_sort_greedy(table: Table, k: int) -> NDArray[np.int32]:
    """Return the records of each row in the order in which they joined, by Algorithm 2.

    Time O(k n^2 log n), memory O(n^2).

    Raises
    ------
    ValueError
        If the table has fewer than 2k - 1 records: then the backtracking of the paper may find no record to
        exchange with.
    """
    n, codes, attributes = len(table), table.codes, geometry(table)
    if n < 2 * k - 1:
        raise ValueError(f"k = {k} takes at least {2 * k - 1} records, not {n}")
    order = lexicographic_order(codes)
    graph = np.arange(n, dtype=np.int32)[:, None]
    for _ in range(1, k):
        costs = extra_costs(attributes, codes, graph)
        costs[graph, np.arange(n)[:, None]] = np.inf
        box_of = _cheapest_first(costs)
        for record in order[box_of[order] < 0]:
            _backtrack(record, order, box_of, costs)
        graph = np.column_stack([graph, np.argsort(box_of).astype(np.int32)])
    return graph


def extra_costs(
    attributes: Sequence[Geometry], codes: NDArray[np.int32], rows: NDArray[np.int32]
) -> NDArray[np.float64]:
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
    # The dearest meeting of two neighbours between the ends, for all ends at once.
    dearest = np.zeros((attribute.size, attribute.size))
    for end in range(1, attribute.size):
        dearest[:end, end] = np.maximum(dearest[:end, end - 1], attribute.table[end - 1])
    return np.asarray(dearest[low, high])


def _cheapest_first(costs: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the box of each record if the cheapest pair is taken first; -1 if all are taken."""
    n = len(costs)
    edges = np.argsort(costs, axis=None, kind="stable")
    edges = edges[: n * n - np.isinf(costs).sum()]
    box_of = np.full(n, -1)
    taken = np.zeros(n, dtype=np.bool_)
    for begin in range(0, len(edges), STRETCH):
        records, boxes = np.divmod(edges[begin : begin + STRETCH], n)
        both = (box_of[records] < 0) & ~taken[boxes]
        for record, box in zip(records[both].tolist(), boxes[both].tolist(), strict=True):
            if box_of[record] < 0 and not taken[box]:
                box_of[record] = box
                taken[box] = True
    return box_of


def _backtrack(
    record: int, order: NDArray[np.int64], box_of: NDArray[np.int64], costs: NDArray[np.float64]
) -> None:
    """Give a record the box of the nearest other one in the order that can take a free box instead."""
    free = np.setdiff1d(np.arange(len(order)), box_of)
    position = int(np.flatnonzero(order == record)[0])
    for other in order[np.argsort(np.abs(np.arange(len(order)) - position), kind="stable")]:
        box = box_of[other]
        spare = free[costs[other, free].argmin()]
        if box >= 0 and np.isfinite(costs[record, box]) and np.isfinite(costs[other, spare]):
            box_of[record], box_of[other] = box, spare
            return
    raise AssertionError("a table with 2k - 1 records has a record to exchange with")
