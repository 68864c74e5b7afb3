"""Rings and groups over records in an order of their items: the plainest ways to keep promises about sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.lists import Lists, ascending_sets
from shoal.methods.contract import Circumstances
from shoal.methods.feasibility import require_feasible
from shoal.methods.items import as_items
from shoal.methods.ring import ring_graph
from shoal.models import Freeform, SetAnonymity, SetDiversity
from shoal.recoding import Recoding
from shoal.table import Table

WINDOW = 50
"""A group looks at so many records for each it needs before it gives up."""


def set_ring(table: Table, model: SetAnonymity, circumstances: Circumstances, /) -> Recoding:
    """Return rows that cover k neighbours each, on one ring through all records in the order of their items.

    O(n log n) comparisons, O(k n) memory.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    """
    require_feasible(table, Freeform(k=model.k))
    circumstances.progress("putting records in order", 0.0)
    order = dictionary_order(*as_items(table))
    return Recoding.of_graph(table, ring_graph(order, np.zeros(len(table), np.int32), model.k))


def set_groups(table: Table, model: SetDiversity, circumstances: Circumstances, /) -> Recoding:
    """Return classes of neighbours in the order of their items, with l different labels each.

    All rows of a class look the same, so whoever gets which of them, everybody fits the same labels.
    O(n log n) comparisons.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    """
    # Where no label is more frequent than 1 / l, there are l labels, and so many records.
    require_feasible(table, Freeform(k=2, l=model.l))
    circumstances.progress("putting records in order", 0.0)
    order = dictionary_order(*as_items(table))
    labels = np.column_stack([column.codes for column in table.sensitive])
    classes = np.empty(len(table), dtype=np.int32)
    classes[order] = varied_groups(labels[order], model.l)
    return Recoding.of_classes(table, classes)


def dictionary_order(records: Lists, width: int) -> NDArray[np.int64]:
    """Return records in the order of a dictionary whose first letters are the most frequent items.

    Parameters
    ----------
    records
        The items of each record, out of 0..width-1.
    width
        How many items there are.
    """
    rank = np.empty(width, dtype=np.int64)
    rank[np.argsort(-np.bincount(records.values, minlength=width), kind="stable")] = np.arange(width)
    words = ascending_sets(records.owners, rank[records.values], len(records))
    return np.argsort(words.numbers(), kind="stable")


def varied_groups(labels: NDArray[np.int32], size: int) -> NDArray[np.int32]:
    """Return groups of neighbours with at least so many different labels.

    Each group takes the first record that is left and the next ones that differ from all in it; whoever is
    left at the end joins the nearest group before, if possible one without the same label.

    Parameters
    ----------
    labels
        The labels of each record, one column for each sort; every sort has at least `size` different ones.
    size
        How many different labels of each sort a group has.

    Returns
    -------
    NDArray
        The group of each record, numbered 0, 1, 2, ...
    """
    n = len(labels)
    rows = [tuple(enumerate(row)) for row in labels.tolist()]
    group_of = np.full(n, -1, dtype=np.int32)
    used: list[set[tuple[int, int]]] = []
    for first in range(n):
        if group_of[first] >= 0:
            continue
        members, taken = [first], set(rows[first])
        for other in range(first + 1, min(first + 1 + WINDOW * size, n)):
            if len(members) == size:
                break
            if group_of[other] < 0 and taken.isdisjoint(rows[other]):
                members.append(other)
                taken.update(rows[other])
        if len(members) == size:
            group_of[members] = len(used)
            used.append(taken)
    if not used:
        return np.zeros(n, dtype=np.int32)
    for place in np.flatnonzero(group_of < 0).tolist():
        nearby = group_of[max(place - WINDOW * size, 0) : place + WINDOW * size]
        near = np.unique(nearby[nearby >= 0]).tolist() or list(range(len(used)))
        chosen = next((g for g in near if used[g].isdisjoint(rows[place])), near[0])
        used[chosen].update(rows[place])
        group_of[place] = chosen
    return group_of
