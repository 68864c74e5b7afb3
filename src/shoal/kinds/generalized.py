"""Generalized values of an attribute of any kind, and single values with suppressed cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InternalError
from shoal.kinds import notation
from shoal.kinds.domain import Codes, Domain

if TYPE_CHECKING:
    from shoal.base.ragged import Subsets
    from shoal.kernels import CodeIntervals
    from shoal.kinds.items import Worlds
    from shoal.kinds.limits import ColumnLimit


class Generalized(ABC):
    """Generalized values of one attribute: an array of intervals, of sets, of nodes, or of sets of sets."""

    noun: ClassVar[str]
    """What they are called in a report."""

    @abstractmethod
    def __len__(self) -> int:
        """Return how many generalized values there are."""

    @abstractmethod
    def covers(self, index: NDArray[np.integer[Any]], codes: Codes) -> NDArray[np.bool_]:
        """Return whether the index[i]-th generalized value contains codes[i], for each i."""

    @abstractmethod
    def ncp(self) -> NDArray[np.float64]:
        """Return the normalized certainty penalty of each, from 0 (exact) to 1 (suppressed)."""

    @abstractmethod
    def sizes(self) -> NDArray[np.int64]:
        """Return how many possible values each contains."""

    @abstractmethod
    def entropies(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the entropy in bits of the column's value, given that it lies in each.

        Parameters
        ----------
        counts
            How often each code occurs in the column.
        """

    @abstractmethod
    def keys(self) -> list[NDArray[np.int32]]:
        """Return numbers that are the same for two generalized values if and only if they are equal."""

    @abstractmethod
    def texts(self) -> list[str]:
        """Return each as it is written in a text file."""

    @abstractmethod
    def typed(self) -> pl.Series:
        """Return each as a typed value, for Arrow and Parquet."""

    def named(self) -> list[str]:
        """Return each as a text that says what its typed value says.

        As a text, all values of the table are ``*``, which also stands for values that the table does not
        have; a typed value names them.
        """
        return self.texts()

    def columns(self, name: str, *, typed: bool) -> list[pl.Series]:
        """Return the columns that a release has for them, typed or as text; the first has this name."""
        return [
            written if shown is None else written.gather(shown)
            for written, shown in self.shared_columns(name, typed=typed)
        ]

    def shared_columns(
        self, name: str, *, typed: bool
    ) -> list[tuple[pl.Series, NDArray[np.integer[Any]] | None]]:
        """Return `columns` as their different values and which of them each is; None if each is its own."""
        different, shown = self.different()
        written = different.typed() if typed else pl.Series(different.texts(), dtype=pl.String)
        return [(written.rename(name), shown)]

    def different(self) -> tuple[Generalized, NDArray[np.int64] | None]:
        """Return the different ones of them, and which each is.

        A kind whose values take long to write finds them, so that each is written once. Others return
        themselves, and None.
        """
        return self, None

    def joined(self, others: Sequence[Generalized]) -> Generalized:
        """Return these and others of the same attribute, one after the other.

        Raises
        ------
        TypeError
            If the kind does not join them.
        """
        del others
        raise TypeError(f"{type(self).__name__} are not joined")

    def exceeds(self, limit: ColumnLimit) -> NDArray[np.bool_]:
        """Return which are beyond a limit that is peculiar to their kind."""
        del limit
        return np.zeros(len(self), dtype=np.bool_)

    def between_bands(self, domain: Domain) -> Generalized:
        """Return intervals of bands as intervals of the values of a domain that has these bands.

        Raises
        ------
        TypeError
            If these are not intervals.
        """
        del domain
        raise TypeError(f"{type(self).__name__} are no intervals of bands")

    @abstractmethod
    def for_kernel(self) -> CodeIntervals | Subsets:
        """Return each as a set of codes, as the kernels of the consistency graph take it."""

    def sizes_within(self, first: int, last: int) -> NDArray[np.int64]:
        """Return how many possible values from the code `first` to the code `last` each contains.

        Raises
        ------
        TypeError
            If the codes have no order to ask about; see `Domain.in_boxes`.
        """
        del first, last
        raise TypeError(f"ranges of {type(self).__name__} have no meaning")

    def expected(self, often: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return how many rows have each code, if every value that a cell allows is equally likely.

        Parameters
        ----------
        often
            The number of rows that show each of these.

        Returns
        -------
        NDArray or None
            None if the kind has no such expectation.
        """
        del often
        return None

    def mean_width(self, shown: NDArray[np.integer[Any]]) -> float | None:
        """Return how wide those shown are on average, in units of the values; None if they have no width."""
        del shown
        return None

    def of_items(self) -> Worlds | None:
        """Return these if they generalize sets of items, for figures about items; None otherwise."""
        return None

    def is_exact(self) -> NDArray[np.bool_]:
        """Return which of them stand for a single code."""
        return np.asarray(self.sizes() == 1)

    def is_everything(self, size: int) -> NDArray[np.bool_]:
        """Return which of them stand for all codes of a domain of this size."""
        return np.asarray(self.sizes() == size)


@dataclass(frozen=True, eq=False)
class Cells(Generalized):
    """Single values and suppressed cells, of any kind of attribute.

    Parameters
    ----------
    distinct
        The generalized values of which there may be some: every single value, by its code, and finally all
        of them.
    shown
        Which of these each is.
    """

    distinct: Generalized
    shown: NDArray[np.int32]

    noun: ClassVar[str] = "exact or suppressed"

    @classmethod
    def of(cls, domain: Domain, codes: Codes, suppressed: NDArray[np.bool_]) -> Cells:
        """Return each code as it is, or a suppressed cell."""
        size = len(domain)
        singles = np.arange(size, dtype=np.int32)
        starts = np.append(np.arange(size + 1), 2 * size)
        return cls(
            domain.closure(np.tile(singles, 2), starts),
            np.where(suppressed, size, codes).astype(np.int32),
        )

    def __len__(self) -> int:
        return len(self.shown)

    def covers(self, index: NDArray[np.integer[Any]], codes: Codes) -> NDArray[np.bool_]:
        return self.distinct.covers(self.shown[index], codes)

    def ncp(self) -> NDArray[np.float64]:
        penalties = self.distinct.ncp()
        penalties[-1] = 1.0  # also if the data has fewer values than were declared possible, or one
        return penalties[self.shown]

    def sizes(self) -> NDArray[np.int64]:
        return self.distinct.sizes()[self.shown]

    def entropies(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.distinct.entropies(counts)[self.shown]

    def keys(self) -> list[NDArray[np.int32]]:
        return [self.shown]

    def texts(self) -> list[str]:
        texts = [*self.distinct.texts()[:-1], notation.SUPPRESSED]
        return [texts[cell] for cell in self.shown]

    def typed(self) -> pl.Series:
        """Return what the attribute's kind returns; an interval of everything has no bounds."""
        typed = self.distinct.typed()
        if isinstance(typed.dtype, pl.Struct):
            nothing = pl.Series(typed.name, [{"low": None, "high": None}], dtype=typed.dtype)
            typed = typed.head(-1).append(nothing)
        return typed.gather(self.shown)

    def sizes_within(self, first: int, last: int) -> NDArray[np.int64]:
        return self.distinct.sizes_within(first, last)[self.shown]

    def expected(self, often: NDArray[np.float64]) -> NDArray[np.float64] | None:
        return self.distinct.expected(np.bincount(self.shown, often, len(self.distinct)).astype(np.float64))

    def for_kernel(self) -> CodeIntervals | Subsets:
        raise InternalError("the consistency graph does not know suppressed cells")


def share_of_domain(sizes: NDArray[np.int64], domain: Domain) -> NDArray[np.float64]:
    """Return (size - 1) / (cardinality - 1)."""
    return np.maximum(sizes - 1, 0) / max(domain.cardinality - 1, 1)


def xlogx(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return x log2 x, and 0 for numbers below 1."""
    return x * np.log2(np.maximum(x, 1.0))


def entropies_of_intervals(counts: NDArray[np.int64], low: Codes, high: Codes) -> NDArray[np.float64]:
    """Return the entropy in bits of a code in each interval, given how often codes occur."""
    weights = counts.astype(np.float64)
    total = np.concatenate(([0.0], np.cumsum(weights)))
    logs = np.concatenate(([0.0], np.cumsum(xlogx(weights))))
    return entropies_of_sums(total[high + 1] - total[low], logs[high + 1] - logs[low])


def entropies_of_sums(total: NDArray[np.float64], logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the entropy of counts with sum `total` and sum of c log c `logs`."""
    safe = np.maximum(total, 1.0)
    return np.maximum(np.log2(safe) - logs / safe, 0.0)


def sizes_of_intervals(
    low: Codes, high: Codes, possible: NDArray[np.bool_], first: int, last: int
) -> NDArray[np.int64]:
    """Return how many possible codes from first to last lie in each interval."""
    before = np.concatenate(([0], np.cumsum(possible)))
    low, high = np.maximum(low, first), np.minimum(high, last)
    return np.where(low <= high, before[np.maximum(high, low) + 1] - before[low], 0)


def covered(
    weights: NDArray[np.float64], begin: NDArray[np.int32], end: NDArray[np.int32], size: int
) -> NDArray[np.float64]:
    """Return for each place the sum of the weights of the intervals around it; `end` is not in them."""
    steps = np.bincount(begin, weights, size + 1) - np.bincount(end, weights, size + 1)
    return np.maximum(np.cumsum(steps)[:size], 0.0)
