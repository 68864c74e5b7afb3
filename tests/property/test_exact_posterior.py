"""What an attacker who has the code knows exactly about sensitive values in small tables, by enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from shoal import Freeform, Schema
from shoal.base.randomness import Randomness
from shoal.methods import Circumstances, method_for, unseen
from shoal.recoding import Recoding
from shoal.recoding.coverage import Graph
from shoal.table import Table

SHAPES = {
    "even": [20, 21, 30, 33, 50, 58, 63],
    "two groups": [20, 21, 22, 70, 71, 72, 73],
    "an outlier": [20, 21, 22, 24, 25, 27, 90],
    "equal records": [20, 20, 40, 40, 60, 60, 60],
}
TOLD = [20, 20, 20, 40, 40, 60, 60, 60]
"""If rows are shared only where needed, shared rows tell that both records with 40 have the same value."""


def permutations(n: int) -> NDArray[np.int64]:
    """Return all orders of n records."""
    return np.array(list(itertools.permutations(range(n))), dtype=np.int64)


def labellings(labels: str) -> NDArray[np.int64]:
    """Return all different ways to give labels to records, or to rows."""
    return np.array(sorted(set(itertools.permutations(map(int, labels)))))


def tables(ages: list[int], dealt: NDArray[np.int64]) -> Iterator[Table]:
    """Yield the same table with each of these labels."""
    for labels in dealt:
        frame = pl.DataFrame({"age": ages, "d": [f"d{label}" for label in labels]})
        yield Table.encode(frame, Schema.infer(frame, quasi=["age"], sensitive=["d"]))


def diverse(weights: NDArray[np.float64], rows: NDArray[np.int64], l: float) -> NDArray[np.bool_]:  # noqa: E741
    """Return for which labels of the rows no label has more than its share around any record."""
    fine = np.ones(len(rows), dtype=np.bool_)
    for label in range(int(rows.max()) + 1):
        shares = (rows == label) @ weights.T / weights.sum(axis=1)
        fine &= (shares <= 1 / l + 1e-9).all(axis=1)
    return fine


def posteriors(
    ages: list[int],
    labels: str,
    k: int,
    l: float,  # noqa: E741
    largest: int = 99,
) -> Iterator[tuple[float, NDArray[np.float64]]]:
    """Yield each release with its probability, and how likely each value is for each record then.

    All labels are equally likely beforehand. The rows are made without labels. Then, for the smallest units
    of rows with a valid assignment, one is drawn with a probability in proportion to the product of its x. In
    one of 8 cases the next larger units are taken instead. Units above `largest` are left out.
    """
    dealt = labellings(labels)
    table = next(tables(ages, dealt[:1]))
    alone = Freeform(k=k)
    recoding = method_for(alone)[1](table, alone, Circumstances(Randomness(1)))
    assert isinstance(recoding, Recoding)
    assert recoding.graph is not None
    place = 3 ** np.arange(len(ages))
    by_code = np.argsort(dealt @ place)
    codes = (dealt @ place)[by_code]
    reached = np.ones(len(dealt))  # the probability that the method comes to units of this size
    size = 1
    while reached.sum() > 0 and size <= largest:
        probability, rows_valid, orders = drawn(unseen._united(table, recoding.graph, size), dealt, k, l)
        # The labels of the records if row i carries record orders[., i] and shows the label rows[., i].
        of_records = np.empty((len(rows_valid), len(orders)), dtype=np.int64)
        for at, rows in enumerate(rows_valid):
            found = np.empty_like(orders)
            np.put_along_axis(found, orders, np.broadcast_to(rows, orders.shape), axis=1)
            of_records[at] = by_code[np.searchsorted(codes, found @ place)]
        total = np.bincount(of_records.ravel(), np.tile(probability, len(rows_valid)), minlength=len(dealt))
        ends = 1.0 if size >= len(ages) else 1 - 1 / unseen.SHARED
        for at in range(len(rows_valid)):
            weight = probability / total[of_records[at]] * reached[of_records[at]] * ends
            if weight.sum() > 0:
                values = np.zeros((len(ages), int(dealt.max()) + 1))
                for label in range(values.shape[1]):
                    values[:, label] = weight @ (dealt[of_records[at]] == label)
                yield float(weight.sum()) / len(dealt), values / weight.sum()
        reached = np.where(total > 0, reached * (1 - ends), reached)
        size = max(size + 1, size * 3 // 2)


def drawn(
    recoding: Recoding,
    dealt: NDArray[np.int64],
    k: int,
    l: float,  # noqa: E741
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the weights of all assignments, the labels of rows that are diverse, and the assignments."""
    graph = Graph.of_recoding(recoding)
    n = len(recoding.table)
    covers = np.zeros((n, n), dtype=np.bool_)
    starts, boxes = graph.crowds(np.arange(len(graph.records)))
    for kind in range(len(graph.records)):
        around = np.isin(graph.row_type, boxes[starts[kind] : starts[kind + 1]])
        covers[np.ix_(graph.record_type == kind, around)] = True
    orders = permutations(n)
    orders = orders[covers[orders, np.arange(n)].all(axis=1)]
    match = np.zeros((n, n), dtype=np.bool_)
    match[orders, np.arange(n)] = True
    edges = unseen._Edges.of(graph, graph.matches(orders[0].astype(np.int32)), recoding.box)
    of_edge = np.zeros((len(graph.records), len(edges.rows)))
    of_edge[edges.kind[edges.match], edges.unit[edges.match]] = edges.shares(1 / k)
    shares = of_edge[graph.record_type][:, recoding.box]
    assert (shares[match] > 0).all()
    assert (shares[~match] == 0).all()
    valid = dealt
    for weights in (shares, covers.astype(np.float64), match.astype(np.float64)):
        valid = valid[diverse(weights, valid, l)] if len(valid) else valid
    return shares[orders, np.arange(n)].prod(axis=1), valid, orders


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("labels", "k", "l"),
    [("000111", 2, 2.0), ("001122", 2, 2.0), ("001122", 3, 2.0), ("0001112", 2, 1.5), ("0001112", 3, 2.0)],
)
def test_no_value_is_certain_and_the_best_guess_is_bounded(shape: str, labels: str, k: int, l: float) -> None:  # noqa: E741
    require_bounded(SHAPES[shape][: len(labels)], labels, k, l)


def test_shared_rows_do_not_tell_why_they_are_shared() -> None:
    found = list(posteriors(TOLD, "00011122", 2, 1.5, largest=2))
    assert 0.5 < sum(probability for probability, _ in found) < 1.0
    assert all(values.max() < 0.9 for _, values in found)


def require_bounded(ages: list[int], labels: str, k: int, l: float) -> None:  # noqa: E741
    """Fail if some release makes a value certain, or if guesses are right more often than they may."""
    seen, right, certain = 0.0, np.zeros(len(labels)), 0.0
    for probability, values in posteriors(ages, labels, k, l):
        best = values.max(axis=1)
        seen += probability
        right += probability * best
        certain += probability * float((best > 1 - 1e-9).mean())
    assert seen == pytest.approx(1.0)
    assert certain == 0.0
    assert right.mean() <= 1.1 / l
    assert right.max() <= 1.5 / l
