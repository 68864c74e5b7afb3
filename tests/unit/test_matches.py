"""Matches on tables small enough to see through, on degenerate ones, and at size."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from shoal import Schema, kernels
from shoal.auditing.reading import read_release
from shoal.base.ragged import Subsets
from shoal.kernels import RANGE, SET, CodeIntervals, Geometry
from shoal.kinds.hierarchy import Hierarchy
from shoal.kinds.ranges import Ranges
from shoal.recoding.coverage import Graph, Matches
from shoal.schema import as_frame
from shoal.table import Table


def matches(original: pl.DataFrame, released: pl.DataFrame, schema: Schema) -> Matches:
    """Return the matches of a release as it is written."""
    table = Table.encode(original, schema)
    columns = read_release(as_frame(released), table)
    cells = np.column_stack([column.cell for column in columns])
    return Graph.of(table.codes, cells, [column.values for column in columns]).matches()


def line(records: list[int], rows: list[tuple[int, int]], size: int = 20) -> Graph:
    """Return the graph of one numeric attribute; rows are intervals."""
    low, high = np.array(rows, np.int32).reshape(-1, 2).T.copy()
    cells, codes = np.arange(len(rows), dtype=np.int32)[:, None], np.array(records, np.int32)[:, None]
    (record_type, first), row_type = kernels.group_rows(codes), np.arange(len(rows), dtype=np.int32)
    return Graph(codes[first], record_type, cells, row_type, (CodeIntervals(size, low, high),))


# --- Tassa, Mazza and Gionis 2012 ---------------------------------------------------------------------------


def test_the_example_of_concealment() -> None:
    """Table 1: every record has two matches in (c), where no two of the first three rows are equal."""
    original = pl.DataFrame(
        {"age": [30, 21, 21, 55, 47], "zip": ["10055", "10055", "10023", "10165", "10224"]}
    )
    tree = Hierarchy.from_levels(
        [[code, f"{code[:3]}**", f"{code[:2]}***", "*"] for code in ("10055", "10023", "10165", "10224")]
    )
    schema = Schema.infer(original, quasi=["age", "zip"], hierarchies={"zip": tree})
    released = pl.DataFrame(
        {
            "age": ["21..30", "21", "21..30", "47..55", "47..55"],
            "zip": ["10055", "100**", "100**", "10***", "10***"],
        }
    )
    found = matches(original, released, schema)
    assert found.perfect
    assert found.matches_of_record.tolist() == [2, 3, 2, 2, 2]
    assert found.matches_of_row.tolist() == [2, 2, 3, 2, 2]
    assert found.records_of_component.tolist() == found.rows_of_component.tolist()
    assert sorted(found.rows_of_component) == [2, 3]


@pytest.mark.parametrize("k", [2, 3, 5])
def test_rows_around_everything_hide_nobody(k: int) -> None:
    """Section 5.1, Figure 3: k rows cover each record, but all but the last k are released as they are."""
    n = 4 * k
    graph = line(list(range(n)), [(i, i) for i in range(n - k)] + [(0, n - 1)] * k)
    assert (graph.degrees()[0] >= k).all()
    assert graph.matches().matches_of_record.tolist() == [1] * (n - k) + [k] * k


@pytest.mark.parametrize("k", [3, 4, 7])
def test_concealment_without_k_records_in_each_row(k: int) -> None:
    """Appendix A, the third region: a row of k - 1 records, and yet every record has k matches."""
    found = line(list(range(k + 1)), [(0, k - 2)] + [(0, k)] * k).matches()
    assert found.components == 1
    assert found.matches_of_record.tolist() == [k + 1] * (k - 1) + [k] * 2


@pytest.mark.parametrize("k", [2, 3, 6])
def test_k_rows_for_each_record_and_one_match(k: int) -> None:
    """Appendix A, the fourth region: a (k, k)-anonymization that leaves the first record one match."""
    a, b = list(range(k + 1)), list(range(k + 1, 2 * k + 1))  # the values a_i and b_i
    sets = [[a[0], *b[: k - 1]], *[a] * (k - 1), a[1:], *[b] * k]
    starts = np.cumsum([0, *map(len, sets)])
    values = Subsets(starts, np.array([code for members in sets for code in members], np.int32), 2 * k + 1)
    everybody = np.arange(2 * k + 1, dtype=np.int32)
    graph = Graph(everybody[:, None], everybody, everybody[:, None], everybody, (values,))
    assert min(map(min, graph.degrees())) == k
    found = graph.matches()
    assert found.matches_of_record.tolist() == [1] + [k] * 2 * k
    assert found.matches_of_row.tolist() == [1] + [k] * 2 * k


# --- degenerate cases ---------------------------------------------------------------------------------------


def test_nobody_and_nothing() -> None:
    found = line([], []).matches()
    assert found.perfect
    assert found.components == 0
    assert len(found.matched) == len(found.matches_of_row) == 0


def test_no_rows() -> None:
    found = line([3, 3, 5], []).matches()
    assert not found.perfect
    assert found.matched.tolist() == [-1] * 3
    assert (found.unmatched_records, found.unmatched_rows) == (3, 0)
    assert found.matches_of_record.tolist() == [0] * 3
    assert found.records_of_component.sum() == 3


def test_no_records() -> None:
    found = line([], [(0, 5), (2, 3)]).matches()
    assert (found.unmatched_records, found.unmatched_rows) == (0, 2)
    assert found.matches_of_row.tolist() == [0, 0]


@pytest.mark.parametrize(("row", "fits"), [((3, 3), True), ((0, 19), True), ((4, 9), False), ((3, 2), False)])
def test_one_record_and_one_row(row: tuple[int, int], fits: bool) -> None:
    found = line([3], [row]).matches()
    assert found.perfect == fits
    assert found.matched.tolist() == [0 if fits else -1]
    assert found.matches_of_record.tolist() == found.matches_of_row.tolist() == [int(fits)]


def test_without_attributes_everybody_is_anybody() -> None:
    codes, cells = np.empty((4, 0), np.int32), np.empty((5, 0), np.int32)
    found = Graph.of(codes, cells, []).matches()
    assert (found.unmatched_records, found.unmatched_rows) == (0, 1)
    assert found.matches_of_record.tolist() == [5] * 4
    assert found.matches_of_row.tolist() == [4] * 5


def test_all_rows_suppressed_and_all_records_equal() -> None:
    assert line(list(range(15)), [(0, 19)] * 15).matches().matches_of_record.tolist() == [15] * 15
    found = line([7] * 15, [(i % 8, 7 + i // 2) for i in range(15)]).matches()
    assert found.perfect
    assert found.components == 1
    assert found.matches_of_row.tolist() == [15] * 15


def test_a_record_was_left_out() -> None:
    """It could be any of the first three; the last two have rows of their own."""
    found = line([1, 2, 3, 8, 9], [(1, 3), (1, 3), (8, 8), (9, 9)]).matches()
    assert (found.unmatched_records, found.unmatched_rows) == (1, 0)
    assert found.matches_of_record.tolist() == [2, 2, 2, 1, 1]
    assert found.matches_of_row.tolist() == [3, 3, 1, 1]


def test_a_row_too_many() -> None:
    found = line([1, 2, 8], [(1, 2), (1, 2), (2, 2), (8, 9)]).matches()
    assert (found.unmatched_records, found.unmatched_rows) == (0, 1)
    assert found.matches_of_record.tolist() == [2, 3, 1]


def test_a_release_of_another_table() -> None:
    """As many rows as records, but three of them want the same two."""
    found = line([1, 2, 3, 4], [(1, 2), (1, 2), (1, 2), (3, 4)]).matches()
    assert not found.perfect
    assert (found.unmatched_records, found.unmatched_rows) == (1, 1)
    assert found.matches_of_record.tolist() == [3, 3, 1, 1]


def test_values_that_are_recoded() -> None:
    """The graph takes what a recoding or a reader has."""
    original = pl.DataFrame({"age": [1, 2, 3, 4]})
    table = Table.encode(original, Schema.infer(original, quasi=["age"]))
    domain = table.attributes[0].domain
    values = Ranges(domain, np.array([0, 2], np.int32), np.array([1, 3], np.int32))  # type: ignore[arg-type]
    found = Graph.of(table.codes, np.array([[0], [1], [1], [0]], np.int32), [values]).matches()
    assert found.component_of_record.tolist() == found.component_of_row[[0, 3, 1, 2]].tolist()
    assert found.matches_of_record.tolist() == [2] * 4


# --- at size ------------------------------------------------------------------------------------------------


def neighbourhoods(n: int, k: int, suppressed: float) -> Graph:
    """Return n records, and rows around k neighbours each, some of them suppressed; shuffled."""
    rng = np.random.default_rng(7)
    person = rng.normal(size=(3, n))
    ranges = [
        np.clip((person[i] + noise * rng.normal(size=n)) * size / 8 + size / 2, 0, size - 1)
        for i, noise, size in ((0, 0.5, 90), (1, 0.7, 1000), (2, 0.3, 365))
    ]
    codes = np.column_stack(
        [*ranges, np.minimum(rng.geometric(0.25, n) - 1, 15), rng.zipf(1.5, n) % 200, rng.integers(0, 2, n)]
    ).astype(np.int32)
    sizes = (90, 1000, 365, 16, 200, 2)
    geometries = [
        Geometry(RANGE, 1.0, size, np.linspace(0, 1, size))
        if a < 3
        else Geometry(SET, 1.0, size, np.array([float(size)]))
        for a, size in enumerate(sizes)
    ]
    order = kernels.BoxTree(codes, geometries, 1).order
    members = order[(np.arange(n)[:, None] + np.arange(k)) % n]
    attributes: list[CodeIntervals | Subsets] = []
    cells = np.repeat(np.arange(n, dtype=np.int32)[:, None], len(sizes), axis=1)
    cells[rng.random(n) < suppressed] = n  # the last value of each attribute is everything
    for a, size in enumerate(sizes):
        inside = codes[:, a][members]
        if a < 3:
            low, high = np.append(inside.min(axis=1), 0), np.append(inside.max(axis=1), size - 1)
            attributes.append(CodeIntervals(size, low.astype(np.int32), high.astype(np.int32)))
        else:
            pairs = np.unique(np.arange(n).repeat(k) * size + inside.ravel())
            sets = np.append(np.bincount(pairs // size, minlength=n), size)
            everything = np.append(pairs % size, np.arange(size))
            attributes.append(
                Subsets(np.concatenate(([0], np.cumsum(sets))), everything.astype(np.int32), size)
            )
    cells = cells[rng.permutation(n)]
    (record_type, record), (row_type, row) = kernels.group_rows(codes), kernels.group_rows(cells)
    return Graph(codes[record], record_type, cells[row], row_type, tuple(attributes))


def covers(graph: Graph, rows: NDArray[np.int64], record: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return which of some rows cover a record, one attribute after the other."""
    inside = np.ones(len(rows), dtype=bool)
    for attribute, code, value in zip(
        graph.attributes, record, graph.boxes[graph.row_type[rows]].T, strict=True
    ):
        if isinstance(attribute, CodeIntervals):
            inside &= (attribute.low[value] <= code) & (code <= attribute.high[value])
        else:
            owner = np.repeat(np.arange(len(attribute.starts) - 1), np.diff(attribute.starts))
            inside &= np.isin(value, owner[attribute.values == code])
    return inside


