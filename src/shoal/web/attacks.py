"""Attacks on a release that are carried out when they are asked for; part of the fifth step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from htmltools import Tag, TagChild, TagList, tags
from shiny import reactive, render

from shoal.attacking.results import HEAD, WITHOUT_CONTROL
from shoal.base.wording import percent
from shoal.web import parts
from shoal.web.export import attack_command
from shoal.web.state import Desk, Problems, Run, needed


def attack_part() -> Tag:
    """Return the place of the attacks."""
    return parts.output("attack_asked")


def serve_attacks(desk: Desk) -> None:
    """Make the attacks work."""
    found: reactive.Value[tuple[Run, dict[str, Any]] | None] = reactive.Value(None)

    @render.ui
    def attack_asked() -> TagChild:
        run = desk.run_shown()
        return None if run is None else _asked(run)

    @render.ui
    def attack_shown() -> TagChild:
        seen, run = found(), desk.run_shown()
        return None if seen is None or seen[0] is not run else _attacks(run, seen[1])

    @reactive.effect
    @reactive.event(desk.input.attack_go)
    def _() -> None:
        run = needed(desk.run_shown())
        if run.plan.leaves_out:
            return
        desk.start(
            "attack_release",
            run.plan.source,
            lambda result: found.set((run, result)),
            _where,
            schema=run.plan.schema,
            release=run.file,
        )


def _asked(run: Run) -> Tag:
    title = "Attack the release"
    if "hold_out" in run.plan.choices:
        words = "Run {} has a control group: the result of the attacks is in the part “Attacks”."
        return parts.fold(title, tags.p(words.format(run.number)), name="attack")
    if run.plan.leaves_out:
        words = (
            "Records were left out of run {}, and only its key says which. Make a release with a control "
            "group to attack it."
        )
        return parts.fold(title, tags.p(words.format(run.number)), name="attack")
    return parts.fold(
        title,
        tags.p(
            "How often are records singled out, linked, and their sensitive values guessed? "
            f"{WITHOUT_CONTROL} With a control group, which step {parts.number_of('run')} can hold out, they "
            "are more reliable."
        ),
        parts.button("attack_go", "Attack it"),
        parts.problem("attack"),
        parts.output("attack_shown"),
        name="attack",
    )


def _attacks(run: Run, found: Mapping[str, Any]) -> TagList:
    return TagList(
        parts.table("Attacks", HEAD, found["lines"]),
        tags.dl([TagList(tags.dt(title), tags.dd(about)) for title, about in found["about"]]),
        [parts.notice(text) for text in found["notes"]],
        tags.p(f"Intervals have a confidence of {percent(found['confidence'])}.", class_="hint"),
        parts.code("Command line", attack_command(run.plan), "attack-command"),
    )


def _where(error: Mapping[str, Any]) -> Problems:
    return {"attack": error["message"]}
