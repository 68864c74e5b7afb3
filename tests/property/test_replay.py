"""Rounds replayed: from who joined which row when, each choice is shown to be a true minimum.

A row lists its records in the order in which they joined, so the graph is the log of all rounds. The replay
prices all pairs of records and rows in each round, and looks for anything cheaper that was still available: a
single pair for Greedy and SortGreedy, the pairs of all together for matching. Only choices of the former two
that were made by an exchange at a dead end are left out; there are few, and they are marked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from strategies import tables

from shoal import Freeform, Schema, read_table
from shoal.measures.gcp import gcp
from shoal.measures.geometry import geometry
from shoal.methods.baselines.printed_growth import extra_costs, grow_as_printed, lightest_first
from shoal.methods.greedy import choosing_in, greedy, lexicographic_order
from shoal.methods.growth import Growth, grow
from shoal.methods.matching import CANDIDATES, TOGETHER, cheapest_together
from shoal.methods.method import Circumstances
from shoal.methods.sort_greedy import cheapest_first, sort_greedy
from shoal.recoding import Recoding
from shoal.table import Table

METHODS = ["greedy", "sort_greedy"]
QUASI = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
ROUNDING = 1e-9


def grown(method: str, table: Table, k: int) -> Growth:
    """Return how rows grow, which must be what the method returns with the effort `fast`."""
    round_, function = {
        "greedy": (choosing_in(lexicographic_order(table.codes)), greedy),
        "sort_greedy": (cheapest_first, sort_greedy),
        "matching": (cheapest_together, None),  # no effort of it consists of rounds alone
    }[method]
    growth = grow(table, k, Circumstances(), round_)
    if function is None:
        return growth
    graph = function(table, Freeform(k=k), Circumstances(), effort="fast").graph
    assert graph is not None
    assert (graph == growth.graph).all()
    return growth


def rounds(table: Table, growth: Growth) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
    """Yield each round: its number, the row that each record joined, and what all pairs would have cost."""
    n, k = growth.graph.shape
    for turn in range(1, k):
        rows = growth.graph[:, :turn]
        costs = extra_costs(geometry(table), table.codes, rows)
        costs[rows, np.arange(n)[:, None]] = np.inf
        row_of = np.argsort(growth.graph[:, turn])
        assert np.isfinite(costs[np.arange(n), row_of]).all()  # no record joined a row twice
        yield turn, row_of, costs


def passed_over(method: str, table: Table, growth: Growth) -> int:
    """Return how many pairs of a record and a row were cheaper and still available when a pair was chosen."""
    n = len(table)
    found = 0
    for turn, row_of, costs in rounds(table, growth):
        joined = growth.graph[:, turn]
        paid = costs[np.arange(n), row_of]
        better = costs < paid[:, None] - ROUNDING
        if method == "greedy":
            when = np.argsort(order_of_choice(table, turn))
            better &= when[:, None] < when[joined]  # the row was taken only later
        else:
            better &= costs < paid[joined] - ROUNDING  # the pair precedes the one the row was taken in
        forced = growth.exchanged[:, turn]
        found += int(better[~forced[row_of]][:, ~forced].sum())
    return found


def order_of_choice(table: Table, turn: int) -> list[int]:
    """Return the records in Greedy's order: those with more than `turn` copies, then the others."""
    records = [tuple(record) for record in table.codes.tolist()]
    copies = Counter(records)
    different = [len(set(column)) for column in zip(*records, strict=True)]
    by_cardinality = sorted(range(len(different)), key=lambda a: different[a])
    return sorted(
        range(len(records)),
        key=lambda r: (copies[records[r]] <= turn, [records[r][a] for a in by_cardinality], r),
    )


