"""Small sets of items for property tests, and plain-Python twins of what is counted about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoal.base.ragged import Subsets

Items = frozenset[int]


def packed(records: Iterable[Iterable[int]], width: int) -> Subsets:
    """Return sets as arrays."""
    rows = [sorted(record) for record in records]
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return Subsets(starts, np.array([item for row in rows for item in row], dtype=np.int32), width)


def unpacked(sets: Subsets) -> list[Items]:
    """Return arrays as sets."""
    return [frozenset(part.tolist()) for part in np.split(sets.values, sets.starts[1:-1])][
        : len(sets.starts) - 1
    ]


@st.composite
def records(draw: st.DrawFn, *, min_size: int = 1, max_size: int = 14) -> tuple[list[Items], Subsets]:
    """Draw records that are few and dense, or wide and sparse, with copies and empty ones among them."""
    width = draw(st.sampled_from([1, 3, 6, 64, 65, 200]))
    items = st.frozensets(st.integers(0, width - 1), max_size=draw(st.sampled_from([3, 12, width])))
    pool = draw(st.lists(items, min_size=1, max_size=max_size))
    drawn = draw(st.lists(st.sampled_from(pool) | items, min_size=min_size, max_size=max_size))
    return drawn, packed(drawn, width)


def cyclic_length(records: Sequence[Items], order: Iterable[int]) -> int:
    """Return the sum of the Hamming distances from each record to the next, the last to the first."""
    way = list(order)
    return sum(len(records[a] ^ records[b]) for a, b in zip(way, way[1:] + way[:1], strict=True))


def weighted(one: Items, other: Items, weight: int, other_weight: int) -> int:
    """Return how many items only one of two sets has, each times the weight of that set."""
    return len(one - other) * weight + len(other - one) * other_weight


def vote(records: Sequence[Items], row: Sequence[int]) -> tuple[Items, Items, list[int]]:
    """Return the base, the uncertain items and the distance of each record of one row."""
    often = Counter(item for record in row for item in records[record])
    most = frozenset(item for item, count in often.items() if 2 * count > len(row))
    half = sorted(item for item, count in often.items() if 2 * count == len(row))
    base = most | frozenset(half[sum(most) % 2 :: 2])
    uncertain = frozenset(item for item, count in often.items() if count < len(row))
    return base, uncertain, [len(base ^ records[record]) for record in row]


def check_regular(graph: NDArray[np.int32]) -> None:
    """Check that rows have different records, and each record is in as many rows as rows have records."""
    rows, k = graph.shape
    assert all(len(set(row)) == k for row in graph.tolist())
    assert (np.bincount(graph.ravel(), minlength=rows) == k).all()
