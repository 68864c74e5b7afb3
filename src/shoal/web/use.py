"""The eighth step: ask the release questions, and write it as tables that any tool can read."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from htmltools import Tag, TagChild, TagList, tags
from shiny import reactive, render, req, ui

from shoal.base.commands import words
from shoal.web import parts
from shoal.web.asking import Question, Reply
from shoal.web.result import nothing_shown
from shoal.web.state import Desk, needed
from shoal.web.tasks import DRAWN, DRAWS, TABLES_FILE

FORMS = {
    DRAWN: f"{DRAWS} tables with drawn values",
    "low-high": "low and high ends of intervals",
    "middle": "middles of intervals",
    "members": "a truth value for each value",
    "long": "each row several times, with weights",
}
"""The forms of tables, with their descriptions."""
FOLDER = "release"
"""The folder of the release in the commands that are shown."""


def use_step() -> Tag:
    """Return the section in which a release is used."""
    return parts.step(
        "use",
        "Compute with the release alone, as everyone can who has it.",
        parts.output("question_shown"),
        ui.output_ui("answer_shown"),
        parts.output("forms_shown"),
        ui.output_ui("tables_shown"),
    )


def serve_use(desk: Desk) -> None:
    """Make the eighth step work."""
    _serve_questions(desk)
    _serve_tables(desk)


def _serve_questions(desk: Desk) -> None:
    question = Question(desk, "ask", "question")

    @render.ui
    def question_shown() -> TagChild:
        return (
            tags.p(nothing_shown(desk), class_="waiting")
            if desk.run_shown() is None
            else desk.memory.filled(_question())
        )

    @render.ui
    def answer_shown() -> TagChild:
        return question.shown(_answer)

    @reactive.effect
    @reactive.event(desk.input.ask)
    def _() -> None:
        run = needed(desk.run_shown())
        asked = {name: str(desk.entry(name) or "").strip() for name in ("question", "by", "mean")}
        question.ask(run, _command(asked), folder=run.folder, **asked)


def _serve_tables(desk: Desk) -> None:
    question = Question(desk, "write_tables", "table_form")

    @render.ui
    def forms_shown() -> TagChild:
        return None if desk.run_shown() is None else desk.memory.filled(_forms())

    @render.ui
    def tables_shown() -> TagChild:
        return question.shown(_tables)

    @reactive.effect
    @reactive.event(desk.input.write_tables)
    def _() -> None:
        run, form = needed(desk.run_shown()), desk.entry("table_form")
        req(form in FORMS)
        what = words({"draw": DRAWS} if form == DRAWN else {"as": form})
        command = shlex.join(["shoal", "read", FOLDER, *what, "-o", "tables"])
        question.ask(run, command, folder=run.folder, form=form)

    @render.download_button(filename=TABLES_FILE)
    def get_tables() -> str:
        return str(needed(question.answer).run.folder / TABLES_FILE)


def _question() -> TagList:
    return TagList(
        tags.div(
            parts.text("question", "Question", "Conditions, such as: age 30..39, sex=female"),
            parts.text("by", "Group by", "Columns, with commas between them: one answer for each group."),
            parts.text("mean", "Mean of", "A column of numbers: its mean instead of the number of rows."),
            class_="fields",
        ),
        parts.button("ask", "Ask", main=True),
    )


def _forms() -> TagList:
    return TagList(
        tags.h3("Tables for other tools"),
        tags.div(parts.choice("table_form", "Form", FORMS, DRAWN), class_="fields"),
        parts.button("write_tables", "Write the tables"),
    )


def _command(asked: Mapping[str, str]) -> str:
    words = ["shoal", "query", FOLDER, *([asked["question"]] if asked["question"] else [])]
    for name in ("by", "mean"):
        words += [f"--{name}", asked[name]] if asked[name] else []
    return shlex.join(words)


def _answer(answer: Reply) -> Tag:
    found = answer.found
    return tags.div(
        tags.h3("Answer"),
        parts.facts(found["facts"])
        if "facts" in found
        else parts.table("Answers", found["head"], found["lines"], hidden_caption=True),
        parts.code("Command line", answer.command, "query-command"),
        id="answer",
    )


def _tables(answer: Reply) -> Tag:
    files = ", ".join(answer.found["files"])
    return tags.div(
        tags.ul(parts.download("get_tables", TABLES_FILE, files), class_="downloads"),
        parts.code("Command line", answer.command, "read-command"),
        id="tables",
    )
