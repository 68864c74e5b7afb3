"""Links: counted ones against every matching there is, and sampled ones against counted ones."""

from __future__ import annotations

import json
import sys
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import twins
from hypothesis import event, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoal.auditing.links import Links, links_of
from shoal.auditing.posterior import Distribution, Labels, Posterior, posterior
from shoal.base.ragged import Subsets
from shoal.base.randomness import Randomness
from shoal.errors import InputError
from shoal.kernels import MatchingChains, Neighbourhoods, Parts, exact_links
from shoal.recoding.coverage import Graph

Edges = NDArray[np.bool_]


def graph_of(edges: Edges) -> Graph:
    """Return a consistency graph with given edges: rows are sets of records; equal ones are of one type."""
    neighbours, record_type = np.unique(edges, axis=0, return_inverse=True)
    columns, row_type = np.unique(neighbours.T, axis=0, return_inverse=True)
    starts = np.concatenate(([0], np.cumsum(columns.sum(axis=1))))
    values = Subsets(starts, np.nonzero(columns)[1].astype(np.int32), max(len(neighbours), 1))
    records, boxes = (np.arange(len(types), dtype=np.int32)[:, None] for types in (neighbours, columns))
    return Graph(records, record_type.astype(np.int32), boxes, row_type.astype(np.int32), (values,))


def random_edges(rng: np.random.Generator, records: int, rows: int, share: float, copied: float) -> Edges:
    """Return edges such that every row can have a record; some records and rows are equal to others."""
    edges = rng.random((records, rows)) < share
    for row in range(1, rows):
        if rng.random() < copied:
            edges[:, row] = edges[:, row - 1]
    for record in range(1, records):
        if rng.random() < copied:
            edges[record] = edges[record - 1]
    edges[rng.permutation(records)[:rows], np.arange(rows)] = True
    return edges


@st.composite
def edge_lists(draw: st.DrawFn, most: int) -> Edges:
    records = draw(st.integers(1, most))
    rows = draw(st.sampled_from([records, records, records, max(records - 2, 1)]))
    share, copied = draw(st.sampled_from([0.1, 0.3, 0.6])), draw(st.sampled_from([0.0, 0.3]))
    return random_edges(np.random.default_rng(draw(st.integers(0, 2**32))), records, rows, share, copied)


def links(graph: Graph, seed: int = 0, draws: int = 400, most_states: int = 2**20) -> Links:
    return links_of(
        graph,
        graph.matches(),
        seconds=600.0,
        draws=draws,
        most_states=most_states,
        randomness=Randomness(seed),
    )


def chances(graph: Graph, found: Links) -> NDArray[np.float64]:
    """Return how likely each record has each row."""
    component = len(graph.boxes) + graph.matches().component_of_row
    table = np.zeros((len(found.records_of), len(found.rows_of)))
    table[found.record, found.target] = found.expected.mean(axis=1)
    table /= found.records_of[:, None] * np.maximum(found.rows_of, 1)
    return table[np.ix_(graph.record_type, graph.row_type)] + table[np.ix_(graph.record_type, component)]


@given(edge_lists(most=7))
def test_counted_links_are_those_of_all_matchings(edges: Edges) -> None:
    graph = graph_of(edges)
    found = links(graph)
    event(f"components: {min(graph.matches().components, 4)}")
    event(f"types: {len(graph.records)} of {len(edges)}")
    assert not found.sampled.any()
    assert not found.refused.any()
    assert chances(graph, found) == pytest.approx(np.array(twins.links(edges.tolist(), edges.shape[1])))


@given(edge_lists(most=7), st.data())
def test_figures_of_the_posterior(edges: Edges, data: st.DataObject) -> None:
    records, rows = edges.shape
    graph = graph_of(edges)
    of_record, of_row = (
        data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)) for n in (records, rows)
    )
    labels = Labels("x", np.array(of_record, np.int32), np.array(of_row, np.int32))
    found = posterior(graph, graph.matches(), [labels], k=2)
    assert (found.records, found.counted, found.sampled, found.refused) == (records, records, 0, 0)
    assert found.status == "complete"
    chance = twins.links(edges.tolist(), rows)
    assert_distribution(found.link, [max(row) for row in chance])
    assert found.above == sum(max(row) > 0.5 + 1e-9 for row in chance)
    right, likeliest = [], []
    for record, row in enumerate(chance):
        values: Counter[int] = Counter()
        for value, part in zip(of_row, row, strict=True):
            values[value] += part  # type: ignore[assignment]
        right.append(values[of_record[record]])
        likeliest.append(max(values.values()))
    (disclosure,) = found.disclosures
    assert_distribution(disclosure.right, right)
    assert_distribution(disclosure.likeliest, likeliest)
    assert json.loads(json.dumps(found.as_dict()))["records"] == records


