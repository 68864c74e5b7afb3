"""What an audit found, as one frozen object: levels, risks, what breaks the guarantee, a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shoal.auditing.carried import Carried
from shoal.auditing.chance import Chance
from shoal.auditing.classes import NEARLY_CERTAIN, Classes, Diversity
from shoal.auditing.consistency import Consistency
from shoal.auditing.contribution import Contribution
from shoal.auditing.knowledge import PartialKnowledge
from shoal.auditing.persons import Persons
from shoal.auditing.population import SampleRisks
from shoal.auditing.posterior import Posterior
from shoal.auditing.principles import Principles
from shoal.auditing.proximity import Proximity
from shoal.auditing.risks import Risks, risks_of
from shoal.auditing.suppression import Suppression
from shoal.auditing.uniqueness import Combination
from shoal.base.markup import facts_html
from shoal.errors import PromiseError, Reason
from shoal.models import Model
from shoal.recoding.coverage import MatchCounts

Status = Literal["holds", "caution", "broken"]
"""Whether a guarantee holds; holds, but another column could identify records; or does not hold."""


@dataclass(frozen=True, eq=False)
class Audit:
    """What an auditor found.

    Parameters
    ----------
    records
        Number of records of the original, without those its schema leaves out.
    rows
        Number of released rows.
    classes
        The classes of identical rows.
    consistency
        How many rows cover each record, and how many records each row covers.
    matches
        How many of these can be a record's own when every record needs a row.
    risks
        How often attackers who pick a row at random are right.
    diversity
        How diverse each sensitive column is in the classes.
    promise
        The guarantee that was checked, if any.
    findings
        What breaks it, in plain words; empty if it holds.
    diversity_around
        How diverse each sensitive column is among the matches of each record; empty if not requested.
    diversity_consistent
        The same among all rows that cover each record.
    diversity_overall
        How diverse each sensitive column is in the release as a whole.
    contributions
        What each quasi-identifier adds to the risk; empty if not requested.
    uniqueness
        The combinations of quasi-identifiers that single out most records of the original, worst first;
        empty if not requested.
    posterior
        How likely the attacker's best guesses are; None if not requested.
    proximity
        How much of a class has nearly the same sensitive value, for each sensitive column that has a
        distance; empty if not requested.
    proximity_around
        The same among the rows that cover each record.
    suppressions
        Which cells rows suppress, and how many rows do; for guarantees about patterns of them.
    principles
        How far other principles of the literature are kept for each sensitive column; empty if not requested,
        or if some class has a single row.
    carried
        Columns beside the quasi-identifiers that could identify records.
    warnings
        The same in plain words: no part of the guarantee is broken, but readers should know.
    persons
        How well persons are hidden; None if no column says whose record each is.
    chance
        The least chance: the minimum probability that the best guess about some record is right; None if not
        requested.
    not_checked
        What was not checked because the release was made block by block; None if it was not.
    sample
        Risks in the population that the original is a sample of; None if not requested.
    partial
        What attackers find who know only some quasi-identifiers; None if not requested.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(100)
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["patient", "name"])
    >>> release = shoal.anonymize(patients, schema, shoal.KAnonymity(k=5))
    >>> release.audit.k >= 5
    True
    """

    records: int
    rows: int
    classes: Classes
    consistency: Consistency
    matches: MatchCounts
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
    persons: Persons | None = None
    chance: Chance | None = None
    not_checked: tuple[str, ...] | None = None
    partial: PartialKnowledge | None = None
    sample: SampleRisks | None = None

    @classmethod
    def merge(cls, audits: Sequence[Audit]) -> Audit:
        """Return what was found in several releases that are published together, such as those of blocks.

        Levels are those of the worst release. In the whole they are no worse: rows of other releases that
        cover a record add to its crowd. What cannot be merged is absent, and nothing is kept of single
        records: numbers are counted. The merged audit of one release is small enough to be passed on.
        """
        first = audits[0]
        classes = Classes.merge([each.classes for each in audits])
        consistency = Consistency.merge([each.consistency for each in audits])
        persons = Persons.merge([each.persons for each in audits])
        parts: dict[str, Any] = {
            name: tuple(kind.merge(each) for each in zip(*(getattr(a, name) for a in audits), strict=True))
            for name, kind in _MERGED.items()
        }
        return cls(
            sum(each.records for each in audits),
            sum(each.rows for each in audits),
            classes,
            consistency,
            MatchCounts.merge([each.matches for each in audits]),
            risks_of(classes, consistency, persons=persons, threshold=first.risks.threshold),
            promise=first.promise,
            findings=tuple(sorted({finding for each in audits for finding in each.findings})),
            suppressions=Suppression.merge([each.suppressions for each in audits]),
            persons=persons,
            carried=first.carried if len(audits) == 1 else (),
            warnings=first.warnings if len(audits) == 1 else (),
            chance=first.chance if len(audits) == 1 else None,
            **parts,
        )

    @property
    def k(self) -> int:
        """The size of the smallest class of identical rows."""
        return self.classes.smallest

    @property
    def concealment(self) -> int:
        """The minimum number of matches of a record: the rows that remain for the strongest attacker."""
        return self.matches.concealment

    @property
    def highest_risk(self) -> float:
        """The highest probability that the strongest attacker's best guess about a record is right.

        That attacker knows every record. If it is not known how likely each match of a record is, this is its
        minimum.
        """
        known = [self.risks.prosecutor.highest]
        if self.concealment:
            known.append(1 / self.concealment)
        if self.chance is not None and self.chance.least is not None:
            known.append(float(self.chance.least))
        return max(known)

    def nearly_certain(self) -> dict[str, int]:
        """Return for how many records an attacker is certain, or nearly so, of each sensitive value.

        Nearly certain means: more than 90% of the rows that could be a record's have the same value. Where
        more than 90% of the whole release have it, only records whose value is certain count.
        """
        overall = {each.column: float(each.highest.max()) for each in self.diversity_overall}
        frequent = {column for column, share in overall.items() if share > NEARLY_CERTAIN}
        return {
            each.column: each.nearly_certain(1.0 if each.column in frequent else NEARLY_CERTAIN)
            for each in self.diversity_around or self.diversity
        }

    @property
    def holds(self) -> bool:
        """Whether nothing was found against the release."""
        return not self.findings

    @property
    def promised(self) -> str:
        """The guarantee that was checked, in words; empty if none was."""
        if self.promise is None:
            return ""
        if self.persons is None:
            return self.promise.sentence()
        letter = "k" if "k" in self.promise.parameters else "l"
        return (
            f"{self.promise.sentence()}; {letter} = {self.promise.crowd} counts persons, of whom there are "
            f"{self.persons.count:,}"
        )

    @property
    def verdict(self) -> str:
        """The outcome in words."""
        if self.findings:
            failed = "The release fails the audit" if self.promise is None else "The guarantee does not hold"
            return f"{failed}: {'; '.join(self.findings)}."
        if self.promise is None:
            but = f", but {_worded(self.warnings)}" if self.warnings else ""
            return f"Each record matches at least {_rows(self.concealment)}{but}; no guarantee was checked."
        promise = self.promised
        if self.partial is not None and self.promise.known_columns is None:
            promise += f", for attackers who know at most {self.partial.knows} of the quasi-identifiers"
        if not self.warnings:
            return f"The guarantee holds: {promise}."
        said = _worded(self.warnings)
        return f"The guarantee holds for the quasi-identifiers, but {said}. Guaranteed: {promise}."

    @property
    def status(self) -> Status:
        """Whether the guarantee holds, holds with a caution (see `warnings`), or is broken."""
        return "broken" if self.findings else "caution" if self.warnings else "holds"

    def facts(self) -> list[tuple[str, str]]:
        """Return the levels that were found, as pairs of a name and its value in words."""
        covering, covered = self.consistency.rows_per_record, int(self.consistency.records_of_row.min())
        whom = " about a person" if self.risks.of_persons else ""
        facts = [
            ("rows", f"{self.rows:,} released, {self.records:,} records in the original"),
            ("classes of identical rows", f"{self.classes.count:,}; the smallest has {_rows(self.k)}"),
            ("each record is covered by", f"at least {_rows(covering)}"),
            ("each row covers", f"at least {covered:,} record{'s' * (covered != 1)}"),
            (
                "each record matches",
                f"at least {_rows(self.concealment)}, even if the attacker knows every record",
            ),
            (f"a random guess{whom} is right", f"{self.risks.prosecutor.mean:.1%} of the time on average"),
        ]
        if self.chance is not None:
            facts.append(("least chance", self.chance.in_words))
        if self.partial is not None:
            some = self.partial
            facts.append(
                (
                    f"with {some.knows} known columns",
                    f"each record is covered by at least {_rows(some.rows_per_record)} "
                    f"({some.combinations:,} combinations)",
                )
            )
            facts += [
                (f"known: {', '.join(each.columns)}", f"fewer than k rows for {each.records_below:,} records")
                for each in some.worst
                if each.records_below
            ]
        if self.persons is not None:
            facts += self.persons.facts()
        if self.consistency.strayed is not None:
            facts.append(("rows that miss their own record", f"{self.consistency.strayed:,}"))
        crowds = [("in each class", d) for d in self.diversity if self.k > 1]
        crowds += [("among matches", d) for d in self.diversity_around]
        levels = "p = {0.p}, l = {0.l:.3g}, entropy l = {0.entropy_l:.3g}"
        facts += [(f"{d.column} {where}", levels.format(d)) for where, d in crowds]
        if self.promise is not None and self.promise.required_distance is not None:
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

    def __repr__(self) -> str:
        return "\n".join((self.verdict, *(f"  {name}: {value}" for name, value in self.facts())))

    def _repr_html_(self) -> str:
        return facts_html(self.verdict, self.facts())

    def require(self, *, strict: bool = False) -> None:
        """Raise an error if anything was found, for pipelines that must stop then.

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
        if strict and self.warnings:
            raise PromiseError(self.verdict, reason=Reason.CAUTION)

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
            **({} if self.chance is None else {"chance": self.chance.as_dict()}),
            **({} if self.persons is None else {"persons": self.persons.as_dict()}),
            **({} if self.sample is None else {"sample": self.sample.as_dict()}),
            **({} if self.not_checked is None else {"not_checked": list(self.not_checked)}),
            **({} if self.partial is None else {"partial": self.partial.as_dict()}),
        }


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"


_MERGED: dict[str, Any] = {
    "diversity": Diversity,
    "diversity_around": Diversity,
    "diversity_consistent": Diversity,
    "proximity": Proximity,
    "proximity_around": Proximity,
}
"""The parts of an audit that are merged column by column."""


def _worded(warnings: Sequence[str], most: int = 4) -> str:
    """Return warnings as a part of a sentence."""
    more = f"; and {len(warnings) - most} more" if len(warnings) > most else ""
    return "; ".join(warnings[:most]) + more
