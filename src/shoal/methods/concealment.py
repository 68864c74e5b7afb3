"""Rows that generalize one record each (Tassa, Mazza and Gionis 2012): (1,k), (k,1), (k,k), k-concealment."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, Reason
from shoal.kernels import OwnRows
from shoal.measures import MEASURES
from shoal.measures.geometry import costs, entropies, geometry, refuse_items
from shoal.methods.diversity import WIDEST
from shoal.methods.feasibility import require_feasible
from shoal.methods.method import Circumstances, Effort, Option, keeps
from shoal.models import KK, Concealment, CoverageModel, DiverseModel, KOne, OneK
from shoal.models.diversity import NO_DIVERSITY
from shoal.recoding import Recoding
from shoal.recoding.coverage import Graph, Matches
from shoal.table import Table

Measure = Annotated[Literal["gcp", "lm", "em"], Option("Information loss to keep small.")]


@dataclass(frozen=True)
class Tightening:
    """What is done beyond the paper's algorithms.

    Parameters
    ----------
    starts
        The number of nearest records that a row tries as its first; the cheapest result is kept.
    sweeps
        In each sweep all rows leave records to others that take them for less: how many rows try it at once.
    """

    starts: int
    sweeps: tuple[int, ...]


TIGHTENING: dict[str, Tightening | None] = {
    "fast": None,
    "balanced": Tightening(16, (1, 1)),
    "best": Tightening(32, (1, 8, 1, 16, 4, 1, 8, 32, 16, 4, 2, 1)),
}

MOST_SUBSETS = 2_000_000
"""The maximum number of sets of records that the exact search looks at."""


@keeps(OneK, KOne, KK, Concealment, default=True)
def expansion(
    table: Table,
    model: CoverageModel | Concealment,
    circumstances: Circumstances,
    /,
    *,
    measure: Measure = "gcp",
    randomized: Annotated[bool, Option("Draw rows at random. Required for publication.")] = True,
    effort: Effort = "balanced",
) -> Recoding:
    """Return rows that grow around other records, step by step, until the promise is kept.

    First each row takes in records until it covers k of them (Algorithm 2; not for (1,k)), then rows grow
    around records that fewer than k of them cover (Algorithm 3; not for (k,1)), then until each record has k
    matches (Algorithm 5; for concealment), then until sensitive values are varied (Algorithm 7 and Section
    8.2). About O(k n log n) for the first two by a measure that never falls as rows grow (GCP, LM), as long
    as the tree can leave out most of the others; by EM O(k n^2).

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    measure
        What is kept small: ``gcp``, ``lm`` or ``em``.
    randomized
        Whether rows and the order in which records have their turns are drawn at random (Algorithm 6).
        Without that, an attacker who knows all records and the method can tell which row was made for which:
        it is for experiments only.
    effort
        ``fast`` (the paper's algorithms), ``balanced`` or ``best``.
    """
    chosen = TIGHTENING[effort]
    n = len(table)
    kept = _kept(table, model, circumstances)
    require_feasible(table, model, kept)
    progress, randomness = circumstances.progress, circumstances.randomness
    rows = OwnRows(
        table.codes,
        costs(table, "lm").attributes if measure == "lm" else geometry(table),
        model.k,
        entropies=entropies(table) if measure == "em" else (),
        withheld=np.setdiff1d(np.arange(n), kept),
    )

    def order() -> NDArray[np.int64]:
        return randomness.permutation(n) if randomized else np.arange(n)

    progress("letting rows take in records", 0.0)
    if not isinstance(model, OneK):
        keys = randomness.words(4 * n) if randomized else None
        if chosen is not None:
            rows.expand_from_several(model.k, chosen.starts, keys)
        elif keys is not None:
            rows.expand_at_random(model.k, keys)
        else:
            rows.expand(model.k)
    progress("letting rows take in records", 1.0)
    if not isinstance(model, KOne):
        if chosen is None or isinstance(model, OneK):
            rows.cover(order(), model.k)
        else:
            progress("covering records", 0.0)
            rows.begin_tightening(model.k, keep_cores=randomized)
            rows.cover_dearest_first(WIDEST * model.k)
            progress("covering records", 1.0)
            _tighten(rows, model.k, chosen, order, circumstances)
    if isinstance(model, Concealment):
        progress("making rows matches", 0.0)
        found = _join(table, rows)
        turns = order()
        lacking = turns[found.matches_of_record[turns] < model.k]
        if chosen is None:
            rows.conceal_records(lacking, model.k)
        else:
            rows.conceal_cheapest_first(lacking, model.k)
            rows.hold_together()
            _tighten(rows, model.k, chosen, order, circumstances)
            _join(table, rows)  # some rows do not fit any more whom they fitted
        if model.two_sided:
            rows.conceal_rows(order(), model.k)
        progress("making rows matches", 1.0)
    if model.diversity is not None:
        _vary(table, model, rows, order(), circumstances)
    return Recoding.of_rows(table, *rows.members, kept)


@keeps(KOne)
def subsets(
    table: Table, model: KOne, circumstances: Circumstances, /, *, measure: Measure = "gcp"
) -> Recoding:
    """Return the rows of the least loss that fit k records each (Algorithm 1), for small tables.

    Looks at all sets of k - 1 other records for each of the n records.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    measure
        What is as small as possible: ``gcp``, ``lm`` or ``em``.

    Raises
    ------
    InputError
        If there are too many sets, or anything is promised about sensitive values.
    """
    loss = MEASURES[measure].of_rows
    assert loss is not None
    kept = _kept(table, model, circumstances)
    require_feasible(table, model, kept)
    refuse_items(table)
    if model.diversity is not None:
        raise InputError(
            "subsets keeps no promise about sensitive values; take another method", reason=Reason.PARAMETER
        )
    n, k = len(table), model.k
    if n * math.comb(n - 1, k - 1) > MOST_SUBSETS:
        raise InputError(
            f"{n} records have too many sets of k = {k}; take another method", reason=Reason.PARAMETER
        )
    others = np.array(list(combinations(range(1, n), k - 1)), dtype=np.int64).reshape(-1, k - 1)
    members = np.empty((n, k), dtype=np.int32)
    starts = np.arange(0, len(others) * k + 1, k)
    box = np.arange(len(others), dtype=np.int32)
    for record in range(n):
        circumstances.progress("looking at sets of records", record / n)
        sets = np.column_stack((np.full(len(others), record), (others + record) % n))
        values = tuple(a.domain.closure(a.codes[sets.ravel()], starts) for a in table.attributes)
        members[record] = sets[loss(Recoding(table, values, box)).argmin()]
    circumstances.progress("looking at sets of records", 1.0)
    return Recoding.of_rows(table, np.arange(0, n * k + 1, k), members.ravel(), kept)


def _tighten(
    rows: OwnRows,
    k: int,
    effort: Tightening,
    order: Callable[[], NDArray[np.int64]],
    circumstances: Circumstances,
) -> None:
    """Let rows leave to others what these take for less, as long as that pays."""
    for sweep, together in enumerate(effort.sweeps):
        circumstances.progress("tightening rows", sweep / len(effort.sweeps))
        rows.relieve(order()[:: max(1, together // 2)], together, WIDEST * k)
    circumstances.progress("tightening rows", 1.0)


def _kept(
    table: Table, model: CoverageModel | Concealment, circumstances: Circumstances
) -> NDArray[np.int64]:
    """Draw the records that get a row: all, or all but the share that is withheld, at least one."""
    n = len(table)
    withheld = 0 if isinstance(model, Concealment) else math.ceil(model.withhold * n)
    if withheld == 0:
        return np.arange(n)
    return np.sort(circumstances.randomness.permutation(n)[withheld:])


def _join(table: Table, rows: OwnRows) -> Matches:
    """Find all matches, and let rows know which components these make."""
    everybody = np.arange(len(table))
    graph = Graph.of_recoding(Recoding.of_rows(table, *rows.members, everybody))
    found = graph.matches(everybody)
    rows.join(found.component_of_record)
    return found


def _vary(
    table: Table, model: DiverseModel, rows: OwnRows, order: NDArray[np.int64], circumstances: Circumstances
) -> None:
    """Let rows grow until sensitive values are as varied as is promised.

    Rows that grow for one record come to cover others, too, and may spoil their variety: so every record has
    another turn, until nothing changes. The paper gives each one turn.
    """
    if not isinstance(model, Concealment):
        rows.join(None)
    circumstances.progress("making sensitive values varied", 0.0)
    asked = model.diversity or NO_DIVERSITY
    grown = True
    while grown:
        grown = (
            rows.vary(
                order,
                [column.codes for column in table.sensitive],
                frequency_l=asked.frequency_l,
                distinct=asked.distinct,
                entropy=asked.entropy,
            )
            > 0
        )
        if not isinstance(model, Concealment | KOne):  # who is withheld may have come to fit some rows
            grown = rows.cover(order, model.k) > 0 or grown
    circumstances.progress("making sensitive values varied", 1.0)
