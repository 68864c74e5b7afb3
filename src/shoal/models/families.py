"""What several models share: a crowd of k, and requirements on the sensitive values in it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.errors import InputError, Reason
from shoal.files.reading import read_table
from shoal.models.diversity import NO_DIVERSITY, RequiredDiversity
from shoal.models.model import DIVERSITY, CellKind, CrowdKind, Model, Parameter, parameter, uncuttable
from shoal.schema import as_frame

if TYPE_CHECKING:
    from shoal.schema import Schema

ROUNDED = 1e-9
"""How much a probability may be above a fraction that it stands for."""


@dataclass(frozen=True, kw_only=True)
class CrowdModel(Model):
    """What models with a k have in common.

    Parameters
    ----------
    k
        The minimum crowd size. At least 2.
    """

    k: int = parameter(
        "Minimum crowd size: an attacker cannot narrow a record down to fewer than k rows.",
        type=int,
        least=2,
        wanted="a whole number of at least 2: with k = 1 no record is hidden",
        label="k: minimum crowd size",
    )

    @property
    def crowd(self) -> int:
        """The minimum number of rows that a record hides among."""
        return self.k

    def _identical_rows(self) -> str:
        return (
            f"each released row is identical to at least {self.k - 1} other{'s' * (self.k > 2)} in all "
            "quasi-identifiers"
        )


@dataclass(frozen=True, kw_only=True)
class DiverseModel(CrowdModel):
    """What models have in common that can also require varied sensitive values in a crowd.

    Parameters
    ----------
    k
        The minimum crowd size. At least 2.
    l
        No sensitive value has a share above 1/l in a crowd, nor in the release as a whole. 1 requires
        nothing.
    p
        The minimum number of different sensitive values in a crowd.
    entropy_l
        The entropy of the sensitive values in a crowd, and in the release as a whole, is at least
        log(entropy_l).
    diverse
        The sensitive columns that `l`, `p` and `entropy_l` are required of; all of them by default. Nothing
        is guaranteed about the others.
    """

    l: float | None = parameter(  # noqa: E741 - the letter the literature knows it by
        "Maximum share of one sensitive value in a crowd, as 1/l; 1 requires nothing.",
        default=None,
        type=float,
        least=1,
        wanted="a number of at least 1",
        label="l: diversity",
        about_sensitive=True,
    )
    p: int | None = parameter(
        "Minimum number of different sensitive values in a crowd.",
        default=None,
        type=int,
        least=1,
        wanted="a whole number of at least 1",
        label="p: distinct values",
        about_sensitive=True,
    )
    entropy_l: float | None = parameter(
        "Minimum entropy of the sensitive values in a crowd, as log(l).",
        default=None,
        type=float,
        least=1,
        wanted="a number of at least 1",
        label="entropy l: diversity",
        about_sensitive=True,
    )
    diverse: tuple[str, ...] | None = parameter(
        "Sensitive columns to which l, p and entropy l apply; all of them if omitted.",
        default=None,
        type=tuple,
        wanted="the names of sensitive columns",
        label="Require this of",
        widget="columns",
        about_sensitive=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in DIVERSITY:
            if getattr(self, name) == 1:
                object.__setattr__(self, name, None)  # the same model as one that does not mention it
        if self.l is None and self.p is None and self.entropy_l is None:
            object.__setattr__(self, "diverse", None)

    @property
    def diversity(self) -> RequiredDiversity | None:
        """What is guaranteed about the variety of sensitive values in a crowd; None if nothing is."""
        return RequiredDiversity.of(self.l, self.p, self.entropy_l, self.diverse)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that are set, by name, as plain data."""
        given = super().parameters
        return {**given, "diverse": list(self.diverse)} if self.diverse is not None else given

    def blocks_must_not_overlap(self, schema: Schema) -> bool:
        """Return whether rows of one block must not cover records of another."""
        del schema
        # Classes of two blocks that look identical are together as varied as each of them.
        asked = self.diversity or NO_DIVERSITY
        return self.crowd_kind == "rows" and (asked.l is not None or asked.entropy_l is not None)

    def _diversity_words(self, crowd: str) -> str:
        return (self.diversity or NO_DIVERSITY).words(crowd)


