"""The running example of Xue et al. 2012: Gray code, order, ring, votes, and what a guess is worth."""

from __future__ import annotations

import numpy as np
from itemset_strategies import packed, unpacked

from shoal.methods.setorder import gray_order, short_order, steps

JOGGING, SWIMMING, TENNIS, SOCCER = range(4)
BITMAPS = ["1100", "0110", "1101", "0111", "1110", "1011"]
RECORDS = [{item for item, bit in enumerate(bits) if bit == "1"} for bits in BITMAPS]
SETS = packed(RECORDS, 4)
PAPERS_ORDER = np.array([2, 4, 3, 1, 5, 6]) - 1


def test_table_5() -> None:
    codes = ["000", "001", "011", "010", "110", "111", "101", "100"]
    shuffled = [codes[i] for i in (3, 0, 7, 5, 1, 6, 2, 4)]
    sets = packed(({item for item, bit in enumerate(bits) if bit == "1"} for bits in shuffled), 3)
    assert [shuffled[record] for record in gray_order(sets)] == codes


def test_the_sum_of_distances_falls_from_14_to_12_to_10() -> None:
    assert steps(SETS, np.arange(6)).sum() == 14
    assert (gray_order(SETS) + 1).tolist() == [2, 4, 1, 3, 5, 6]
    assert steps(SETS, gray_order(SETS)).sum() == 12
    shorter = short_order(SETS)  # the paper's way, or another as short with the same ends
    assert (shorter[[0, -1]] + 1).tolist() == [2, 6]
    assert steps(SETS, shorter).sum() == steps(SETS, PAPERS_ORDER).sum() == 10
