"""The audit of several releases of the same people: what they tell together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from narwhals.stable.v2.typing import IntoDataFrame
from numpy.typing import NDArray

from shoal.auditing.classes import Diversity
from shoal.auditing.linking import WaysToLink, linked
from shoal.auditing.released import ReleasedTable
from shoal.auditing.surviving import Difference, Surviving, surviving
from shoal.base.markup import facts_html
from shoal.base.wording import plural
from shoal.errors import InputError, PromiseError, Reason, listing
from shoal.kernels import ROUNDING
from shoal.models import Model, require_model
from shoal.models.diversity import NO_DIVERSITY
from shoal.schema import Schema, as_frame
from shoal.table import Table

Earlier = tuple[Any, Any] | tuple[Any, Any, Sequence[int] | NDArray[np.int64] | None]
"""An earlier original, its release, and perhaps its key."""


@dataclass(frozen=True, eq=False)
class JointAudit:
    """What an attacker learns from several releases together.

    Made by `joint_audit`. Records and persons of all originals count, those of earlier ones too.

    Parameters
    ----------
    releases
        Number of releases.
    records, rows
        Number of records of each original and of rows of each release, the newest first.
    linkages
        What is left of the crowds for each way to link rows: by carried columns and, if rows were kept, by
        whole rows.
    promise
        The guarantee that was checked, if any.
    findings
        What breaks it, in plain words; empty if it holds.
    rows_of_record
        For each record of the newest original, the least number of rows of a release that could be its own.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(200)
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex", "zip"], drop=["patient", "name"])
    >>> one, two = (shoal.anonymize(patients, schema, shoal.Freeform(k=5)).table for _ in "ab")
    >>> shoal.joint_audit(patients, two, schema, shoal.Freeform(k=5), earlier=[(patients, one)]).holds
    False
    """

    releases: int
    records: tuple[int, ...]
    rows: tuple[int, ...]
    linkages: tuple[Surviving, ...]
    promise: Model | None
    findings: tuple[str, ...]
    rows_of_record: NDArray[np.int64]

    @cached_property
    def k(self) -> int:
        """The least number of rows of a release that could be a record's own."""
        return min(
            int(_some(_per_record(each, each.rows)).min(initial=max(self.rows))) for each in self.linkages
        )

    @cached_property
    def persons_per_row(self) -> int:
        """The least number of persons that a row could belong to."""
        found = [_some(each) for linkage in self.linkages for each in linkage.persons_of_row]
        return min(int(each.min(initial=max(self.records))) for each in found)

    @cached_property
    def persons_per_tuple(self) -> int | None:
        """The least number of persons that a tuple of linked rows could belong to; None if not counted."""
        counted = [each.persons_of_tuple for each in self.linkages if each.persons_of_tuple is not None]
        found = np.concatenate([_some(each) for each in counted]) if counted else np.zeros(0)
        return int(found.min()) if len(found) else None

    @cached_property
    def diversity(self) -> tuple[Diversity, ...]:
        """How varied each sensitive column is among the rows that are left to each record."""
        found: dict[str, list[Diversity]] = {}
        for linkage in self.linkages:
            for column in (each for release in linkage.diversity for each in release):
                found.setdefault(column.column, []).append(column)
        return tuple(Diversity.joined(parts) for parts in found.values())

    def certain(self, column: str) -> int:
        """Return for how many records of a release only one value of a sensitive column is left."""
        found = [
            int(each.people[each.distinct == 1].sum())
            for linkage in self.linkages
            for release in linkage.diversity
            for each in release
            if each.column == column
        ]
        return max(found, default=0)

    @property
    def best_guess(self) -> float:
        """The highest probability that a row picked among those left to a record is its own."""
        return 1 / self.k if self.k else 1.0

    @property
    def holds(self) -> bool:
        """Whether nothing was found against the releases together."""
        return not self.findings

    @property
    def status(self) -> Literal["holds", "broken"]:
        """Whether the guarantee holds for the releases together."""
        return "broken" if self.findings else "holds"

    @property
    def verdict(self) -> str:
        """The outcome in words."""
        if self.findings:
            return f"The guarantee does not hold for the releases together: {'; '.join(self.findings)}."
        left = f"at least {plural(self.k, 'row')} of each release could be each record's own"
        if self.promise is None:
            return f"Together, {left}; no guarantee was checked."
        return f"The guarantee holds for the {self.releases} releases together: {left}."

    def facts(self) -> list[tuple[str, str]]:
        """Return what was found, as pairs of a name and its value in words."""
        facts = [("releases", f"{self.releases}, the newest with {self.rows[0]:,} rows")]
        for linkage in self.linkages:
            facts += _facts_of(linkage)
        levels = "p = {0.p}, l = {0.l:.3g}, entropy l = {0.entropy_l:.3g}"
        for each in self.diversity:
            told = f"{levels.format(each)}; certain for {self.certain(each.column):,} records"
            facts.append((f"{each.column} together", told))
        return facts

    def _repr_html_(self) -> str:
        return facts_html(self.verdict, self.facts())

    def require(self) -> None:
        """Raise an error if anything was found, for pipelines that must stop there.

        Raises
        ------
        PromiseError
            With the verdict.
        """
        if not self.holds:
            raise PromiseError(self.verdict)

    def as_dict(self) -> dict[str, Any]:
        """Return the audit as plain data, for JSON."""
        promise = self.promise
        return {
            "holds": self.holds,
            "verdict": self.verdict,
            "findings": list(self.findings),
            "promise": None if promise is None else {"model": promise.name, **promise.parameters},
            "releases": self.releases,
            "records": list(self.records),
            "rows": list(self.rows),
            "k": self.k,
            "persons_per_row": self.persons_per_row,
            "persons_per_tuple": self.persons_per_tuple,
            "best_guess": self.best_guess,
            "diversity": [
                {**each.as_dict(), "certain": self.certain(each.column)} for each in self.diversity
            ],
            "linkages": [_as_dict(each) for each in self.linkages],
        }


