"""A table's attributes as the native kernels see them: what it costs to cover several values."""

from __future__ import annotations

import numpy as np

from shoal.domain import ItemsDomain, RangeDomain, SetDomain, TreeDomain
from shoal.errors import InputError, Reason
from shoal.kernels import RANGE, SET, TREE, Geometry
from shoal.recoding import Nodes
from shoal.table import Table


def geometry(table: Table) -> list[Geometry]:
    """Return the cost of each attribute's generalized values, by NCP.

    Raises
    ------
    InputError
        If there is a column of items, about which these kernels know nothing.
    """
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
            case ItemsDomain():
                raise InputError(
                    f"column {attribute.column.name!r} holds items, which only set-anonymity and "
                    "set-diversity generalize; promise one of these (--model), or give the column another "
                    "role",
                    reason=Reason.PARAMETER,
                )
            case _:
                raise TypeError(f"unknown domain {type(domain).__name__}")
        described.append(Geometry(kind, float(weight), len(domain), costs))
    return described
