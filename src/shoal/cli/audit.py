"""`shoal audit`: does a release, of any tool, keep its guarantee?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import typer
from numpy.typing import NDArray

from shoal import Audit, JointAudit, joint_audit
from shoal import audit as auditor
from shoal.cli import audit_options, limit_options, options
from shoal.cli.audit_options import BESIDE, Beside
from shoal.cli.declared import model_parameters, takes
from shoal.cli.earlier import EarlierFiles
from shoal.cli.earlier_options import TOGETHER
from shoal.cli.output import out, show_facts, show_json, verdict, warn
from shoal.errors import InputError, Reason
from shoal.files.reading import read_table
from shoal.models import Model, declarations, is_required, make_model, model_named, usual_model
from shoal.release import read_key
from shoal.release.claims import Claims
from shoal.schema import Schema


@takes(release=BESIDE, parameters=model_parameters(), before=TOGETHER)
def audit(
    release: Beside,
    parameters: dict[str, Any],
    before: EarlierFiles,
    model: options.ModelName = None,
    key: audit_options.Key = None,
    may_leave_out: audit_options.MayLeaveOut = False,
    leave_out: limit_options.AuditLeaveOut = None,
    knows: limit_options.Knows = None,
    posterior: audit_options.Posterior = None,
    population: audit_options.Population = None,
    sampling_fraction: audit_options.SamplingFraction = None,
    survey_weight: audit_options.SurveyWeight = None,
    strict: options.Strict = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Check a release against its original: exit code 1 if the guarantee does not hold."""
    claims, frame, described = release.claims, release.original, release.schema
    everyone = None if population is None else read_table(population)
    if knows is not None and model is not None and "knows" in (f.name for f in fields(model_named(model))):
        parameters, knows = {**parameters, "knows": knows}, None
    promised, near = _promised(model, parameters, described, everyone)
    if claims is not None and promised is None:
        promised, may_leave_out = claims.model(everyone), may_leave_out or claims.left_some_out
    if claims is not None and leave_out is None:
        leave_out = claims.certificate.get("leave_out")
    if posterior is not None and posterior <= 0:
        raise InputError("--posterior needs a number of seconds above 0", reason=Reason.PARAMETER)
    shown, records = release.released(), None if key is None else read_key(key)
    others = before.read(frame)
    if claims is not None and claims.certificate.get("held_out"):
        frame, records = _released_records(frame, records, claims)
    found = auditor(
        frame,
        shown,
        described,
        promised,
        key=records,
        may_leave_out=may_leave_out,
        leave_out=leave_out or 0.0,
        knows=knows,
        posterior=posterior,
        suppressed_marks=release.suppressed_marks,
        population=everyone,
        sampling_fraction=sampling_fraction,
        survey_weight=survey_weight,
        **near,
    )
    together = joint_audit(frame, shown, described, promised, earlier=others, key=records) if others else None
    differences = None if claims is None else [*_differences(claims, described, promised, found)]
    if as_json:
        show_json(_as_dict(found, together, differences))
    elif not quiet:
        _show(found, together, differences, release.place)
    for text in differences or ():
        warn(text)
    if found.status == "broken" or (strict and found.status == "caution") or not _holds(together):
        raise typer.Exit(1)


def _as_dict(found: Audit, together: JointAudit | None, differences: list[str] | None) -> dict[str, Any]:
    """Return what an audit found, for programs."""
    more: dict[str, Any] = {} if differences is None else {"disagreements": differences}
    more |= {} if together is None else {"together": together.as_dict()}
    return {**found.as_dict(), **more}


def _show(found: Audit, together: JointAudit | None, differences: list[str] | None, place: Path) -> None:
    """Print what an audit found, for people."""
    show_facts("Audit", found.facts())
    show_facts("Attacker", _attacker(found))
    out.print(verdict(found.verdict, found.status), highlight=False)
    if differences == []:
        out.print(f"The certificate in {place} says the same.", highlight=False)
    if together is not None:
        show_facts("Together with earlier releases", together.facts())
        out.print(verdict(together.verdict, together.status), highlight=False)


def _holds(together: JointAudit | None) -> bool:
    return together is None or together.holds


