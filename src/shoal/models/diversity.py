"""Requirements on the variety of sensitive values in a crowd, shared by several models."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from shoal.errors import listing


class _Named(Protocol):
    @property
    def name(self) -> str: ...


Named = TypeVar("Named", bound=_Named)


@dataclass(frozen=True)
class RequiredDistance:
    """How far apart the sensitive values of each class must be.

    Parameters
    ----------
    epsilon
        Two values are close if their distance is at most this.
    delta
        The share of a class that must differ from each value in it.
    distance
        The name of the distance, or a function; what suits the columns if None.
    """

    epsilon: float
    delta: float
    distance: str | Callable[[Any, Any], float] | None = None


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
    columns
        The sensitive columns that this is required of; all of them if None.
    """

    l: float | None = None  # noqa: E741 - the letter the literature knows it by
    p: int | None = None
    entropy_l: float | None = None
    columns: tuple[str, ...] | None = None

    def applies_to(self, name: str) -> bool:
        """Return whether it is required of a sensitive column."""
        return self.columns is None or name in self.columns

    def among(self, columns: Iterable[Named]) -> list[Named]:
        """Return those sensitive columns that it is required of."""
        return [column for column in columns if self.applies_to(column.name)]

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

    @classmethod
    def of(
        cls,
        l: float | None,  # noqa: E741 - the letter the literature knows it by
        p: int | None,
        entropy_l: float | None,
        columns: tuple[str, ...] | None = None,
    ) -> RequiredDiversity | None:
        """Return the requirements of a model; None if nothing is required: a level of 1 says nothing."""
        levels = (None if level is None or level <= 1 else level for level in (l, p, entropy_l))
        asked = cls(*levels)  # type: ignore[arg-type]
        return None if asked == NO_DIVERSITY else replace(asked, columns=columns)

    def words(self, crowd: str) -> str:
        """Return the requirements as the end of a sentence; `crowd` says in what."""
        words = []
        value, values = "sensitive value", "sensitive values"
        if self.columns is not None:
            value, values = (f"{each} of {listing(self.columns)}" for each in ("value", "values"))
        if self.l is not None:
            words.append(f"no {value} is more frequent than 1 in {self.l:g}")
        if self.p is not None:
            words.append(f"there are at least {self.p} different {values}")
        if self.entropy_l is not None:
            words.append(f"the entropy of the {values} is at least log({self.entropy_l:g})")
        return f"; in {crowd}, " + " and ".join(words) if words else ""


NO_DIVERSITY = RequiredDiversity()
"""Requires nothing."""


@dataclass(frozen=True)
class UsualDiversity:
    """What to require of sensitive columns if nothing is said about it; see `usual_l`.

    Parameters
    ----------
    l
        The l to require; 1 for nothing.
    columns
        The columns to require it of; None for all.
    skewed
        The columns that allow nothing. They must not keep the others from being protected.
    lowest
        The column that allows the least among those it is required of, or of all if all are skewed.
    """

    l: float  # noqa: E741 - the letter the literature knows it by
    columns: tuple[str, ...] | None
    skewed: tuple[str, ...]
    lowest: str

    @classmethod
    def of(cls, shares: Mapping[str, float]) -> UsualDiversity:
        """Return what to require, given the share of the most frequent value of each sensitive column."""
        skewed = tuple(name for name, share in shares.items() if usual_l(share) <= 1)
        allowing = tuple(name for name in shares if name not in skewed)
        lowest = max(allowing or shares, key=lambda name: shares[name])
        return cls(usual_l(shares[lowest]), allowing if skewed and allowing else None, skewed, lowest)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of a model that require it."""
        if self.l <= 1:
            return {}
        return {"l": self.l, **({} if self.columns is None else {"diverse": self.columns})}


def usual_l(share: float) -> float:
    """Return the l to require if nothing else is said, given the share of the most frequent sensitive value.

    That is 2. If more than half of the records have the same value, 2 is not achievable, and the largest
    achievable l would give every crowd the distribution of the whole table. A crowd may then have that value
    in a share halfway between that of the table and all of its rows. If more than 90% of the records have the
    same value, nothing is required: the others would have to be spread over all crowds.
    """
    if share > 0.9:
        return 1.0
    return 2.0 if share <= 0.5 else math.floor(200 / (1 + share)) / 100
