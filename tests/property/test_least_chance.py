"""The least chance agrees with a linear program, and drawn assignments have the probabilities they should."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from chance_program import least_chance_by_program
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoal import kernels
from shoal.base.randomness import Randomness
from shoal.kernels import CodeIntervals
from shoal.recoding.chances import least_chance, random_matching
from shoal.recoding.coverage import Graph

DRAWS = 1500


@st.composite
def interval_graphs(draw: st.DrawFn, *, left_over: bool = False) -> Graph:
    """Draw records on a line and rows that cover one of them each, and maybe more records than rows."""
    records = draw(st.lists(st.integers(0, 6), min_size=1, max_size=16))
    size = draw(st.integers(1, len(records))) if left_over else len(records)
    spans = [(draw(st.integers(0, 3)), draw(st.integers(0, 3))) for _ in range(size)]
    low = np.array([max(0, record - left) for record, (left, _) in zip(records, spans, strict=False)])
    high = np.array([min(6, record + right) for record, (_, right) in zip(records, spans, strict=False)])
    return graph_of(np.array(records), low, high)


def graph_of(records: NDArray[np.int_], low: NDArray[np.int_], high: NDArray[np.int_]) -> Graph:
    """Return the graph of records and of intervals that cover them."""
    pairs, cells = np.unique(np.column_stack((low, high)), axis=0, return_inverse=True)
    codes = records.astype(np.int32)[:, None]
    values = CodeIntervals(7, pairs[:, 0].astype(np.int32), pairs[:, 1].astype(np.int32))
    record_type, first = kernels.group_rows(codes)
    cells = cells.ravel().astype(np.int32)
    row_type, first_row = kernels.group_rows(cells[:, None])
    return Graph(codes[first], record_type, cells[first_row][:, None], row_type, (values,))


def covered(graph: Graph) -> NDArray[np.bool_]:
    """Return which row (first axis) covers which record."""
    values = graph.attributes[0]
    assert isinstance(values, CodeIntervals)
    cells = graph.boxes[graph.row_type, 0]
    codes = graph.records[graph.record_type, 0]
    inside: NDArray[np.bool_] = (values.low[cells, None] <= codes) & (codes <= values.high[cells, None])
    return inside


@given(interval_graphs())
def test_the_least_chance_is_that_of_a_linear_program(graph: Graph) -> None:
    found = least_chance(graph, graph.matches())
    assert found is not None
    assert abs(float(found) - least_chance_by_program(covered(graph))) < 1e-7


@pytest.mark.parametrize(
    ("records", "low", "high", "least"),
    [
        ("01344", "00033", "34365", Fraction(3, 8)),
        ("1113446", "0003244", "2436566", Fraction(1, 2)),
        ("00114445666", "00004325544", "21445556666", Fraction(4, 15)),
        ("12224445555", "00102245555", "45324466656", Fraction(1, 3)),
    ],
)
def test_the_least_chance_of_several_rows_together(
    records: str, low: str, high: str, least: Fraction
) -> None:
    """No row or record alone is the reason for it, as in one of 170 random graphs: a minimum cut is."""
    graph = graph_of(*(np.array([int(digit) for digit in each]) for each in (records, low, high)))
    inside = covered(graph)
    assert least > Fraction(1, int(min(inside.sum(axis=0).min(), inside.sum(axis=1).min())))
    assert abs(float(least) - least_chance_by_program(inside)) < 1e-7
    assert least_chance(graph, graph.matches()) == least


@given(interval_graphs(left_over=True))
def test_records_may_be_left_over(graph: Graph) -> None:
    found = least_chance(graph, graph.matches())
    assert found is not None
    assert abs(float(found) - least_chance_by_program(covered(graph))) < 1e-7


@given(interval_graphs(), st.integers(0, 2**32))
def test_rows_cover_the_records_drawn_for_them(graph: Graph, seed: int) -> None:
    drawn = random_matching(graph, graph.matches(), Randomness(seed))
    assert sorted(drawn) == list(range(len(graph.record_type)))
    assert covered(graph)[np.arange(len(drawn)), drawn].all()


@examples(10)
@given(interval_graphs())
def test_no_row_carries_a_record_more_often_than_the_least_chance(graph: Graph) -> None:
    matches, randomness = graph.matches(), Randomness(1)
    n = len(graph.record_type)
    counts = np.zeros((n, n))
    for _ in range(DRAWS):
        counts[np.arange(n), random_matching(graph, matches, randomness)] += 1
    part = graph.within(matches, np.ones(matches.components, dtype=np.bool_))
    everything = part.parts(np.unique(part.component_of_box).astype(np.int64))
    record, box, expected = kernels.evenest_links(part.neighbourhoods, everything)
    by_type = np.zeros((len(graph.boxes), len(graph.records)))
    by_type[part.boxes[box], part.records[record]] = expected
    copies = np.outer(np.bincount(graph.row_type), np.bincount(graph.record_type))
    chance = (by_type / copies)[graph.row_type][:, graph.record_type]
    np.testing.assert_allclose(chance.sum(axis=0), 1.0)
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    least = least_chance(graph, matches)
    assert least is not None
    assert chance.max() <= float(least) + 1e-12
    # Five standard errors and more: these draws are the same in every run.
    assert np.abs(counts / DRAWS - chance).max() < 5 * np.sqrt(0.25 / DRAWS)


def test_links_are_as_even_as_the_least_chance_allows() -> None:
    """A row of two records makes it 1/2; three different rows of all records share what is left evenly."""
    graph = graph_of(np.arange(4), np.zeros(4, dtype=np.int_), np.array([1, 3, 4, 5]))
    matches = graph.matches()
    assert least_chance(graph, matches) == Fraction(1, 2)
    part = graph.within(matches, np.ones(matches.components, dtype=np.bool_))
    everything = part.parts(np.unique(part.component_of_box).astype(np.int64))
    record, box, expected = kernels.evenest_links(part.neighbourhoods, everything)
    chance = np.zeros((4, 4))
    chance[part.boxes[box], part.records[record]] = expected
    rows = chance[graph.row_type][:, graph.record_type]
    np.testing.assert_allclose(rows, [[1 / 2, 1 / 2, 0, 0], *[[1 / 6, 1 / 6, 1 / 3, 1 / 3]] * 3], atol=1e-4)


def test_a_regular_graph_has_the_least_chance_of_one_in_its_degree() -> None:
    low = np.arange(30, dtype=np.int32)
    codes = low[:, None]
    ring = [Graph(codes, low, codes, low, (CodeIntervals(30, low - low % 5, low - low % 5 + 4),))]
    assert least_chance(ring[0], ring[0].matches()) == Fraction(1, 5)


def test_graphs_with_too_many_edges_are_left_out() -> None:
    low = np.zeros(3, dtype=np.int32)
    numbers = np.arange(3, dtype=np.int32)
    values = CodeIntervals(3, low, np.array([1, 2, 2], dtype=np.int32))
    graph = Graph(numbers[:, None], numbers, numbers[:, None], numbers, (values,))
    assert least_chance(graph, graph.matches(), most_edges=2) is None
    assert least_chance(graph, graph.matches()) == Fraction(1, 2)
