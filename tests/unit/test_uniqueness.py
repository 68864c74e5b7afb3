"""Combinations of columns single out exactly the records that a literal count says."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoal.auditing.uniqueness import Combination, uniqueness
from shoal.errors import InputError, Reason

Codes = NDArray[np.int32]


@st.composite
def tables(draw: st.DrawFn) -> Codes:
    columns = draw(st.integers(1, 5))
    largest = draw(st.sampled_from([0, 1, 3, 40]))
    rows = draw(st.lists(st.lists(st.integers(-1, largest), min_size=columns, max_size=columns), max_size=30))
    return np.array(rows, dtype=np.int32).reshape(-1, columns)


def counted(codes: Codes, names: list[str], chosen: tuple[int, ...]) -> Combination:
    sizes = list(Counter(tuple(row[c] for c in chosen) for row in codes.tolist()).values())
    unique = sizes.count(1)
    share = unique / len(codes) if len(codes) else 0.0
    return Combination(tuple(names[c] for c in chosen), unique, min(sizes, default=0), len(sizes), share)


def counted_all(codes: Codes, names: list[str], up_to: int) -> list[Combination]:
    width = len(names)
    chosen = [c for size in range(1, min(up_to, width) + 1) for c in combinations(range(width), size)]
    if width > up_to:
        chosen.append(tuple(range(width)))
    return sorted(
        (counted(codes, names, each) for each in chosen),
        key=lambda each: (-each.share, len(each.columns), each.columns),
    )


@given(codes=tables(), up_to=st.integers(1, 6))
def test_agrees_with_a_literal_count(codes: Codes, up_to: int) -> None:
    names = list("dbeca"[: codes.shape[1]])
    assert list(uniqueness(codes, names, up_to=up_to)) == counted_all(codes, names, up_to)


@given(codes=tables(), data=st.data())
def test_a_person_with_several_records_is_not_hidden_by_them(codes: Codes, data: st.DataObject) -> None:
    names = list("dbeca"[: codes.shape[1]])
    if not len(codes):
        return
    owners = data.draw(st.lists(st.integers(0, 5), min_size=len(codes), max_size=len(codes)))
    for found in uniqueness(codes, names, owners=np.array(owners, dtype=np.int32)):
        chosen = [names.index(name) for name in found.columns]
        persons: dict[tuple[int, ...], set[int]] = {}
        for row, owner in zip(codes[:, chosen].tolist(), owners, strict=True):
            persons.setdefault(tuple(row), set()).add(owner)
        alone = sum(len(persons[tuple(row)]) == 1 for row in codes[:, chosen].tolist())
        assert (found.unique, found.groups) == (alone, len(persons))
        assert found.smallest == min(map(len, persons.values()))


@given(codes=tables(), most=st.integers(1, 40))
def test_most_keeps_the_first(codes: Codes, most: int) -> None:
    names = list("abcde"[: codes.shape[1]])
    assert uniqueness(codes, names, most=most) == uniqueness(codes, names)[:most]


@given(codes=tables(), random=st.randoms())
def test_the_order_of_records_does_not_matter(codes: Codes, random: object) -> None:
    names = list("abcde"[: codes.shape[1]])
    order = list(range(len(codes)))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert uniqueness(codes[order], names) == uniqueness(codes, names)


@given(codes=tables())
def test_nobody_is_unique_in_a_doubled_table(codes: Codes) -> None:
    names = list("abcde"[: codes.shape[1]])
    doubled = uniqueness(np.concatenate([codes, codes]), names)
    assert all(each.unique == 0 and each.share == 0.0 for each in doubled)
    single = {each.columns: each for each in uniqueness(codes, names)}
    assert all(each.smallest == 2 * single[each.columns].smallest for each in doubled)
    assert all(each.groups == single[each.columns].groups for each in doubled)


def test_a_missing_value_singles_out_like_any_other() -> None:
    codes = np.array([[0, 1], [0, 1], [-1, 1], [0, 1]], dtype=np.int32)
    found = {each.columns: each for each in uniqueness(codes, ["zip", "sex"])}
    assert found["zip",] == Combination(("zip",), 1, 1, 2, 0.25)
    assert found["sex",] == Combination(("sex",), 0, 4, 1, 0.0)
    assert found["zip", "sex"] == Combination(("zip", "sex"), 1, 1, 2, 0.25)


def test_a_combination_is_plain_data() -> None:
    plain = Combination(("zip", "sex"), 1, 1, 2, 0.25).as_dict()
    expected = {"columns": ["zip", "sex"], "unique": 1, "smallest": 1, "groups": 2, "share": 0.25}
    assert json.loads(json.dumps(plain)) == plain == expected


def test_among_equals_fewer_columns_come_first() -> None:
    codes = np.array([[0, 0, 5], [1, 1, 5]], dtype=np.int32)
    found = uniqueness(codes, ["b", "a", "c"], up_to=2)
    assert [each.columns for each in found] == [
        ("a",),
        ("b",),
        ("a", "c"),
        ("b", "a"),
        ("b", "c"),
        ("b", "a", "c"),
        ("c",),
    ]


def test_counts_every_combination_and_all_columns_once() -> None:
    codes = np.random.default_rng(1).integers(0, 3, size=(50, 15), dtype=np.int32)
    found = uniqueness(codes, [f"c{number}" for number in range(15)])
    assert len(found) == len({each.columns for each in found}) == comb(15, 1) + comb(15, 2) + comb(15, 3) + 1


@pytest.mark.parametrize("rows", [0, 1])
def test_tables_of_no_and_of_one_record(rows: int) -> None:
    found = uniqueness(np.zeros((rows, 2), dtype=np.int32), ["a", "b"])
    assert {(each.unique, each.smallest, each.groups, each.share) for each in found} == {(rows,) * 4}
    assert uniqueness(np.zeros((rows, 0), dtype=np.int32), []) == ()


@pytest.mark.parametrize(
    ("columns", "options"), [(3, {}), (2, {"up_to": 0}), (2, {"most": 0}), (2, {"most": -1})]
)
def test_refuses_what_does_not_fit(columns: int, options: dict[str, int]) -> None:
    with pytest.raises(InputError) as caught:
        uniqueness(np.zeros((4, columns), dtype=np.int32), ["a", "b"], **options)
    assert caught.value.reason is Reason.PARAMETER
