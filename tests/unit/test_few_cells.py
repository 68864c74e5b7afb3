"""Few cells are read without calls of Polars, and queries are counted at once: with the same results."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_series_equal

from shoal.base.ragged import Lists
from shoal.kinds import encoding, items, marks
from shoal.measures import items as measured

TEXTS = ["b", "a", "", "é", "e\u0301", "Z", "\U0001f600", "\uffee", "?", "10", "9", " ", None]


def with_and_without(monkeypatch: pytest.MonkeyPatch, call: Callable[[], Any]) -> list[Any]:
    found = [call()]
    for module in (encoding, items, marks):
        monkeypatch.setattr(module, "FEW", -1)
    return [*found, call()]


@pytest.mark.parametrize("numeric", [False, True])
def test_codes_of_few_texts(numeric: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(1)
    pool = ["1e400", "12345678901234567890", "0.1", None] if numeric else TEXTS
    cells = pl.Series("cells", draw.choices(pool, k=40), dtype=pl.String)
    few, many = with_and_without(monkeypatch, lambda: encoding.factorize(cells, numeric=numeric))
    assert_series_equal(few[0], many[0])
    assert few[1].tolist() == many[1].tolist()
    assert few[1].dtype == many[1].dtype == np.int32


@pytest.mark.parametrize("given", [["b", "a", None], ["b", "", "?"], [None], []])
def test_marks_among_few_texts(given: list[str | None], monkeypatch: pytest.MonkeyPatch) -> None:
    cells = pl.Series("cells", given, dtype=pl.String)
    few, many = with_and_without(monkeypatch, lambda: marks.without_marks(cells, ["?"]))
    assert_series_equal(few, many)


def test_names_of_few_items(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = Lists.of_sizes(np.array([2, 0, 1]), np.array([1, 0, 1], dtype=np.int32))
    few, many = with_and_without(monkeypatch, lambda: items.named_items(lists, ["x", "y"]))
    assert_series_equal(few, many)
    assert few.to_list() == [["y", "x"], [], ["y"]]


@pytest.mark.parametrize(("remembered", "at_once"), [(10**6, 10**6), (10**6, 20), (0, 20), (0, 1)])
@pytest.mark.parametrize("absent", [False, True])
def test_counts_of_sets_with_some_items(
    remembered: int, at_once: int, absent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "MOST_REMEMBERED", remembered)
    monkeypatch.setattr(measured, "AT_ONCE", at_once)
    draw = random.Random(2)
    sets = [sorted(draw.sample(range(6), draw.randint(0, 5))) for _ in range(9)]
    lists = Lists.of_sizes(np.array(list(map(len, sets))), np.array(list(chain(*sets)), dtype=np.int32))
    asked = measured._random_items(6, 3, 50)
    expected = [
        sum(not set(query) & set(each) if absent else set(query) <= set(each) for each in sets)
        for query in asked.tolist()
    ]
    assert measured._Owners(lists, 6).counts(asked, absent=absent).tolist() == expected
