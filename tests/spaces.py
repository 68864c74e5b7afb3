"""Random attributes and records as the kernels see them, for the tests that do without frames."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoal.kernels import RANGE, SET, TREE, Geometry

LARGE = 100_000
"""More categories than any bitset has room for."""


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
def records(draw: st.DrawFn, most: int, least: int = 1) -> tuple[list[Geometry], NDArray[np.int32]]:
    """Draw attributes and records with few different codes."""
    attributes = draw(st.lists(geometries(), min_size=1, max_size=4))
    n = draw(st.integers(least, 8) | st.integers(least, most))
    columns = [
        draw(
            st.lists(
                st.sampled_from(sorted(draw(st.sets(st.integers(0, a.size - 1), min_size=1, max_size=6)))),
                min_size=n,
                max_size=n,
            )
        )
        for a in attributes
    ]
    return attributes, np.array(columns, dtype=np.int32).T.copy()