@pytest.mark.parametrize("method", METHODS)
@given(drawn=tables(min_rows=2, max_rows=14, flavours=["polars"]), data=st.data())
def test_every_choice_is_a_true_minimum(method: str, drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    table = Table.encode(*drawn)
    n = len(table)
    k = data.draw(st.integers(2, n))
    growth = grown(method, table, k)
    assert passed_over(method, table, growth) == 0
    event("dead ends" if any(growth.dead_ends) else "no dead end")
    for turn, dead_ends in enumerate(growth.dead_ends, start=1):
        # Those who are left over lie in all rows that are left over, and a row has `turn` records.
        assert dead_ends <= turn
        exchanged = int(growth.exchanged[:, turn].sum())
        assert (exchanged > 0) == (dead_ends > 0)
        assert n < 2 * k - 1 or exchanged <= 2 * dead_ends


def wasted(table: Table, growth: Growth) -> NDArray[np.float64]:
    """Return what each round of small rows cost more than the cheapest assignment on sure candidates.

    Those are the pairs whose record is nearer to the row than its last candidate. Which of several equally
    near ones is the last candidate is left open, so the cheapest assignment may also use a chosen pair.
    """
    found = []
    everybody = np.arange(len(table))
    for turn, row_of, costs in rounds(table, growth):
        if turn >= TOGETHER:
            break
        nearest = np.sort(costs, axis=0)
        last = nearest[CANDIDATES - 1] if len(table) > CANDIDATES else np.full(len(table), np.inf)
        candidates = np.where(costs < last, costs, np.inf)
        candidates[everybody, row_of] = costs[everybody, row_of]
        found.append(costs[everybody, row_of].sum() - candidates[linear_sum_assignment(candidates)].sum())
    return np.array(found)


@given(drawn=tables(min_rows=2, max_rows=14, flavours=["polars"]), data=st.data())
def test_every_round_of_matching_is_the_cheapest_assignment(
    drawn: tuple[Any, Schema], data: st.DataObject
) -> None:
    table = Table.encode(*drawn)
    k = data.draw(st.integers(2, len(table)))
    assert (wasted(table, grown("matching", table, k)) < ROUNDING).all()


def test_every_round_of_matching_on_adult(adult: Table) -> None:
    frame = adult.frame.to_native()[:600]
    table = Table.encode(frame, Schema.infer(frame, quasi=QUASI))
    growth = grown("matching", table, 5)
    assert (wasted(table, growth) < ROUNDING).all()
    # The replay notices if two rows had taken in each other's record, and that the cheapest pair goes first.
    spoiled = growth.graph.copy()
    spoiled[[0, 1], 4] = spoiled[[1, 0], 4]
    assert wasted(table, Growth(spoiled, growth.exchanged, growth.dead_ends))[-1] > ROUNDING
    assert (wasted(table, grown("sort_greedy", table, 5)) > ROUNDING).all()


@pytest.fixture(scope="module")
def adult(shared_data: Path) -> Table:
    frame = read_table(shared_data / "adult_train.csv.gz")
    frame = frame.filter(~pl.any_horizontal(pl.all() == "?")).sample(2_000, seed=3)
    return Table.encode(frame, Schema.infer(frame, quasi=QUASI))


@pytest.mark.parametrize("method", METHODS)
def test_every_choice_on_adult(method: str, adult: Table) -> None:
    growth = grown(method, adult, 10)
    assert passed_over(method, adult, growth) == 0
    assert sum(growth.dead_ends) <= 9
    # The replay notices if two rows had taken in each other's record.
    spoiled = growth.graph.copy()
    spoiled[[0, 1], 9] = spoiled[[1, 0], 9]
    assert passed_over(method, adult, Growth(spoiled, growth.exchanged, growth.dead_ends)) > 0


@pytest.mark.parametrize("method", [*METHODS, "matching"])
@given(drawn=tables(min_rows=3, max_rows=14, flavours=["polars"]), data=st.data())
def test_a_larger_k_only_adds_rounds(method: str, drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    table = Table.encode(*drawn)
    k = data.draw(st.integers(2, len(table) - 1))
    assert (grown(method, table, k).graph == grown(method, table, k + 1).graph[:, :k]).all()


@given(tables(min_rows=1, max_rows=9, flavours=["polars"]), st.data())
def test_all_pairs_are_priced_as_recodings_are(drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    table = Table.encode(*drawn)
    n, size = len(table), data.draw(st.integers(1, len(table)))
    rows = np.array([data.draw(st.permutations(range(n)))[:size] for _ in range(n)], dtype=np.int32)
    joined = np.array([[*rows[row], record] for record in range(n) for row in range(n)], dtype=np.int32)

    def cost(groups: NDArray[np.int32]) -> NDArray[np.float64]:
        starts = np.arange(0, groups.size + 1, groups.shape[1], dtype=np.int64)
        closures = [a.domain.closure(a.codes[groups.ravel()], starts).ncp() for a in table.attributes]
        return np.asarray(table.weights @ np.array(closures))

    expected = cost(joined).reshape(n, n) - cost(rows)
    assert np.allclose(extra_costs(geometry(table), table.codes, rows), expected, atol=ROUNDING)


def printed(table: Table, k: int) -> NDArray[np.int32]:
    return grow_as_printed(table, k, lightest_first, Circumstances())


@given(st.integers(3, 40), st.integers(1, 4), st.integers(0, 2**32))
def test_without_ties_the_printed_algorithm_gives_the_same(n: int, columns: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({f"c{i}": rng.random(n) for i in range(columns)})
    table = Table.encode(frame, Schema.infer(frame, quasi=frame.columns))
    ours = grown("sort_greedy", table, 2)
    same = (printed(table, 2) == ours.graph).all()
    event("dead end" if any(ours.dead_ends) else "no dead end")
    assert same or any(ours.dead_ends)


def test_with_ties_the_printed_algorithm_loses_about_the_same(adult: Table) -> None:
    frame = adult.frame.to_native()[:600]
    table = Table.encode(frame, Schema.infer(frame, quasi=QUASI))
    literal, ours = printed(table, 5), grown("sort_greedy", table, 5).graph
    assert gcp(Recoding.of_graph(table, literal)) == pytest.approx(
        gcp(Recoding.of_graph(table, ours)), rel=0.03
    )