def joint_audit(
    original: IntoDataFrame,
    released: IntoDataFrame,
    schema: Schema,
    model: Model | None = None,
    *,
    earlier: Sequence[Earlier],
    key: Sequence[int] | NDArray[np.int64] | None = None,
    on: Sequence[str] | None = None,
) -> JointAudit:
    """Audit several releases of any tool together: what does an attacker learn who has them all?

    The attacker knows the quasi-identifiers of everyone, who is in which original, and that columns that are
    released unchanged have the same values in all releases, unless the record changed. Persons are recognized
    by the person column, or, without one, by equal records.

    Parameters
    ----------
    original, released, schema, model
        The newest release, as for `audit`; schema and model are those of all releases.
    earlier
        The earlier ones: original, release and, if known, key of each.
    key
        The position (from 0) in the original of the record of each row of the newest release, if known.
        With a key, only records that were released count.
    on
        The columns to link rows by; all that are released unchanged everywhere if omitted.

    Raises
    ------
    InputError
        If a table does not match the schema, a released cell is unreadable, or there is no earlier release.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(200)
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex", "zip"], drop=["patient", "name"])
    >>> model = shoal.KAnonymity(k=5)
    >>> release = shoal.anonymize(patients, schema, model).table
    >>> shoal.joint_audit(patients, release, schema, model, earlier=[(patients, release)]).holds
    True
    """
    schema = Schema.of(schema)
    if model is not None:
        require_model(model)
        require_joint(model)
    if not earlier:
        raise InputError(
            "an audit of several releases needs an earlier one", reason=Reason.PARAMETER, parameter="earlier"
        )
    given: list[tuple[Any, ...]] = [(original, released, key), *((*each, None)[:3] for each in earlier)]
    releases = [_beside(table, release, records, schema) for table, release, records in given]
    return audit_together(releases, model, on=on)


def require_joint(model: Model) -> None:
    """Refuse a model whose guarantee is about more than crowds and the variety of sensitive values."""
    if not model.across_releases:
        raise InputError(
            f"the guarantee of {model.name} is not checked across releases; check k alone (KAnonymity)",
            reason=Reason.PARAMETER,
            parameter="model",
        )


def audit_together(
    releases: Sequence[ReleasedTable], model: Model | None, *, on: Sequence[str] | None = None
) -> JointAudit:
    """Audit several releases that are read already, the newest first; see `joint_audit`."""
    matching = model is None or model.by_matching
    linkages = _linkages(releases, linked(releases, on), matching=matching)
    left = [
        _per_record(each, each.rows)[:, each.unit_of_identity[each.links.identities[0]]] for each in linkages
    ]
    some = np.concatenate(left)
    some = np.where(some > 0, some, np.iinfo(np.int64).max).min(axis=0)
    findings = () if model is None else (*_strangers(releases), *_findings(model, linkages))
    return JointAudit(
        len(releases),
        tuple(len(each.table) for each in releases),
        tuple(len(each) for each in releases),
        linkages,
        model,
        findings,
        np.where(some == np.iinfo(np.int64).max, 0, some),
    )


