"""Sets of items. A generalized value is a base set, uncertain items, and a number of errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import log
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal import kernels
from shoal.base.ragged import Lists, Subsets, ascending_sets
from shoal.kernels import itemsets
from shoal.kinds import notation
from shoal.kinds.domain import Codes, Domain
from shoal.kinds.generalized import Generalized
from shoal.kinds.limits import ColumnLimit
from shoal.kinds.marks import FEW
from shoal.kinds.sets import Sets

if TYPE_CHECKING:
    from shoal.schema import Column


@dataclass(frozen=True, eq=False)
class ItemsDomain(Domain):
    """Sets of items, one code for each different set that occurs; the empty set is one of them.

    Parameters
    ----------
    names
        The name of each item.
    sets
        The items in each set, ascending.
    """

    names: tuple[str, ...]
    sets: Lists

    in_boxes: ClassVar[bool] = False

    @cached_property
    def item_of(self) -> dict[str, int]:
        """The number of each item."""
        return {name: item for item, name in enumerate(self.names)}

    def closure(self, codes: Codes, starts: NDArray[np.int64]) -> Worlds:
        """Return the smallest generalized set around each group, by bit voting."""
        sets = Subsets(*self.sets.arrays, len(self.names))
        voted = itemsets.vote(sets, starts, codes)
        most_errors = np.maximum.reduceat(voted.distances, starts[:-1])
        return Worlds(self, voted.base, voted.uncertain, most_errors)

    def widest(self, column: Column) -> ColumnLimit:
        """Return the largest number of uncertain items, if the column has that limit."""
        return ColumnLimit(uncertain=None if column.widest is None else int(column.widest))

    def wider(self, cells: Sequence[str | None], values: Generalized, column: Column) -> NDArray[np.bool_]:
        """Return which sets have more uncertain items than a column allows, or are suppressed against it."""
        del cells
        assert isinstance(values, Worlds)
        doubtful = np.where(values.most_errors > 0, values.uncertain.sizes, 0)
        most = 0 if column.exact else len(self.names) if column.widest is None else int(column.widest)
        everything = (doubtful == len(self.names)) & (values.most_errors >= len(self.names))
        return np.asarray((doubtful > most) | (everything & (not column.suppressible)))

    def occurring(self, counts: NDArray[np.int64]) -> tuple[pl.Series, int]:
        """Return the names of the items; no set is missing."""
        del counts
        return pl.Series(self.names, dtype=pl.String).sort(), 0

    def sets_among(self, names: Sequence[str]) -> Lists:
        number = {name: item for item, name in enumerate(names)}
        items = np.array([number[name] for name in self.names], dtype=np.int32)
        return ascending_sets(self.sets.owners, items[self.sets.values], len(self.sets))

    def as_items(self, steps: int) -> tuple[Lists, int]:
        """Return the sets as they are."""
        del steps
        return self.sets, len(self.names)

    def set_sizes(self) -> NDArray[np.int64]:
        return self.sets.sizes


@dataclass(frozen=True, eq=False)
class Worlds(Generalized):
    """Generalized sets of items (Xue et al. 2012, Section 3), each standing for several: its possible worlds.

    Those differ from the base in uncertain items only, and in no more than a given number of them.

    Parameters
    ----------
    domain
        The items and the sets that occur.
    base, uncertain
        The base items and the uncertain items of each, ascending; an item may be both.
    most_errors
        Maximum number of items in which each may differ; if negative, it covers nothing.
    """

    domain: ItemsDomain
    base: Lists
    uncertain: Lists
    most_errors: NDArray[np.int32]

    noun: ClassVar[str] = "items, some of them uncertain"

    def __len__(self) -> int:
        return len(self.most_errors)

    @cached_property
    def worlds(self) -> Sets:
        """The possible worlds of each among the sets that occur."""
        found = kernels.sets_among_worlds(
            self.domain.sets.arrays,
            self.base.arrays,
            self.uncertain.arrays,
            self.most_errors,
            len(self.domain.names),
        )
        return Sets(self.domain, Lists(*found))

    def covers(self, index: NDArray[np.integer[Any]], codes: Codes) -> NDArray[np.bool_]:
        return self.worlds.covers(index, codes)

    def ncp(self) -> NDArray[np.float64]:
        """Return the share of uncertain items among all items of each; 0 if no error is allowed.

        Around a group, that is the share of the items of any that not all of them have. It never falls when
        the group grows.
        """
        each = np.arange(len(self))
        either = kernels.differences(self.base.arrays, self.uncertain.arrays, each, each)
        together = (self.base.sizes + self.uncertain.sizes + either) // 2
        uncertain = np.where(self.most_errors > 0, self.uncertain.sizes, 0)
        return np.asarray(uncertain / np.maximum(together, 1))

    def sizes(self) -> NDArray[np.int64]:
        return self.worlds.sizes()

    def bits(self) -> NDArray[np.float64]:
        """Return the binary logarithm of how many possible worlds each has, whether they occur or not."""
        shapes = np.column_stack((self.uncertain.sizes, np.maximum(self.most_errors, 0)))
        pairs, place = np.unique(shapes, axis=0, return_inverse=True)
        return np.array([_log2_of_ways(items, most) for items, most in pairs.tolist()])[place.ravel()]

    def entropies(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.worlds.entropies(counts)

    def keys(self) -> list[NDArray[np.int32]]:
        return [self.base.numbers(), self.uncertain.numbers(), self.most_errors]

    def texts(self) -> list[str]:
        """Return the base items of each."""
        return _item_texts(self.base, self.domain).to_list()

    def typed(self) -> pl.Series:
        """Return lists of the base items of each."""
        return named_items(self.base, self.domain.names)

    def joined(self, others: Sequence[Generalized]) -> Worlds:
        each: list[Any] = [self, *others]
        base, uncertain = (
            Lists.of_sizes(
                np.concatenate([getattr(part, name).sizes for part in each]),
                np.concatenate([getattr(part, name).values for part in each]),
            )
            for name in ("base", "uncertain")
        )
        return Worlds(self.domain, base, uncertain, np.concatenate([part.most_errors for part in each]))

    def exceeds(self, limit: ColumnLimit) -> NDArray[np.bool_]:
        most = len(self.domain.names) if limit.uncertain is None else limit.uncertain
        return np.asarray(self.uncertain.sizes > most)

    def shared_columns(
        self, name: str, *, typed: bool
    ) -> list[tuple[pl.Series, NDArray[np.integer[Any]] | None]]:
        """Return base items, uncertain items and the maximum number of errors, as three columns."""
        both = [
            named_items(lists, self.domain.names) if typed else _item_texts(lists, self.domain)
            for lists in (self.base, self.uncertain)
        ]
        errors = pl.Series(self.most_errors, dtype=pl.Int64)
        names = notation.items_columns(name)
        return [(column.rename(each), None) for column, each in zip((*both, errors), names, strict=True)]

    def of_items(self) -> Worlds:
        return self

    def for_kernel(self) -> Subsets:
        return self.worlds.for_kernel()


def named_items(lists: Lists, names: Sequence[str]) -> pl.Series:
    """Return lists of items as lists of their names."""
    if len(lists.values) <= FEW:
        each = iter([names[item] for item in lists.values.tolist()])
        named = [list(islice(each, size)) for size in lists.sizes.tolist()]
        return pl.Series("name", named, dtype=pl.List(pl.String))
    flat = pl.Series(names, dtype=pl.String).gather(lists.values)
    together = (
        pl.DataFrame({"owner": lists.owners, "name": flat}).group_by("owner", maintain_order=True).agg("name")
    )
    owners = pl.DataFrame({"owner": np.arange(len(lists))})
    return owners.join(together, on="owner", how="left", maintain_order="left")["name"].fill_null([])


def _item_texts(lists: Lists, domain: ItemsDomain) -> pl.Series:
    names = [notation.write_items([name]) for name in domain.names]
    return named_items(lists, names).list.join(" ")


def _log2_of_ways(items: int, most: int) -> float:
    """Return the binary logarithm of the number of ways to choose up to a number of items."""
    chosen = np.arange(min(items, most))
    ways = np.concatenate(([0.0], np.cumsum(np.log((items - chosen) / (chosen + 1)))))
    return float(np.logaddexp.reduce(ways)) / log(2)
