"""A table's attributes as the native kernels see them: what it costs to cover several values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.domain import RangeDomain, SetDomain, TreeDomain
from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.kernels import RANGE, SET, TREE, Geometry
from shoal.recoding import Nodes
from shoal.table import Table

MEASURES = ("lm", "em")
"""What closures can be costed by, besides NCP."""
STEP = 1e-6
"""How much higher an ancestor stands than what lies below it at least, per share of the domain."""


@dataclass(frozen=True, eq=False)
class Costs:
    """What closures cost.

    Parameters
    ----------
    attributes
        The cost of each attribute's generalized values.
    counts
        For each attribute, how many records have each code, where these have to be costed by entropy; else
        empty.
    """

    attributes: list[Geometry]
    counts: list[NDArray[np.int64]]


def costs(table: Table, measure: str) -> Costs:
    """Return what closures cost by a measure: ``lm`` or ``em``, see `Loss`.

    Raises
    ------
    InputError
        If there is no such measure.
    """
    if measure not in MEASURES:
        raise InputError(
            f"measure {measure!r} is unknown{did_you_mean(measure, MEASURES)}; "
            f"it is one of {listing(MEASURES)}",
            reason=Reason.PARAMETER,
        )
    described = []
    for attribute, by_ncp in zip(table.attributes, geometry(table), strict=True):
        described_by = by_ncp.table
        if measure == "em" and isinstance(attribute.domain, TreeDomain):
            described_by = _rising_entropies(attribute.domain, attribute.counts)
        if measure == "lm" and by_ncp.kind == RANGE:  # the other kinds cost the same
            described_by = np.arange(by_ncp.size) / max(by_ncp.size - 1, 1)
            if attribute.domain.missing is not None:
                described_by[attribute.domain.missing] = 2.0
        described.append(Geometry(by_ncp.kind, by_ncp.weight, by_ncp.size, described_by))
    return Costs(described, [attribute.counts for attribute in table.attributes] if measure == "em" else [])


def _rising_entropies(domain: TreeDomain, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return for each leaf and the next the highest entropy below their ancestor, rising towards the root.

    By entropy itself, ancestors could not be told from what lies below them. With it, searches know in which
    attributes records are far apart.
    """
    tree = domain.hierarchy
    nodes = Nodes(domain, np.arange(len(tree.labels), dtype=np.int32))
    highest = nodes.entropies(counts)
    for depth in range(int(tree.depth.max()), 0, -1):
        level = np.flatnonzero(tree.depth == depth)
        np.maximum.at(highest, tree.parent[level], highest[level])
    leaves = np.arange(len(domain))
    return np.asarray((highest + STEP * nodes.ncp())[tree.ancestor(leaves[:-1], leaves[1:])])


def geometry(table: Table) -> list[Geometry]:
    """Return the cost of each attribute's generalized values, by NCP."""
    described = []
    for attribute, weight in zip(table.attributes, table.weights, strict=True):
        domain = attribute.domain
        match domain:
            case RangeDomain():
                kind, costs = RANGE, domain.positions
            case SetDomain():
                kind, costs = SET, np.array([domain.cardinality], dtype=np.float64)
            case TreeDomain():
                leaves = np.arange(len(domain))
                meetings = domain.hierarchy.ancestor(leaves[:-1], leaves[1:])
                kind, costs = TREE, Nodes(domain, meetings).ncp()
            case _:
                raise TypeError(f"unknown domain {type(domain).__name__}")
        described.append(Geometry(kind, float(weight), len(domain), costs))
    return described
