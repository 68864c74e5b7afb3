"""SortGreedy (Doka et al. 2015, Algorithm 2): the cheapest pair of row and record is taken first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.methods.growth import grown
from shoal.methods.method import Circumstances, Effort, keeps
from shoal.methods.refinement import EXCHANGES
from shoal.models import Freeform
from shoal.recoding import Recoding
from shoal.table import Table


@keeps(Freeform, persons=True)
def sort_greedy(
    table: Table, model: Freeform, circumstances: Circumstances, /, *, effort: Effort = "balanced"
) -> Recoding:
    """Return rows that grow by one record in each of k - 1 rounds, cheapest pair of row and record first.

    Algorithm 2 without its list of n^2 edges: the box tree finds the cheapest row for a record, and deferred
    acceptance takes pairs in the order of their costs. Equal records take each other in first, at no cost.
    The tree skips most rows, but not all: on Adult, time was measured to grow as n^1.07 to n^1.39 and as
    k^1.31 to k^1.58. Unless `effort` is ``fast``, rows exchange records between rounds and at the end, while
    this reduces the loss.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    effort
        ``fast`` (without exchanges, deterministic), ``balanced`` or ``best``. `printed_sort_greedy` follows
        the paper exactly.
    """
    return grown(table, model, circumstances, EXCHANGES[effort], cheapest_first)


def cheapest_first(
    tree: kernels.BoxTree, copies: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> kernels.Matching:
    """Match records and boxes, equal ones beforehand, then the cheapest pair first."""
    others = np.setdiff1d(np.arange(len(tree.order)), copies[0], assume_unique=True)
    return tree.match_cheapest_first(others, others, copies)
