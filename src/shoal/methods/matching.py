"""Rounds of matching: rows take in records or whole rows, each round solved as an assignment problem."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import BoxTree, Matching
from shoal.methods.growth import grown
from shoal.methods.method import Circumstances, Effort, keeps
from shoal.methods.refinement import EXCHANGES, Exchanges
from shoal.methods.ring import ring
from shoal.models import Freeform
from shoal.recoding import Recoding
from shoal.table import Table

CANDIDATES = 24
"""The number of nearest records a row may choose from, besides the one SortGreedy gives it."""

TOGETHER = 10
"""Rows with fewer records choose from all candidates. A round at the least total cost leaves worse rows to
later rounds, and after some rounds this costs more than it saves. Larger rows have two candidates:
their nearest record, and the one SortGreedy gives them."""


BALANCED = Exchanges((0.6, 0.35, 0.15), (0.6, 0.6, 0.4, 0.4, 0.2, 0.1), 3, 5, looks=32, doubling=True)
"""The effort ``balanced``: rows that double need fewer exchanges than rows that grow by single records."""


@keeps(Freeform, default=True, persons=True)
def matching(
    table: Table, model: Freeform, circumstances: Circumstances, /, *, effort: Effort = "balanced"
) -> Recoding:
    """Return rows that grow in rounds until they cover k records, each round at the least total cost.

    In a round, every row takes in one record, as in the rounds of Doka et al. (2015, Algorithm 2), or all
    records of another row that has none of its own: then rows double. While rows are small, each round is a
    minimum-weight assignment, exact on the candidates: for each row its nearest records, and the one that
    SortGreedy would give it, so that an assignment always exists; or rows that have one of its nearest
    records. About O(n log n) for each round if the tree skips most records and augmenting paths are short.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    effort
        ``fast`` has no rounds: it is that of `ring`, which loses a few percent more than ``balanced`` in a
        small part of the time. With ``balanced``, rows double where this is possible; with ``best``, they
        take in single records. With both, rows exchange records between rounds and at the end, while this
        reduces the loss.
    """
    if effort == "fast":
        return ring(table, model, circumstances, effort=effort)
    chosen = BALANCED if effort == "balanced" else EXCHANGES[effort]
    return grown(table, model, circumstances, chosen, cheapest_together)


def cheapest_together(tree: BoxTree, _copies: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Matching:
    """Match records and boxes at the least total cost; copies are among the nearest candidates anyway."""
    small = tree.members().shape[1] < TOGETHER
    return tree.match_cheapest_together(CANDIDATES if small else 1)
