"""km-anonymity: a crowd of k against attackers who know at most a few columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from shoal.errors import InputError, Reason
from shoal.models.model import CellKind, Model, parameter

if TYPE_CHECKING:
    from shoal.schema import Schema


MOST_COMBINATIONS = 20_000
"""More combinations of columns are refused: the audit takes some milliseconds for each."""


@dataclass(frozen=True, kw_only=True)
class KmAnonymity(Model):
    """k rows for each record and k records for each row, in every combination of a few columns.

    With many quasi-identifiers, crowds in all of them together lose much information, although no attacker
    knows all of them. Here, an attacker who knows at most `knows` quasi-identifiers of a person, whichever
    they are, finds at least k rows. The idea is that of k^m-anonymity for sets of items (Terrovitis et al.
    2008); sdcMicro keeps it by suppressing cells (`localSuppression` with `combs`). Nothing is guaranteed
    about sensitive values, or against attackers who know more columns.

    Parameters
    ----------
    k
        The minimum number of rows that cover a record, and of records that a row covers. At least 2.
    knows
        The number of quasi-identifiers that an attacker knows at most, from 1 to 8.

    Examples
    --------
    >>> shoal.KmAnonymity(k=5, knows=3).parameters
    {'k': 5, 'knows': 3}
    """

    name: ClassVar[str] = "km-anonymity"
    title: ClassVar[str] = "Hide from attackers who know little"
    explanation: ClassVar[str] = (
        "An attacker who knows at most a few of the quasi-identifiers, whichever they are, finds at least k "
        "rows. For tables with many quasi-identifiers; an attacker who knows more may find a person's row."
    )
    cells: ClassVar[CellKind] = "loose"

    k: int = parameter(
        "Minimum number of rows that an attacker finds for a record.",
        type=int,
        least=2,
        wanted="a whole number of at least 2: with k = 1 no record is hidden",
        label="k: minimum crowd size",
    )
    knows: int = parameter(
        "Maximum number of quasi-identifiers that an attacker knows of a person.",
        type=int,
        least=1,
        most=8,
        wanted="a whole number from 1 to 8",
        label="Known quasi-identifiers",
    )

    @property
    def crowd(self) -> int:
        """The minimum number of rows in all columns together: its own, as the crowd is in a few columns."""
        return 1

    @property
    def known_columns(self) -> int:
        """The maximum number of quasi-identifiers that the attacker knows."""
        return self.knows

    @property
    def crowd_in_known(self) -> int:
        """The minimum number of rows that a record hides among in the `known_columns`."""
        return self.k

    @classmethod
    def attacker(cls) -> str:
        """Return against which attacker its releases protect, in words."""
        return "knows a few columns"

    def sentence(self) -> str:
        """Return the guarantee in one sentence, without a full stop."""
        some = "any quasi-identifier" if self.knows == 1 else f"any {self.knows} of the quasi-identifiers"
        return (
            f"in {some}, each record is covered by at least {self.k} released rows, and each released row "
            f"covers at least {self.k} records"
        )

    def limits(self, concealment: int) -> Sequence[str]:
        """Return what the guarantee does not say, as sentences for the report."""
        return (
            f"An attacker who knows more than {self.knows} of the quasi-identifiers of a person may find the "
            f"row: with all of them, {concealment} row{'s' * (concealment != 1)} are left in the worst case.",
            "Sensitive values are not protected: all rows that an attacker finds may have the same value.",
        )

    def blocks_must_not_overlap(self, schema: Schema) -> bool:
        """Refuse to cut the table: combinations are counted in the whole table."""
        del schema
        raise InputError(
            f"{self.name} counts combinations of values in the whole table; anonymize it in memory",
            reason=Reason.PARAMETER,
            parameter="model",
        )
