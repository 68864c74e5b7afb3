"""Risks of re-identification, by what the attacker knows and wants: prosecutor, journalist and marketer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.auditing.classes import Classes
from shoal.auditing.consistency import Consistency, consistency_of, graph_of
from shoal.auditing.persons import Persons
from shoal.auditing.reading import read_release
from shoal.base.tally import Often, total
from shoal.errors import InputError, Reason
from shoal.schema import Schema, as_frame
from shoal.table import Table

THRESHOLD = 0.2
"""By default, a record counts as at risk above this: in a crowd of fewer than five."""


@dataclass(frozen=True, eq=False)
class Attack:
    """The probability that an attacker who picks one member of a crowd at random is right.

    Parameters
    ----------
    crowds
        The size of each crowd: 1 / size is the risk. An empty one has no row to pick and does not count.
    threshold
        A risk above this is too high.
    often
        How many crowds have each size, if they are counted by size.
    own
        How many members of each crowd are right, if not one: the risk is their share.
    """

    crowds: NDArray[np.int64]
    threshold: float = THRESHOLD
    often: Often = None
    own: NDArray[np.int64] | None = None

    @property
    def risks(self) -> NDArray[np.float64]:
        """The risk of each crowd that is not empty."""
        some = self.crowds > 0
        if self.own is None:
            return 1.0 / self.crowds[some]
        return np.minimum(1.0, self.own[some] / self.crowds[some])

    @property
    def highest(self) -> float:
        """The largest risk; 0 if all crowds are empty."""
        return float(self.risks.max(initial=0.0))

    @property
    def mean(self) -> float:
        """The mean risk; 0 if all crowds are empty."""
        return self._mean(self.risks)

    @property
    def at_risk(self) -> float:
        """The share of risks above the threshold; 0 if all crowds are empty."""
        return self._mean(self.risks > self.threshold)

    def _mean(self, numbers: NDArray[np.float64 | np.bool_]) -> float:
        """Return the mean over the crowds that are not empty."""
        often = None if self.often is None else self.often[self.crowds > 0]
        return float(np.average(numbers, weights=often)) if len(numbers) else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "highest": self.highest,
            "mean": self.mean,
            "at_risk": self.at_risk,
            "without_crowd": total(self.crowds == 0, self.often),
        }


@dataclass(frozen=True, eq=False)
class Risks:
    """The three attackers of the literature (El Emam and Dankar 2008), against a release of any shape.

    Tools such as ARX and sdcMicro define them for classes of identical rows: the crowd is the class. Here, a
    crowd is the rows that cover a record, so they are defined for releases without classes, too. Where
    different classes do not overlap, both are the same.

    Parameters
    ----------
    threshold
        A risk above this is too high.
    classes
        The prosecutor as other tools see one: the crowd of a row is its class.
    prosecutor
        Knows that a certain person is in the table, and picks one of the rows that cover the record: these
        are its crowd.
    journalist
        Picks a row, and one of the people of the population that it covers: these are the crowd of the row.
        Without a population, nothing is known about people who are not in the table, and this is the
        prosecutor.
    population
        How many records the population has, or persons if it says whose they are; None if none was given.
    of_persons
        Whether the prosecutor picks a row for a person, not for a record: the crowd of a person are the rows
        that cover any record of hers, and each row that is hers is right.
    """

    threshold: float
    classes: Attack
    prosecutor: Attack
    journalist: Attack
    population: int | None
    of_persons: bool = False

    @property
    def marketer(self) -> float:
        """The share that an attacker who links the whole release gets right: the mean of `journalist`."""
        return self.journalist.mean

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "threshold": self.threshold,
            "classes": self.classes.as_dict(),
            "prosecutor": self.prosecutor.as_dict(),
            "journalist": self.journalist.as_dict(),
            "journalist_is_prosecutor": self.population is None,
            "marketer": self.marketer,
            "population": self.population,
            **({"of": "persons"} if self.of_persons else {}),
        }


def risks_of(
    classes: Classes,
    consistency: Consistency,
    *,
    population: Consistency | None = None,
    persons: Persons | None = None,
    threshold: float = THRESHOLD,
) -> Risks:
    """Return the risks of a release.

    Parameters
    ----------
    classes
        Its classes of identical rows.
    consistency
        How many of its rows cover each record of the original.
    population
        How many of its rows cover each record of the population; see `consistency_with_population`.
    persons
        How well persons are hidden, if a column says whose record each is.
    threshold
        A risk above this is too high; a record in a crowd of fewer than 1 / threshold is at risk.

    Raises
    ------
    InputError
        If the threshold is not a probability.
    """
    if not 0 <= threshold <= 1:
        raise InputError(
            f"threshold = {threshold!r} is not a probability; give 0 to 1", reason=Reason.PARAMETER
        )
    prosecutor = Attack(consistency.rows_of_record, threshold, consistency.records_often)
    of_persons = persons is not None and persons.several
    if persons is not None and of_persons:
        own = persons.records_of_person
        prosecutor = Attack(np.where(own > 0, persons.rows_of_person, 0), threshold, own=own)
    if classes.often is None:
        in_classes = Attack(classes.sizes[classes.of_row], threshold)
    else:
        in_classes = Attack(classes.sizes, threshold, classes.sizes * classes.often)
    return Risks(
        threshold,
        in_classes,
        prosecutor,
        prosecutor if population is None else Attack(population.records_of_row, threshold),
        None if population is None else len(population.rows_of_record),
        of_persons,
    )


def consistency_with_population(released: Any, population: Any, schema: Schema) -> Consistency:
    """Compare every released row with every record of a population, or with every person.

    Persons are counted if the schema has a person column and the population has it, too.

    Parameters
    ----------
    released, population
        The two tables, as any frames that narwhals supports. The population needs the quasi-identifiers only.
    schema
        What the columns of the original are. No record is left out for a missing value, whatever it says,
        except those that have no person.

    Raises
    ------
    InputError
        If a table does not match the schema.
    """
    table = Table.of_population(population, schema)
    columns = read_release(as_frame(released), table)
    if table.owners is None:
        return consistency_of(columns, table)
    counts = graph_of(columns, table).count_persons(table.owners)
    return Consistency(counts.rows_of_person, counts.persons_of_row, None)
