"""The ten patients of Table I of "XColor: Protecting General Proximity Privacy"."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal import Dissimilarity, Schema, anonymize, audit
from shoal.auditing.classes import Classes
from shoal.auditing.proximity import Proximity, proximity_of_classes
from shoal.measures.distances import Absolute, Least

SYNDROMES = np.array(
    [
        (0.8, 0.0, 0.0),
        (0.6, 0.4, 0.4),
        (0.7, 0.1, 0.1),
        (1.0, 0.2, 0.2),
        (0.1, 0.9, 0.9),
        (0.2, 0.5, 0.2),
        (0.8, 0.1, 0.9),
        (0.4, 0.3, 0.5),
        (0.6, 0.9, 0.3),
        (1.0, 0.7, 0.7),
    ]
)
"""Allergy, asthma and myocarditis of each patient; the first five are one group, the others the second."""


@pytest.fixture
def closest_component() -> Least:
    codes, parts = [], []
    for component in SYNDROMES.T:
        values, code = np.unique(component, return_inverse=True)
        parts.append(Absolute(values))
        codes.append(code)
    return Least(tuple(parts), np.column_stack(codes).astype(np.int32))


def proximity(distance: Least, groups: list[int], delta: float | None = None) -> Proximity:
    classes = Classes(np.array(groups, dtype=np.int32), np.bincount(groups))
    values = np.arange(len(groups), dtype=np.int32)
    return proximity_of_classes(classes, "syndrome", values, distance, epsilon=0.1, delta=delta)


def test_the_neighbours_of_the_third_patient(closest_component: Least) -> None:
    """Example 3; that 0.8 and 0.7, or 0.2 and 0.1, are close must not hang on how binary rounds them."""
    everybody = np.arange(5)
    assert closest_component.close(np.array(2), everybody, 0.1).tolist() == [True, True, True, True, False]


def test_the_risk_of_the_first_group(closest_component: Least) -> None:
    assert proximity(closest_component, [0] * 5).risk == 0.75


def test_which_groups_are_breached(closest_component: Least) -> None:
    """At most (1 - delta) (|G| - 1) neighbours: three of four others just fit delta = 1/4."""
    both = [0] * 5 + [1] * 5
    first = proximity(closest_component, both).risks[0]
    assert first == 0.75
    just = proximity(closest_component, [0] * 5, delta=0.25)
    assert just.vulnerability == 0
    assert proximity(closest_component, [0] * 5, delta=0.26).vulnerability == 1
    assert proximity(closest_component, [0] * 5).vulnerability is None


def test_a_group_of_one_is_lost(closest_component: Least) -> None:
    assert proximity(closest_component, [0, 0, 0, 0, 1]).risks[1] == 1


def test_the_colouring_of_figure_2(closest_component: Least) -> None:
    """Example 4: patients 1, 2 and 4 have one colour, 3 and 5 the other, and no two neighbours share one."""
    coloured = proximity(closest_component, [0, 0, 1, 0, 1])
    assert coloured.risks.tolist() == [0, 0]
    everybody = np.arange(5)
    edges = np.argwhere(closest_component.close(everybody[:, None], everybody, 0.1)) + 1
    assert {(a, b) for a, b in edges.tolist() if a < b} == {(1, 3), (2, 3), (3, 4)}


def test_xcolor_finds_such_a_colouring() -> None:
    """Classes of k = 2 or 3 of the first group, in which no record has a neighbour at all."""
    frame = pl.DataFrame(
        {
            "age": [18, 22, 25, 28, 30],
            **dict(zip(("allergy", "asthma", "myocarditis"), SYNDROMES[:5].T, strict=True)),
        }
    )
    schema = Schema.infer(frame, quasi=["age"], sensitive=["allergy", "asthma", "myocarditis"])
    model = Dissimilarity(k=2, epsilon=0.1, delta=1, distance="least")
    for start in ("locality", "degree"):
        release = anonymize(frame, schema, model, start=start)
        assert release.audit.proximity[0].risk == 0
        assert sorted(release.audit.classes.sizes) == [2, 3]
    assert audit(frame, frame, schema, epsilon=0.1, distance="least").proximity[0].risk == 1


def test_crowds_are_counted_in_ten_bins_of_risk() -> None:
    found = Proximity("ill", 0.0, None, np.array([0.05, 0.1, 0.55, 1.0]), np.array([2, 1, 4, 3]))
    assert found.crowds_by_risk().tolist() == [3, 0, 0, 0, 0, 4, 0, 0, 0, 3]
