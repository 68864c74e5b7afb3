"""Values that many rows share are written and read once each, as if each row were written on its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from shoal import Schema
from shoal.auditing.reading import _interval_texts, _set_texts, _written_intervals
from shoal.base.ragged import Lists
from shoal.base.randomness import Randomness
from shoal.engines.joining import _ends
from shoal.kinds import notation
from shoal.table import Table

LABELS = st.sampled_from(["a", "b", "*", "", "a|b", "\\", "\\*", "x..y", None])


@given(
    st.sampled_from([2, 64, 65, 500, 2000]).flatmap(
        lambda size: st.lists(st.lists(st.integers(0, size), max_size=4), max_size=30)
    ),
    st.booleans(),
)
def test_lists_are_numbered_in_the_order_of_a_dictionary(lists: list[list[int]], ascending: bool) -> None:
    lists = [sorted(set(each)) for each in lists] if ascending else lists
    rows = Lists.of(lists)
    ranks = {each: rank for rank, each in enumerate(sorted({tuple(each) for each in lists}))}
    assert rows.numbers().tolist() == [ranks[tuple(each)] for each in lists]
    different, shown = rows.different()
    assert len(different) == len(ranks)
    again = different.gather(shown)
    assert [again[i].tolist() for i in range(len(again))] == lists


@given(st.lists(st.none() | st.lists(LABELS, max_size=3), min_size=1, max_size=20))
def test_typed_sets_are_read_as_they_are_written(cells: list[list[str | None] | None]) -> None:
    def written(members: list[str | None] | None) -> str | None:
        if members is None:
            return None
        labels = ["" if member is None else member for member in members]
        if not labels:
            return "\\{}"
        return notation.write_single(labels[0]) if len(labels) == 1 else notation.write_set(labels)

    series = pl.Series("x", cells, dtype=pl.List(pl.String))
    assert _set_texts(series).to_list() == [written(each) for each in cells]


INTERVALS = st.none() | st.fixed_dictionaries(
    {"low": st.none() | st.integers(0, 3), "high": st.none() | st.integers(0, 3)},
    optional={"more": st.none() | st.integers(0, 1)},
)


@given(st.lists(INTERVALS, min_size=1, max_size=20))
def test_typed_intervals_are_read_as_they_are_written(cells: list[dict[str, Any] | None]) -> None:
    frame = pl.DataFrame({"x": range(5)})
    attribute = Table.encode(frame, Schema.infer(frame, quasi=["x"])).attributes[0]
    fields = sorted({"low", "high"} | {name for cell in cells if cell for name in cell})
    series = pl.Series("x", cells, dtype=pl.Struct(dict.fromkeys(fields, pl.Int64)))
    expected = _written_intervals(series, attribute).to_list()
    assert _interval_texts(series, attribute).to_list() == expected


@given(st.integers(0, 2**32), st.integers(1, 40))
def test_columns_of_a_release_are_those_of_each_value(seed: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "number": pl.Series(rng.integers(0, 6, 30).tolist()).set(pl.Series(rng.random(30) < 0.1), None),
            "category": rng.choice(["a", "b", "c|d", "*"], 30),
        }
    )
    table = Table.encode(frame, Schema.infer(frame, quasi=frame.columns))
    chosen = rng.integers(0, 30, (rows, 3))
    for attribute in table.attributes:
        starts = np.arange(rows + 1, dtype=np.int64) * 3
        values = attribute.domain.closure(attribute.codes[chosen.ravel()], starts)
        (text,), (typed,) = (values.columns("x", typed=each) for each in (False, True))
        assert text.to_list() == values.texts()
        assert typed.to_list() == values.typed().to_list()
        assert typed.dtype == values.typed().dtype


def test_buckets_get_as_many_rows_as_if_each_row_drew_its_own() -> None:
    randomness = Randomness(3)
    sizes = np.array([np.diff(_ends(300, 5, randomness)) for _ in range(2000)])
    assert (sizes.sum(axis=1) == 300).all()
    assert np.abs(sizes.mean(axis=0) - 60).max() < 5 * np.sqrt(300 * 0.2 * 0.8 / 2000)
    assert np.abs(sizes.var(axis=0) / (300 * 0.2 * 0.8) - 1).max() < 0.2
    assert _ends(0, 5, randomness).tolist() == [0] * 6
