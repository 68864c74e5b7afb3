"""`shoal audit`: does a release, of any tool, keep its promise?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal import Audit, commands
from shoal import audit as auditor
from shoal.cli import options
from shoal.cli.output import out, show_facts, show_json, verdict
from shoal.errors import InputError, Reason
from shoal.io import read_table
from shoal.models import Dissimilarity, SetDiversity
from shoal.release import read_key


@options.takes_table
def audit(
    load: options.Loading,
    released: Annotated[Path, typer.Argument(metavar="RELEASE", help="The released table.")],
    k: Annotated[
        int | None, typer.Option("--k", help="The k that was promised.", rich_help_panel="The promise")
    ] = None,
    model: options.ModelName = None,
    diversity_l: options.DiversityL = None,
    diversity_p: options.DiversityP = None,
    entropy_l: options.EntropyL = None,
    two_sided: options.TwoSided = None,
    withhold: options.Withhold = None,
    patterns: options.PatternsFile = None,
    key: Annotated[
        Path | None,
        typer.Option(
            "--key", help="key.csv: also check each row against its own record.", rich_help_panel="Files"
        ),
    ] = None,
    may_leave_out: Annotated[
        bool,
        typer.Option(
            "--may-leave-out",
            help="The release may have fewer rows than the original.",
            rich_help_panel="The promise",
        ),
    ] = False,
    posterior: Annotated[
        float | None,
        typer.Option(
            "--posterior",
            metavar="SECONDS",
            help="Also estimate, for so long, how likely the best guess of the strongest adversary is.",
            rich_help_panel="The promise",
        ),
    ] = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    distance: options.Distance = None,
    population: Annotated[
        Path | None,
        typer.Option(
            "--population",
            help="Table of all who could be in the original, for the risk when nobody knows who is.",
            rich_help_panel="Files",
        ),
    ] = None,
    strict: options.Strict = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Check a release against its original: exit code 1 if the promise does not hold."""
    frame, described = load()
    promised = None
    near: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "distance": distance}
    parameters: dict[str, Any] = {
        "l": diversity_l,
        "p": diversity_p,
        "entropy_l": entropy_l,
        "two_sided": two_sided,
        "withhold": withhold,
        "patterns_file": patterns,
    }
    if model == Dissimilarity.name:
        parameters |= near
        near = {}
    if k is not None or model == SetDiversity.name:
        promised = commands.promise(model or commands.default_model(described), k=k, **parameters)
    elif model is not None or any(given is not None for given in parameters.values()):
        raise InputError(
            "a promise needs its --k; without one, the audit reports and judges nothing",
            reason=Reason.PARAMETER,
        )
    if posterior is not None and posterior <= 0:
        raise InputError("--posterior needs a number of seconds above 0", reason=Reason.PARAMETER)
    found = auditor(
        frame,
        read_table(released),
        described,
        promised,
        key=None if key is None else read_key(key),
        may_leave_out=may_leave_out,
        posterior_seconds=posterior,
        population=None if population is None else read_table(population),
        **near,
    )
    if as_json:
        show_json(found.as_dict())
    elif not quiet:
        show_facts("Audit", found.facts())
        show_facts("Adversary", _adversary(found))
        out.print(verdict(found.verdict, found.status), highlight=False)
    if found.status == "broken" or (strict and found.status == "caution"):
        raise typer.Exit(1)


def _adversary(found: Audit) -> list[tuple[str, str]]:
    """Return what attackers gain, beyond the promise, in plain words."""
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
                f"one of {found.risks.population} people",
                f"is picked right {guessed.mean:.1%} of the time on average, {guessed.highest:.1%} at most",
            )
        )
    for near in found.proximity_around:
        breached = "" if near.vulnerability is None else f"; {near.vulnerability:.1%} of them above 1 - delta"
        facts.append(
            (
                f"within {near.epsilon:g} of each other in {near.column}",
                f"{near.risk:.0%} of the rows around the worst record, {near.mean:.0%} on average{breached}",
            )
        )
    if found.posterior is not None:
        guess = found.posterior
        if guess.link is not None:
            quantiles = dict(guess.link.quantiles)
            facts.append(
                ("belief in the likeliest row", f"median {quantiles[0.5]:.1%}, highest {quantiles[1.0]:.1%}")
            )
        how = f"counted for {guess.counted}, sampled for {guess.sampled}, unknown for {guess.refused}"
        facts.append(("matchings of records and rows", f"{how} records"))
    return facts
