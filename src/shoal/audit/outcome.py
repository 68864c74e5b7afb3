"""What an audit found, as one frozen object: levels, risks, what breaks the promise, a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shoal.audit.carried import Carried, worded
from shoal.audit.classes import Classes, Diversity
from shoal.audit.consistency import Consistency
from shoal.audit.contribution import Contribution
from shoal.audit.posterior import Posterior
from shoal.audit.principles import Principles
from shoal.audit.proximity import Proximity
from shoal.audit.risks import Risks
from shoal.audit.suppression import Suppression
from shoal.audit.uniqueness import Combination
from shoal.errors import PromiseError, Reason
from shoal.markup import facts_html
from shoal.matches import Matches
from shoal.models import Dissimilarity, Model

Status = Literal["holds", "caution", "broken"]
"""Whether a guarantee holds; holds, but another column could identify records; or does not hold."""


@dataclass(frozen=True, eq=False)
class Audit:
    """What an auditor found.

    Parameters
    ----------
    records
        How many records the original has, less those its schema leaves out.
    rows
        How many rows were released.
    classes
        The classes of equal rows.
    consistency
        Which rows could be whose, seen one at a time.
    matches
        Which rows could be whose to somebody who knows everybody, so that all must have a row.
    risks
        How often attackers who pick a row at random are right.
    diversity
        How varied each sensitive column is in the classes.
    promise
        The promise the release was held against, if any.
    findings
        What breaks it, in plain words; nothing if it holds.
    diversity_around
        How varied each sensitive column is among the matches of each record; empty if nobody asked.
    diversity_consistent
        The same among all rows that each record is consistent with.
    diversity_overall
        How varied each sensitive column is in the release as a whole.
    contributions
        What each quasi-identifier adds to the risk; empty if nobody asked.
    uniqueness
        Which combinations of quasi-identifiers single out most people in the original, worst first; empty if
        nobody asked.
    posterior
        How likely best guesses are; None if nobody asked.
    proximity
        How much of a class carries nearly the same sensitive value, for each sensitive column that has a
        distance; empty if nobody asked.
    proximity_around
        The same among the rows that each record is consistent with.
    suppressions
        Which cells rows suppress, and how many rows do; found if patterns of them were promised.
    principles
        What other principles of the literature say of each sensitive column; empty if nobody asked, or if
        some class has a single row.
    carried
        Columns beside the quasi-identifiers that could identify records.
    warnings
        The same in plain words: no part of the guarantee is broken, but its reader should know.
    """

    records: int
    rows: int
    classes: Classes
    consistency: Consistency
    matches: Matches
    risks: Risks
    diversity: tuple[Diversity, ...]
    promise: Model | None
    findings: tuple[str, ...] = ()
    diversity_around: tuple[Diversity, ...] = ()
    diversity_consistent: tuple[Diversity, ...] = ()
    diversity_overall: tuple[Diversity, ...] = ()
    contributions: tuple[Contribution, ...] = ()
    uniqueness: tuple[Combination, ...] = ()
    posterior: Posterior | None = None
    proximity: tuple[Proximity, ...] = ()
    proximity_around: tuple[Proximity, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    principles: tuple[Principles, ...] = ()
    carried: tuple[Carried, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def k(self) -> int:
        """The size of the smallest class of equal rows."""
        return int(self.classes.sizes.min())

    @property
    def concealment(self) -> int:
        """Among how many rows the strongest adversary has to guess, for the person hidden least."""
        return self.matches.concealment

    @property
    def holds(self) -> bool:
        """Whether nothing was found against the release."""
        return not self.findings

    @property
    def verdict(self) -> str:
        """The outcome in words."""
        if self.findings:
            return "The release does not hold: " + "; ".join(self.findings) + "."
        if self.promise is None:
            crowd = f"at least {self.concealment} released rows"
            but = f", but {worded(self.warnings)}" if self.warnings else ""
            return f"Each person hides among {crowd}{but}; no promise was asked for."
        return verdict_of(self.promise.sentence(), self.warnings)

    @property
    def status(self) -> Status:
        """Whether the guarantee holds, holds with a caution (see `warnings`), or is broken."""
        return "broken" if self.findings else "caution" if self.warnings else "holds"

    def facts(self) -> list[tuple[str, str]]:
        """Return the levels that were found: names, and what there is to say about them."""
        consistent = self.consistency
        facts = [
            ("rows", f"{self.rows} released of {self.records} records"),
            ("classes of equal rows", f"{len(self.classes.sizes)}; size of the smallest: {self.k}"),
            ("each record fits", f"at least {consistent.rows_per_record} of the released rows"),
            ("each row fits", f"at least {int(consistent.records_of_row.min())} of the records"),
            (
                "the strongest adversary",
                f"is left with at least {self.concealment} of the rows for each record",
            ),
            ("a random pick is right", f"{self.risks.marketer:.1%} of the time on average"),
        ]
        if consistent.strayed is not None:
            facts.append(("rows beside their record", f"{consistent.strayed}"))
        crowds = [("in each class", d) for d in self.diversity if self.k > 1]
        crowds += [("around records", d) for d in self.diversity_around]
        levels = "p = {0.p}, l = {0.l:.3g}, entropy l = {0.entropy_l:.3g}"
        facts += [(f"{d.column} {where}", levels.format(d)) for where, d in crowds]
        if isinstance(self.promise, Dissimilarity):
            facts += [
                (
                    f"within {risk.epsilon:g} of each other",
                    f"at most {risk.risk:.1%} of a class, {risk.mean:.1%} on average, in {risk.column}",
                )
                for risk in self.proximity
            ]
        return facts + [
            (
                f"other principles, {each.column}",
                f"alpha = {each.alpha:.3g}, t = {each.closeness:.3g}"
                + ("" if each.m is None else f", m = {each.m}")
                + ("" if each.variance is None else f", variance {each.variance:.4g}")
                + ("" if each.extent is None else f", e = {each.extent:.4g}"),
            )
            for each in self.principles
        ]

    def _repr_html_(self) -> str:
        return facts_html(self.verdict, self.facts())

    def require(self, *, strict: bool = False) -> None:
        """Raise an error if anything was found, for pipelines that must stop there.

        Parameters
        ----------
        strict
            Whether to raise it also if the guarantee holds, but there are warnings.

        Raises
        ------
        PromiseError
            With the verdict.
        """
        if not self.holds:
            raise PromiseError(self.verdict)
        if strict:
            require_no_warnings(self.verdict, self.warnings)

    def as_dict(self) -> dict[str, Any]:
        """Return the audit as plain data, for JSON."""
        promise = self.promise
        return {
            "holds": self.holds,
            "status": self.status,
            "verdict": self.verdict,
            "findings": list(self.findings),
            "warnings": list(self.warnings),
            "promise": None if promise is None else {"model": promise.name, **promise.parameters},
            "records": self.records,
            "rows": self.rows,
            "k": self.k,
            "classes": self.classes.as_dict(),
            "consistency": self.consistency.as_dict(),
            "concealment": self.concealment,
            "matches": self.matches.as_dict(),
            "risks": self.risks.as_dict(),
            "diversity": [column.as_dict() for column in self.diversity],
            "diversity_around": [column.as_dict() for column in self.diversity_around],
            "diversity_consistent": [column.as_dict() for column in self.diversity_consistent],
            "contributions": [each.as_dict() for each in self.contributions],
            "uniqueness": [each.as_dict() for each in self.uniqueness],
            "posterior": None if self.posterior is None else self.posterior.as_dict(),
            "proximity": [each.as_dict() for each in self.proximity],
            "proximity_around": [each.as_dict() for each in self.proximity_around],
            "suppressions": [each.as_dict() for each in self.suppressions],
            "principles": [each.as_dict() for each in self.principles],
            "carried": [each.as_dict() for each in self.carried],
        }


def require_no_warnings(verdict: str, warnings: Sequence[str]) -> None:
    """Raise an error with the verdict if there are warnings."""
    if warnings:
        raise PromiseError(verdict, reason=Reason.CAUTION)


def verdict_of(promise: str, warnings: Sequence[str]) -> str:
    """Return the verdict on a release that keeps its promise, with what its reader should know.

    Parameters
    ----------
    promise
        What was promised, as a sentence.
    warnings
        What other columns could tell.
    """
    if not warnings:
        return f"The promise holds: {promise}."
    return f"The guarantee holds for the quasi-identifiers, but {worded(warnings)}. Promised: {promise}."
