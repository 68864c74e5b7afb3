"""k-map: each released row could belong to k people of a population."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.models.families import PopulationModel
from shoal.models.model import parameter


@dataclass(frozen=True, kw_only=True)
class KMap(PopulationModel):
    """k-map (Sweeney 2002): each released row covers at least k people of a population.

    Rows may be unique in the release: the crowd of a person is in the population. So the guarantee is for
    attackers who do not know who is in the table. If the population says whose record each is (the person
    column of the schema), persons are counted.

    Parameters
    ----------
    k
        The minimum number of people that each row covers. At least 2.
    population
        The table of everyone who could be in the release, with all quasi-identifiers: any frame that
        narwhals supports.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> citizens = hospital(100)
    >>> shoal.KMap(k=5, population=citizens).parameters
    {'k': 5, 'population': {'records': 100}}
    """

    name: ClassVar[str] = "k-map"
    title: ClassVar[str] = "Hide among a population"
    explanation: ClassVar[str] = (
        "Each row could belong to at least k people of a population table. For attackers who do not know who "
        "is in the table; loses less than other models if the table is a small part of the population."
    )

    k: int = parameter(
        "Minimum number of people of the population that each row covers.",
        type=int,
        least=2,
        wanted="a whole number of at least 2",
        label="k: people of the population",
    )

    def sentence(self) -> str:
        """Return the guarantee in one sentence, without a full stop."""
        return f"each released row covers at least {self.k} of the {self._people} of the population"
