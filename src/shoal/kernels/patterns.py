"""Suppression by patterns: covers of a table, and moves that lower their cost."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native


@dataclass(frozen=True, eq=False)
class VariedLabels:
    """Sensitive values, and how diverse they must be in every class; by default nothing is required.

    Parameters
    ----------
    columns
        For each sensitive column the code of each record, and the number of codes.
    frequency_l, distinct, entropy
        No label has a share above 1 / frequency_l; the minimum number of different labels; the minimum
        entropy, in nats. 0 requires nothing.
    """

    columns: list[tuple[NDArray[np.int32], int]] = field(default_factory=list)
    frequency_l: float = 0.0
    distinct: int = 0
    entropy: float = 0.0

    @property
    def asked(self) -> tuple[float, int, float]:
        """What is required of each column."""
        return self.frequency_l, self.distinct, self.entropy


ANY_LABELS = VariedLabels()
"""Requires nothing."""


@dataclass(frozen=True, eq=False)
class Cover:
    """Which pattern each row has.

    Parameters
    ----------
    pattern_of
        The number of the pattern; -1 for rows that are left over.
    counted
        Number of rows that were counted, over all patterns.
    """

    pattern_of: NDArray[np.int32]
    counted: int


def cover(
    codes: NDArray[np.int32],
    kept: NDArray[np.uint64],
    k: int,
    *,
    shared: bool = False,
    labels: VariedLabels = ANY_LABELS,
) -> Cover:
    """Give each row the first pattern under which it looks the same as enough others that have none yet.

    Parameters
    ----------
    codes
        One row for each record; at most 64 columns.
    kept
        The columns that each pattern keeps, as bits, in the order in which patterns take their turn.
    k
        Minimum number of rows that look the same.
    shared
        Whether rows that have a pattern still count for others: each row then has the first pattern that it
        could have at all.
    labels
        How diverse the sensitive values of a class must be. Of rows that look the same, those with the most
        frequent values wait for another pattern where that makes the others diverse enough.

    Returns
    -------
    Cover
        O(patterns x rows x columns) at worst; rows that are too rare for a pattern on some of its columns
        are not counted for it.
    """
    return Cover(*_native.cover(codes, kept, k, shared, labels.columns, labels.asked))


class PatternSearch:
    """A cover by patterns, and moves of rows from class to class that lower its cost.

    A class consists of rows with the same pattern that look the same under it.

    Parameters
    ----------
    codes, kept, k
        As for `cover`; the cheapest pattern is the first.
    costs
        What a row costs under each pattern.
    beyond
        What a row costs that is left over: more than under any pattern.
    pattern_of
        The pattern of each row at first, as of a `Cover`.
    labels
        How diverse the sensitive values of a class must be; no move changes that.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        kept: NDArray[np.uint64],
        costs: NDArray[np.float64],
        beyond: float,
        k: int,
        pattern_of: NDArray[np.int32],
        labels: VariedLabels = ANY_LABELS,
    ) -> None:
        self._search = _native.PatternSearch(
            codes, kept, costs, beyond, k, pattern_of, labels.columns, labels.asked
        )
        self._patterns = len(kept)

    @property
    def cost(self) -> float:
        """What all rows cost together."""
        return self._search.cost()

    @property
    def pattern_of(self) -> NDArray[np.int32]:
        """The pattern of each row; -1 for those that are left over."""
        return self._search.pattern_of()

    def sweep(self, begin: int = 0, end: int | None = None) -> int:
        """Make classes, or let them grow, where that saves cost, under one pattern after the other.

        Rows that gain join, and as many others as k requires; rows left in a class that is too small go to
        the cheapest other one. Returns how often this lowered the cost.
        """
        return self._search.sweep(begin, self._patterns if end is None else end)
