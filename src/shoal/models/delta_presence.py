"""delta-presence: how likely each person of a population is in the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.errors import InputError, Reason
from shoal.models.families import PopulationModel
from shoal.models.model import parameter


@dataclass(frozen=True, kw_only=True)
class DeltaPresence(PopulationModel):
    """delta-presence (Nergiz, Atzori and Clifton 2007): the chance to be in the table has two bounds.

    Each row belongs to one of the records of the population that it covers, to each with the same chance. The
    chances of the rows that cover a record of the population, added up, are its chance to be in the table. If
    classes do not overlap, this is the number of rows of a class by the number of records of the population
    that it covers, as the paper has it.

    Parameters
    ----------
    delta_min, delta_max
        The chance of every record of the population lies between these, from 0 to 1.
    population
        The table of everyone who could be in the release, with all quasi-identifiers: any frame that
        narwhals supports.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> citizens = hospital(100)
    >>> shoal.DeltaPresence(delta_min=0, delta_max=0.5, population=citizens).delta_max
    0.5
    """

    name: ClassVar[str] = "delta-presence"
    title: ClassVar[str] = "Hide who is in the table"
    explanation: ClassVar[str] = (
        "An attacker cannot tell whether a person of a population table is in the release. For tables whose "
        "mere membership is sensitive, such as that of a clinic."
    )

    delta_min: float = parameter(
        "Minimum chance that a person of the population is in the table.",
        default=0.0,
        type=float,
        least=0,
        most=1,
        wanted="a share from 0 to 1",
        label="delta min: least chance",
    )
    delta_max: float = parameter(
        "Maximum chance that a person of the population is in the table.",
        type=float,
        least=0,
        most=1,
        wanted="a share from 0 to 1",
        label="delta max: largest chance",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta_min > self.delta_max:
            raise InputError(
                f"delta_min = {self.delta_min:g} is above delta_max = {self.delta_max:g}",
                reason=Reason.PARAMETER,
                parameter="delta_min",
            )

    def sentence(self) -> str:
        """Return the guarantee in one sentence, without a full stop."""
        return (
            f"each of the {self._people} of the population is in the table with a chance from "
            f"{self.delta_min:g} to {self.delta_max:g}"
        )
