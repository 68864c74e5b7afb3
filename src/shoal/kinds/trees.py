"""Values with a hierarchy. A generalized value is a node of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.base.ragged import Lists
from shoal.errors import InputError
from shoal.kernels import TREE, CodeIntervals, Geometry
from shoal.kinds import limits, notation
from shoal.kinds.domain import Attribute, Codes, Domain, copied_items, sum_of_powers
from shoal.kinds.generalized import (
    Generalized,
    covered,
    entropies_of_intervals,
    share_of_domain,
    sizes_of_intervals,
)
from shoal.kinds.hierarchy import MISSING, Hierarchy
from shoal.kinds.limits import ColumnLimit

if TYPE_CHECKING:
    from shoal.schema import Column


@dataclass(frozen=True, eq=False)
class TreeDomain(Domain):
    """Leaves of a hierarchy in tree order; a generalized value is a node.

    Parameters
    ----------
    hierarchy
        The tree; code i is its i-th leaf.
    possible
        Which leaves count as possible values: those that occur, or those that were declared.
    """

    hierarchy: Hierarchy
    possible: NDArray[np.bool_]

    @property
    def cardinality(self) -> int:
        """How many leaves are possible."""
        return int(self.possible.sum())

    def read_released(self, cells: Sequence[str | None], column: Column) -> Nodes:
        del column
        nodes = []
        for cell in cells:
            node = None
            if cell is not None:
                node = 0 if cell == notation.SUPPRESSED else self.hierarchy.node_of(notation.read_node(cell))
            nodes.append(-1 if node is None else node)
        return Nodes(self, np.array(nodes, dtype=np.int32))

    def has_released(self, cells: pl.Series) -> bool:
        labels = [notation.read_node(cell) for cell in cells if cell != notation.SUPPRESSED]
        return all(self.hierarchy.node_of(label) is not None for label in labels)

    @property
    def released_type(self) -> pl.DataType:
        """Labels of nodes."""
        return pl.String()

    def reads_as_several(self, text: str, is_value: Callable[[str], bool]) -> bool:
        del is_value
        label = notation.read_node(text)
        return self.hierarchy.node_of(label) is not None and text not in self.hierarchy.leaf_index

    def closure(self, codes: Codes, starts: NDArray[np.int64]) -> Nodes:
        """Return the lowest common ancestor of each group."""
        low = np.minimum.reduceat(codes, starts[:-1])
        high = np.maximum.reduceat(codes, starts[:-1])
        return Nodes(self, self.hierarchy.ancestor(low, high))

    def widest(self, column: Column) -> ColumnLimit:
        allowed = self._allowed(column)
        if allowed.all():
            return ColumnLimit()
        tree, top = self.hierarchy, self.hierarchy.leaf_node.copy()
        while True:
            above = tree.parent[top]
            higher = np.where((above >= 0) & allowed[above], above, top)
            if (higher == top).all():
                return ColumnLimit(top.astype(np.int32))
            top = higher

    def _allowed(self, column: Column) -> NDArray[np.bool_]:
        """Return which nodes may be released; leaves always."""
        tree = self.hierarchy
        leaf = tree.first == tree.last
        allowed = np.ones(len(tree.labels), dtype=np.bool_)
        if column.exact:
            return np.asarray(leaf)
        if column.widest is not None:
            leaves, level = limits.level(column.widest)
            if level is not None:
                allowed = tree.depth >= int(tree.depth.max()) - level
            else:
                allowed = tree.last - tree.first + 1 <= (leaves or 1)
        if not column.suppressible:
            allowed[0] = False
        return np.asarray(allowed | leaf)

    def wider(self, cells: Sequence[str | None], values: Generalized, column: Column) -> NDArray[np.bool_]:
        del cells
        assert isinstance(values, Nodes)
        return ~self._allowed(column)[values.nodes] & (values.nodes >= 0)

    def geometry(self, weight: float) -> Geometry:
        return Geometry(TREE, weight, len(self), self._meetings().ncp())

    def kernel_entropies(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the entropy of the lowest common ancestor of each code and the next."""
        return self._meetings().entropies(counts)

    def _meetings(self) -> Nodes:
        """Return the lowest common ancestor of each code and the next."""
        leaves = np.arange(len(self))
        return Nodes(self, self.hierarchy.ancestor(leaves[:-1], leaves[1:]))

    def expected_costs(self, counts: NDArray[np.int64], k: int) -> NDArray[np.float64]:
        # A step up from a node counts when not all records lie below it.
        tree, shares = self.hierarchy, counts / counts.sum()
        nodes = np.arange(len(tree.labels), dtype=np.int32)
        costs, before = Nodes(self, nodes).ncp(), np.append(0.0, np.cumsum(shares))
        inside = before[tree.last + 1] - before[tree.first]
        expected = (costs[tree.parent] - costs) * (k - 1 - sum_of_powers(inside, k))
        expected[0] = 0.0
        for depth in range(1, int(tree.depth.max()) + 1):
            level = tree.depth == depth
            expected[level] += expected[tree.parent[level]]
        return np.asarray(expected[tree.leaf_node])

    def best_cut(self, counts: NDArray[np.int64], fewest: float) -> tuple[float, NDArray[np.bool_]] | None:
        """Return the best reduction of a common ancestor's cost, by a cut between children of the top."""
        present = np.flatnonzero(counts)
        tree = self.hierarchy
        top = int(tree.ancestor(present[0], present[-1]))
        children = np.flatnonzero(tree.parent == top)
        if not len(children):
            return None
        children = children[np.argsort(tree.first[children])]
        ends = np.cumsum(counts)
        before = ends[tree.last[children]]
        sizes = np.diff(before, prepend=0).astype(np.float64)
        total = float(counts.sum())
        below = before[:-1].astype(np.float64)
        allowed = (below >= fewest) & (total - below >= fewest)
        if not allowed.any():
            return None
        # Pairs of one child cost what they did; pairs of two cost the top, on either side, none across.
        squares = np.cumsum(sizes**2)
        with np.errstate(divide="ignore", invalid="ignore"):
            left = (below**2 - squares[:-1]) / below
            right = ((total - below) ** 2 - (squares[-1] - squares[:-1])) / (total - below)
        possible = np.concatenate(([0], np.cumsum(self.possible)))
        spans = possible[tree.last[top] + 1] - possible[tree.first[top]]
        price = max(int(spans) - 1, 0) / max(self.cardinality - 1, 1)
        gain = price * ((total**2 - squares[-1]) / total - left - right) / total
        gain[~allowed] = -np.inf
        best = int(np.argmax(gain))
        return float(gain[best]), np.arange(len(self)) <= tree.last[children[best]]

    def as_items(self, steps: int) -> tuple[Lists, int]:
        """Return each leaf as the nodes above it."""
        tree = self.hierarchy
        copies = max(steps // max(int(tree.depth.max()), 1), 1)
        codes, node = np.arange(len(self)), tree.leaf_node.astype(np.int64)
        owners, nodes = [], []
        while (below := node > 0).any():  # the root is above all
            owners.append(codes[below])
            nodes.append(node[below])
            node = np.where(below, tree.parent[node], 0)
        return copied_items(len(self), owners, nodes, copies), len(tree.labels) * copies


@dataclass(frozen=True, eq=False)
class Nodes(Generalized):
    """Nodes of a hierarchy; -1 is a node that covers nothing."""

    domain: TreeDomain
    nodes: NDArray[np.int32]

    noun: ClassVar[str] = "nodes of a hierarchy"

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def low(self) -> Codes:
        """The first leaf of each node."""
        return np.where(self.nodes < 0, np.int32(0), self.domain.hierarchy.first[self.nodes])

    @property
    def high(self) -> Codes:
        """The last leaf of each node, below the first for a node of nothing."""
        return np.where(self.nodes < 0, np.int32(-1), self.domain.hierarchy.last[self.nodes])

    def covers(self, index: NDArray[np.integer[Any]], codes: Codes) -> NDArray[np.bool_]:
        return np.asarray((self.low[index] <= codes) & (codes <= self.high[index]))

    def ncp(self) -> NDArray[np.float64]:
        return share_of_domain(self.sizes(), self.domain)

    def sizes(self) -> NDArray[np.int64]:
        before = np.concatenate(([0], np.cumsum(self.domain.possible)))
        return before[self.high + 1] - before[self.low]

    def entropies(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        return entropies_of_intervals(counts, self.low, self.high)

    def keys(self) -> list[NDArray[np.int32]]:
        return [self.nodes]

    def texts(self) -> list[str]:
        tree = self.domain.hierarchy
        names = [notation.write_node(label) for label in tree.labels]
        if len(tree.leaves) > 1:
            names[0] = notation.SUPPRESSED
        return [names[node] for node in self.nodes]

    def typed(self) -> pl.Series:
        return pl.Series(self.domain.values.name, self.texts(), dtype=pl.String)

    def joined(self, others: Sequence[Generalized]) -> Nodes:
        each: list[Any] = [self, *others]
        return Nodes(self.domain, np.concatenate([part.nodes for part in each]))

    def for_kernel(self) -> CodeIntervals:
        return CodeIntervals(len(self.domain), self.low, self.high)

    def sizes_within(self, first: int, last: int) -> NDArray[np.int64]:
        return sizes_of_intervals(self.low, self.high, self.domain.possible, first, last)

    def is_exact(self) -> NDArray[np.bool_]:
        """Return which are leaves; a node above one occurring leaf is not, as its label is less precise."""
        return np.asarray(self.low == self.high)

    def is_everything(self, size: int) -> NDArray[np.bool_]:
        return np.asarray(self.high - self.low == size - 1)

    def expected(self, often: NDArray[np.float64]) -> NDArray[np.float64]:
        possible, inside = self.domain.possible, np.maximum(self.sizes(), 1)
        return covered(often / inside, self.low, self.high + 1, len(possible)) * possible


def tree_attribute(column: Column, values: pl.Series, labels: tuple[str, ...], codes: Codes) -> Attribute:
    """Return a column with a hierarchy as codes into its leaves; a code below 0 is a missing value."""
    assert column.hierarchy is not None
    has_missing = bool((codes < 0).any())
    try:
        hierarchy = column.hierarchy.over([*labels, MISSING] if has_missing else list(labels))
    except InputError as error:
        raise InputError(
            f"column {column.name!r}: {error}", reason=error.reason, column=column.name
        ) from None
    leaf_of = np.array(
        [hierarchy.leaf_index[label] for label in labels] + [hierarchy.leaf_index.get(MISSING, -1)],
        dtype=np.int32,
    )
    possible = np.zeros(len(hierarchy.leaves), dtype=np.bool_)
    possible[leaf_of[: len(labels) + has_missing]] = True
    typed = np.full(len(hierarchy.leaves), len(labels))
    typed[leaf_of[: len(labels)]] = np.arange(len(labels))
    padded = pl.concat([values, pl.Series([None], dtype=values.dtype)])
    missing = hierarchy.leaf_index[MISSING] if has_missing else None
    domain = TreeDomain(hierarchy.leaves, padded.gather(typed), missing, hierarchy, possible)
    return Attribute(column, domain, leaf_of[codes])
