"""Random attributes and records for tests of the kernels, without any table around them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoal.kernels import RANGE, SET, TREE, Geometry

LARGE = 100_000


@st.composite
def geometries(draw: st.DrawFn) -> Geometry:
    """Draw an attribute whose costs are multiples of 1/64, so that sums are exact in any order."""
    kind = draw(st.sampled_from([RANGE, SET, TREE]))
    size = draw(st.one_of(st.integers(1, 9), st.sampled_from([70, LARGE])))
    weight = draw(st.integers(1, 64)) / 64
    if kind == SET:
        return Geometry(SET, weight, size, np.array([draw(st.sampled_from([2.0, 3.0, 9.0, 65.0]))]))
    steps = np.random.default_rng(draw(st.integers(0, 99))).integers(0, 65, size)
    if kind == TREE:
        return Geometry(TREE, weight, size, steps[:-1] / 64)
    positions = np.sort(steps) / 64
    if size > 1 and draw(st.booleans()):
        positions[-1] = 2.0  # the missing value
    return Geometry(RANGE, weight, size, positions)


@st.composite
def records(
    draw: st.DrawFn, *, min_size: int = 1, max_size: int = 40, distinct: bool = False
) -> tuple[list[Geometry], NDArray[np.int32]]:
    """Draw attributes and the codes of some records, with few different values each."""
    attributes = draw(st.lists(geometries(), min_size=1, max_size=4))
    codes = [
        st.sampled_from(sorted(draw(st.sets(st.integers(0, a.size - 1), min_size=1, max_size=6))))
        for a in attributes
    ]
    rows = draw(st.lists(st.tuples(*codes), min_size=min_size, max_size=max_size))
    if distinct:
        rows = sorted(set(rows))
    return attributes, np.array(rows, dtype=np.int32).reshape(len(rows), len(attributes))
