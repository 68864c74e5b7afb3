"""Requirements on the variety of sensitive values in a crowd, shared by several models."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class RequiredDiversity:
    """Requirements on the sensitive values in each crowd; None where nothing is required.

    Parameters
    ----------
    l
        No value has a share above 1/l.
    p
        The minimum number of different values.
    entropy_l
        The entropy of the values is at least log(entropy_l).
    """

    l: float | None = None  # noqa: E741 - the letter the literature knows it by
    p: int | None = None
    entropy_l: float | None = None

    @property
    def frequency_l(self) -> float:
        """The required l, or 0: as kernels take it."""
        return self.l or 0.0

    @property
    def distinct(self) -> int:
        """The required number of different values, or 0: as kernels take it."""
        return self.p or 0

    @property
    def entropy(self) -> float:
        """The required entropy in nats, or 0: as kernels take it."""
        return math.log(self.entropy_l) if self.entropy_l else 0.0

    @classmethod
    def of(cls, l: float | None, p: int | None, entropy_l: float | None) -> RequiredDiversity | None:  # noqa: E741
        """Return the requirements of a model; None if nothing is required: a level of 1 says nothing."""
        levels = (None if level is None or level <= 1 else level for level in (l, p, entropy_l))
        asked = cls(*levels)  # type: ignore[arg-type]
        return None if asked == NO_DIVERSITY else asked

    def words(self, crowd: str) -> str:
        """Return the requirements as the end of a sentence; `crowd` says in what."""
        words = []
        if self.l is not None:
            words.append(f"no sensitive value is more frequent than 1 in {self.l:g}")
        if self.p is not None:
            words.append(f"there are at least {self.p} different sensitive values")
        if self.entropy_l is not None:
            words.append(f"the entropy of the sensitive values is at least log({self.entropy_l:g})")
        return f"; in {crowd}, " + " and ".join(words) if words else ""


NO_DIVERSITY = RequiredDiversity()
"""Requires nothing."""


def usual_l(share: float) -> float:
    """Return the l to require if nothing else is said, given the share of the most frequent sensitive value.

    That is 2. If more than half of the records have the same value, 2 is not achievable, and the largest
    achievable l would give every crowd the distribution of the whole table. A crowd may then have that value
    in a share halfway between that of the table and all of its rows.
    """
    return 2.0 if share <= 0.5 else math.floor(200 / (1 + share)) / 100
