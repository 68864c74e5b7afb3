"""Freeform k-anonymity: a crowd of k for each record, without identical rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from shoal.models.families import DiverseModel


@dataclass(frozen=True, kw_only=True)
class Freeform(DiverseModel):
    """Freeform k-anonymity (Doka et al. 2015): k-anonymity without classes of identical rows.

    Each record is covered by at least k released rows, and each released row covers at least k records,
    through a k-regular graph. Which of k disjoint assignments is the true one was drawn at random, so each of
    the k rows of a record is its own with the same probability to an attacker who knows the quasi-identifiers
    of all records and the graph. With `l`, `p` or `entropy_l`, the rows that cover a record also keep that
    requirement in every sensitive column, as published. The assignment is then drawn among those that keep
    it. If there is none, more people share all rows in tables of at most 128 records; in larger ones rows
    grow, which depends on sensitive values.

    Parameters
    ----------
    k, l, p, entropy_l
        See `DiverseModel`: how many rows cover a record, and how varied each sensitive column is in them.

    Examples
    --------
    >>> shoal.Freeform(k=10).k
    10
    """

    name: ClassVar[str] = "freeform"
    across_releases: ClassVar[bool] = True
    in_some_columns: ClassVar[bool] = True
    title: ClassVar[str] = "Hide every record in a crowd"
    explanation: ClassVar[str] = (
        "Each record could be any of at least k rows, and each row any of at least k records. Rows need not "
        "be identical, so the least information is lost."
    )
    usual: ClassVar[bool] = True

    def sentence(self) -> str:
        """Return the guarantee in one sentence, without a full stop."""
        return (
            f"each record is covered by at least {self.k} released rows, and each released row covers at "
            f"least {self.k} records" + self._diversity_words("the rows that cover a record")
        )

    def limits(self, concealment: int) -> Sequence[str]:
        """Return what the guarantee does not say, as sentences for the report."""
        del concealment
        if self.diversity is None:
            return ()
        return (
            "Rows are counted, not weighed: an attacker who considers a row that covers many records less "
            "likely to belong to a given one may be surer of a sensitive value than the guarantee says.",
            "In tables of more than 128 records, rows grow because of sensitive values if these are not "
            "diverse without that; a note in the certificate says so. An attacker who has the code may learn "
            "from that; nothing is guaranteed about it.",
        )
