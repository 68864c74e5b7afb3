"""The distance of two leaves of a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.kinds.hierarchy import Hierarchy
from shoal.measures.distances.distance import LinearDistance, Values


@dataclass(frozen=True, eq=False)
class TreeDistance(LinearDistance):
    """How high above two leaves their lowest common ancestor lies: 0 for equal ones, 1 at the root.

    The height of a node is the number of steps to the deepest leaf below it, as a share of the root's (the
    hierarchical distance of Li, Li and Venkatasubramanian 2007).

    Parameters
    ----------
    hierarchy
        The tree; a missing value is a leaf of its own right below the root.
    leaves
        The leaf of each value, each another.
    """

    hierarchy: Hierarchy
    leaves: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.leaves)

    def between(self, first: Values, second: Values) -> NDArray[np.float64]:
        met = self.hierarchy.ancestor(self.leaves[first], self.leaves[second])
        return np.asarray(self._height[met])

    @property
    def diameter(self) -> float:
        return 1.0

    @property
    def rounding(self) -> float:
        return float(np.spacing(1.0))

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """The rank of each value in tree order."""
        ranks = np.empty(len(self), dtype=np.int64)
        ranks[np.argsort(self.leaves)] = np.arange(len(self))
        return ranks

    def reach(self, epsilon: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        tree = self.hierarchy
        # Parents come before their children: the highest node that is low enough is handed down from it.
        top = np.arange(len(tree.labels))
        for node in range(1, len(top)):
            above = top[tree.parent[node]]
            if self._height[above] <= epsilon + self.rounding:
                top[node] = above
        chosen = top[tree.leaf_node[self.leaves]]
        ordered = np.sort(self.leaves)
        low = np.searchsorted(ordered, tree.first[chosen])
        return low, np.searchsorted(ordered, tree.last[chosen], side="right") - 1

    def component(self, weight: float, codes: Values) -> kernels.Component:
        ordered = np.sort(self.leaves)
        steps = self._height[self.hierarchy.ancestor(ordered[:-1], ordered[1:])]
        return kernels.Component(kernels.TREE, weight, 1.0, self.rank[codes].astype(np.float64), steps)

    def moved(self, difference: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the earth mover's distance of two distributions with this difference, given by rank.

        What children of a node have too much and others too little of meets there. Several differences, one
        in each row, are moved at once.
        """
        tree = self.hierarchy
        rows = np.atleast_2d(difference)
        by_leaf = np.zeros((len(rows), len(tree.leaf_node)))
        by_leaf[:, np.sort(self.leaves)] = rows
        before = np.concatenate((np.zeros((len(rows), 1)), np.cumsum(by_leaf, axis=1)), axis=1)
        extra = (before[:, tree.last + 1] - before[:, tree.first])[:, 1:]
        siblings = np.argsort(tree.parent[1:], kind="stable")
        above = tree.parent[1:][siblings]
        first = np.flatnonzero(np.diff(above, prepend=-1))
        if not len(first):  # a tree of one node
            return np.zeros(difference.shape[:-1])
        extra = extra[:, siblings]
        much, little = (np.add.reduceat(np.maximum(each, 0.0), first, axis=1) for each in (extra, -extra))
        work = (np.minimum(much, little) * self._height[above[first]]).sum(axis=1)
        return np.asarray(work.reshape(difference.shape[:-1]))

    @cached_property
    def _height(self) -> NDArray[np.float64]:
        """The height of each node as a share of the root's."""
        tree = self.hierarchy
        steps = np.zeros(len(tree.labels), dtype=np.int64)
        for node in range(len(steps) - 1, 0, -1):
            steps[tree.parent[node]] = max(steps[tree.parent[node]], steps[node] + 1)
        return np.asarray(steps / max(steps[0], 1))
