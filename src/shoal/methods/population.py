"""Classes of a table that are compared with a population: k-map and delta-presence, by recursive cuts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InfeasibleError
from shoal.kernels import ROUNDING
from shoal.kinds.domain import Attribute
from shoal.measures.geometry import refuse_items
from shoal.methods.cutting import Records, Sides, cut_into_classes
from shoal.methods.method import Circumstances, keeps
from shoal.models import DeltaPresence, KMap, PopulationModel
from shoal.recoding import Recoding
from shoal.table import Table

SLACK = ROUNDING / 2
"""Half of the rounding that the audit accepts."""


@keeps(
    KMap,
    DeltaPresence,
    name="mondrian",
    default=True,
    persons="rows of the table are compared with the population one by one",
)
def population_mondrian(table: Table, model: PopulationModel, circumstances: Circumstances, /) -> Recoding:
    """Return classes by recursive cuts, as long as both sides keep the guarantee in the population.

    See `cut_into_classes`. Cells are read as an attacker reads them, so the population may have other values
    than the table. A cell of all values of the table covers these as text, which is ``*``, but not if it is
    typed and names them. The guarantee holds in both forms of a release, or as text where both is infeasible.

    Parameters
    ----------
    table, model, circumstances
        As for every method.

    Raises
    ------
    InfeasibleError
        If the table as one class does not keep the guarantee.
    """
    refuse_items(table)
    people = _People(table, Table.of_population(model.population, table.schema))
    try:
        people.require(model)
    except InfeasibleError:
        people = replace(people, forms=1)
        people.require(model)
    sides: Sides
    if isinstance(model, KMap):
        sides = _Mapped(people, model)
    else:
        assert isinstance(model, DeltaPresence)
        sides = _Present(people, model)
    return Recoding.of_classes(table, cut_into_classes(table, 1, sides, circumstances))


def _require_mapped(most: int, k: int) -> None:
    if most < k:
        could = f"at most k = {most} is achievable" if most > 1 else "no k is achievable"
        raise InfeasibleError(
            f"k = {k} is not achievable: even with every row identical, a row covers {most:,} people of the "
            f"population; {could}",
            parameter="k",
        )


def _require_present(
    people: _People, whole: Records, covered: NDArray[np.int64], model: DeltaPresence
) -> None:
    if not len(covered):
        raise InfeasibleError(
            "delta-presence is not achievable: even with every row identical, a row covers no record of the "
            "population; check that the population includes the people of the table",
            parameter="population",
        )
    uncovered = len(people.population) - len(covered)
    share = len(whole) / len(covered)
    if share > model.delta_max + SLACK:
        raise InfeasibleError(
            f"delta_max = {model.delta_max:g} is not achievable: even with every row identical, a person of "
            f"the population is in the table with a chance of {min(share, 1):.4g}",
            parameter="delta_max",
        )
    if share < model.delta_min - SLACK or (uncovered and model.delta_min > 0):
        why = (
            f"{uncovered:,} records of the population have values that no record of the table has"
            if uncovered
            else f"the table has a share of {share:.4g} of the population"
        )
        raise InfeasibleError(
            f"delta_min = {model.delta_min:g} is not achievable: {why}", parameter="delta_min"
        )


@dataclass(frozen=True, eq=False)
class _People:
    """A table beside its population."""

    table: Table
    population: Table
    forms: int = 2
    """The number of forms of a release that count: as text only, or also typed."""

    def require(self, model: PopulationModel) -> None:
        """Refuse a guarantee that the table as one class does not keep."""
        whole = np.arange(len(self.table))
        for covered in self.covered(whole):
            if isinstance(model, KMap):
                _require_mapped(self.count(covered), model.k)
            elif isinstance(model, DeltaPresence):
                _require_present(self, whole, covered, model)

    def covered(self, records: Records) -> tuple[NDArray[np.int64], ...]:
        """Return which records of the population the closure of some records covers, in each form."""
        starts = np.array([0, len(records)])
        as_text = typed = np.arange(len(self.population))
        by_name = {each.column.name: each for each in self.population.attributes}
        for own in self.table.attributes:
            theirs = by_name[own.column.name]
            cell = own.domain.closure(own.codes[records], starts)
            text, named = cell.texts(), cell.named()
            same = text == named and as_text is typed
            as_text = _covered(text, theirs, as_text)
            typed = as_text if same else _covered(named, theirs, typed)
        return (as_text, typed)[: self.forms]

    def count(self, covered: NDArray[np.int64]) -> int:
        """Return how many people some records of the population belong to."""
        owners = self.population.owners
        return len(covered) if owners is None else len(np.unique(owners[covered]))


def _covered(cell: list[str], theirs: Attribute, among: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return which of some records of the population a cell covers."""
    shown = theirs.domain.read_released(cell, theirs.column)
    return among[shown.covers(np.zeros(len(among), dtype=np.int64), theirs.codes[among])]


@dataclass(frozen=True, eq=False)
class _Mapped(Sides):
    """Each side covers k people of the population."""

    people: _People
    model: KMap

    def accepts(self, left: Records, right: Records) -> bool:
        return all(
            self.people.count(covered) >= self.model.k
            for side in (left, right)
            for covered in self.people.covered(side)
        )


@dataclass(frozen=True, eq=False)
class _Present(Sides):
    """Each side has a share between two bounds of what it covers, and no record is on both sides or none."""

    people: _People
    model: DeltaPresence

    def accepts(self, left: Records, right: Records) -> bool:
        # With a lower bound, all whom the two together cover must be covered by one of them.
        both = np.concatenate((left, right)) if self.model.delta_min > 0 else None
        together = repeat(None) if both is None else self.people.covered(both)
        forms = zip(self.people.covered(left), self.people.covered(right), together, strict=False)
        return all(self._keeps(len(left), len(right), *form) for form in forms)

    def _keeps(
        self,
        left: int,
        right: int,
        one: NDArray[np.int64],
        other: NDArray[np.int64],
        both: NDArray[np.int64] | None,
    ) -> bool:
        """Return whether two sides of these sizes, which cover these records, keep the guarantee."""
        for side, theirs in ((left, one), (right, other)):
            share = side / len(theirs) if len(theirs) else math.inf
            if not self.model.delta_min - SLACK <= share <= self.model.delta_max + SLACK:
                return False
        if len(np.intersect1d(one, other)):
            return False
        return both is None or len(both) <= len(one) + len(other)
