"""delta-disclosure privacy: each sensitive value is about as frequent in a class as in the whole release."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

from shoal.models.families import LikenessModel
from shoal.models.model import parameter

LEAST_DELTA = 1e-6
"""The smallest limit: one of 0 is not achievable, because ratios must be below it."""


@dataclass(frozen=True, kw_only=True)
class DeltaDisclosure(LikenessModel):
    """delta-disclosure privacy (Brickell and Shmatikov 2008): the ratio of shares is bounded on both sides.

    Each released row is identical to at least k - 1 others. If a value of a sensitive column has the share q
    in the whole release and p in a class, then the absolute value of log2(p / q) is below `disclosure_delta`.
    So each class has every value that the release has.

    Parameters
    ----------
    k
        The minimum number of rows in a class. At least 2.
    disclosure_delta
        The limit, in bits: with 1, no value is twice as frequent in a class as in the whole, nor half as
        frequent. Above 0.

    Examples
    --------
    >>> shoal.DeltaDisclosure(k=5, disclosure_delta=1).disclosure_delta
    1.0
    """

    name: ClassVar[str] = "delta-disclosure"
    title: ClassVar[str] = "Limit gain and loss in each value"
    explanation: ClassVar[str] = (
        "Rows are identical in classes of at least k, and each sensitive value is about as frequent in each "
        "class as in the whole table. The strictest of these models: each class has every value."
    )

    disclosure_delta: float = parameter(
        "Limit of |log2(p / q)| for a value with the share p in a class and q in the whole release.",
        type=float,
        least=LEAST_DELTA,
        most=sys.float_info.max,
        wanted=f"a number of at least {LEAST_DELTA:g}",
        label="delta: bits of gain or loss",
        about_sensitive=True,
    )

    def likeness_words(self) -> str:
        """Return what is guaranteed about the values of a class, as the end of a sentence."""
        factor = 2.0 ** min(self.disclosure_delta, 1000.0)
        return (
            "each sensitive value of the release occurs, and is more or less frequent than in the whole "
            f"release by less than a factor of {factor:.4g}"
        )