def _released_records(
    frame: pl.DataFrame, key: NDArray[np.int64] | None, claims: Claims
) -> tuple[pl.DataFrame, NDArray[np.int64] | None]:
    """Return the records that a release with a control group was made from, and the key among them."""
    said = claims.certificate
    if len(frame) == said["audit"]["records"] + said["left_out"] + said.get("over_limit", 0):
        return frame, key
    if key is None:
        raise InputError(
            f"{said['held_out']:,} records were held out of this release; give the original without them, or "
            "the key, which says which records they are",
            reason=Reason.PARAMETER,
            parameter="key",
        )
    kept = np.unique(key[(key >= 0) & (key < len(frame))])
    return frame[kept], np.searchsorted(kept, key)


def _differences(claims: Claims, schema: Schema, promised: Model | None, found: Audit) -> Iterator[str]:
    """Yield where the certificate disagrees with the call, the files and the audit."""
    said = {column.name: column.role for column in claims.schema}
    for column in schema:
        if column.name not in said:
            yield f"the certificate does not mention the column {column.name!r} of the original"
        elif said[column.name] is not column.role:
            yield (
                f"column {column.name!r} has the role {said[column.name].value} by the certificate, "
                f"{column.role.value} by this call"
            )
    claimed = claims.certificate["model"]["promise"]
    if promised is not None and promised.sentence() != claimed:
        yield f"the certificate promises something else than was audited: {claimed}"
    yield from claims.disagreements(found)


def _promised(
    name: str | None, given: dict[str, Any], schema: Schema, population: pl.DataFrame | None
) -> tuple[Model | None, dict[str, Any]]:
    """Return the model that options describe, if any, and what else to find out about sensitive values."""
    kind = usual_model(schema) if name is None else model_named(name)
    # Without such a model, the distance between sensitive values is something to measure.
    measured = ("epsilon", "delta", "distance")
    own = [each for each, _, _ in declarations(kind)]
    near = {each: given[each] for each in measured if each not in own}
    asked = {each: value for each, value in given.items() if each not in near and value is not None}
    if kind.needs_population and population is not None:
        asked["population"] = population
    if not asked and name is None:
        return None, near
    if not any(is_required(field) and each in asked for each, _, field in declarations(kind)):
        needed = [f"--{each}" for each, _, field in declarations(kind) if is_required(field)]
        raise InputError(
            f"the model needs {' and '.join(needed)}; without a model, the audit reports but judges nothing",
            reason=Reason.PARAMETER,
        )
    return make_model(kind.name, asked), near


def _attacker(found: Audit) -> list[tuple[str, str]]:
    """Return what attackers gain, beyond the guarantee, in plain words."""
    facts = []
    if found.uniqueness:
        worst = found.uniqueness[0]
        facts.append(
            ("most identifying in the original", f"{', '.join(worst.columns)}: {worst.share:.1%} are unique")
        )
    if found.contributions:
        most = min(found.contributions, key=lambda each: each.mean_risk)
        facts.append(("adds most to the risk", f"{most.column}: without it {most.mean_risk:.1%} on average"))
    if found.risks.population is not None:
        guessed = found.risks.journalist
        facts.append(
            (
                f"one of {found.risks.population:,} people",
                f"is picked right {guessed.mean:.1%} of the time on average, {guessed.highest:.1%} at most",
            )
        )
    if found.sample is not None:
        facts += found.sample.facts()
    for near in found.proximity_around:
        breached = "" if near.vulnerability is None else f"; {near.vulnerability:.1%} of them above 1 - delta"
        facts.append(
            (
                f"within {near.epsilon:g} of each other in {near.column}",
                f"{near.risk:.0%} of the rows for the worst record, {near.mean:.0%} on average{breached}",
            )
        )
    if found.posterior is not None:
        guess = found.posterior
        if guess.link is not None:
            quantiles = dict(guess.link.quantiles)
            facts.append(
                ("belief in the likeliest row", f"median {quantiles[0.5]:.1%}, highest {quantiles[1.0]:.1%}")
            )
        if guess.of_persons is not None and guess.of_persons.link is not None:
            quantiles = dict(guess.of_persons.link.quantiles)
            facts.append(
                (
                    "belief that a row is a person's",
                    f"median {quantiles[0.5]:.1%}, highest {quantiles[1.0]:.1%} for the likeliest row",
                )
            )
        how = f"counted for {guess.counted:,}, sampled for {guess.sampled:,}, unknown for {guess.refused:,}"
        facts.append(("matchings of records and rows", f"{how} records"))
    return facts
