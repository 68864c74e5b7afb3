"""The three weaker models of Tassa, Mazza and Gionis, for comparison: (1,k), (k,1) and (k,k)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.models.families import CoverageModel


@dataclass(frozen=True, kw_only=True)
class OneK(CoverageModel):
    """(1,k)-anonymity: each record is covered by at least k released rows.

    On its own this is a weak guarantee: a few rows that cover every record keep it, while all others show
    records as they are. It is here for comparison.

    Parameters
    ----------
    k, l, p, entropy_l, chance, withhold
        See `CoverageModel`.

    Examples
    --------
    >>> shoal.OneK(k=5).k
    5
    """

    name: ClassVar[str] = "1k"
    of_rows: ClassVar[bool] = False
    across_releases: ClassVar[bool] = True
    bounds_chance: ClassVar[bool] = False
    title: ClassVar[str] = "Each record is covered by k rows"
    explanation: ClassVar[str] = "A row may still cover a single record."
    guarantee: ClassVar[str] = "each record is covered by at least {k} released rows"
    weakness: ClassVar[str] = (
        "A few rows that cover every record keep this guarantee, while others may show records as they are. "
        "It is for comparison: do not publish such a release."
    )
    not_to_publish: ClassVar[str] = (
        "The model 1k is for comparison only: a few rows that cover every record keep its guarantee, while "
        "others may show records as they are."
    )

    @property
    def records_per_row(self) -> int:
        """The minimum number of records that each released row covers: the one it was made for."""
        return 1


@dataclass(frozen=True, kw_only=True)
class KOne(CoverageModel):
    """(k,1)-anonymity, also known as k-ambiguity: each released row covers at least k records.

    On its own this is a weak guarantee: a record may still be covered by its own row alone. It is here for
    comparison.

    Parameters
    ----------
    k, l, p, entropy_l, chance, withhold
        See `CoverageModel`.

    Examples
    --------
    >>> shoal.KOne(k=5).k
    5
    """

    name: ClassVar[str] = "k1"
    of_records: ClassVar[bool] = False
    across_releases: ClassVar[bool] = True
    bounds_chance: ClassVar[bool] = False
    title: ClassVar[str] = "Each row covers k records"
    explanation: ClassVar[str] = "A record may still be covered by a single row."
    guarantee: ClassVar[str] = "each released row covers at least {k} records"
    weakness: ClassVar[str] = (
        "A record may be covered by a single row, its own, and be found by it. It is for comparison: do not "
        "publish such a release."
    )
    not_to_publish: ClassVar[str] = (
        "The model k1 is for comparison only: a record may be covered by a single row, its own, and be found "
        "by it."
    )


@dataclass(frozen=True, kw_only=True)
class KK(CoverageModel):
    """(k,k)-anonymity: each record is covered by at least k released rows, and each row covers k records.

    Parameters
    ----------
    k, l, p, entropy_l, chance, withhold
        See `CoverageModel`.

    Examples
    --------
    >>> shoal.KK(k=5).k
    5
    """

    name: ClassVar[str] = "kk"
    across_releases: ClassVar[bool] = True
    title: ClassVar[str] = "k rows for each record, k records for each row"
    explanation: ClassVar[str] = "Like a crowd, but an attacker who knows every record may do better."
    guarantee: ClassVar[str] = (
        "each record is covered by at least {k} released rows, and each released row covers at least {k} "
        "records"
    )
    weakness: ClassVar[str] = (
        "An attacker who knows every record in the table can rule out rows that other records must have: for "
        "the record hidden least, {matches} would be left."
    )
