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
