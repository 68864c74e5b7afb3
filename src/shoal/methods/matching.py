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
"""Rows with fewer records choose from all candidates. A round at the least total cost leaves worse rows to
later rounds, and after some rounds this costs more than it saves. Larger rows have two candidates:
their nearest record, and the one SortGreedy gives them."""


@keeps(Freeform, default=True, persons=True)
def matching(
    table: Table, model: Freeform, circumstances: Circumstances, /, *, effort: Effort = "balanced"
) -> Recoding:
    """Return rows that grow by one record in each of k - 1 rounds, at the least total cost.

    The rounds are those of Doka et al. (2015, Algorithm 2). While rows are small, each round is a
    minimum-weight assignment, exact on the candidates: for each row its nearest records, and the one that
    SortGreedy would give it, so that an assignment always exists. About O(k n log n) if the tree skips most
    records and augmenting paths are short.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    effort
        ``fast`` (the rounds alone), ``balanced`` or ``best``: rows exchange records between rounds and at the
        end, while this reduces the loss.
    """
    return grown(table, model, circumstances, effort, cheapest_together)


def cheapest_together(tree: BoxTree, _copies: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Matching:
    """Match records and boxes at the least total cost; copies are among the nearest candidates anyway."""
    small = tree.members().shape[1] < TOGETHER
    return tree.match_cheapest_together(CANDIDATES if small else 1)
