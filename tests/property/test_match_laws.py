"""Matches: maximum matchings, components and counts against brute force over all edges and permutations."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import twins
from examples import examples
from hypothesis import event, example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoal.base.ragged import Subsets
from shoal.kernels import CodeIntervals, ConsistencyGraph
from shoal.recoding.coverage import Graph, Matches

SIZES = (2, 6, 30, 100, 100_000)
"""How many codes an attribute may have: also more than an extent has bins for."""


@st.composite
def graphs(draw: st.DrawFn, most: int) -> Graph:
    """Draw records and rows of all shapes: narrow and wide, equal and different, as many or not.

    Most rows are made around a record, like those of a release. Their sizes are Hypothesis' choice, the rest
    is a generator's: it finds many components where independent choices would find one.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = draw(st.lists(st.sampled_from(SIZES), max_size=3))
    n = draw(st.sampled_from([most, most // 2, most // 3, 3, 2, 1, 0]))
    used = [rng.choice(size, draw(st.integers(1, 30))) for size in sizes]
    codes = np.array([rng.choice(pool, n) for pool in used], np.int32).reshape(len(sizes), n).T
    rows = draw(st.sampled_from([n, n, n, max(n - 3, 0), min(n + 3, most)]))
    centre = rng.permutation(n)[np.arange(rows) % max(n, 1)] if n else np.full(rows, -1)
    width, suppressed, strange = (draw(st.sampled_from(shares)) for shares in WIDTHS)
    attributes: list[CodeIntervals | Subsets] = []
    for a, size in enumerate(sizes):
        spans = []
        for row in range(rows):
            kind = rng.random()
            near = np.sort(rng.choice(used[a], 1 + rng.binomial(4, width)))
            if centre[row] >= 0 and kind >= strange:
                near = np.sort(np.append(near, codes[centre[row], a]))
            spans.append(np.arange(size) if rng.random() < suppressed else np.unique(near))
        if draw(st.booleans()):
            low, high = ([int(span[end]) for span in spans] for end in (0, -1))
            if rows:
                high[0] -= draw(st.sampled_from([0, 0, 1]))  # perhaps an interval of nothing
            attributes.append(CodeIntervals(size, np.array(low, np.int32), np.array(high, np.int32)))
        else:
            if rows and draw(st.sampled_from([False, False, True])):
                spans[0] = spans[0][:0]
            starts = np.cumsum([0, *map(len, spans)])
            members = np.concatenate([*spans, np.empty(0)])
            attributes.append(Subsets(starts.astype(np.int64), members.astype(np.int32), size))
    cells = np.repeat(np.arange(rows, dtype=np.int32)[:, None], len(sizes), axis=1)
    if rows:
        cells = cells[rng.integers(0, rows, rows)] if draw(st.booleans()) else cells
    return graph_of(codes, cells, attributes)


WIDTHS = ((0.0, 0.3, 0.9), (0.0, 0.0, 0.1, 0.5), (0.0, 0.0, 0.1, 1.0))
"""How far rows reach, how often a cell is suppressed, and how often a row does not cover its record."""

NONE, ZERO = np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int32)


def graph_of(
    codes: NDArray[np.int32], cells: NDArray[np.int32], attributes: list[CodeIntervals | Subsets]
) -> Graph:
    """Return the graph of records and rows."""
    record_type, first_record = twins.group_rows([tuple(row) for row in codes.tolist()])
    row_type, first_row = twins.group_rows([tuple(row) for row in cells.tolist()])
    return Graph(
        codes[first_record],
        np.array(record_type, np.int32),
        cells[first_row],
        np.array(row_type, np.int32),
        tuple(attributes),
    )


def edges_of(graph: Graph) -> list[list[bool]]:
    """Return for each record and row whether they are consistent."""
    by_type = twins.consistent(graph.records.tolist(), graph.boxes.tolist(), graph.attributes)
    return [[by_type[record][row] for row in graph.row_type] for record in graph.record_type]


def check(found: Matches, edges: list[list[bool]]) -> None:
    """Compare with the twin; the matching itself may be any that is as large."""
    records, rows = len(found.matched), len(found.matches_of_row)
    pairs = [(record, int(row)) for record, row in enumerate(found.matched) if row >= 0]
    assert all(edges[record][row] for record, row in pairs)
    assert len({row for _, row in pairs}) == len(pairs)
    most = len(twins.maximum_matching(edges, rows))
    assert len(pairs) == most
    assert found.unmatched_records == records - most
    assert found.unmatched_rows == rows - most
    assert found.perfect == (records == rows == most)
    same = found.component_of_record[:, None] == found.component_of_row[None, :]
    possible = np.array(edges, dtype=bool).reshape(records, rows)
    assert (possible & same).tolist() == twins.matches(edges, rows)
    assert found.matches_of_record.tolist() == (possible & same).sum(axis=1).tolist()
    assert found.matches_of_row.tolist() == (possible & same).sum(axis=0).tolist()
    order = found.component_of_record[:, None] <= found.component_of_row[None, :]
    assert order[possible].all()
    sizes = found.records_of_component, found.rows_of_component
    assert [size.sum() for size in sizes] == [records, rows]
    assert (sum(sizes) > 0).all()
    if found.perfect:
        assert sizes[0].tolist() == sizes[1].tolist()


def remember(found: Matches) -> None:
    event("perfect" if found.perfect else "not perfect")
    event(f"components: {min(found.components, 5)}")


@given(graphs(most=6))
def test_a_match_is_a_pair_of_some_maximum_matching(graph: Graph) -> None:
    edges, rows = edges_of(graph), len(graph.row_type)
    assert twins.matches(edges, rows) == by_permutations(edges, rows)
    found = graph.matches()
    remember(found)
    check(found, edges)


@given(graphs(most=12))
def test_edges_are_counted_without_an_unknown_attribute(graph: Graph) -> None:
    for unknown in range(len(graph.attributes)):
        others = [a for a in range(len(graph.attributes)) if a != unknown]
        fewer = graph_of(
            graph.records[graph.record_type][:, others],
            graph.boxes[graph.row_type][:, others],
            [graph.attributes[a] for a in others],
        )
        edges = np.array(edges_of(fewer), dtype=bool).reshape(len(graph.record_type), len(graph.row_type))
        rows, records = graph.degrees(unknown)
        assert rows.tolist() == edges.sum(axis=1).tolist()
        assert records.tolist() == edges.sum(axis=0).tolist()


def by_permutations(edges: list[list[bool]], rows: int) -> list[list[bool]]:
    """Return which pairs some maximum matching uses, by trying every matching."""
    records = len(edges)
    side = max(records, rows)
    best, used = -1, np.zeros((side, side), dtype=bool)
    for order in permutations(range(side)):
        pairs = [(i, j) for i, j in enumerate(order) if i < records and j < rows and edges[i][j]]
        if len(pairs) > best:
            best, used = len(pairs), np.zeros((side, side), dtype=bool)
        if len(pairs) == best:
            for pair in pairs:
                used[pair] = True
    return used[:records, :rows].tolist()


@given(graphs(most=40))
@example(Graph(NONE.reshape(0, 0), NONE, NONE.reshape(1, 0), np.zeros(3, np.int32), ()))
@example(Graph(NONE.reshape(0, 1), NONE, ZERO.reshape(1, 1), ZERO, (CodeIntervals(2, ZERO, ZERO),)))
def test_the_records_of_a_box_are_stretches_of_an_order(graph: Graph) -> None:
    copies = (np.bincount(types, minlength=1)[: len(of)] for types, of in sides(graph))
    records_copies, box_copies = copies
    kernel = ConsistencyGraph(graph.records, records_copies, graph.boxes, box_copies, graph.attributes)
    order, starts, begins, ends = kernel.stretches()
    assert sorted(order.tolist()) == list(range(len(graph.records)))
    assert (begins < ends).all()
    edges = np.zeros((len(graph.records), len(graph.boxes)), dtype=bool)
    for box in range(len(graph.boxes)):
        mine = slice(starts[box], starts[box + 1])
        assert (ends[mine][:-1] < begins[mine][1:]).all()  # ascending, and apart
        for begin, end in zip(begins[mine], ends[mine], strict=True):
            edges[order[begin:end], box] = True
    by_twin = twins.consistent(graph.records.tolist(), graph.boxes.tolist(), graph.attributes)
    assert edges.tolist() == by_twin


def sides(graph: Graph) -> list[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    return [(graph.record_type, graph.records), (graph.row_type, graph.boxes)]


@examples(100)
@given(graphs(most=40))
def test_matches(graph: Graph) -> None:
    found = graph.matches()
    remember(found)
    check(found, edges_of(graph))


@given(graphs(most=30), st.integers(0, 2**32), st.booleans())
def test_a_key_changes_nothing_even_if_it_is_wrong(graph: Graph, seed: int, random: bool) -> None:
    records, rows = len(graph.record_type), len(graph.row_type)
    if records == 0:
        return
    rng = np.random.default_rng(seed)
    key = rng.integers(0, records, rows) if random else rng.permutation(records)[np.arange(rows) % records]
    check(graph.matches(key), edges_of(graph))


@given(graphs(most=25), st.integers(0, 2**32))
def test_the_order_of_records_and_rows_does_not_matter(graph: Graph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    record, row = rng.permutation(len(graph.record_type)), rng.permutation(len(graph.row_type))
    one = graph.matches()
    codes, cells = graph.records[graph.record_type], graph.boxes[graph.row_type]
    two = graph_of(codes[record], cells[row], list(graph.attributes)).matches()
    assert one.matches_of_record[record].tolist() == two.matches_of_record.tolist()
    assert one.matches_of_row[row].tolist() == two.matches_of_row.tolist()
    assert one.unmatched_records == two.unmatched_records
    together = [
        (int(a), int(b))
        for a, b in zip(
            [*one.component_of_record[record], *one.component_of_row[row]],
            [*two.component_of_record, *two.component_of_row],
            strict=True,
        )
    ]
    assert len(set(together)) == one.components == two.components


@given(graphs(most=12))
def test_two_copies_of_a_table_have_twice_the_matches(graph: Graph) -> None:
    codes, cells = graph.records[graph.record_type], graph.boxes[graph.row_type]
    twice = graph_of(np.tile(codes, (2, 1)), np.tile(cells, (2, 1)), list(graph.attributes)).matches()
    once = graph.matches()
    assert twice.unmatched_records == 2 * once.unmatched_records
    assert twice.matches_of_record.tolist() == [*2 * once.matches_of_record] * 2
    assert twice.matches_of_row.tolist() == [*2 * once.matches_of_row] * 2


@given(st.integers(1, 400), st.booleans(), st.integers(0, 2**32))
def test_a_path_through_everything(n: int, closed: bool, seed: int) -> None:
    """Row i covers records i and i + 1, the last only its own: if the key is one off, all have to move."""
    rng = np.random.default_rng(seed)
    low = np.arange(n, dtype=np.int32)
    high = np.minimum(low + 1, n - 1).astype(np.int32)
    if closed:
        low[-1] = 0  # a suppressed row closes the ring
    codes, cells = np.arange(n, dtype=np.int32)[:, None], rng.permutation(n).astype(np.int32)[:, None]
    found = graph_of(codes, cells, [CodeIntervals(n, low, high)]).matches(np.minimum(cells[:, 0] + 1, n - 1))
    assert found.perfect
    row_of = np.argsort(cells[:, 0])
    if closed:
        assert found.components == 1
        assert found.matches_of_row[row_of].tolist() == [2] * (n - 1) + [n]
    else:
        assert found.matched.tolist() == row_of.tolist()
        assert found.components == n
        assert (found.matches_of_record == 1).all()


@given(graphs(most=40), st.data())
def test_crowds_are_all_edges(graph: Graph, data: st.DataObject) -> None:
    types = data.draw(st.lists(st.integers(0, len(graph.records) - 1)) if len(graph.records) else st.just([]))
    starts, boxes = graph.crowds(np.array(types, dtype=np.int64))
    edges = twins.consistent(graph.records.tolist(), graph.boxes.tolist(), graph.attributes)
    assert len(starts) == len(types) + 1
    for i, record in enumerate(types):
        found = boxes[starts[i] : starts[i + 1]].tolist()
        assert sorted(found) == [box for box, inside in enumerate(edges[record]) if inside]
