"""Sparse matrices of the compiled core against those of SciPy: the same numbers, to the last bit."""

from __future__ import annotations

import platform

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from shoal.kernels.sparse import SparseMatrix

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(1, 12)


def pair(seed: int, height: int, width: int, kind: type) -> tuple[SparseMatrix, sparse.csr_matrix]:
    """Return the same matrix twice, made from places of which some occur several times."""
    generator = np.random.default_rng(seed)
    count = int(generator.integers(0, 3 * height * width // 2 + 1))
    rows, columns = generator.integers(0, height, count), generator.integers(0, width, count)
    # Multiples of 1/8, so that the sum of several values at one place does not depend on their order.
    values = generator.integers(1, 9, count).astype(kind) / kind(8)
    ours = SparseMatrix.of_places(values, rows, columns, (height, width))
    return ours, sparse.csr_matrix((values, (rows, columns)), shape=(height, width))


@given(SEEDS, SIZES, SIZES, st.sampled_from([np.float32, np.float64]), st.integers(0, 5))
def test_products_are_those_of_scipy(seed: int, height: int, width: int, kind: type, across: int) -> None:
    ours, theirs = pair(seed, height, width, kind)
    generator = np.random.default_rng(seed + 1)
    right = generator.random((width, across) if across else width).astype(kind)
    left = generator.random((height, across) if across else height).astype(kind)
    for found, expected in ((ours @ right, theirs @ right), (ours.spread(left), theirs.T @ left)):
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        if platform.machine() == "x86_64":  # elsewhere, compilers may unite a product and a sum
            assert np.array_equal(found, expected)
        assert np.allclose(found, expected, rtol=1e-5)


@given(SEEDS, SIZES, SIZES)
def test_rows_columns_and_entries_are_those_of_scipy(seed: int, height: int, width: int) -> None:
    ours, theirs = pair(seed, height, width, np.float64)
    assert np.array_equal(ours.starts, theirs.indptr)
    assert np.array_equal(ours.columns, theirs.indices)
    assert np.array_equal(ours.values, theirs.data)
    assert np.array_equal(ours.rows, theirs.tocoo().row)
    generator = np.random.default_rng(seed + 2)
    for index in (generator.integers(0, height, 5), slice(1, None, 2), generator.random(height) < 0.5):
        assert np.array_equal(ours[index].dense(np.arange(width)), theirs[index].toarray())
    columns = generator.permutation(width)[: width // 2 + 1]
    assert np.array_equal(ours.dense(columns), theirs[:, columns].toarray())
    large = ours.where(ours.values > 0.5)
    assert np.array_equal(large.dense(np.arange(width)), theirs.multiply(theirs > 0.5).toarray())
    assert np.array_equal(large.places, np.flatnonzero(theirs.toarray() > 0.5))


def test_a_product_of_other_sizes_is_refused() -> None:
    matrix = SparseMatrix.of_places(np.ones(2), np.array([0, 1]), np.array([2, 0]), (2, 3))
    with pytest.raises(ValueError, match="a matrix of 3 rows is needed, not of 2"):
        matrix @ np.ones(2)
    with pytest.raises(ValueError, match="a matrix of 2 rows is needed, not of 3"):
        matrix.spread(np.ones(3))