def assert_distribution(found: Distribution | None, chance: list[float]) -> None:
    assert found is not None
    assert found.mean == pytest.approx(np.mean(chance))
    for share, value in found.quantiles:
        assert value == pytest.approx(np.quantile(chance, share))
    bins = Counter(max(int(np.ceil(each * 20 - 1e-9)), 1) for each in chance)
    assert found.histogram == tuple(bins[number] for number in range(1, 21))


@pytest.mark.parametrize("seed", range(12))
def test_sampled_links_are_counted_ones_within_their_error(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(8, 17))
    edges = random_edges(rng, size, size - seed % 3, share=0.25, copied=0.2)
    graph = graph_of(edges)
    counted, sampled = links(graph), links(graph, seed, most_states=1)
    assert sampled.sampled.any()
    assert not sampled.refused.any()
    assert sampled.draws >= 400
    error = chances(graph, sampled) - chances(graph, counted)
    # No link's standard error is above that of the given number of draws, if that is true.
    assert np.abs(error).max() <= 5 * 0.5 / np.sqrt(sampled.draws)
    best = chances(graph, counted).argmax(axis=1)
    own = error[np.arange(size), best][sampled.sampled[graph.record_type]]
    reported = sampled.error[graph.record_type][sampled.sampled[graph.record_type]]
    assert np.sqrt((own**2).mean()) <= 3 * np.sqrt((reported**2).mean())


def test_chains_see_every_matching_equally_often() -> None:
    """All walks of one long chain: a graph with six perfect matchings, which links alone tell apart."""
    edges = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 1, 0, 1]], dtype=bool)
    chance = np.array(twins.links(edges.tolist(), 4))
    graph = neighbourhoods(edges)
    parts = Parts(np.array([0, 4]), np.arange(4, dtype=np.int32))
    chains = MatchingChains(graph, parts, 2, Randomness(7).words(8))
    record, box, shares, complete, steps = chains.run(np.array([0], np.int32), 200_000, 600.0)
    assert complete.tolist() == [True]
    assert steps > 400_000
    assert shares == pytest.approx(np.repeat(chance[record, box][:, None], 2, axis=1), abs=0.006)
    # Of few walks, each record has one box after each of them.
    record, box, shares, complete, _ = chains.run(np.array([0], np.int32), 10, 600.0)
    for share in shares.T:
        assert np.bincount(record, share, 4) == pytest.approx(np.ones(4))
        assert np.bincount(box, share, 4) == pytest.approx(np.ones(4))


def neighbourhoods(edges: Edges) -> Neighbourhoods:
    padded = np.pad(edges.T.astype(np.int8), ((0, 0), (1, 1)))
    begins, ends = (np.argwhere(np.diff(padded, axis=1) == way) for way in (1, -1))
    starts = np.searchsorted(begins[:, 0], np.arange(edges.shape[1] + 1))
    ones = (np.ones(n, dtype=np.int64) for n in edges.shape)
    return Neighbourhoods(
        *ones, starts.astype(np.int64), begins[:, 1].astype(np.int32), ends[:, 1].astype(np.int32)
    )


@pytest.mark.parametrize("records", [10, 18])
def test_many_components_counted_at_once(records: int) -> None:
    rng = np.random.default_rng(records)
    blocks = [random_edges(rng, records, records, 0.2, 0.0) for _ in range(30)]
    edges = np.zeros((30 * records, 30 * records), dtype=bool)
    for i, block in enumerate(blocks):
        edges[i * records : (i + 1) * records, i * records : (i + 1) * records] = block
    starts = np.arange(31, dtype=np.int64) * records
    record, box, expected = exact_links(
        neighbourhoods(edges), Parts(starts, np.arange(len(edges), dtype=np.int32))
    )
    for side in (record, box):
        assert np.bincount(side, expected, len(edges)) == pytest.approx(np.ones(len(edges)))
    assert (expected > 0).all()
    assert edges[record, box].all()


# --- graphs that can be seen through ------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 5, 40])
def test_where_every_row_covers_every_record_all_guesses_are_equal(size: int) -> None:
    found = whole(np.ones((size, size), dtype=bool))
    assert found.counted == size
    assert_distribution(found.link, [1 / size] * size)


def test_a_graph_with_one_perfect_matching_is_an_open_book() -> None:
    """Tassa et al. 2012, Figure 4: several rows cover every record but two, and none of them is hidden."""
    edges = np.eye(4, dtype=bool)
    edges[:2, 2:] = True
    assert_distribution(whole(edges).link, [1.0] * 4)
    assert_distribution(whole(np.tri(30, dtype=bool)).link, [1.0] * 30)


def test_records_that_are_left_over() -> None:
    assert_distribution(whole(np.ones((3, 2), dtype=bool)).link, [1 / 3] * 3)
    lonely = np.array([[1, 1], [1, 1], [0, 0]], dtype=bool)
    assert_distribution(whole(lonely).link, [0.5, 0.5, 0.0])


