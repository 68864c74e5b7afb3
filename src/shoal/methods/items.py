"""Records as sets of items, whatever their attributes are: so methods for sets compare them."""

from __future__ import annotations

import numpy as np

from shoal.base.ragged import Subsets, ascending_sets
from shoal.table import Table

FINEST = 64
"""The maximum number of items that an attribute of another kind becomes in a record."""


def as_items(table: Table) -> Subsets:
    """Return each record as one set of items.

    Sets of items stay as they are; those of several columns get different items. A number becomes all steps
    of a scale up to its position, a category becomes one item, and a leaf of a hierarchy the nodes above it:
    the more two records differ, the fewer items they share. The number of items of an attribute is such that
    losing all of them costs about as much, by weight, as losing an average set of items. O(items).

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
        sizes[a.codes].mean() / weight
        for a, weight in zip(table.attributes, table.weights, strict=True)
        if (sizes := a.domain.set_sizes()) is not None
    ]
    unit = float(np.mean(sizes)) if sizes else float(len(table.attributes))
    owners, values, width = [], [], 0
    for attribute, weight in zip(table.attributes, table.weights, strict=True):
        sets, used = attribute.domain.as_items(int(np.clip(round(unit * weight), 1, FINEST)))
        records = sets.gather(attribute.codes)
        owners.append(records.owners)
        values.append(records.values + width)
        width += used
    if len(values) == 1:
        return Subsets(*records.arrays, width)
    together = ascending_sets(np.concatenate(owners), np.concatenate(values), len(table))
    return Subsets(*together.arrays, width)