def _linkages(
    releases: Sequence[ReleasedTable], ways: WaysToLink, *, matching: bool
) -> tuple[Surviving, ...]:
    """Return what is left of the crowds for each way to link rows.

    Whole rows count only if each record that is in several releases can have the same row in all of them.
    """
    by_rows = None if ways.by_rows is None else surviving(releases, ways.by_rows, matching=matching)
    if by_rows is not None and ways.by_rows is not None and ways.by_rows.persons is None:
        several = (by_rows.people > 0).sum(axis=0) > 1
        if (several & (by_rows.rows.max(axis=0) == 0)).any():
            by_rows = None
    others = [ways.by_columns] if by_rows is None or ways.changed else []
    first = [surviving(releases, each, matching=matching) for each in others]
    partly = [surviving(releases, each, matching=matching) for each in ways.partly]
    return (*first, *([] if by_rows is None else [by_rows]), *partly)


def _beside(original: Any, released: Any, key: Any, schema: Schema) -> ReleasedTable:
    """Return a release beside its original; with a key, beside the records that were released."""
    frame = as_frame(original)
    described = Schema(tuple(column for column in schema if column.name in frame.columns))
    if key is None:
        return ReleasedTable(released, Table.encode(original, described, times=True))
    places = np.asarray(key)
    rows = len(as_frame(released))
    if places.shape == (rows,) and 0 <= places.min(initial=0) <= places.max(initial=0) < len(frame):
        kept = np.unique(places)
        table = Table.encode(frame[kept].to_native(), described, times=True)
        if len(table) == rows:
            return ReleasedTable(released, table, np.searchsorted(kept, places))
    raise InputError(
        f"a key must have the position of another record for each of the {rows:,} released rows",
        reason=Reason.PARAMETER,
        parameter="key",
    )


def _some(values: NDArray[Any]) -> NDArray[Any]:
    return values[values > 0]


