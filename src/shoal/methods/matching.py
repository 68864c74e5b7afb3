"""Rounds of matching: SortGreedy's rounds (Doka et al. 2015), each solved as an assignment problem."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import BoxTree, Matching
from shoal.methods.growth import grown
from shoal.methods.method import Circumstances, Effort, keeps
from shoal.models import Freeform
from shoal.recoding import Recoding
from shoal.table import Table

CANDIDATES = 24
"""The number of nearest records a row may choose from, besides the one SortGreedy gives it."""

TOGETHER = 10
"""Only rows of fewer records choose. A round that is cheapest as a whole leaves worse rows to later ones:
after some rounds that costs more than it saves. Larger rows have their nearest record, and SortGreedy's."""


@keeps(Freeform, default=True, persons=True)
def matching(
    table: Table, model: Freeform, circumstances: Circumstances, /, *, effort: Effort = "balanced"
) -> Recoding:
    """Return rows that grow by one record in each of k - 1 rounds, at the least cost of all rows together.

    While rows are small, each round is a minimum-weight assignment, exact on the candidates: for each row
    its nearest records, and the one that SortGreedy would give it, with which there is always an assignment.
    About O(k n log n) as long as the tree can leave out most records and augmenting paths stay short.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    effort
        ``fast`` (the rounds alone), ``balanced`` or ``best``: rows exchange records in between and at the
        end, as long as that pays.
    """
    return grown(table, model, circumstances, effort, cheapest_together)


def cheapest_together(tree: BoxTree, _copies: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Matching:
    """Match records and boxes at the least cost together; copies are among the nearest anyway."""
    small = tree.members().shape[1] < TOGETHER
    return tree.match_cheapest_together(CANDIDATES if small else 1)
