"""beta-likeness: no sensitive value is much more frequent in a class than in the whole release."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

from shoal.models.families import LikenessModel
from shoal.models.model import parameter


@dataclass(frozen=True, kw_only=True)
class BetaLikeness(LikenessModel):
    """beta-likeness (Cao and Karras 2012): the gain in each sensitive value is bounded.

    Each released row is identical to at least k - 1 others. If a value has the share q in the whole release
    and the share p > q in a class, then (p - q) / q is at most `beta`; with `enhanced`, it is also at most
    -ln q, which bounds the gain in frequent values as well.

    Parameters
    ----------
    k
        The minimum number of rows in a class. At least 2.
    beta
        The largest relative gain. 0: no value is more frequent in a class than in the whole.
    enhanced
        Whether frequent values have the lower limit -ln q.

    Examples
    --------
    >>> shoal.BetaLikeness(k=5, beta=2).enhanced
    False
    """

    name: ClassVar[str] = "beta-likeness"
    title: ClassVar[str] = "Limit the gain in each value"
    explanation: ClassVar[str] = (
        "Rows are identical in classes of at least k, and no sensitive value is much more frequent in a "
        "class than in the whole table. Rare values are protected as well as frequent ones."
    )

    beta: float = parameter(
        "Maximum relative gain of a sensitive value: how much more frequent it may be in a class than in the "
        "whole release.",
        type=float,
        least=0,
        most=sys.float_info.max,
        wanted="a number of at least 0",
        label="beta: relative gain",
        about_sensitive=True,
    )
    enhanced: bool = parameter(
        "Also limit the gain of a value with the share q to -ln q.",
        default=False,
        type=bool,
        wanted="true or false",
        label="Enhanced: stricter for frequent values",
        widget="tick",
        about_sensitive=True,
    )

    def likeness_words(self) -> str:
        """Return what is guaranteed about the values of a class, as the end of a sentence."""
        more = ", and by at most a factor of 1 - ln q if it has the share q there" if self.enhanced else ""
        return (
            f"each sensitive value is more frequent than in the whole release by at most a factor of "
            f"{1 + self.beta:g}{more}"
        )
