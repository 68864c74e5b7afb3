"""Persons with several records: graphs in which the records of a row belong to different persons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.table import Table


def spread_graph(table: Table, k: int) -> NDArray[np.int32]:
    """Return a regular graph in which the k records of each row belong to k persons, without regard to loss.

    The records stand in a ring, those of a person together. A row covers the record at its own place and
    those at steps of n // k. A person has at most n // k records, so no two of hers are a step apart.

    Parameters
    ----------
    table
        The table; no person has more than n // k of its n records.
    k
        How many records a row covers.
    """
    n = len(table)
    ring = np.arange(n) if table.owners is None else np.argsort(table.owners, kind="stable")
    place = (np.arange(n)[:, None] + np.arange(k) * (n // k)) % n
    graph: NDArray[np.int32] = ring[place].astype(np.int32)
    return graph


def person_classes(
    codes: NDArray[np.int32], attributes: Sequence[kernels.Geometry], k: int, owners: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return classes of at least k records, of which no person has more than 1 / k, along an order.

    Records of one person are moved apart in the order, so that it can be cut into classes of k to 2 k - 1
    records of different persons at the least cost. Those for which no place is left join the nearest class in
    the order that has room and no record of their person. If a few persons have most of the records, that may
    not be possible; then the table is cut in two repeatedly, as `mondrian` does.

    Parameters
    ----------
    codes
        One row for each record, in an order in which neighbours are similar.
    attributes
        What it costs to cover several codes.
    k
        Minimum number of records of a class.
    owners
        The person of each record; none has more than 1 / k of them.

    Returns
    -------
    NDArray
        The class of each record, numbered 0, 1, 2, ...
    """
    order = kernels.spaced(owners, 2 * k - 1)
    without_place = np.ones(len(codes), dtype=np.bool_)
    without_place[order] = False
    left = np.flatnonzero(without_place)
    starts = np.empty(0, dtype=np.int32)
    if len(order) >= k:
        starts = kernels.cut(np.ascontiguousarray(codes[order]), attributes, k, owners[order])
    classes = np.full(len(codes), -1, dtype=np.int32)
    sizes = np.diff(np.append(starts, len(order)))
    classes[order] = np.repeat(np.arange(len(starts), dtype=np.int32), sizes) if len(starts) else -1
    if len(starts) and _join(classes, left, owners, len(starts), 2 * k - 1):
        return classes
    return kernels.mondrian(codes, attributes, [], k=k, owners=owners)


def _join(
    classes: NDArray[np.int32], left: NDArray[np.int64], owners: NDArray[np.int32], count: int, most: int
) -> bool:
    """Let records that are left join the nearest class with room and without their person; if all can."""
    room = most - np.bincount(classes[classes >= 0], minlength=count)
    for owner in np.unique(owners[left]):
        of_person = classes[owners == owner]
        open_to = room > 0
        open_to[of_person[of_person >= 0]] = False
        for record in left[owners[left] == owner]:
            free = np.flatnonzero(open_to)
            if len(free) == 0:
                return False
            near = classes[max(record - 1, 0)]  # neighbours in the order are similar
            chosen = free[np.argmin(np.abs(free - near))]
            classes[record] = chosen
            open_to[chosen] = False
            room[chosen] -= 1
    return True
