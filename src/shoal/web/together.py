"""A release together with an earlier one: what an attacker learns who has both; part of the fifth step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from htmltools import Tag, TagChild, TagList, tags
from shiny import reactive, render, ui

from shoal.report.document import VERDICTS
from shoal.web import parts
from shoal.web.again import take_file
from shoal.web.asking import Question, Reply
from shoal.web.export import joint_audit_command
from shoal.web.state import Desk, needed

FILES = ("earlier_release", "earlier_table")
"""The fields for the files of an earlier release."""


def together_part() -> Tag:
    """Return the place of the audit of two releases."""
    return parts.output("together_asked")


def serve_together(desk: Desk) -> None:
    """Make the audit of two releases work."""
    question = Question(desk, "both_releases", "earlier_release")

    @render.ui
    def together_asked() -> TagChild:
        return None if desk.run_shown() is None else _fields()

    @render.ui
    def together_shown() -> TagChild:
        return question.shown(lambda answer: _verdict(answer.found))

    @render.ui
    def together_details() -> TagChild:
        return question.shown(_details)

    @reactive.effect
    @reactive.event(desk.input.together_go)
    def _() -> None:
        run, files = needed(desk.run_shown()), desk.files()
        if "earlier_release" not in files:
            desk.tell({"earlier_release": "Choose the file of the earlier release."})
            return
        earlier, table = files["earlier_release"], files.get("earlier_table")
        command = joint_audit_command(run, earlier[0], table[0] if table else run.plan.source.name)
        question.ask(
            run,
            command,
            schema=run.plan.schema,
            model=run.plan.model,
            release=run.file,
            earlier=earlier[1],
            earlier_table=table[1] if table else None,
            left_out=run.plan.leaves_out,
        )

    for name in FILES:
        take_file(desk, name)


def _fields() -> Tag:
    return parts.fold(
        "Together with an earlier release",
        tags.p(
            "Two releases about the same people can reveal together what neither reveals alone. Choose the "
            "file of an earlier release to audit both."
        ),
        tags.div(
            parts.file("earlier_release", "Earlier release", "Such as release.csv, made by any tool."),
            parts.file("earlier_table", "Its original table", "Only if it is not the table of this release."),
            class_="fields",
        ),
        parts.button("together_go", "Audit both releases"),
        ui.output_ui("together_shown"),
        parts.output("together_details"),
        name="with-earlier",
    )


def _verdict(found: Mapping[str, Any]) -> Tag:
    box, heading = VERDICTS[found["status"]]
    return tags.div(tags.b(heading), tags.span(found["verdict"]), class_=box, id="together")


def _details(answer: Reply) -> TagList:
    return TagList(
        parts.facts(answer.found["facts"]), parts.code("Command line", answer.command, "together-command")
    )
