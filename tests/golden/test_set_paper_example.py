"""The running example of Xue et al. 2012: Gray code, order, ring, votes, possible worlds, error rate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from itemset_strategies import packed, unpacked

from shoal import Schema, SetAnonymity, audit
from shoal.kernels import itemsets
from shoal.kinds.items import Worlds
from shoal.measures.items import items_loss
from shoal.methods.ring import ring_graph
from shoal.methods.setgraphs import error_rate
from shoal.methods.setorder import gray_order, short_order, steps
from shoal.recoding import Recoding
from shoal.recoding.coverage import Graph
from shoal.release import published
from shoal.table import Table

SPORTS = ("jogging", "swimming", "tennis", "soccer")
BITMAPS = ("1100", "0110", "1101", "0111", "1110", "1011")
RELIGIONS = ("Christian", "Christian", "Muslim", "Buddhist", "Buddhist", "Muslim")
ORDER = (2, 4, 3, 1, 5, 6)
PREIMAGES = {1: {1, 3, 4}, 2: {2, 5, 6}, 3: {2, 3, 4}, 4: {2, 4, 6}, 5: {1, 3, 5}, 6: {1, 5, 6}}
PUBLISHED = (
    ("1101", "1011", 2),
    ("1110", "1101", 2),
    ("0111", "1011", 2),
    ("0111", "1101", 2),
    ("1100", "0011", 1),
    ("1110", "0111", 2),
)
SETS = packed(([item for item in range(4) if bitmap[item] == "1"] for bitmap in BITMAPS), 4)


def items(bitmap: str) -> list[str]:
    return [sport for sport, bit in zip(SPORTS, bitmap, strict=True) if bit == "1"]


def example() -> tuple[pl.DataFrame, Schema, Recoding]:
    frame = pl.DataFrame({"sports": [items(bitmap) for bitmap in BITMAPS], "religion": RELIGIONS})
    schema = Schema.infer(frame, quasi=["sports"], sensitive=["religion"])
    # In the paper rows cover the records before them; ours, those behind.
    backwards = np.array(ORDER[::-1]) - 1
    graph = ring_graph(backwards, np.zeros(6, np.int32), 3)
    return frame, schema, Recoding.of_graph(Table.encode(frame, schema), graph)


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
    assert steps(SETS, shorter).sum() == steps(SETS, np.array(ORDER) - 1).sum() == 10


def test_a_vote_of_three() -> None:
    """Section 4, fifth step: 1100, 1011 and 0101 are published as 1101."""
    sets = packed(({0, 1}, {0, 2, 3}, {1, 3}), 4)
    voted = itemsets.vote(sets, np.array([0, 3]), np.arange(3, dtype=np.int32))
    assert unpacked(voted.base) == [{0, 1, 3}]


def test_the_ring_is_that_of_table_4() -> None:
    _, _, recoding = example()
    assert recoding.graph is not None
    assert {row + 1: set(cells + 1) for row, cells in enumerate(recoding.graph)} == PREIMAGES


def test_rows_are_those_of_table_3() -> None:
    _, _, recoding = example()
    base, uncertain, errors = recoding.values[0].columns("sports", typed=True)
    assert [column.name for column in (base, uncertain, errors)] == [
        "sports",
        "sports_uncertain",
        "sports_max_errors",
    ]
    shown = zip(map(set, base.to_list()), map(set, uncertain.to_list()), errors.to_list(), strict=True)
    assert list(shown) == [(set(items(b)), set(items(d)), t) for b, d, t in PUBLISHED]


def test_each_row_has_its_preimages_among_its_possible_worlds() -> None:
    frame, schema, recoding = example()
    worlds = recoding.values[0]
    assert isinstance(worlds, Worlds)
    # r'5 is 1100, 1110 or 1101: three possible worlds, and all of them are records.
    assert 2 ** worlds.bits()[4] == 3
    rows = np.arange(6, dtype=np.int32)
    graph = Graph.of(recoding.table.codes, rows[:, None], recoding.values)
    fits = {
        row + 1: set(np.flatnonzero(worlds.covers(np.full(6, row), recoding.table.codes[:, 0])) + 1)
        for row in rows
    }
    assert all(fits[row] >= preimages for row, preimages in PREIMAGES.items())
    assert fits[5] == PREIMAGES[5]
    assert graph.degrees()[1].tolist() == [len(fits[row + 1]) for row in rows]
    released = published(recoding, rows, rows)
    assert audit(frame, released, schema, SetAnonymity(k=3)).holds


def test_the_error_rate_of_the_example() -> None:
    """Of each pair of row and record in Table 4, wrong bits of Table 3 over ones of Table 1."""
    _, _, recoding = example()
    assert recoding.graph is not None
    rates = np.array(
        [
            [
                sum(a != b for a, b in zip(PUBLISHED[row][0], BITMAPS[record], strict=True))
                / BITMAPS[record].count("1")
                for record in records
            ]
            for row, records in enumerate(recoding.graph.tolist())
        ]
    )
    own = np.arange(6, dtype=np.int32)
    settled = replace(recoding, assignment=own)
    drawn = rates[recoding.graph == own[:, None]].mean()
    for expected, found, assignment in ((rates.mean(), recoding, None), (drawn, settled, own)):
        assert abs(items_loss(found)["sports"].error_rate - expected) < 1e-12
        assert abs(error_rate(SETS, recoding.graph, assignment) - expected) < 1e-12