@pytest.mark.slow
@pytest.mark.parametrize("n", [50_000, pytest.param(200_000, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("suppressed", [0.0, 0.05])
def test_many_records(n: int, suppressed: float) -> None:
    k = 10
    graph = neighbourhoods(n, k, suppressed)
    found = graph.matches()
    assert found.perfect
    assert sorted(found.matched) == list(range(n))
    assert (found.component_of_record == found.component_of_row[found.matched]).all()
    assert found.matches_of_record.min() >= (k if suppressed == 0 else suppressed * n * 0.9)
    everyone, rng = np.arange(n), np.random.default_rng(1)
    for record in rng.choice(n, 100):
        around = covers(graph, everyone, graph.records[graph.record_type[record]])
        assert around[found.matched[record]]
        same = found.component_of_row == found.component_of_record[record]
        assert found.matches_of_record[record] == (around & same).sum()
        assert (found.component_of_row[around] >= found.component_of_record[record]).all()


@pytest.mark.slow
def test_work_at_size() -> None:
    """Far fewer searches than the 10^8 edges that suppressed rows alone have."""
    graph = neighbourhoods(50_000, 10, 0.05)
    kernel = kernels.ConsistencyGraph(
        graph.records,
        np.bincount(graph.record_type),
        graph.boxes,
        np.bincount(graph.row_type),
        graph.attributes,
    )
    matching = kernel.maximum_matching()
    types = len(graph.records) + len(graph.boxes)
    assert matching.copies.sum() == 50_000
    assert matching.searches < 10 * types
    assert matching.visited < 200 * matching.searches
    again = kernel.maximum_matching(matching)
    assert (again.phases, again.searches) == (0, 0)