@dataclass(frozen=True, kw_only=True)
class OwnRowsModel(DiverseModel):
    """What models have in common in which each row is made for one record and grows around others.

    Parameters
    ----------
    k, l, p, entropy_l
        See `DiverseModel`.
    chance
        The maximum of the least chance: the records that rows carry can be drawn such that an attacker who
        knows every record and has the code is right about a row with at most this probability, and Shoal
        draws them so. 1 requires nothing, as in the literature. By default at most 2/k and at most 1/2;
        models that are for comparison only and must not be published require nothing by default.

    Attributes
    ----------
    bounds_chance
        Whether the chance has a bound if none is given.
    """

    cells: ClassVar[CellKind] = "own"
    bounds_chance: ClassVar[bool] = True

    chance: float | None = parameter(
        "Maximum probability of a right guess about a row by an attacker who has the code; 1 requires "
        "nothing. At most 2/k by default.",
        default=None,
        type=float,
        least=1e-6,
        most=1,
        wanted="a probability above 0 and at most 1",
        label="Chance of a right guess about a row, at most",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chance is None and self.bounds_chance:
            object.__setattr__(self, "chance", 1 / max(2, math.ceil(self.k / 2)))

    @property
    def has_own_rows(self) -> bool:
        """Whether a row carries the record that it was made for: a bound on the chance requires others."""
        return self.degree == 1

    @property
    def degree(self) -> int:
        """The number of rows that a record must have as its own with equal probabilities, for its chance."""
        return 1 if self.chance is None else math.ceil(1 / self.chance * (1 - ROUNDED))

    def _chance_words(self) -> str:
        if self.chance is None or self.chance == 1:
            return ""
        return f"; the least chance of a right guess about a row is at most {self.chance:.4g}"

    def _chance_limits(self) -> Sequence[str]:
        far = " That can be far above 1/k: the number of matches does not bound it." * (self.degree == 1)
        grown = (
            " Afterwards rows grow where sensitive values are not diverse enough. An attacker who has the "
            "code may use that, and nothing is guaranteed about what this tells."
        )
        return (
            "Which record a row carries is drawn at random, such that an attacker who has the code is right "
            "about a row with a probability of at most the least chance."
            + far
            + grown * (self.diversity is not None),
        )


@dataclass(frozen=True, kw_only=True)
class CoverageModel(OwnRowsModel):
    """What models have in common that only count covering rows and records (Tassa, Mazza and Gionis 2012).

    An attacker who knows every record in the table may rule out some of these rows, since each record must
    have one; `Concealment` bounds that, these models do not. If some records are withheld at random, the
    attacker does not know exactly who is in the table.

    Parameters
    ----------
    k, l, p, entropy_l, chance
        See `OwnRowsModel`: the minimum number of covering rows or covered records, how varied each sensitive
        column is in the rows that cover a record, and the maximum of the least chance.
    withhold
        The share of the records that are left out of the release, chosen at random; below 1. Such a record
        may be covered by no row; if it is covered by any, it is covered by k. It counts among the records
        that a row covers.

    Attributes
    ----------
    guarantee
        What is counted, as a sentence with the place ``{k}``.
    weakness
        What an attacker can still do, as sentences; ``{matches}`` is the number of rows that are left for the
        record with the fewest matches.
    """

    guarantee: ClassVar[str]
    weakness: ClassVar[str]
    for_comparison: ClassVar[bool] = True
    by_matching: ClassVar[bool] = False

    withhold: float = parameter(
        "Share of the records to leave out of the release, chosen at random.",
        default=0.0,
        type=float,
        least=0,
        wanted="a share from 0 to below 1",
        label="Withhold a share of the records",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.withhold >= 1:
            raise InputError(
                f"withhold = {self.withhold:g} leaves no record; it must be below 1",
                reason=Reason.PARAMETER,
                parameter="withhold",
            )

    @property
    def may_leave_out(self) -> bool:
        """Whether a release may have fewer rows than the table has records."""
        return self.withhold > 0

    @property
    def why_no_limits(self) -> str:
        """Why its methods keep no limits of columns, as the end of a sentence; empty if they do."""
        return "records are withheld at random; leave out withhold" if self.withhold > 0 else ""

    def blocks_must_not_overlap(self, schema: Schema) -> bool:
        """Return whether rows of one block must not cover records of another."""
        if self.withhold:
            raise uncuttable(
                "a record withheld in one block may be covered by a few rows of another; withhold none"
            )
        return super().blocks_must_not_overlap(schema)

    def sentence(self) -> str:
        """Return the guarantee in one sentence, without a full stop."""
        withheld = (
            f"; a random share of {self.withhold:g} of the records is withheld" if self.withhold else ""
        )
        diversity = self._diversity_words("the rows that cover a record")
        return self.guarantee.format(k=self.k) + diversity + self._chance_words() + withheld

    def limits(self, concealment: int) -> Sequence[str]:
        """Return what the guarantee does not say, as sentences for the report."""
        weakness = self.weakness.format(matches=f"{concealment} row{'s' * (concealment != 1)}")
        return (weakness, *self._chance_limits())


@dataclass(frozen=True, kw_only=True)
class LikenessModel(CrowdModel):
    """What models have in common that compare the sensitive values of each class with the whole release.

    Each of them bounds convex functions of the shares of a class. So what holds for each of several classes
    holds for all their rows together, and therefore for the rows that cover a record and for its matches,
    which are whole classes. See docs/promises.md.

    Parameters
    ----------
    k
        The minimum number of rows in a class. At least 2.
    """

    crowd_kind: ClassVar[CrowdKind] = "classes"
    needs_sensitive: ClassVar[bool] = True
    compared_with_whole: ClassVar[bool] = True

    @property
    def why_no_limits(self) -> str:
        """Why its methods keep no limits of columns, as the end of a sentence."""
        return "each class is compared with the whole table, which limits divide"

    @abstractmethod
    def likeness_words(self) -> str:
        """Return what is guaranteed about the values of a class, as the end of a sentence."""

    def sentence(self) -> str:
        """Return the guarantee in one sentence, without a full stop."""
        return f"{self._identical_rows()}; in each class of identical rows, {self.likeness_words()}"

    def limits(self, concealment: int) -> Sequence[str]:
        """Return what the guarantee does not say, as sentences for the report."""
        del concealment
        return (
            "Each class is compared with the whole release. What the whole release says about everyone, such "
            "as the frequency of a diagnosis, is not protected.",
        )

    def blocks_must_not_overlap(self, schema: Schema) -> bool:
        """Refuse to cut the table: a block would be compared with itself, not with the whole table."""
        del schema
        raise uncuttable(
            "each class is compared with the whole table, which a block does not know; choose k-anonymity or "
            "freeform with l"
        )


def _population() -> Any:
    """Return the field of a population: a table that no comparison and no text of a model looks at."""
    declared = Parameter(
        "Table of everyone who could be in the release, with all quasi-identifiers.",
        from_file=lambda path: {"population": read_table(path)},
    )
    return field(compare=False, repr=False, metadata={"parameter": declared})


@dataclass(frozen=True, kw_only=True)
class PopulationModel(Model):
    """What models have in common that compare a release with a population.

    Parameters
    ----------
    population
        The table of everyone who could be in the release, with all quasi-identifiers.
    """

    crowd_kind: ClassVar[CrowdKind] = "classes"
    needs_population: ClassVar[bool] = True

    population: Any = _population()  # noqa: RUF009 - it makes a field

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.population is None or isinstance(self.population, dict):
            raise InputError(
                f"{self.name} needs the table of the population, which a certificate does not have; give it",
                reason=Reason.PARAMETER,
                parameter="population",
            )
        object.__setattr__(self, "population", as_frame(self.population).to_native())

    @property
    def crowd(self) -> int:
        """The minimum number of rows that a record hides among: its own, as the crowd is elsewhere."""
        return 1

    @property
    def why_no_limits(self) -> str:
        """Why its methods keep no limits of columns, as the end of a sentence."""
        return "its rows are compared with a population"

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that are set, by name; of the population, the number of its records."""
        given = super().parameters
        del given["population"]
        return {**given, "population": {"records": len(as_frame(self.population))}}

    @property
    def _people(self) -> str:
        return f"{len(as_frame(self.population)):,} records"

    @classmethod
    def attacker(cls) -> str:
        """Return against which attacker its releases protect, in words."""
        return "does not know who is in the table"

    def limits(self, concealment: int) -> Sequence[str]:
        """Return what the guarantee does not say, as sentences for the report."""
        return (
            "The crowd of a person is in the population. An attacker who knows that a certain person is in "
            f"the table has {concealment} row{'s' * (concealment != 1)} to choose from in the worst case.",
            "Sensitive values are not protected.",
        )

    def blocks_must_not_overlap(self, schema: Schema) -> bool:
        """Refuse to cut the table: a block knows neither the whole population nor its other rows."""
        del schema
        raise uncuttable("each row is compared with the whole population, which blocks do not have")
