"""Greedy (Doka et al. 2015, Algorithm 1): records choose their rows one after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import BoxTree, Matching
from shoal.methods.growth import Round, grown
from shoal.methods.method import Circumstances, Effort, keeps
from shoal.methods.refinement import EXCHANGES
from shoal.models import Freeform
from shoal.recoding import Recoding
from shoal.table import Table


@keeps(Freeform, persons=True)
def greedy(
    table: Table, model: Freeform, circumstances: Circumstances, /, *, effort: Effort = "balanced"
) -> Recoding:
    """Return rows that grow by one record in each of k - 1 rounds, in which records choose in a fixed order.

    Algorithm 1. Each record takes the row with the least extra cost among those that no other record has
    taken in this round. First come, at no cost, records with a copy whose row does not cover them yet, then
    the others in lexicographic order (in the paper, all records are in that order). About O(k n log n) if the
    box tree skips most rows, on one core. Unless `effort` is ``fast``, rows exchange records between rounds
    and at the end, while this reduces the loss.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    effort
        ``fast`` (without exchanges, deterministic), ``balanced`` or ``best``. `printed_greedy` follows
        the paper exactly.
    """
    return grown(
        table, model, circumstances, EXCHANGES[effort], choosing_in(lexicographic_order(table.codes))
    )


def lexicographic_order(codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the records sorted by the attribute with the fewest different values first (Section III)."""
    different = [len(np.unique(column)) for column in codes.T]
    by_cardinality = np.argsort(different, kind="stable")
    return np.lexsort(codes.T[by_cardinality[::-1]])


def choosing_in(order: NDArray[np.int64]) -> Round:
    """Return a round in which records choose their boxes in this order, records with a copy first."""

    def match(tree: BoxTree, copies: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Matching:
        place = np.empty_like(order)
        place[tree.order] = np.arange(len(order))
        costless = np.full(len(order), -1)
        costless[copies[0]] = copies[1]
        in_order = place[order]
        # Only equal records take the box of a copy at no cost.
        in_order = in_order[np.argsort(costless[in_order] < 0, kind="stable")]
        return tree.match_in_order(in_order, costless[in_order])

    return match
