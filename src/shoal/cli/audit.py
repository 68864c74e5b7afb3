"""`shoal audit`: does a release, of any tool, keep its guarantee?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal import Audit
from shoal import audit as auditor
from shoal.cli import loading, options
from shoal.cli.declared import model_parameters, takes
from shoal.cli.output import out, show_facts, show_json, verdict
from shoal.errors import InputError, Reason
from shoal.files.reading import read_table
from shoal.models import Model, declarations, is_required, make_model, model_named, usual_model
from shoal.release import read_key
from shoal.schema import Schema


@takes(load=loading.TABLE, parameters=model_parameters())
def audit(
    load: loading.Loading,
    parameters: dict[str, Any],
    released: Annotated[Path, typer.Argument(metavar="RELEASE", help="The released table.")],
    model: options.ModelName = None,
    key: options.Key = None,
    may_leave_out: options.MayLeaveOut = False,
    posterior: options.Posterior = None,
    population: options.Population = None,
    strict: options.Strict = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Check a release against its original: exit code 1 if the guarantee does not hold."""
    frame, described = load()
    promised, near = _promised(model, parameters, described)
    if posterior is not None and posterior <= 0:
        raise InputError("--posterior needs a number of seconds above 0", reason=Reason.PARAMETER)
    found = auditor(
        frame,
        read_table(released),
        described,
        promised,
        key=None if key is None else read_key(key),
        may_leave_out=may_leave_out,
        posterior=posterior,
        population=None if population is None else read_table(population),
        **near,
    )
    if as_json:
        show_json(found.as_dict())
    elif not quiet:
        show_facts("Audit", found.facts())
        show_facts("Attacker", _attacker(found))
        out.print(verdict(found.verdict, found.status), highlight=False)
    if found.status == "broken" or (strict and found.status == "caution"):
        raise typer.Exit(1)


def _promised(name: str | None, given: dict[str, Any], schema: Schema) -> tuple[Model | None, dict[str, Any]]:
    """Return the model that options describe, if any, and what else to find out about sensitive values."""
    kind = usual_model(schema) if name is None else model_named(name)
    # Without such a model, the distance between sensitive values is something to measure.
    measured = ("epsilon", "delta", "distance")
    own = [each for each, _, _ in declarations(kind)]
    near = {each: given[each] for each in measured if each not in own}
    asked = {each: value for each, value in given.items() if each not in near and value is not None}
    if not asked and name is None:
        return None, near
    if not any(is_required(field) and each in asked for each, _, field in declarations(kind)):
        needed = [f"--{each}" for each, _, field in declarations(kind) if is_required(field)]
        raise InputError(
            f"the model needs {' and '.join(needed)}; without a model, the audit reports and judges nothing",
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
