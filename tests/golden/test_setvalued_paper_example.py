"""The running example of Xue et al. 2012: Gray code, order, ring, votes, and what a guess is worth."""

from __future__ import annotations

import numpy as np
from itemset_strategies import packed, unpacked

from shoal.kernels import Subsets
from shoal.methods.ring import ring_graph
from shoal.methods.setgraphs import error_rate, published
from shoal.methods.setorder import gray_order, short_order, steps

JOGGING, SWIMMING, TENNIS, SOCCER = range(4)
BITMAPS = ["1100", "0110", "1101", "0111", "1110", "1011"]
RECORDS = [{item for item, bit in enumerate(bits) if bit == "1"} for bits in BITMAPS]
SETS = packed(RECORDS, 4)
PAPERS_ORDER = np.array([2, 4, 3, 1, 5, 6]) - 1


def test_table_5() -> None:
    codes = ["000", "001", "011", "010", "110", "111", "101", "100"]
    shuffled = [codes[i] for i in (3, 0, 7, 5, 1, 6, 2, 4)]
    sets = packed(({item for item, bit in enumerate(bits) if bit == "1"} for bits in shuffled), 3)
    assert [shuffled[record] for record in gray_order(sets)] == codes


def test_the_sum_of_distances_falls_from_14_to_12_to_10() -> None:
    assert steps(SETS, np.arange(6)).sum() == 14
    assert (gray_order(SETS) + 1).tolist() == [2, 4, 1, 3, 5, 6]
    assert steps(SETS, gray_order(SETS)).sum() == 12
    shorter = short_order(SETS)  # the paper's way, or another as short with the same ends
    assert (shorter[[0, -1]] + 1).tolist() == [2, 6]
    assert steps(SETS, shorter).sum() == steps(SETS, PAPERS_ORDER).sum() == 10


def test_tables_3_and_4() -> None:
    graph = ring_graph(PAPERS_ORDER[::-1].copy(), np.zeros(6, np.int32), 3)
    assert [sorted((row + 1).tolist()) for row in graph] == [
        [1, 3, 4],
        [2, 5, 6],
        [2, 3, 4],
        [2, 4, 6],
        [1, 3, 5],
        [1, 5, 6],
    ]
    found = published(SETS, graph)
    assert as_bitmaps(found.base) == ["1101", "1110", "0111", "0111", "1100", "1110"]
    assert as_bitmaps(found.uncertain) == ["1011", "1101", "1011", "1101", "0011", "0111"]
    assert found.thresholds.tolist() == [2, 2, 2, 2, 1, 2]


def test_a_vote_of_three() -> None:
    """Section 4, fifth step: 1100, 1011 and 0101 are published as 1101."""
    sets = packed(({0, 1}, {0, 2, 3}, {1, 3}), 4)
    assert as_bitmaps(published(sets, np.array([[0, 1, 2]], dtype=np.int32)).base) == ["1101"]


def test_the_error_rate_of_the_example() -> None:
    """Of each pair of row and record in Table 4, wrong bits of Table 3 over ones of Table 1."""
    graph = ring_graph(PAPERS_ORDER[::-1].copy(), np.zeros(6, np.int32), 3)
    bases = ["1101", "1110", "0111", "0111", "1100", "1110"]
    rates = [
        sum(a != b for a, b in zip(bases[row], BITMAPS[record], strict=True)) / BITMAPS[record].count("1")
        for row in range(6)
        for record in graph[row]
    ]
    assert abs(error_rate(SETS, graph) - sum(rates) / 18) < 1e-12
    own = np.arange(6)
    drawn = [rates[3 * row + graph[row].tolist().index(row)] for row in own]
    assert abs(error_rate(SETS, graph, own) - sum(drawn) / 6) < 1e-12


def as_bitmaps(sets: Subsets) -> list[str]:
    return ["".join("01"[item in items] for item in range(4)) for items in unpacked(sets)]
