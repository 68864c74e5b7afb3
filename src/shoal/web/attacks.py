"""The sixth step: attack the release, with a control group that was held out before the run, or without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from htmltools import Tag, TagChild, TagList, tags
from shiny import reactive, render, ui

from shoal.attacking import usual_share
from shoal.attacking.results import HEAD, attack_cells, attacks_in_words, most_gained
from shoal.web import parts
from shoal.web.asking import Question
from shoal.web.export import attack_command
from shoal.web.result import nothing_shown
from shoal.web.run import start_release
from shoal.web.state import Desk, Run, needed

_REMEDIES = {
    "Linkability": "Raise k, or leave out quasi-identifiers that readers do not need.",
    "Inference": "Require l of the sensitive column, or raise l or k.",
    "Singling out, narrowed cells": "Use hierarchies or bands: their cells are not as small as the records "
    "allow. A predicate for one record does not tell which row belongs to it, nor who it is.",
}
"""What lowers the risk of each attack."""


def attack_step() -> Tag:
    """Return the section in which a release is attacked."""
    return parts.step(
        "attack",
        "Try what an attacker would: single out records, link them, and guess their sensitive values.",
        parts.output("attack_asked"),
        parts.problem("attack"),
        ui.output_ui("attack_words"),
        parts.output("attack_shown"),
    )


def serve_attacks(desk: Desk) -> None:
    """Make the sixth step work."""
    question = Question(desk, "attack_release", "attack")

    def found() -> tuple[Run, Mapping[str, Any]] | None:
        run, answer = desk.run_shown(), question.answer
        made = None if run is None else run.result["certificate"].get("attacks")
        seen = made or (None if answer is None else answer.found)
        return None if run is None or seen is None else (run, seen)

    @render.ui
    def attack_asked() -> TagChild:
        run = desk.run_shown()
        return (
            tags.p(nothing_shown(desk), class_="waiting")
            if run is None
            else _asked(run, outdated=desk.outdated())
        )

    @render.ui
    def attack_words() -> TagChild:
        seen = found()
        return None if seen is None else tags.p(tags.b(most_gained(seen[1])), id="most-gained")

    @render.ui
    def attack_shown() -> TagChild:
        seen = found()
        return None if seen is None else _attacks(*seen)

    @reactive.effect
    @reactive.event(desk.input.attack_go)
    def _() -> None:
        run = needed(desk.run_shown())
        if not run.plan.leaves_out:
            question.ask(run, schema=run.plan.schema, release=run.file)

    @reactive.effect
    @reactive.event(desk.input.hold_out_go)
    def _() -> None:
        share = needed(_share(needed(desk.run_shown())))
        desk.memory.recall({"hold_out": f"{share:.0%}"})
        desk.redraw()
        start_release(desk)


def _asked(run: Run, *, outdated: bool) -> TagChild:
    """Return what can be done about attacks on a run."""
    share = None if outdated or run.plan.after is not None else _share(run)
    words = "Make the release again with a control group of {} of the records"
    again = None if share is None else parts.button("hold_out_go", words.format(f"{share:.0%}"))
    if "hold_out" in run.plan.choices:
        return tags.p(f"Run {run.number} has a control group, and was attacked when it was made.")
    if run.plan.leaves_out:
        words = (
            f"Records were left out of run {run.number}, and only its key says which. A release with a "
            "control group is attacked when it is made."
        )
        return TagList(tags.p(words), again)
    return TagList(
        tags.p(
            "Success rates say more beside those on a control group: records that are held out before the "
            f"release is made. Step {parts.number_of('run')} has a field for it. Without one, risks are "
            "exaggerated."
        ),
        tags.div(parts.button("attack_go", "Attack it", main=True), again, class_="buttons"),
    )


def _share(run: Run) -> float | None:
    """Return the share of the records that is held out if a release is made again to be attacked."""
    return None if run.snapshot is None else usual_share(run.snapshot.weighed["records"])


def _attacks(run: Run, found: Mapping[str, Any]) -> Tag:
    controlled = "hold_out" in run.plan.choices
    return tags.div(
        parts.table("Success rates of attacks", HEAD, [attack_cells(each) for each in found["results"]]),
        tags.p(attacks_in_words(found)),
        [parts.notice(text) for text in found["notes"]],
        tags.details(
            tags.summary("What does each attack do?"),
            parts.facts((each["title"], each["about"]) for each in found["results"]),
            class_="more",
        ),
        tags.details(
            tags.summary("What can be done about a risk?"), parts.facts(_REMEDIES.items()), class_="more"
        ),
        None if controlled else parts.code("Command line", attack_command(run.plan), "attack-command"),
        id="attacks-found",
    )
