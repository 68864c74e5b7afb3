"""m-invariance, which kept rows are compared with: its definition holds in random histories."""

from __future__ import annotations

import random

import numpy as np
import pytest

from benchmarks.m_invariance import Patients, Row, m_invariant


def people(persons: range, draw: random.Random) -> Patients:
    values = {person: "abcdef"[(person * 7 + person // 5) % 6] for person in persons}
    return Patients(values, {person: np.array([draw.random(), draw.random()]) for person in persons})


def signatures(classes: list[list[Row]]) -> dict[int, frozenset[str]]:
    return {
        person: frozenset(value for _, value in rows)
        for rows in classes
        for person, _ in rows
        if person is not None
    }


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_classes_have_different_values_and_signatures_stay(m: int, seed: int) -> None:
    draw = random.Random(seed)
    classes: list[list[Row]] = []
    known: dict[int, frozenset[str]] = {}
    for start, stop in ((0, 60), (draw.randrange(5, 20), 84), (draw.randrange(20, 40), 120)):
        now = people(range(start, stop), draw)
        classes = m_invariant(now, classes, m)
        assert all(len(rows) == len({value for _, value in rows}) >= m for rows in classes)
        shown = [row for rows in classes for row in rows if row[0] is not None]
        assert sorted(shown) == sorted(now.values.items())  # everybody once, with the own value
        after = signatures(classes)
        assert all(after[person] == known.get(person, after[person]) for person in after)
        known |= after


def test_a_class_that_lacks_a_value_gets_a_made_up_row() -> None:
    both = Patients({1: "flu", 2: "gout"}, {1: np.zeros(1), 2: np.ones(1)})
    first = m_invariant(both, [], 2)
    assert sorted(first[0]) == [(1, "flu"), (2, "gout")]
    alone = Patients({1: "flu"}, {1: np.zeros(1)})
    assert m_invariant(alone, first, 2) == [[(1, "flu"), (None, "gout")]]


def test_too_many_equal_values_are_refused() -> None:
    with pytest.raises(ValueError, match="same sensitive value"):
        m_invariant(Patients({1: "flu", 2: "flu"}, {1: np.zeros(1), 2: np.ones(1)}), [], 2)
