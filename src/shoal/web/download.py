"""The seventh step: download the files of a release, and the commands that make it without the page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from htmltools import Tag, TagChild, TagList, tags
from shiny import render, req, ui

from shoal.web import export, parts
from shoal.web.data import DEMO
from shoal.web.planning import FORMS
from shoal.web.result import nothing_shown, outdated_notice, warnings_of
from shoal.web.state import Desk, Run, needed
from shoal.web.summary import reminder

FILES = {
    "certificate.json": "guarantee, information loss and audit",
    "report.html": "this result as a web page",
    "evidence.html": "answers for reviewers and regulators, to be printed",
    export.SCHEMA: "roles and kinds of the columns",
    export.COMMAND: "command line for such a release",
    export.SCRIPT: "Python script for such a release",
}
"""The files besides the release, with a description of each."""
_RELEASED = ("the table to publish", "the same for another program")
_PIECE = 1 << 20


def download_step() -> Tag:
    """Return the section in which files are downloaded."""
    return parts.step(
        "download",
        "Publish the release; keep the certificate. If you have published these people before, audit both "
        f"releases together in step {parts.number_of('result')}.",
        parts.output("downloads_shown"),
    )


def serve_download(desk: Desk) -> None:
    """Make the seventh step work."""

    @render.ui
    def downloads_shown() -> TagChild:
        run = desk.run_shown()
        if run is None:
            return tags.p(nothing_shown(desk), class_="waiting")
        return TagList(ui.output_ui("outdated_shown"), _downloads(run))

    @render.ui
    def outdated_shown() -> TagChild:
        run = desk.run_shown()
        return outdated_notice(run) if run is not None and desk.outdated() else None

    _offer_files(desk)


def _offer_files(desk: Desk) -> None:
    """Serve the links, each with a file of the selected run."""

    def path_of(name: str) -> str:
        return str(needed(desk.run_shown()).folder / name)

    def offer(identity: str, name: str) -> None:
        render.download_button(filename=name)(_named(identity, lambda: path_of(name)))

    for identity, name in (
        *_identities().items(),
        *((_identity(form), f"release.{form}") for form in FORMS),
    ):
        offer(identity, name)

    @render.download_button(filename=export.KEY)
    def get_key() -> str:
        req(needed(desk.run_shown()).plan.keep_key)
        return path_of(export.KEY)

    @render.download_button(filename=DEMO)
    def get_demo() -> str:
        source = needed(desk.run_shown()).plan.source
        req(source.made_up)
        return str(source.path)

    @render.download_button(filename=export.EVERYTHING)
    async def get_everything() -> AsyncIterator[bytes]:
        path = await asyncio.to_thread(export.bundle, needed(desk.run_shown()))
        with path.open("rb") as file:
            while piece := await asyncio.to_thread(file.read, _PIECE):
                yield piece


def _named(name: str, function: Any) -> Any:
    function.__name__ = name
    return function


def _identity(form: str) -> str:
    return f"get_{form}"


def _identities() -> dict[str, str]:
    return {f"get_{name.replace('.', '_')}": name for name in FILES}


def _downloads(run: Run) -> TagList:
    released = [
        parts.download(_identity(name.rpartition(".")[2]), name, words)
        for name, words in zip(run.plan.files, _RELEASED, strict=False)
    ]
    key: TagChild = None
    if run.plan.keep_key:
        key = parts.notice(
            tags.b("The secret key."),
            " It re-identifies every row. Keep it apart from the release, and do not pass it on: ",
            tags.a(
                export.KEY,
                id="get_key",
                href="",
                download="",
                class_="shiny-download-link disabled",
                tabindex="-1",
            ),
            alert=True,
        )
    return TagList(
        reminder(warnings_of(run), "download-dangers"),
        tags.ul(
            released,
            [parts.download(identity, name, FILES[name]) for identity, name in _identities().items()],
            parts.download("get_everything", export.EVERYTHING, "all of these files, without key and seed"),
            parts.download("get_demo", DEMO, "the made-up original table")
            if run.plan.source.made_up
            else None,
            class_="downloads",
        ),
        key,
        tags.h3("Repeat without this page"),
        tags.p("Put the table and schema.toml into one folder and run there:"),
        _seed_below(run),
        parts.code("Command line", export.command(run.plan), "command"),
        parts.code("Python", export.script(run.plan), "script"),
    )


def _seed_below(run: Run) -> Tag | None:
    if "seed" not in run.plan.choices:
        return None
    return parts.notice(
        "The seed is in the lines below, but in no file. Keep it apart from the release.", alert=True
    )
