"""l-diversity of sets of items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from shoal.models.diversity import RequiredDiversity
from shoal.models.model import Model, parameter
from shoal.models.set_anonymity import BASE_ITEMS


@dataclass(frozen=True, kw_only=True)
class SetDiversity(Model):
    """l-diversity of sets of items (Xue et al. 2012, Definition 1), for the labels as they are published.

    Each record is covered by at least l released rows that carry l different labels, in every sensitive
    column, even when every record must have a row; each released row covers at least l records; and in the
    release as a whole no label has a share above 1/l, without which no release could bound the chance of
    every record to have a label by 1/l.

    Parameters
    ----------
    l
        The minimum number of different labels around each record. At least 2.

    Examples
    --------
    >>> shoal.SetDiversity(l=3).l
    3
    """

    name: ClassVar[str] = "set-diversity"
    across_releases: ClassVar[bool] = True
    needs_items: ClassVar[bool] = True
    needs_sensitive: ClassVar[bool] = True
    title: ClassVar[str] = "Keep labels of sets apart"
    explanation: ClassVar[str] = (
        "The items of each record could be any of several rows, with at least l different sensitive values."
    )

    l: int = parameter(  # noqa: E741 - the letter the literature knows it by
        "Minimum number of different sensitive values around each record.",
        type=int,
        least=2,
        wanted="a whole number of at least 2: with l = 1 nothing is hidden",
        label="l: diversity",
        about_sensitive=True,
    )

    @property
    def crowd(self) -> int:
        """The minimum number of rows that a record hides among."""
        return self.l

    @property
    def diversity(self) -> RequiredDiversity:
        """What is guaranteed about the variety of sensitive values in a crowd."""
        return RequiredDiversity(p=self.l)

    def sentence(self) -> str:
        """Return the guarantee in one sentence, without a full stop."""
        return (
            f"the items of each record are covered by released rows with at least {self.l} different "
            f"sensitive values, each released row covers at least {self.l} records, and in the release as a "
            f"whole no sensitive value is more frequent than 1 in {self.l}"
        )

    def limits(self, concealment: int) -> Sequence[str]:
        """Return what the guarantee does not say, as sentences for the report."""
        del concealment
        return (
            BASE_ITEMS,
            "Different sensitive values are counted, not their shares: in all rows that cover a record, one "
            f"value may be more frequent than 1 in {self.l}.",
            "An attacker who knows every record and has the code believes no sensitive value of a record "
            f"with a probability above 1 in {self.l} if the method is freeform, with one sensitive column "
            "and one record for each person. Other methods, and releases with classes, depend on sensitive "
            "values, and more can be guessed.",
        )
