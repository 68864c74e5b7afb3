"""Patterns of suppressed cells: which combinations of columns a row may suppress, and their costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, Reason, did_you_mean, listing, unknown_column

MOST_COLUMNS = 64
MOST_PATTERNS = 1 << 20
"""The maximum number of patterns that are tried."""


@dataclass(frozen=True)
class Pattern:
    """One combination of columns, named by those that rows keep or by those that they suppress.

    Parameters
    ----------
    keep, suppress
        Names of columns. Give one of the two; the other follows from it.

    Examples
    --------
    >>> shoal.Pattern(suppress=("zip",)).suppress
    ('zip',)
    """

    keep: tuple[str, ...] | None = None
    suppress: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if (self.keep is None) == (self.suppress is None):
            raise InputError(
                "a pattern says either which columns it keeps or which it suppresses", reason=Reason.PARAMETER
            )
        for name in ("keep", "suppress"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, names_of(getattr(self, name), f"{name} of a pattern"))

    @classmethod
    def of(cls, given: Any) -> Pattern:
        """Return a pattern that may be given as a mapping, as in a file."""
        if isinstance(given, Pattern):
            return given
        if not isinstance(given, Mapping):
            raise InputError(
                f"{given!r} is not a pattern; it must be a table with keep or suppress, a list of columns",
                reason=Reason.PARAMETER,
            )
        for key in given:
            if key not in ("keep", "suppress"):
                raise InputError(
                    f"a pattern has no {key!r}{did_you_mean(str(key), ('keep', 'suppress'))}; it has keep or "
                    "suppress",
                    reason=Reason.PARAMETER,
                )
        return cls(**given)

    def as_dict(self) -> dict[str, list[str]]:
        """Return the pattern as plain data."""
        return (
            {"suppress": list(self.suppress)}
            if self.suppress is not None
            else {"keep": list(self.keep or ())}
        )

    def suppressed(self, columns: Sequence[str]) -> NDArray[np.bool_]:
        """Return which of these columns are suppressed."""
        names = self.keep if self.suppress is None else self.suppress
        listed = np.isin(columns, require_known(names or (), columns, "a pattern"))
        return ~listed if self.suppress is None else listed


def names_of(given: Any, where: str) -> tuple[str, ...]:
    """Return a list of names as a tuple.

    Raises
    ------
    InputError
        If it is something else, or names a column twice.
    """
    if (
        isinstance(given, str)
        or not isinstance(given, Sequence)
        or not all(isinstance(n, str) for n in given)
    ):
        raise InputError(f"{where} must be a list of columns, not {given!r}", reason=Reason.PARAMETER)
    if len(set(given)) < len(given):
        raise InputError(f"{where} names a column twice: {listing(given)}", reason=Reason.PARAMETER)
    return tuple(given)


def require_known(names: Sequence[str], columns: Sequence[str], where: str) -> list[str]:
    """Return names, or refuse them if one is no quasi-identifier."""
    for name in names:
        if name not in columns:
            error = unknown_column(name, columns, "the quasi-identifiers")
            raise InputError(f"{where}: {error}", reason=error.reason)
    return list(names)


@dataclass(frozen=True, eq=False)
class Mask:
    """All patterns that rows of a table may have.

    Parameters
    ----------
    columns
        The quasi-identifiers.
    weights
        The cost of a suppressed cell in each.
    listed
        The patterns that were listed, one in each row: which columns are suppressed. None allows all.
    most
        The maximum number of suppressed cells in a row.
    never
        Which columns are not suppressed in any row.
    priorities
        Chains of columns, by number: one is suppressed only together with all that follow it.
    last_resort
        The columns that a row suppresses if no other pattern is possible for it; None if that is not allowed.
    """

    columns: tuple[str, ...]
    weights: NDArray[np.float64]
    listed: NDArray[np.bool_] | None
    most: int
    never: NDArray[np.bool_]
    priorities: tuple[tuple[int, ...], ...]
    last_resort: NDArray[np.bool_] | None

    def __post_init__(self) -> None:
        """Refuse listed patterns that break another rule.

        Raises
        ------
        InputError
            If there is one; the message says which rule.
        """
        for pattern in () if self.listed is None else self.listed:
            wrong = self._names(pattern & self.never)
            if wrong:
                raise InputError(
                    f"a pattern suppresses {listing(wrong)}, which must never be suppressed",
                    reason=Reason.PARAMETER,
                )
            if pattern.sum() > self.most:
                raise InputError(
                    f"a pattern suppresses {listing(self._names(pattern))}, but up_to allows {self.most} "
                    "columns only",
                    reason=Reason.PARAMETER,
                )
            if not self._in_order(pattern):
                raise InputError(
                    f"a pattern suppresses {listing(self._names(pattern))}, but keeps columns that have less "
                    "priority",
                    reason=Reason.PARAMETER,
                )

    def allows(self, suppressed: NDArray[np.bool_], free: NDArray[np.bool_]) -> bool:
        """Return whether a row may suppress just these columns.

        Parameters
        ----------
        suppressed
            Which columns are suppressed.
        free
            Columns with a single value, in which an exact and a suppressed cell are the same.
        """
        if self.last_resort is not None and (suppressed == self.last_resort)[~free].all():
            return True
        if self.listed is not None:
            return bool((self.listed == suppressed)[:, ~free].all(axis=1).any())
        least = suppressed & ~free
        for order in self.priorities:
            for place in np.flatnonzero(least[list(order)]):
                least[list(order[place:])] |= free[list(order[place:])]
        return bool(not (least & self.never).any() and least.sum() <= self.most and self._in_order(least))

    def costs(self, suppressed: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the cost of a row that suppresses these columns, for one row or many."""
        # Sums of the same weights in another order must be equal.
        return np.round(suppressed @ self.weights, 9)

    def patterns(self) -> NDArray[np.bool_]:
        """Return which columns each pattern suppresses, the cheapest pattern first.

        Patterns of the same cost are in lexicographic order, in which columns that are kept come first.

        Raises
        ------
        InputError
            If there are too many.
        """
        found = self._all() if self.listed is None else self.listed
        if self.last_resort is not None:
            found = np.vstack([found, self.last_resort])
        found = np.unique(found, axis=0)  # in lexicographic order
        return found[np.argsort(self.costs(found), kind="stable")]

    def _all(self) -> NDArray[np.bool_]:
        open_to = np.flatnonzero(~self.never)
        most = min(self.most, len(open_to))
        count = sum(math.comb(len(open_to), size) for size in range(most + 1))
        if count > MOST_PATTERNS:
            raise InputError(
                f"{len(open_to)} columns have {count} patterns, too many to try them all; allow fewer "
                "suppressed cells (up_to), name columns that must never be suppressed, or list the patterns",
                reason=Reason.TOO_LARGE,
            )
        if most == len(open_to):
            numbers = np.arange(count)
            chosen = (numbers[:, np.newaxis] >> np.arange(most)) & 1 == 1
        else:
            chosen = np.zeros((count, len(open_to)), dtype=np.bool_)
            sets = (
                chosen_set
                for size in range(most + 1)
                for chosen_set in combinations(range(len(open_to)), size)
            )
            for row, members in enumerate(sets):
                chosen[row, list(members)] = True
        found = np.zeros((count, len(self.columns)), dtype=np.bool_)
        found[:, open_to] = chosen
        for order in self.priorities:
            found = found[(np.diff(found[:, list(order)].astype(np.int8), axis=1) >= 0).all(axis=1)]
        return found

    def _in_order(self, suppressed: NDArray[np.bool_]) -> bool:
        return all((np.diff(suppressed[list(order)].astype(np.int8)) >= 0).all() for order in self.priorities)

    def _names(self, chosen: NDArray[np.bool_]) -> list[str]:
        return [name for name, one in zip(self.columns, chosen, strict=True) if one]
