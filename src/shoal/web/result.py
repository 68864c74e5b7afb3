"""The fifth and the sixth step: what a release is worth, beside other runs, and its files to download."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from htmltools import HTML, Tag, TagChild, TagList, tags
from shiny import Inputs, reactive, render, req, ui

from shoal.report.document import VERDICTS
from shoal.report.panel import percent
from shoal.web import export, parts
from shoal.web.data import DEMO
from shoal.web.state import Desk, Run

FILES = {
    "certificate.json": "what was promised, lost and found",
    "report.html": "this result as a page that opens anywhere",
    export.SCHEMA: "what the columns are",
    export.COMMAND: "the command that makes such a release",
    export.SCRIPT: "the same in Python",
}
"""What can be downloaded besides the release, and what it is."""
_PIECE = 1 << 20


def result_step() -> Tag:
    """Return the section that shows what a release is worth."""
    return parts.step(
        "result",
        "What an attacker learns, and what was lost.",
        ui.output_ui("comparison_shown"),
        ui.output_ui("result_shown"),
    )


def download_step() -> Tag:
    """Return the section in which files are downloaded."""
    return parts.step(
        "download",
        "Publish the release; keep the certificate. Do not publish two releases of the same people.",
        ui.output_ui("downloads_shown"),
    )


def serve_result(desk: Desk, input: Inputs) -> None:  # noqa: A002 - Shiny's own word
    """Make the last two steps work."""

    @render.ui
    def result_shown() -> TagChild:
        run = desk.run_shown()
        if run is None:
            return tags.p(_nothing(desk), class_="waiting")
        result = run.result
        return tags.div(
            ui.output_ui("verdict_shown"),
            _seeded(run),
            [parts.notice(note) for note in result["certificate"].get("notes", ())],
            tags.ul(
                [tags.li(tags.b(figure), tags.span(words)) for figure, words in result["tiles"]],
                class_="tiles",
            ),
            HTML(result["panels"]),  # made by the report, which escapes what it shows
            class_="report",
        )

    @render.ui
    def comparison_shown() -> TagChild:
        runs, shown = desk.runs(), desk.shown()
        return _comparison(runs, shown) if len(runs) > 1 or (runs and shown is None) else None

    @reactive.effect
    @reactive.event(input.shown_run)
    def _() -> None:
        numbers = {str(run.number): run.number for run in desk.runs()}
        chosen = input.shown_run()
        if isinstance(chosen, str) and chosen in numbers:
            desk.shown.set(numbers[chosen])

    @render.ui
    def downloads_shown() -> TagChild:
        run = desk.run_shown()
        if run is None:
            return tags.p(_nothing(desk), class_="waiting")
        return TagList(ui.output_ui("outdated_shown"), _downloads(run))

    @render.ui
    def verdict_shown() -> TagChild:
        run = desk.run_shown()
        return None if run is None else _verdict(run, outdated=desk.outdated())

    @render.ui
    def outdated_shown() -> TagChild:
        run = desk.run_shown()
        return _outdated(run) if run is not None and desk.outdated() else None

    def path_of(name: str) -> str:
        run = desk.run_shown()
        req(run is not None)
        assert run is not None
        return str(run.folder / name)

    def offer(identity: str, name: str) -> None:
        render.download_button(filename=name)(_named(identity, lambda: path_of(name)))

    for identity, name in (
        *_identities().items(),
        ("get_csv", "release.csv"),
        ("get_parquet", "release.parquet"),
    ):
        offer(identity, name)

    @render.download_button(filename=export.KEY)
    def get_key() -> str:
        run = desk.run_shown()
        req(run is not None and run.plan.keep_key)
        return path_of(export.KEY)

    @render.download_button(filename=DEMO)
    def get_demo() -> str:
        source = desk.source()
        req(source is not None and source.made_up)
        assert source is not None
        return str(source.path)

    @render.download_button(filename=export.EVERYTHING)
    async def get_everything() -> AsyncIterator[bytes]:
        run = desk.run_shown()
        req(run is not None)
        assert run is not None
        path = await asyncio.to_thread(export.bundle, run)
        with path.open("rb") as file:
            while piece := await asyncio.to_thread(file.read, _PIECE):
                yield piece


def _named(name: str, function: Any) -> Any:
    function.__name__ = name
    return function


def _identities() -> dict[str, str]:
    return {f"get_{name.replace('.', '_')}": name for name in FILES}


def _nothing(desk: Desk) -> str:
    """Return what stands where no run is shown."""
    if not desk.runs():
        return "Make a release first."
    return "The columns were edited after the last run. Make the release again, or choose a run above."


def _verdict(run: Run, *, outdated: bool) -> Tag:
    verdict = tags.span(run.result["verdict"])
    if not outdated:
        box, heading = VERDICTS[run.result["certificate"]["audit"]["status"]]
        return tags.div(tags.b(heading), verdict, class_=box, id="verdict")
    title = tags.b(f"Run {run.number}, not what the page shows now")
    return tags.div(
        tags.div(title, verdict, class_="verdict broken", id="verdict"), _outdated(run), id="outdated"
    )


def _outdated(run: Run) -> Tag:
    return parts.notice(
        f"Run {run.number} was made with other settings than those on this page now. "
        "Make the release again to use the new ones.",
        alert=True,
    )


def _seeded(run: Run) -> Tag | None:
    if "seed" not in run.plan.choices:
        return None
    return parts.notice(
        "This release is seeded: everyone who has the seed and the original table can undo the shuffle. "
        "Do not publish it.",
        alert=True,
    )


def _seed_below(run: Run) -> Tag | None:
    if "seed" not in run.plan.choices:
        return None
    return parts.notice(
        "The seed stands in the lines below and in no file. Keep it apart from the release.", alert=True
    )


def _comparison(runs: tuple[Run, ...], shown: int | None) -> Tag:
    """Return all runs side by side; one of them is looked at."""
    found = [run.result["certificate"] for run in runs]
    losses = [each["loss"]["gcp"] for each in found]
    worst = max(losses) or 1.0

    def line(title: str, cells: list[TagChild]) -> Tag:
        return tags.tr(tags.th(title, scope="row"), [tags.td(cell) for cell in cells])

    def bar(share: float, words: str) -> TagList:
        return TagList(tags.meter(value=f"{share:.4f}", min="0", max="1", aria_hidden="true"), words)

    columns = found[0]["loss"]["by_attribute"]
    return tags.div(
        tags.h3("Your runs, side by side"),
        tags.div(
            tags.table(
                tags.caption("The runs so far", class_="unseen"),
                tags.thead(
                    tags.tr(
                        tags.td(),
                        [
                            tags.th(
                                tags.label(
                                    tags.input(
                                        type="radio",
                                        name="shown_run",
                                        value=str(run.number),
                                        checked="" if run.number == shown else None,
                                    ),
                                    f"Run {run.number}",
                                ),
                                scope="col",
                            )
                            for run in runs
                        ],
                    )
                ),
                tags.tbody(
                    line("guarantee", [_promise_words(run) for run in runs]),
                    line("method", [each["method"] for each in found]),
                    line(
                        "lost",
                        [bar(loss / worst, percent(loss)) for loss in losses],
                    ),
                    line(
                        "matches of the least hidden record",
                        [f"{e['audit']['concealment']:,}" for e in found],
                    ),
                    line(
                        "highest risk", [percent(e["audit"]["risks"]["prosecutor"]["highest"]) for e in found]
                    ),
                    line("seconds", [f"{each['seconds']:.1f}" for each in found]),
                    [line(f"lost in {name}", [_loss_in(each, name) for each in found]) for name in columns],
                ),
            ),
            class_="scroll comparison shiny-input-radiogroup",
            id="shown_run",
            tabindex="0",
            role="region",
            aria_label="Runs side by side",
        ),
    )


def _loss_in(certificate: dict[str, Any], name: str) -> str:
    lost = certificate["loss"]["by_attribute"].get(name)
    return "" if lost is None else percent(lost)


def _promise_words(run: Run) -> str:
    parameters = {n: v for n, v in run.plan.model.parameters.items() if isinstance(v, int | float) and v}
    return ", ".join([run.plan.model.name, *(f"{name} = {value:g}" for name, value in parameters.items())])


def _downloads(run: Run) -> TagList:
    form = run.plan.form
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
        tags.ul(
            parts.download(f"get_{form}", f"release.{form}", "the table to publish"),
            [parts.download(identity, name, FILES[name]) for identity, name in _identities().items()],
            parts.download("get_everything", export.EVERYTHING, "all of these; neither the key nor the seed"),
            parts.download("get_demo", DEMO, "the made-up table") if run.plan.source.made_up else None,
            class_="downloads",
        ),
        key,
        tags.h3("The same without this page"),
        tags.p("Put the table and schema.toml into one folder, and run there:"),
        _seed_below(run),
        parts.code("Command line", export.command(run.plan), "command"),
        parts.code("Python", export.script(run.plan), "script"),
    )
