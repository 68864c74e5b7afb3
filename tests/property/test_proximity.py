"""Proximity risk of classes and of crowds, against a literal count over all pairs of rows."""

from __future__ import annotations

import json
from collections.abc import Iterable

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from loose_releases import LooseRelease, loose_releases

from shoal.auditing import crowds as crowds_module
from shoal.auditing.classes import classes_of
from shoal.auditing.consistency import graph_of
from shoal.auditing.proximity import Proximity, proximity_of_classes, proximity_of_records
from shoal.errors import InputError, Reason
from shoal.measures.distances import Absolute, Distance, Equality, Least, Norm

POINTS = np.array([[0, 0], [0, 2], [1, 1], [2, 0]], dtype=np.int32)
DISTANCES = (
    Absolute(np.array([1.0, 2.0, 4.0, np.nan])),
    Equality(4),
    Least((Absolute(np.array([0.0, 0.1, 0.7])), Equality(3)), POINTS),
    Norm((Absolute(np.array([0.0, 0.1, 0.7])), Equality(3)), POINTS, 2),
)


def literal_risk(values: list[int], distance: Distance, epsilon: float) -> float:
    """Definition 6, word by word."""
    if len(values) == 1:
        return 1.0
    neighbours = [
        sum(bool(distance.close(np.array(v), np.array(w), epsilon)) for w in values) - 1 for v in values
    ]
    return max(neighbours) / (len(values) - 1)


def check(found: Proximity, expected: Iterable[float], delta: float) -> None:
    risks = sorted(expected)
    assert sorted(np.repeat(found.risks, found.weights)) == pytest.approx(risks)
    assert found.risk == pytest.approx(max(risks, default=0))
    assert found.mean == pytest.approx(np.mean(risks) if risks else 0)
    breached = [risk > 1 - delta + 1e-9 for risk in risks]
    assert found.vulnerability == pytest.approx(np.mean(breached) if risks else 0)
    assert json.loads(json.dumps(found.as_dict()))["crowds"] == len(risks)


@examples(20)
@given(
    loose_releases(),
    st.sampled_from(DISTANCES),
    st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0]),
    st.sampled_from([0.0, 0.5, 2 / 3, 1.0]),
    st.sampled_from([1, 7, 1 << 22]),
    st.data(),
)
def test_agrees_with_the_definition(
    loose: LooseRelease, distance: Distance, epsilon: float, delta: float, pairs: int, data: st.DataObject
) -> None:
    rows = len(loose.released)
    values = data.draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
    carried = np.array(values, dtype=np.int32)
    columns, limits = loose.columns, {"epsilon": epsilon, "delta": delta}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crowds_module, "PAIRS", pairs)  # so that lists are cut into pieces, too
        graph = graph_of(columns, loose.table)
        by_class = proximity_of_classes(classes_of(graph), "ill", carried, distance, **limits)
        by_record = proximity_of_records(graph, "ill", carried, distance, **limits)
    members: dict[tuple[object, ...], list[int]] = {}
    for row, value in zip(loose.released.rows(), values, strict=True):
        members.setdefault(row, []).append(value)
    check(by_class, [literal_risk(group, distance, epsilon) for group in members.values()], delta)
    crowds = [[values[row] for row in np.flatnonzero(fits)] for fits in loose.fits.all(axis=2)]
    check(by_record, [literal_risk(crowd, distance, epsilon) for crowd in crowds if crowd], delta)


@pytest.mark.parametrize(
    "limits", [{"epsilon": -1.0}, {"epsilon": float("nan")}, {"epsilon": 1.0, "delta": 2.0}]
)
@given(loose=loose_releases(most=2))
def test_impossible_limits_are_refused(limits: dict[str, float], loose: LooseRelease) -> None:
    carried = np.zeros(len(loose.released), dtype=np.int32)
    graph = graph_of(loose.columns, loose.table)
    with pytest.raises(InputError) as caught:
        proximity_of_classes(classes_of(graph), "ill", carried, Equality(1), **limits)  # type: ignore[arg-type]
    assert caught.value.reason is Reason.PARAMETER
    with pytest.raises(InputError):
        proximity_of_records(graph, "ill", carried, Equality(1), **limits)  # type: ignore[arg-type]
