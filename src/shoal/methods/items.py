"""Records as sets of items, whatever their attributes are: what methods for sets put in order and compare."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.base.ragged import Lists, ascending_sets
from shoal.kernels import Subsets
from shoal.kinds.domain import Attribute, ItemsDomain, RangeDomain, TreeDomain
from shoal.table import Table

FINEST = 64
"""The maximum number of items that an attribute of another kind becomes in a record."""


def as_items(table: Table) -> Subsets:
    """Return each record as one set of items.

    Sets of items stand as they are, those of several columns beside each other. A number becomes all steps of
    a scale up to where it lies, a category one of a kind, a leaf of a hierarchy the nodes above it: the more
    two records differ, the fewer they share. As many items stand for an attribute that to lose all of it
    costs about as much, by weight, as to lose an average set of items.

    Parameters
    ----------
    table
        The records.

    Returns
    -------
    Subsets
        The items of each record, ascending.
    """
    sizes = [
        a.domain.sets.sizes[a.codes].mean() / weight
        for a, weight in zip(table.attributes, table.weights, strict=True)
        if isinstance(a.domain, ItemsDomain)
    ]
    unit = float(np.mean(sizes)) if sizes else float(len(table.attributes))
    owners, values, width = [], [], 0
    for attribute, weight in zip(table.attributes, table.weights, strict=True):
        if isinstance(attribute.domain, ItemsDomain):
            sets, used = attribute.domain.sets, len(attribute.domain.names)
        else:
            sets, used = _scale(attribute, int(np.clip(round(unit * weight), 1, FINEST)))
        records = sets.gather(attribute.codes)
        owners.append(records.owners)
        values.append(records.values + width)
        width += used
    if len(values) == 1:
        return Subsets(width, *records.arrays)
    together = ascending_sets(np.concatenate(owners), np.concatenate(values), len(table))
    return Subsets(width, *together.arrays)


def _scale(attribute: Attribute, steps: int) -> tuple[Lists, int]:
    """Return the items that stand for each code of an attribute, and how many items there are."""
    domain = attribute.domain
    codes = np.arange(len(domain))
    if isinstance(domain, RangeDomain):
        # The missing value, at 2, is farther from every number than any two numbers from each other.
        heights = np.rint(domain.positions * steps).astype(np.int64)
        return _prefixes(heights), 2 * steps
    if isinstance(domain, TreeDomain):
        tree = domain.hierarchy
        depth = int(tree.depth.max())
        copies = max(steps // max(depth, 1), 1)
        node = tree.leaf_node.astype(np.int64)
        owners, nodes = [], []
        while (below := node > 0).any():  # the root is above all nodes
            owners.append(codes[below])
            nodes.append(node[below])
            node = np.where(below, tree.parent[node], 0)
        return _copied(codes, owners, nodes, copies), len(tree.labels) * copies
    copies = max(round(steps / max(domain.cardinality - 1, 1)), 1)
    return _copied(codes, [codes], [codes], copies), len(domain) * copies


def _prefixes(heights: NDArray[np.int64]) -> Lists:
    starts = np.cumsum(heights) - heights
    values = np.arange(heights.sum()) - np.repeat(starts, heights)
    return Lists.of_sizes(heights, values.astype(np.int32))


def _copied(
    codes: NDArray[np.int64], owners: list[NDArray[np.int64]], values: list[NDArray[np.int64]], copies: int
) -> Lists:
    """Return the values of each owner, each of them as several items."""
    if not owners:
        return Lists.of_sizes(np.zeros(len(codes), np.int64), np.empty(0, np.int32))
    items = np.concatenate(values)[:, None] * copies + np.arange(copies)
    return ascending_sets(np.repeat(np.concatenate(owners), copies), items.ravel(), len(codes))
