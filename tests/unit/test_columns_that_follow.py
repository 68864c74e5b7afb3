"""Whether a column follows from another: the samples that decide first, and what all records decide."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.auditing import carried
from shoal.auditing.carried import SAMPLE, follows


def test_a_large_column_is_judged_by_a_sample_of_its_values_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample has about as many records as it should, and all records of each of its values."""
    by = np.random.default_rng(1).integers(0, 50_000, 10 * SAMPLE).astype(np.int32)
    judged: list[NDArray[np.int32]] = []

    def noted(by: NDArray[np.int32], _: NDArray[np.int32]) -> bool:
        judged.append(by)
        return False

    monkeypatch.setattr(carried, "_explained", noted)
    assert not follows(by, by)
    (few,) = judged
    assert len(few) == pytest.approx(SAMPLE, rel=0.1)
    assert np.isin(by, few).sum() == len(few)


def test_a_column_of_the_size_of_the_sample_is_judged_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    by = np.arange(SAMPLE, dtype=np.int32) // 2
    sizes: list[int] = []
    explained = carried._explained

    def noted(by: NDArray[np.int32], of: NDArray[np.int32]) -> bool | None:
        sizes.append(len(by))
        return explained(by, of)

    monkeypatch.setattr(carried, "_explained", noted)
    assert follows(by, by)
    assert sizes == [SAMPLE]


@pytest.mark.parametrize("size", [2_000, 5 * SAMPLE])
def test_a_column_follows_from_a_finer_one_and_not_from_a_random_one(size: int) -> None:
    fine = np.arange(size, dtype=np.int32) // 2
    other = np.random.default_rng(2).integers(0, 50, size).astype(np.int32)
    assert follows(fine, fine // 10)
    assert not follows(fine, other)
