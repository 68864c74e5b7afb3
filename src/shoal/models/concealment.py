"""k-concealment: a crowd of k even for an attacker who knows every record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from shoal.models.families import OwnRowsModel
from shoal.models.model import parameter


@dataclass(frozen=True, kw_only=True)
class Concealment(OwnRowsModel):
    """k-concealment (Tassa, Mazza and Gionis 2012): each record has at least k matches among the rows.

    A row is a match of a record if it covers the record, and every other record can still have a covering row
    of its own. So an attacker who knows the quasi-identifiers of every record in the table still has k rows
    to choose from. The number of matches alone does not bound how likely each of them is: `chance` does.
    ``Concealment(k=10, chance=1)`` is the model as in the paper.

    Parameters
    ----------
    k, l, p, entropy_l, chance
        See `OwnRowsModel`: how many matches a record has, how varied each sensitive column is in them, and
        the maximum of the least chance.
    two_sided
        Whether each released row, too, is a match of at least k records.

    Examples
    --------
    >>> shoal.Concealment(k=10).chance
    0.2
    """

    name: ClassVar[str] = "concealment"
    across_releases: ClassVar[bool] = True
    place: ClassVar[int] = 2
    title: ClassVar[str] = "Hide from an attacker who knows every record"
    explanation: ClassVar[str] = (
        "At least k rows remain for each record, even to an attacker who knows who is in the table and "
        "assigns every record to a row."
    )

    two_sided: bool = parameter(
        "Require at least k matches of each row as well, not only of each record.",
        default=False,
        type=bool,
        wanted="true or false",
        label="Also for rows: each has at least k matches",
        widget="tick",
    )

    @property
    def one_sided(self) -> bool:
        """Whether nothing is guaranteed about the matches of a row if each person has one record."""
        return not self.two_sided

    @property
    def records_per_row(self) -> int:
        """The minimum number of records that each released row covers.

        A record with another match than its own row is on a circle of matches: its row covers another record.
        """
        return self.k if self.two_sided else 2

    def sentence(self) -> str:
        """Return the guarantee in one sentence, without a full stop."""
        rows = f", and each released row of at least {self.k} records," if self.two_sided else ""
        return (
            f"each record has at least {self.k} matches among the released rows{rows} even when every record "
            "must have a row" + self._diversity_words("these rows") + self._chance_words()
        )

    def limits(self, concealment: int) -> Sequence[str]:
        """Return what the guarantee does not say, as sentences for the report."""
        del concealment
        return self._chance_limits()
