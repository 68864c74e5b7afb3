"""A table's attributes as the native kernels see them: what it costs to cover several values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.domain import RangeDomain, SetDomain, TreeDomain
from shoal.kernels import RANGE, SET, TREE, Geometry
from shoal.recoding import Nodes
from shoal.table import Table


def geometry(table: Table, *, by_count: bool = False) -> list[Geometry]:
    """Return the cost of each attribute's generalized values, by NCP.

    Parameters
    ----------
    table
        The table.
    by_count
        Whether intervals cost as much as the values of the domain they contain (LM), however far apart.
    """
    described = []
    for attribute, weight in zip(table.attributes, table.weights, strict=True):
        domain = attribute.domain
        match domain:
            case RangeDomain():
                kind, costs = RANGE, _ranks(domain) if by_count else domain.positions
            case SetDomain():
                kind, costs = SET, np.array([domain.cardinality], dtype=np.float64)
            case TreeDomain():
                kind, costs = TREE, _meetings(domain).ncp()
            case _:
                raise TypeError(f"unknown domain {type(domain).__name__}")
        described.append(Geometry(kind, float(weight), len(domain), costs))
    return described


def entropies(table: Table) -> list[NDArray[np.float64]]:
    """Return for each attribute how often each code occurs; of a tree, the entropy where neighbours meet."""
    return [
        _meetings(a.domain).entropies(a.counts)
        if isinstance(a.domain, TreeDomain)
        else a.counts.astype(np.float64)
        for a in table.attributes
    ]


def _meetings(domain: TreeDomain) -> Nodes:
    """Return the lowest common ancestor of each code and the next."""
    leaves = np.arange(len(domain))
    return Nodes(domain, domain.hierarchy.ancestor(leaves[:-1], leaves[1:]))


def _ranks(domain: RangeDomain) -> NDArray[np.float64]:
    """Return the positions of codes if the values were evenly spaced."""
    ranks = np.arange(len(domain)) / max(domain.cardinality - 1, 1)
    if domain.missing is not None:
        ranks[domain.missing] = domain.positions[domain.missing]
    return ranks
