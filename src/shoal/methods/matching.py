"""Rounds of matching: rows take in records or whole rows, each round solved as an assignment problem."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import BoxTree, Matching
from shoal.methods import refinement
from shoal.methods.copies import share_with_copies
from shoal.methods.diversity import recoded
from shoal.methods.feasibility import require_feasible
from shoal.methods.growth import grown_graph
from shoal.methods.halves import grow_from_halves
from shoal.methods.method import Circumstances, Effort, keeps
from shoal.methods.refinement import EXCHANGES, Exchanges, cost_of
from shoal.methods.ring import cheap_rings, ring
from shoal.models import Freeform
from shoal.recoding import Recoding
from shoal.table import Table

CANDIDATES = 16
"""The number of nearest records a row may choose from, besides the one SortGreedy gives it."""

TOGETHER = 10
"""Rows with fewer records choose from all candidates. A round at the least total cost leaves worse rows to
later rounds, and after some rounds this costs more than it saves. Larger rows have two candidates:
their nearest record, and the one SortGreedy gives them."""

FEW, SMALL, MEDIUM = 12, 32, 64
GROWING = {
    "balanced": (
        Exchanges((0.4,), (0.6, 0.4, 0.3, 0.2, 0.1), 0, 0, looks=72, worthwhile=1e-3, pieces=True),
        Exchanges((0.4,), (0.6, 0.4, 0.3, 0.2, 0.1), 0, 0, looks=56, worthwhile=4e-3, pieces=True),
        Exchanges((0.5, 0.2), (0.6, 0.5, 0.4, 0.3, 0.2, 0.1), 0, 0, looks=64, pieces=True),
        refinement.BALANCED,
    ),
    "best": (
        replace(refinement.BEST, pieces=True, last=800, together=5),
        replace(refinement.BEST, pieces=True, together=5),
        *(refinement.BEST,) * 2,
    ),
}
"""The efforts for rows that grow: with a k up to `FEW`, `SMALL`, `MEDIUM`, and with a larger one. Rows that
take in whole rows need fewer exchanges, and more if they are larger; with a large k, they lose more than
rows that take in single records (decision 058)."""

FORESIGHT, BETWEEN = (0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05), (0.6, 0.4, 0.2, 0.1)
HALVED = {
    "balanced": Exchanges((0.4,), FORESIGHT, 0, 0, 64, 2e-3, pieces=True, halved=FEW, between=BETWEEN),
    "best": replace(refinement.BEST, pieces=True, halved=FEW, between=refinement.BEST.foresight),
}
"""The efforts with a k above `SMALL`: rows are made from rows for half of k, down to `FEW` (decision 076)."""


COPIES, MANY_COPIES = 0.75, 0.9
"""From the first share of records with equal ones on, rings may lose less than rows that grow, and from the
second on they do. In between, both are made."""


@keeps(Freeform, default=True, persons=True)
def matching(
    table: Table, model: Freeform, circumstances: Circumstances, /, *, effort: Effort = "balanced"
) -> Recoding:
    """Return rows that grow in rounds until they cover k records, each round at the least total cost.

    In a round, every row takes in one record, as in the rounds of Doka et al. (2015, Algorithm 2), or all
    records of another row, as it is or as it was when it had fewer, that has none of its own. While rows are
    small, and whenever they take in whole rows, a round is a minimum-weight assignment, exact on the
    candidates: for each row its nearest records, and the one that SortGreedy would give it, so that an
    assignment always exists; or rows that have one of its nearest records. About O(n log n) for each round
    if the tree skips most records and augmenting paths are short.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    effort
        ``fast`` has no rounds: it is that of `ring`, which loses a few percent more than ``balanced`` in a
        small part of the time. With ``balanced`` and ``best``, rows take in whole rows where this is
        possible, and exchange records between rounds and at the end, while this reduces the loss. With a k
        above 32, rows for half of k are made first, for one record of each pair of similar ones; not if
        persons have several records or columns have limits. If at least three quarters of the records have
        copies, records are put on rings as by `ring`, which suits such tables better; up to nine tenths, both
        are made and the cheaper rows are taken.
    """
    if effort == "fast":
        return ring(table, model, circumstances, effort=effort)
    require_feasible(table, model)
    return recoded(table, model, _cheap_graph(table, model.k, effort, circumstances), circumstances)


def _cheap_graph(table: Table, k: int, effort: Effort, circumstances: Circumstances) -> NDArray[np.int32]:
    """Return a regular graph at a low cost: by rows that grow, or by rings if most records have copies."""
    copies = 0.0 if table.limited else share_with_copies(table.codes)
    rings = cheap_rings(table, k, EXCHANGES[effort], circumstances) if copies >= COPIES else None
    if rings is not None and copies >= MANY_COPIES:
        return rings
    if k <= SMALL or table.owners is not None or table.limited:
        chosen = GROWING[effort][(k > FEW) + (k > SMALL) + (k > MEDIUM)]
        graph = grown_graph(table, k, circumstances, chosen, cheapest_together)
    else:
        graph = grow_from_halves(table, k, HALVED[effort], circumstances, cheapest_together)
    if rings is not None and cost_of(table, rings) < cost_of(table, graph):
        return rings
    return graph


def cheapest_together(tree: BoxTree, _copies: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Matching:
    """Match records and boxes at the least total cost; copies are among the nearest candidates anyway."""
    small = tree.members().shape[1] < TOGETHER
    return tree.match_cheapest_together(CANDIDATES if small else 1)
