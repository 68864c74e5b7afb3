"""t-closeness: the sensitive values of each class are distributed nearly as in the whole release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.models.families import LikenessModel
from shoal.models.model import parameter

GROUND_DISTANCES = ("equal", "ordered", "hierarchical")
"""The names of the distances between two values that t-closeness knows."""


@dataclass(frozen=True, kw_only=True)
class TCloseness(LikenessModel):
    """t-closeness (Li, Li and Venkatasubramanian 2007): each class looks nearly like the whole release.

    Each released row is identical to at least k - 1 others. In each class of identical rows, the earth
    mover's distance between the distribution of each sensitive column and that of the whole release is at
    most t.

    Parameters
    ----------
    k
        The minimum number of rows in a class. At least 2.
    t
        The largest distance between a class and the whole: from 0 (each class is distributed as the whole) to
        1 (nothing is required).
    ground_distance
        How far two values are apart. ``equal``: 1 for different ones. ``ordered``: the difference of their
        ranks among the values that occur, as a share of the largest one; for numbers, dates and ordered
        categories. ``hierarchical``: the height at which they meet, as a share of the hierarchy's. By default
        what suits each column.

    Examples
    --------
    >>> shoal.TCloseness(k=5, t=0.2).t
    0.2
    """

    name: ClassVar[str] = "t-closeness"
    title: ClassVar[str] = "Make classes like the whole"
    explanation: ClassVar[str] = (
        "Rows are identical in classes of at least k, and the sensitive values of each class are distributed "
        "nearly as in the whole table. The class of a person therefore says little about that person."
    )

    t: float = parameter(
        "Maximum distance between the sensitive values of a class and those of the whole release, 0 to 1.",
        type=float,
        least=0,
        most=1,
        wanted="a number from 0 to 1",
        label="t: distance from the whole",
        about_sensitive=True,
    )
    ground_distance: str | None = parameter(
        "Distance between two sensitive values: equal, ordered or hierarchical; by default what suits the "
        "column.",
        default=None,
        type=str,
        wanted="equal, ordered or hierarchical",
        label="Distance between values",
        widget="choice",
        choices=GROUND_DISTANCES,
        about_sensitive=True,
    )

    def likeness_words(self) -> str:
        """Return what is guaranteed about the values of a class, as the end of a sentence."""
        how = "" if self.ground_distance is None else f" ({self.ground_distance} distance)"
        return (
            f"the distribution of each sensitive column is within {self.t:g} of that in the whole "
            f"release{how}"
        )
