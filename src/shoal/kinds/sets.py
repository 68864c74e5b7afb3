"""Categories without a hierarchy. A generalized value is a set of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.base.ragged import Lists, Subsets, ascending_sets
from shoal.kernels import SET, Geometry
from shoal.kinds import notation
from shoal.kinds.domain import Codes, Domain, sum_of_powers
from shoal.kinds.generalized import Generalized, entropies_of_sums, share_of_domain, xlogx
from shoal.kinds.limits import ColumnLimit

if TYPE_CHECKING:
    from shoal.schema import Column


@dataclass(frozen=True, eq=False)
class SetDomain(Domain):
    """Categories without a hierarchy; a generalized value is a set of them."""

    def read_released(self, cells: Sequence[str | None], column: Column) -> Sets:
        del column
        everything = np.arange(len(self), dtype=np.int32)
        sets = [
            everything if cell == notation.SUPPRESSED else np.array(self._members(cell), dtype=np.int32)
            for cell in cells
        ]
        return Sets(self, Lists.of(sets))

    def _members(self, cell: str | None) -> list[int]:
        """Return the codes of the members of a written set; members that never occur are left out."""
        if cell is None:
            return []
        codes = [self.code_of.get(label) for label in notation.read_set(cell)]
        if None in codes:
            if cell in self.code_of:  # other tools do not escape values
                codes = [self.code_of[cell]]
            elif cell.startswith("{") and cell.endswith("}"):
                codes = [self.code_of.get(label.strip()) for label in cell[1:-1].split(",")]
        return sorted({code for code in codes if code is not None})

    def widest(self, column: Column) -> ColumnLimit:
        most = len(self) if column.widest is None else int(column.kind.width(column))
        if not column.suppressible and len(self) > 1:
            most = min(most, len(self) - 1)
        if most == 1:
            return ColumnLimit(np.arange(len(self), dtype=np.int32))
        return ColumnLimit(most=most) if most < len(self) else ColumnLimit()

    def wider(self, cells: Sequence[str | None], values: Generalized, column: Column) -> NDArray[np.bool_]:
        """Return it by what is written, with members that never occur."""
        del values
        if column.exact:
            most = 1
        elif column.widest is not None:
            most = int(column.kind.width(column))
        else:
            return np.zeros(len(cells), dtype=np.bool_)
        return np.array([self._size(cell) > most for cell in cells], dtype=np.bool_)

    def _size(self, cell: str | None) -> int:
        """Return the number of members of a written set."""
        if cell is None or cell in self.code_of:
            return 1
        if cell == notation.SUPPRESSED:
            return len(self)
        members = notation.read_set(cell)
        if len(members) == 1 and cell.startswith("{") and cell.endswith("}"):
            return len(cell[1:-1].split(","))
        return len(members)

    @property
    def released_type(self) -> pl.DataType:
        """Lists of values."""
        return pl.List(pl.String())

    def reads_as_several(self, text: str, is_value: Callable[[str], bool]) -> bool:
        if text.startswith("{") and text.endswith("}"):
            return all(member.strip() in self.code_of for member in text[1:-1].split(","))
        return super().reads_as_several(text, is_value)

    def closure(self, codes: Codes, starts: NDArray[np.int64]) -> Sets:
        """Return the set of codes in each group."""
        return Sets(self, ascending_sets(Lists(starts, codes).owners, codes, len(starts) - 1))

    def geometry(self, weight: float) -> Geometry:
        return Geometry(SET, weight, len(self), np.array([self.cardinality], dtype=np.float64))

    def expected_costs(self, counts: NDArray[np.int64], k: int) -> NDArray[np.float64]:
        return np.asarray(sum_of_powers(1 - counts / counts.sum(), k) / max(self.cardinality - 1, 1))

    def best_cut(self, counts: NDArray[np.int64], fewest: float) -> tuple[float, NDArray[np.bool_]] | None:
        """Return by how much two records differ less often, as a share of the domain, if divided evenly."""
        low = np.zeros(len(self), dtype=np.bool_)
        sides = [0, 0]
        for code in np.argsort(-counts, kind="stable"):
            side = int(sides[1] < sides[0])
            sides[side] += int(counts[code])
            low[code] = side == 0
        if min(sides) < max(fewest, 1):
            return None
        total = sum(sides)
        squares = counts.astype(np.float64) ** 2
        before = 1 - squares.sum() / total**2
        after = sum(
            size - squares[which].sum() / size for size, which in zip(sides, (low, ~low), strict=True)
        )
        return float(before - after / total) / max(self.cardinality - 1, 1), low

    def cut_parts_are_apart(self, *, missing: bool) -> bool:
        del missing
        return True


@dataclass(frozen=True, eq=False)
class Sets(Generalized):
    """Sets of codes, for any cardinality: ascending lists."""

    domain: Domain
    codes: Lists

    noun: ClassVar[str] = "sets"

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        """One ascending number for each pair of a set and a member."""
        return self.codes.owners * len(self.domain) + self.codes.values

    def covers(self, index: NDArray[np.integer[Any]], codes: Codes) -> NDArray[np.bool_]:
        wanted = index.astype(np.int64) * len(self.domain) + codes
        found = np.searchsorted(self._keys, wanted)
        return np.asarray(np.append(self._keys, -1)[found] == wanted)

    def ncp(self) -> NDArray[np.float64]:
        return share_of_domain(self.sizes(), self.domain)

    def sizes(self) -> NDArray[np.int64]:
        return self.codes.sizes

    def entropies(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        weights = counts[self.codes.values].astype(np.float64)
        return entropies_of_sums(_sums(weights, self.codes.starts), _sums(xlogx(weights), self.codes.starts))

    def keys(self) -> list[NDArray[np.int32]]:
        return [self.codes.numbers()]

    def texts(self) -> list[str]:
        named, size = self.named(), len(self.domain)
        return [
            notation.SUPPRESSED if 1 < often == size else text
            for text, often in zip(named, self.codes.sizes.tolist(), strict=True)
        ]

    def named(self) -> list[str]:
        labels = self.domain.labels
        starts, codes = self.codes.starts.tolist(), self.codes.values.tolist()
        used = set(codes)  # a value is in many sets, and written only once
        singles = {code: notation.write_single(labels[code]) for code in used}
        members = {code: notation.write_member(labels[code]) for code in used}
        return [
            singles[codes[first]]
            if end - first == 1
            else notation.join_members(members[code] for code in codes[first:end])
            for first, end in pairwise(starts)
        ]

    def typed(self) -> pl.Series:
        """Return lists of values; a missing value is a null member."""
        labels = self.domain.labels
        lists = [
            [None if code == self.domain.missing else labels[code] for code in self.codes[index]]
            for index in range(len(self))
        ]
        return pl.Series(self.domain.values.name, lists, dtype=pl.List(pl.String))

    def different(self) -> tuple[Sets, NDArray[np.int64]]:
        codes, shown = self.codes.different()
        return Sets(self.domain, codes), shown

    def joined(self, others: Sequence[Generalized]) -> Sets:
        each: list[Any] = [self, *others]
        sizes = np.concatenate([part.codes.sizes for part in each])
        return Sets(self.domain, Lists.of_sizes(sizes, np.concatenate([part.codes.values for part in each])))

    def for_kernel(self) -> Subsets:
        return Subsets(*self.codes.arrays, len(self.domain))

    def sizes_within(self, first: int, last: int) -> NDArray[np.int64]:
        return self.codes.filtered((first <= self.codes.values) & (self.codes.values <= last)).sizes

    def expected(self, often: NDArray[np.float64]) -> NDArray[np.float64]:
        sizes = self.sizes()
        shares = np.repeat(often / sizes, sizes)
        return np.bincount(self.codes.values, shares, len(self.domain)).astype(np.float64)


def _sums(values: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    before = np.concatenate(([0.0], np.cumsum(values)))
    return before[starts[1:]] - before[starts[:-1]]
