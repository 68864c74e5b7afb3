"""Classes of a table that are compared with a population: k-map and delta-presence, by recursive cuts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InfeasibleError
from shoal.kernels import ROUNDING
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
    than the table.

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
    whole = np.arange(len(table))
    sides: Sides
    if isinstance(model, KMap):
        sides = _Mapped(people, model.k)
        _require_mapped(people.count(people.covered(whole)), model.k)
    else:
        assert isinstance(model, DeltaPresence)
        sides = _Present(people, model)
        _require_present(people, whole, model)
    return Recoding.of_classes(table, cut_into_classes(table, 1, sides, circumstances))


def _require_mapped(most: int, k: int) -> None:
    if most < k:
        could = f"at most k = {most} is achievable" if most > 1 else "no k is achievable"
        raise InfeasibleError(
            f"k = {k} is not achievable: even with every row identical, a row covers {most:,} people of the "
            f"population; {could}",
            parameter="k",
        )


def _require_present(people: _People, whole: Records, model: DeltaPresence) -> None:
    covered = people.covered(whole)
    uncovered = len(people.population) - len(covered)
    share = len(whole) / max(len(covered), 1)
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

    def covered(self, records: Records) -> NDArray[np.int64]:
        """Return which records of the population the closure of some records covers."""
        starts = np.array([0, len(records)])
        found = np.arange(len(self.population))
        by_name = {each.column.name: each for each in self.population.attributes}
        for own in self.table.attributes:
            theirs = by_name[own.column.name]
            cell = own.domain.closure(own.codes[records], starts).texts()
            shown = theirs.domain.read_released(cell, theirs.column)
            found = found[shown.covers(np.zeros(len(found), dtype=np.int64), theirs.codes[found])]
        return found

    def count(self, covered: NDArray[np.int64]) -> int:
        """Return how many people some records of the population belong to."""
        owners = self.population.owners
        return len(covered) if owners is None else len(np.unique(owners[covered]))


@dataclass(frozen=True, eq=False)
class _Mapped(Sides):
    """Each side covers k people of the population."""

    people: _People
    k: int

    def accepts(self, left: Records, right: Records) -> bool:
        return all(self.people.count(self.people.covered(side)) >= self.k for side in (left, right))


@dataclass(frozen=True, eq=False)
class _Present(Sides):
    """Each side has a share between two bounds of what it covers, and no record is on both sides or none."""

    people: _People
    model: DeltaPresence

    def accepts(self, left: Records, right: Records) -> bool:
        covered = one, other = self.people.covered(left), self.people.covered(right)
        for side, theirs in zip((left, right), covered, strict=True):
            share = len(side) / max(len(theirs), 1)
            if not self.model.delta_min - SLACK <= share <= self.model.delta_max + SLACK:
                return False
        if len(np.intersect1d(one, other)):
            return False
        # With a lower bound, nobody whom the two together cover may be covered by neither.
        both = self.people.covered(np.concatenate((left, right))) if self.model.delta_min > 0 else ()
        return len(both) <= sum(map(len, covered))