def test_rows_that_are_left_over_are_refused() -> None:
    with pytest.raises(InputError, match="1 released rows have no record of their own"):
        whole(np.ones((1, 2), dtype=bool))


def ring(size: int) -> Edges:
    """Its own row and the next cover each record: there are two perfect matchings."""
    return np.eye(size, dtype=bool) | np.roll(np.eye(size, dtype=bool), 1, axis=1)


def test_two_matchings_that_differ_in_everything() -> None:
    found = whole(ring(60))
    assert (found.sampled, found.refused) == (60, 0)
    assert found.draws is not None
    assert found.draws >= 1000
    assert found.spread == pytest.approx(1.0, abs=0.01)
    assert found.link is not None
    assert found.link.mean == pytest.approx(0.5, abs=0.08)
    assert found.above == 0


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("seed", range(20))
def test_chains_that_are_too_short_are_refused(seed: int, copies: int) -> None:
    """Sixteen walks hardly ever go round: chains stay where they began, whether that is the same or not."""
    edges = ring(300).repeat(copies, axis=0).repeat(copies, axis=1)
    found = whole(edges, seconds=0.0, seed=seed)
    assert (found.counted, found.sampled, found.refused) == (0, 0, 300 * copies)
    assert found.status == "not mixed"
    assert found.link is None
    assert found.draws is None
    assert found.disclosures[0].right is None


def test_a_part_that_is_refused_does_not_hide_the_rest() -> None:
    edges = np.zeros((603, 603), dtype=bool)
    edges[:3, :3] = True
    edges[3:, 3:] = ring(600)
    found = whole(edges, seconds=0.0)
    assert (found.counted, found.sampled, found.refused) == (3, 0, 600)
    assert found.status == "partial"
    assert_distribution(found.link, [1 / 3] * 3)


@pytest.mark.parametrize(
    ("spread", "refused"),
    # Chains that differ walk on for long, by the same kernel.
    [(0.0, 0), *(pytest.param(*each, marks=pytest.mark.large) for each in ((0.43, 0), (0.45, 1)))],
)
def test_a_record_for_which_chains_differ_is_refused(
    monkeypatch: pytest.MonkeyPatch, spread: float, refused: int
) -> None:
    """Chains that never moved a record agree about it; 0.44 is the variance at which R-hat is 1.2."""
    sampling: Any = sys.modules[links_of.__module__]
    variances = sampling._Sampling._variances

    def changed(self: Any) -> Any:
        record, of_draw, of_chains = variances(self)
        if len(record):
            of_draw[0] = 0.25 * (spread > 0)
            of_chains[0] = 0.25 * spread
        return record, of_draw, of_chains

    monkeypatch.setattr(sampling._Sampling, "_variances", changed)
    found = whole(ring(60))
    assert (found.sampled, found.refused) == (60 - refused, refused)


def test_components_that_there_is_no_memory_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = np.zeros((100, 100), dtype=bool)
    edges[:40, :40] = ring(40)
    edges[40:, 40:] = ring(60)
    monkeypatch.setattr(sys.modules[links_of.__module__], "MOST_EDGES", 2 * 40)
    found = whole(edges)
    assert (found.counted, found.sampled, found.refused) == (0, 40, 60)
    assert found.link is not None
    assert found.link.mean == pytest.approx(0.5, abs=0.08)


def whole(edges: Edges, seconds: float = 600.0, seed: int = 3) -> Posterior:
    graph = graph_of(edges)
    labels = Labels("x", *(np.zeros(n, dtype=np.int32) for n in edges.shape))
    return posterior(graph, graph.matches(), [labels], k=2, seconds=seconds, randomness=Randomness(seed))


def test_more_time_makes_figures_more_precise() -> None:
    rng = np.random.default_rng(5)
    graph = graph_of(random_edges(rng, 60, 60, 0.15, 0.1))
    found = [
        posterior(graph, graph.matches(), draws=draws, seconds=600.0, randomness=Randomness(1))
        for draws in (200, 2000, 20_000)
    ]
    assert all(after.error < before.error / 2 for before, after in pairwise(found))
    assert all(each.draws >= draws for each, draws in zip(found, (200, 2000, 20_000), strict=True))  # type: ignore[operator]


@pytest.mark.large
def test_no_round_of_walks_may_take_longer_than_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []
    sampling: Any = sys.modules[links_of.__module__]
    one_round = sampling._Sampling._round

    def noted(self: Any, active: Any, walks: int, seconds: float) -> Any:
        limits.append(seconds)
        return one_round(self, active, walks, seconds)

    monkeypatch.setattr(sampling._Sampling, "_round", noted)
    whole(ring(300), seconds=20.0)
    assert limits
    assert max(limits) <= 20.0
    assert limits == sorted(limits, reverse=True)
