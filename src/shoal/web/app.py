"""The page and its server: eight steps on one page."""

from __future__ import annotations

import re
from pathlib import Path

from htmltools import Tag, TagList, head_content, tags
from shiny import App, Inputs, Outputs, Session, reactive

from shoal.report.document import page_style
from shoal.web import parts
from shoal.web.attacks import attack_step, serve_attacks
from shoal.web.columns import columns_step, serve_columns
from shoal.web.data import data_step, serve_data
from shoal.web.download import download_step, serve_download
from shoal.web.hierarchies import editor_part, serve_editor
from shoal.web.place import serve_place
from shoal.web.project import project_part, serve_project
from shoal.web.promise import promise_step, serve_promise
from shoal.web.result import result_step, serve_result
from shoal.web.rows import serve_rows
from shoal.web.run import run_step, serve_run
from shoal.web.sessions import Sessions
from shoal.web.together import serve_together
from shoal.web.trying import serve_trying, trying_part
from shoal.web.use import serve_use, use_step

ASSETS = Path(__file__).parent / "assets"
KEYS = ("key", "last_key")
"""The hidden fields that name the desk: that of this tab, or the last one of the browser."""


def application(sessions: Sessions, most_bytes: int, shared: Path | None) -> App:
    """Return the page as an application that a server can run.

    Parameters
    ----------
    sessions
        The desks of all users.
    most_bytes
        Maximum size of a table.
    shared
        Folder whose files can be chosen; None for none.
    """

    def server(input: Inputs, output: Outputs, session: Session) -> None:  # noqa: A002 - Shiny's own word
        del output  # outputs register themselves
        with reactive.isolate():
            keys = [input[name]() if input[name].is_set() else None for name in KEYS]
        desk = sessions.open(session, *keys)

        @reactive.effect
        @reactive.event(desk.input.end_session)
        def _() -> None:
            sessions.end(desk)

        for serve in (
            *(serve_data, serve_columns, serve_editor, serve_promise, serve_trying),
            *(serve_run, serve_result, serve_download, serve_use, serve_place, serve_project, serve_rows),
            *(serve_attacks, serve_together),
        ):
            serve(desk)

    made = App(_page(most_bytes, shared), server, static_assets={"/assets": ASSETS})
    made.sanitize_errors = True
    return made


def inline_scripts(made: App) -> list[str]:
    """Return the scripts that Shiny writes into the page itself."""
    content = made.ui["html"] if isinstance(made.ui, dict) else ""
    return re.findall(r"<script>(.*?)</script>", content, re.DOTALL)


def _page(most_bytes: int, shared: Path | None) -> TagList:
    return TagList(
        head_content(
            tags.title("Shoal"),
            tags.meta(name="viewport", content="width=device-width, initial-scale=1"),
            tags.meta(name="color-scheme", content="light dark"),
            tags.link(rel="icon", href="data:,"),
            tags.style(page_style()),
            tags.link(rel="stylesheet", href="assets/page.css"),
            tags.script(src="assets/page.js", defer=""),
        ),
        tags.a("To the first step", href="#step-data", class_="unseen skip"),
        tags.header(
            tags.h1(tags.img(src="assets/fish.svg", alt="", width="44", height="44"), "Shoal"),
            tags.p("Publish a table in which no record can be singled out.", class_="lead"),
            _steps(),
        ),
        tags.main(
            data_step(most_bytes, shared, project_part()),
            columns_step(editor_part()),
            promise_step(trying_part()),
            run_step(),
            result_step(),
            attack_step(),
            download_step(),
            use_step(),
            data_most_bytes=str(most_bytes),
        ),
        _footer(),
        _progress(),
        tags.div(id="said", role="status"),
        _gone(),
        [tags.input(type="text", id=name, hidden="", autocomplete="off", aria_label=name) for name in KEYS],
    )


def _footer() -> Tag:
    return tags.footer(
        tags.p(
            "All work is done on this machine. If you close the page, your data and results are kept for a "
            "while, and you find them again when you open it. End the session to delete them now."
        ),
        parts.button("end_session", "End the session and delete everything"),
    )


def _gone() -> Tag:
    """Return what covers the page while it has no connection; the script shows one of its parts."""
    return tags.div(
        tags.div(
            tags.p(tags.b("The connection is lost. Trying again …")),
            tags.p("Work continues, and finished results are kept. Nothing needs to be done."),
            id="gone-lost",
        ),
        tags.div(
            tags.p(tags.b("The server does not answer.")),
            tags.p(
                "If it was stopped, its data has been deleted. Start it again with ",
                tags.code("shoal ui"),
                ". This page keeps trying to reach it.",
            ),
            id="gone-stopped",
        ),
        tags.div(
            tags.p(tags.b("Your work is open on another page.")),
            tags.button("Continue here", type="button", class_="reload"),
            id="gone-elsewhere",
        ),
        tags.div(
            tags.p(tags.b("The session has ended, and its data has been deleted.")),
            tags.button("Start again", type="button", class_="reload"),
            id="gone-ended",
        ),
        id="gone",
        role="alert",
        hidden="",
    )


def _steps() -> Tag:
    links = [
        tags.li(tags.a(title, tags.span(class_="unseen state"), href=f"#step-{name}", data_step=name))
        for name, title in parts.STEPS.items()
    ]
    return tags.nav(tags.ol(links), aria_label="Steps")


def _progress() -> Tag:
    """Return the progress bar, which stays at the bottom of the window."""
    return tags.div(
        tags.div(
            tags.span(id="stage", role="status", aria_live="polite"),
            tags.span(id="time-left", class_="hint"),
            class_="words",
        ),
        tags.progress(id="share", max="1", value="0", aria_labelledby="stage"),
        parts.button("cancel", "Cancel"),
        id="progress",
        hidden="",
    )
