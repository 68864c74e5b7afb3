"""Persons with several records: graphs in which the records of a row belong to different persons."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
    return ring[place].astype(np.int32)
