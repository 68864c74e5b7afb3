"""The running example of Xue et al. 2012: Tables 1, 3 and 4."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal import Schema, SetAnonymity, audit
from shoal.matches import Graph
from shoal.methods.ring import ring_graph
from shoal.recoding import Recoding, Worlds
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


def items(bitmap: str) -> list[str]:
    return [sport for sport, bit in zip(SPORTS, bitmap, strict=True) if bit == "1"]


def example() -> tuple[pl.DataFrame, Schema, Recoding]:
    frame = pl.DataFrame({"sports": [items(bitmap) for bitmap in BITMAPS], "religion": RELIGIONS})
    schema = Schema.infer(frame, quasi=["sports"], sensitive=["religion"])
    # In the paper rows cover the records before them; ours, those behind.
    backwards = np.array(ORDER[::-1]) - 1
    graph = ring_graph(backwards, np.zeros(6, np.int32), 3)
    return frame, schema, Recoding.of_graph(Table.encode(frame, schema), graph)


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
