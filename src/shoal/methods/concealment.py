"""Rows that generalize one record each (Tassa, Mazza and Gionis 2012): (1,k), (k,1), (k,k), k-concealment."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InfeasibleError, InputError, Reason
from shoal.kernels import OwnRows
from shoal.measures import MEASURES
from shoal.measures.geometry import costs, entropies, geometry, refuse_items
from shoal.methods import unseen
from shoal.methods.diversity import WIDEST
from shoal.methods.feasibility import require_feasible
from shoal.methods.matching import matching
from shoal.methods.method import Circumstances, Effort, Option, keeps
from shoal.models import KK, Concealment, CoverageModel, DiverseModel, Freeform, KOne, OneK
from shoal.models.diversity import NO_DIVERSITY
from shoal.recoding import Recoding
from shoal.recoding.chances import random_matching
from shoal.recoding.coverage import Graph, Matches
from shoal.table import Table

Measure = Annotated[Literal["gcp", "lm", "em"], Option("Information loss to keep small.")]


@dataclass(frozen=True)
class Tightening:
    """What is done beyond the algorithms of the paper.

    Parameters
    ----------
    starts
        The number of nearest records that each row tries as its first one; the cheapest result is kept.
    sweeps
        One number for each sweep in which rows leave records to other rows that take them at a lower cost:
        how many rows try this at once.
    """

    starts: int
    sweeps: tuple[int, ...]


TIGHTENING: dict[str, Tightening | None] = {
    "fast": None,
    "balanced": Tightening(16, (1, 1)),
    "best": Tightening(32, (1, 8, 1, 16, 4, 1, 8, 32, 16, 4, 2, 1)),
}

REGULAR = 0.4
"""From this share of k on, a number of places is kept at the least loss by rows of a k-regular graph."""

MOST_SUBSETS = 2_000_000
"""The maximum number of sets of records that the exact search tries."""


@keeps(OneK, KOne, KK, Concealment, default=True, persons=True)
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
    """Return rows that grow around other records, step by step, until the guarantee holds.

    First each row takes in records until it covers k of them (Algorithm 2; not for (1,k)). Then rows grow
    around records that fewer than k of them cover (Algorithm 3; not for (k,1)), then until each record has k
    matches (Algorithm 5; for concealment), then until sensitive values are diverse (Algorithm 7 and Section
    8.2). If the model bounds the chance, rows also grow until each record has as many places in rows as that
    takes (see native/rows/places.hpp). Before sensitive values are looked at, the record that each row
    carries is drawn so that the least chance is attained (see `shoal.recoding.chances`). The first two steps
    take about O(k n log n) by GCP and LM, which never fall as rows grow, if the tree skips most records; by
    EM they take O(k n^2).

    If persons have several records, or the chance has to be near 1/k, rows are those of the method `matching`
    for the model `freeform`, which promises more than each of these models and counts persons.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    measure
        Information loss to keep small: ``gcp``, ``lm`` or ``em``.
    randomized
        Whether rows, the order in which records have their turns (Algorithm 6), and the record that each row
        carries are drawn at random. Otherwise each row carries the record it was made for, and an attacker
        who knows all records and the method can tell which one that is: for experiments only.
    effort
        ``fast`` (the algorithms of the paper), ``balanced`` or ``best``.
    """
    withheld = isinstance(model, CoverageModel) and model.withhold > 0
    plain = measure == "gcp" and randomized and not withheld
    if table.owners is not None or (plain and _is_better_as_graph(table, model)):
        return _of_graph(table, model, circumstances, plain=plain, effort=effort)
    kept = _kept(table, model, circumstances)
    require_feasible(table, model, kept)
    _require_places(model, len(kept))
    rows = OwnRows(
        table.codes,
        costs(table, "lm").attributes if measure == "lm" else geometry(table),
        model.k,
        entropies=entropies(table) if measure == "em" else (),
        withheld=np.setdiff1d(np.arange(len(table)), kept),
    )
    growth = _RowGrowth(table, rows, model.k, TIGHTENING[effort], randomized, circumstances)
    circumstances.progress("letting rows take in records", 0.0)
    if not isinstance(model, OneK):
        growth.take_in()
    circumstances.progress("letting rows take in records", 1.0)
    if not isinstance(model, KOne):
        growth.cover(tighten=not isinstance(model, OneK))
    if model.degree > 1:
        growth.place(model.degree, tighten=isinstance(model, KK | Concealment))
    if isinstance(model, Concealment):
        growth.conceal(model.two_sided)
    carried = kept
    if randomized:
        circumstances.progress("drawing who carries which row", 0.0)
        carried = _drawn(Recoding.of_rows(table, *rows.members, kept), circumstances)
        circumstances.progress("drawing who carries which row", 1.0)
    if model.diversity is not None:
        growth.diversify(model, kept, carried)
    return replace(Recoding.of_rows(table, *rows.members, kept), assignment=carried.astype(np.int32))


def _is_better_as_graph(table: Table, model: CoverageModel | Concealment) -> bool:
    """Return whether rows of a regular graph keep the bound on the chance better.

    In small tables with requirements on sensitive values they do not depend on these, whatever they lose.
    """
    unseen_labels = model.diversity is not None and len(table) <= unseen.SMALL
    return model.degree > 1 and (model.degree >= REGULAR * model.k or unseen_labels)


def _require_places(model: CoverageModel | Concealment, rows: int) -> None:
    """Refuse a chance below one in the number of rows.

    Raises
    ------
    InfeasibleError
        If it is below.
    """
    if model.degree > rows:
        raise InfeasibleError(
            f"chance = {model.chance:g} is not achievable: with {rows:,} rows, a guess is right with a "
            f"probability of at least {1 / rows:.4g}",
            parameter="chance",
        )


def _of_graph(
    table: Table,
    model: CoverageModel | Concealment,
    circumstances: Circumstances,
    *,
    plain: bool,
    effort: Effort,
) -> Recoding:
    """Return rows of a regular graph, in which k counts persons; each edge of it is a match.

    Rows that grow around a record of their own are not made for persons: m records of one would have to be
    in k x m rows together, and which rows these are changes with every row that grows. And if the chance of
    a right guess has to be near 1/k, which is that of a k-regular graph, such rows would lose more.
    """
    if not plain:
        raise InputError(
            "some persons have several records; with these, the method 'expansion' supports the measure gcp, "
            "rows drawn at random, and no withheld records; leave out measure, randomized and withhold",
            reason=Reason.PARAMETER,
        )
    why = (
        f"the chance of a right guess about a row is at most {model.chance:.4g}"
        if table.owners is None
        else "some persons have several records"
    )
    circumstances.notes.append(
        f"{why}, so rows are those of the model freeform, which promises more than {model.name}"
    )
    require_feasible(table, model)
    _require_places(model, len(table))
    if table.owners is not None and model.degree > model.k:
        raise InputError(
            f"chance = {model.chance:g} is below 1/k; some persons have several records, and with these the "
            "method 'expansion' supports chances of 1/k and above",
            reason=Reason.PARAMETER,
            parameter="chance",
        )
    crowd = max(model.k, model.degree)
    promised = Freeform(k=crowd, l=model.l, p=model.p, entropy_l=model.entropy_l, diverse=model.diverse)
    return matching(table, promised, circumstances, effort=effort)


def _drawn(recoding: Recoding, circumstances: Circumstances) -> NDArray[np.int64]:
    """Draw the record that each row carries, such that the best guess of an attacker is as bad as possible.

    Rows reveal the record they were made for: it is often in the middle, or at the edge that others were
    taken in from. So this record is dropped, and another one is drawn, with probabilities that depend on the
    rows alone; none is above the least chance.
    """
    kept = recoding.records
    cells = np.column_stack([recoding.box] * len(recoding.values))
    graph = Graph.of(np.ascontiguousarray(recoding.table.codes[kept]), cells, recoding.values)
    matches = graph.matches(np.arange(len(kept)))
    return kept[random_matching(graph, matches, circumstances.randomness)]


@dataclass(frozen=True, eq=False)
class _RowGrowth:
    """The steps in which rows grow; see `expansion`."""

    table: Table
    rows: OwnRows
    k: int
    effort: Tightening | None
    randomized: bool
    circumstances: Circumstances

    def take_in(self) -> None:
        """Let each row take in records until it covers k."""
        keys = self.circumstances.randomness.words(4 * len(self.table)) if self.randomized else None
        if self.effort is not None:
            self.rows.expand_from_several(self.k, self.effort.starts, keys)
        elif keys is not None:
            self.rows.expand_at_random(self.k, keys)
        else:
            self.rows.expand(self.k)

    def cover(self, *, tighten: bool) -> None:
        """Let rows grow until k of them cover each record."""
        if self.effort is None or not tighten:
            self.rows.cover(self._order(), self.k)
            return
        self.circumstances.progress("covering records", 0.0)
        self.rows.begin_tightening(self.k, keep_cores=self.randomized)
        self.rows.cover_dearest_first(WIDEST * self.k)
        self.circumstances.progress("covering records", 1.0)
        self._tighten(self.effort)

    def place(self, degree: int, *, tighten: bool) -> None:
        """Let rows grow until the least chance is at most 1 / degree."""
        self.circumstances.progress("making every guess unlikely", 0.0)
        self.rows.place(degree, WIDEST * self.k)
        self.circumstances.progress("making every guess unlikely", 1.0)
        if self.effort is not None and tighten:
            self._tighten(self.effort)

    def conceal(self, two_sided: bool) -> None:
        """Let rows grow until each record has k matches; if two-sided, also each row."""
        self.circumstances.progress("making rows matches", 0.0)
        found = self._join()
        turns = self._order()
        lacking = turns[found.matches_of_record[turns] < self.k]
        if self.effort is None:
            self.rows.conceal_records(lacking, self.k)
        else:
            self.rows.conceal_cheapest_first(lacking, self.k)
            self.rows.hold_together()
            self._tighten(self.effort)
            self._join()  # tightened rows no longer cover all the records that they covered before
        if two_sided:
            self.rows.conceal_rows(self._order(), self.k)
        self.circumstances.progress("making rows matches", 1.0)

    def diversify(self, model: DiverseModel, kept: NDArray[np.int64], carried: NDArray[np.int64]) -> None:
        """Let rows grow until sensitive values are as diverse as the model asks.

        The rows made for the records `kept` have the sensitive values of the records `carried`.

        A row that grows for one record may cover others as well, and make their crowds less diverse. So every
        record has further turns until nothing changes; the paper gives each one turn.
        """
        order = self._order()
        if not isinstance(model, Concealment):
            self.rows.join(None)
        self.circumstances.progress("making sensitive values diverse", 0.0)
        asked = model.diversity or NO_DIVERSITY
        columns = asked.among(self.table.sensitive)
        labels = [column.codes.copy() for column in columns]
        for shown, column in zip(labels, columns, strict=True):
            shown[kept] = column.codes[carried]
        while True:
            self.rows.vary(
                order,
                labels,
                frequency_l=asked.frequency_l,
                distinct=asked.distinct,
                entropy=asked.entropy,
            )
            if isinstance(model, Concealment | KOne):
                break
            if self.rows.cover(order, self.k) == 0:  # rows may cover withheld records now
                break
        self.circumstances.progress("making sensitive values diverse", 1.0)

    def _order(self) -> NDArray[np.int64]:
        """Return the records in the order in which they have their turns."""
        n = len(self.table)
        return self.circumstances.randomness.permutation(n) if self.randomized else np.arange(n)

    def _tighten(self, effort: Tightening) -> None:
        """Let rows leave records to other rows that take them at a lower cost."""
        for sweep, together in enumerate(effort.sweeps):
            self.circumstances.progress("tightening rows", sweep / len(effort.sweeps))
            self.rows.relieve(self._order()[:: max(1, together // 2)], together, WIDEST * self.k)
        self.circumstances.progress("tightening rows", 1.0)

    def _join(self) -> Matches:
        """Find all matches, and pass the components that they form to the rows."""
        all_records = np.arange(len(self.table))
        graph = Graph.of_recoding(Recoding.of_rows(self.table, *self.rows.members, all_records))
        found = graph.matches(all_records)
        self.rows.join(found.component_of_record)
        return found


@keeps(KOne, persons="it tries all sets of k records, of whichever persons")
def subsets(
    table: Table, model: KOne, circumstances: Circumstances, /, *, measure: Measure = "gcp"
) -> Recoding:
    """Return rows with the smallest possible loss that cover k records each (Algorithm 1), for small tables.

    Tries all sets of k - 1 other records for each of the n records: O(n^k / (k - 1)!).

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    measure
        Information loss to minimize: ``gcp``, ``lm`` or ``em``.

    Raises
    ------
    InputError
        If there are too many sets, or the model says anything about sensitive values.
    """
    loss = MEASURES[measure].of_rows
    assert loss is not None
    kept = _kept(table, model, circumstances)
    require_feasible(table, model, kept)
    refuse_items(table)
    if model.diversity is not None or model.degree > 1:
        raise InputError(
            "method 'subsets' guarantees nothing about sensitive values or chances; choose 'expansion'",
            reason=Reason.PARAMETER,
        )
    n, k = len(table), model.k
    if n * math.comb(n - 1, k - 1) > MOST_SUBSETS:
        raise InputError(
            f"{n} records have too many sets of k = {k}; choose the method 'expansion'",
            reason=Reason.PARAMETER,
        )
    others = np.array(list(combinations(range(1, n), k - 1)), dtype=np.int64).reshape(-1, k - 1)
    members = np.empty((n, k), dtype=np.int32)
    starts = np.arange(0, len(others) * k + 1, k)
    box = np.arange(len(others), dtype=np.int32)
    for record in range(n):
        circumstances.progress("trying sets of records", record / n)
        sets = np.column_stack((np.full(len(others), record), (others + record) % n))
        values = tuple(a.domain.closure(a.codes[sets.ravel()], starts) for a in table.attributes)
        members[record] = sets[loss(Recoding(table, values, box)).argmin()]
    circumstances.progress("trying sets of records", 1.0)
    recoding = Recoding.of_rows(table, np.arange(0, n * k + 1, k), members.ravel(), kept)
    return replace(recoding, assignment=_drawn(recoding, circumstances).astype(np.int32))


def _kept(
    table: Table, model: CoverageModel | Concealment, circumstances: Circumstances
) -> NDArray[np.int64]:
    """Draw the records that get a row: all, or all but the share that is withheld, at least one."""
    n = len(table)
    withheld = 0 if isinstance(model, Concealment) else math.ceil(model.withhold * n)
    if withheld == 0:
        return np.arange(n)
    return np.sort(circumstances.randomness.permutation(n)[withheld:])