def _per_record(linkage: Surviving, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many rows there are for each record of a unit, of each release."""
    if linkage.links.persons is None:
        return np.where(linkage.people > 0, rows, 0)
    return np.where(linkage.people > 0, rows // np.maximum(linkage.people, 1), 0)


def _strangers(releases: Sequence[ReleasedTable]) -> Iterator[str]:
    """Yield which releases cannot have been made from their tables."""
    for place, each in enumerate(releases):
        if rows := each.consistency.rows_without_record:
            which = "an earlier" if place else "the newest"
            yield f"{plural(rows, 'row')} of {which} release cover no record of its original"


def _findings(model: Model, linkages: Sequence[Surviving]) -> Iterator[str]:
    """Yield everything that breaks a guarantee if the releases are taken together."""
    for linkage in linkages:
        yield from _few_rows(model, linkage)
        yield from _few_persons(model, linkage)
        yield from _undiverse(model, linkage)
        yield from _missing(model, linkage)


def _few_rows(model: Model, linkage: Surviving) -> Iterator[str]:
    if not model.of_records:
        return
    rows = _per_record(linkage, linkage.rows)
    few = (rows > 0) & (rows < model.crowd)
    if few.any():
        records = int(np.where(few, linkage.people, 0).max(axis=0).sum())
        yield (
            f"{plural(records, 'record')} have fewer than {model.crowd} rows left, the worst "
            f"{int(rows[few].min()):,}, if rows are linked by {_by(linkage)}"
        )


def _few_persons(model: Model, linkage: Surviving) -> Iterator[str]:
    one_sided = model.one_sided and linkage.links.persons is None
    if not model.of_rows or one_sided:
        return
    found = [_some(each) for each in linkage.persons_of_row]
    few = sum(int((each < model.crowd).sum()) for each in found)
    if few:
        worst = min(int(each.min(initial=model.crowd)) for each in found)
        yield (
            f"{plural(few, 'row')} could belong to fewer than {model.crowd} persons, the worst to {worst:,}, "
            f"if rows are linked by {_by(linkage)}"
        )


def _undiverse(model: Model, linkage: Surviving) -> Iterator[str]:
    required = model.diversity
    if required is None:
        return
    named = set()
    measured = (each for release in linkage.diversity for each in release)
    for column in (each for each in measured if required.applies_to(each.column)):
        for name, asked, found in (
            ("l", required.l, column.l),
            ("p", required.p, column.p),
            ("entropy_l", required.entropy_l, column.entropy_l),
        ):
            if asked is None or found >= asked * (1 - ROUNDING) or (column.column, name) in named:
                continue
            named.add((column.column, name))
            yield (
                f"{column.column!r} has only {name} = {found:.4g} instead of {asked:g} among the rows left "
                f"to some record, if rows are linked by {_by(linkage)}"
            )


def _missing(model: Model, linkage: Surviving) -> Iterator[str]:
    """Yield which records are exposed because they are in one release and not in another."""
    required = model.diversity or NO_DIVERSITY
    l = required.l  # noqa: E741 - the letter of the literature
    for each in linkage.differences:
        if not each.rows:
            continue
        if each.persons < model.crowd:
            yield (
                f"{_where(each)} has the records of only {plural(each.persons, 'person')} whom "
                f"{_other(each)} does not have, and comparing the two shows {each.rows:,} of their rows"
            )
        for name, share in each.highest.items():
            if l is not None and share * l > 1 + ROUNDING and required.applies_to(name):
                yield (
                    f"comparing {_where(each)} with {_other(each)} shows that {share:.0%} of the records "
                    f"that only the first has have the same value of {name!r}, more than 1 in {l:g}"
                )


def _where(difference: Difference) -> str:
    return "the newest release" if difference.release == 0 else f"earlier release {difference.release}"


def _other(difference: Difference) -> str:
    return "the newest release" if difference.other == 0 else f"earlier release {difference.other}"


def _by(linkage: Surviving) -> str:
    if linkage.links.whole_rows:
        return "whole rows"
    return listing(linkage.links.columns) or "nothing, as they have no column in common"


def _figures(linkage: Surviving) -> dict[str, Any]:
    """Return figures over the records that are in several releases, and over all."""
    several = (linkage.people > 0).sum(axis=0) > 1
    people = linkage.people.max(axis=0)
    alone, rows = (_least(_per_record(linkage, each)) for each in (linkage.alone, linkage.rows))
    known = several & (rows > 0)
    weights = np.where(known, people, 0)
    total = max(int(weights.sum()), 1)
    return {
        "records_in_several": int(people[several].sum()),
        "without_tuple": int(people[(rows == 0) & (alone > 0)].sum()),
        "rows_alone": int(_some(alone).min(initial=int(alone.max(initial=0)))),
        "rows_together": int(_some(rows).min(initial=int(rows.max(initial=0)))),
        "mean_rows_alone": float((alone * weights).sum() / total),
        "mean_rows_together": float((rows * weights).sum() / total),
        "single_row": int(people[rows == 1].sum()),
        "mean_best_guess": float((weights / np.maximum(rows, 1)).sum() / total),
        "mean_tuples": float((linkage.tuples * weights).sum() / total),
    }


def _least(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the least positive number of each unit over the releases; 0 if there is none."""
    most = np.iinfo(np.int64).max
    least = np.where(rows > 0, rows, most).min(axis=0)
    return np.where(least == most, 0, least)


def _facts_of(linkage: Surviving) -> list[tuple[str, str]]:
    found = _figures(linkage)
    facts = [
        ("rows are linked by", _by(linkage)),
        ("records in several releases", f"{found['records_in_several']:,}"),
        (
            "rows that could be a record's",
            f"at least {found['rows_together']:,} together, {found['rows_alone']:,} in one release alone; "
            f"{found['mean_rows_together']:.1f} instead of {found['mean_rows_alone']:.1f} on average",
        ),
        ("records with a single row left", f"{found['single_row']:,}"),
        ("a random guess is right", f"{found['mean_best_guess']:.1%} of the time on average"),
        ("tuples of linked rows", f"{found['mean_tuples']:,.1f} for a record on average"),
    ]
    if found["without_tuple"]:
        told = f"{found['without_tuple']:,}: left out of a release, or not from these originals"
        facts.append(("records without a tuple", told))
    if linkage.persons_of_tuple is not None and len(least := _some(linkage.persons_of_tuple)):
        facts.append(("a tuple could belong to", f"at least {plural(int(least.min()), 'person')}"))
    facts += [
        (
            f"only in {_where(each)}",
            f"{plural(each.records, 'record')}; {_other(each)} shows the values of {each.rows:,} of them",
        )
        for each in linkage.differences
    ]
    return facts


def _as_dict(linkage: Surviving) -> dict[str, Any]:
    counted = linkage.persons_of_tuple
    tuples = None if counted is None else _some(counted)
    return {
        "columns": list(linkage.links.columns),
        "whole_rows": linkage.links.whole_rows,
        **_figures(linkage),
        "persons_per_tuple": None if tuples is None or not len(tuples) else int(tuples.min()),
        "differences": [
            {
                "release": each.release,
                "other": each.other,
                "records": each.records,
                "persons": each.persons,
                "rows": each.rows,
                "highest_frequency": each.highest,
            }
            for each in linkage.differences
        ],
    }
