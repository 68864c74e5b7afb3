"""k-anonymity of sets of items, such as shopping baskets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from shoal.models.families import CrowdModel

BASE_ITEMS = (
    "Base items are what most of the records have that a row was made for: a record covered by a few rows "
    "with the same base item probably has it, and an item that is not uncertain is certain."
)
"""What released sets of items tell, whatever is guaranteed."""


@dataclass(frozen=True, kw_only=True)
class SetAnonymity(CrowdModel):
    """k-anonymity of sets of items by nonreciprocal recoding (Xue et al. 2012), for baskets and the like.

    Each record is among the possible worlds of at least k released rows, and each released row has at least k
    records among its own, through a k-regular graph, as in `Freeform`. There may be other
    quasi-identifiers beside the items.

    Parameters
    ----------
    k
        The minimum number of rows that cover a record. At least 2.

    Examples
    --------
    >>> shoal.SetAnonymity(k=5).k
    5
    """

    name: ClassVar[str] = "set-anonymity"
    across_releases: ClassVar[bool] = True
    needs_items: ClassVar[bool] = True
    title: ClassVar[str] = "Hide sets of items in a crowd"
    explanation: ClassVar[str] = (
        "The items of each record could be any of at least k rows, and each row any of at least k records."
    )
    usual: ClassVar[bool] = True

    def sentence(self) -> str:
        """Return the guarantee in one sentence, without a full stop."""
        return (
            f"the items of each record are covered by at least {self.k} released rows, and each released row "
            f"covers at least {self.k} records"
        )

    def limits(self, concealment: int) -> Sequence[str]:
        """Return what the guarantee does not say, as sentences for the report."""
        del concealment
        return (BASE_ITEMS,)
