"""The fifth step: risk and information loss of a release, compared with other runs."""

from __future__ import annotations

from typing import Any

from htmltools import HTML, Tag, TagChild, TagList, tags
from shiny import reactive, render, ui

from shoal.kinds.limits import in_words, is_limited
from shoal.measures import MEASURES, headlines
from shoal.report.document import VERDICTS
from shoal.report.panel import percent
from shoal.schema import Column
from shoal.web import export, parts
from shoal.web.cards import ROLES
from shoal.web.columns import fields_of
from shoal.web.rows import rows_part
from shoal.web.state import Desk, Run, needed
from shoal.web.summary import reminder
from shoal.web.tasks import as_on_page
from shoal.web.together import together_part

_COLUMN_WORDS = {
    "hierarchy": "hierarchy",
    "rule": "widths or lengths",
    "missing": "missing values",
    "marks": "texts that mean missing",
    "weight": "weight",
    "order": "order",
    "dates": "date format",
    "separator": "item separator",
}
"""The fields of a column, as a result calls them."""
TERMS = {
    "crowd": "The rows among which a record hides: an attacker cannot tell which of them is its own.",
    "match": "A row that could be the record's own, given that every record needs a row.",
    "highest risk": "The highest probability with which an attacker picks the right row for a record.",
    "prosecutor": "An attacker who knows that a certain person is in the table.",
    "journalist": "An attacker who knows a larger population, of which the table has a part.",
    "marketer": "An attacker who tries to link all records, and counts how many are right.",
}
"""The terms of a result besides its measures, with their meanings."""
LONGEST_VERDICT = 600
"""Maximum number of characters of a verdict that is shown unfolded."""
_DIFFERENT = "columns that differ from the first run"


def result_step() -> Tag:
    """Return the section that shows a result."""
    return parts.step(
        "result",
        "What an attacker can learn, and how much information was lost.",
        ui.output_ui("verdict_shown"),
        parts.output("comparison_shown"),
        parts.output("result_shown"),
        tags.div(rows_part(), together_part(), class_="report"),
    )


def serve_result(desk: Desk) -> None:
    """Make the fifth step work."""

    @render.ui
    def result_shown() -> TagChild:
        run = desk.run_shown()
        if run is None:
            return tags.p(nothing_shown(desk), class_="waiting")
        return _result(run)

    @render.ui
    def verdict_shown() -> TagChild:
        run = desk.run_shown()
        if run is None:
            return None
        return TagList(_verdict(run, outdated=desk.outdated()), reminder(warnings_of(run), "result-dangers"))

    @render.ui
    def comparison_shown() -> TagChild:
        runs, shown = desk.runs(), desk.shown()
        return _comparison(runs, shown) if len(runs) > 1 or (runs and shown is None) else None

    @reactive.effect
    @reactive.event(desk.input.shown_run)
    def _() -> None:
        numbers = {str(run.number): run.number for run in desk.runs()}
        chosen = desk.input.shown_run()
        if isinstance(chosen, str) and chosen in numbers:
            desk.shown.set(numbers[chosen])

    @reactive.effect
    @reactive.event(desk.input.restore_run)
    def _() -> None:
        _restore(desk)


def _restore(desk: Desk) -> None:
    """Bring back the settings of the selected run."""
    run = needed(desk.run_shown())
    kept = needed(run.snapshot)
    if not kept.source.path.is_file():
        desk.tell({"data": f"{kept.source.name} is no longer there. Choose it again."})
        return
    desk.stop()
    desk.tell({})
    desk.restore(kept)
    desk.say(f"The settings of run {run.number} are on the page again.")


def nothing_shown(desk: Desk) -> str:
    """Return the text that is shown instead of a run."""
    if not desk.runs():
        return "Make a release first."
    return "The columns were edited after the last run. Make the release again or choose a run above."


def outdated_notice(run: Run) -> Tag:
    """Return the note that a run was made with other settings than those on the page."""
    return parts.notice(
        f"Run {run.number} was made with other settings than those now on the page. "
        "Make the release again to use the new ones.",
        alert=True,
    )


def warnings_of(run: Run) -> tuple[str, ...]:
    """Return all warnings about a release: those that were confirmed, and what came up when it was made.

    Each is given once: the certificate says in its own words what was confirmed before the run.
    """
    plan = run.plan
    suspects = run.snapshot.weighed["suspects"] if run.snapshot is not None else ()
    known = (
        *(f"Column {name!r} " for name in suspects),
        *(
            f"Nothing is guaranteed about the sensitive column {column.name!r}:"
            for column in plan.schema.sensitive
            if not plan.model.guards(column.name)
        ),
    )
    made = [as_on_page(text) for text in run.result["certificate"]["warnings"] if not text.startswith(known)]
    never = [text for text in made if text.startswith("Do not publish")]
    return (*never, *plan.dangers, *(text for text in made if text not in never))


def _result(run: Run) -> Tag:
    result = run.result
    return tags.div(
        [parts.notice(note) for note in result["certificate"].get("notes", ())],
        _used(run),
        tags.ul(
            [tags.li(tags.b(figure), tags.span(words)) for figure, words in result["tiles"]],
            class_="tiles",
        ),
        _glossary(),
        HTML(result["panels"]),  # made by the report, which escapes what it shows
        class_="report",
    )


def _used(run: Run) -> Tag:
    """Return what a run was made with."""
    plan = run.plan
    reading = [
        f"{name} {value!r}" for name in ("delimiter", "encoding") if (value := getattr(plan.source, name))
    ]
    choices = {"method": run.result["certificate"]["method"], **plan.choices}
    choices |= choices.pop("about", {})
    facts = {
        "Table": ", ".join([plan.source.name, *reading]),
        "Privacy model": promise_words(run),
        **{name.replace("_", " ").capitalize(): str(value) for name, value in choices.items()},
        **({"After": plan.after.release[0]} if plan.after else {}),
        **{column.name: _described(column) for column in plan.schema},
    }
    return tags.details(
        tags.summary(f"What run {run.number} was made with"),
        parts.facts(facts.items()),
        class_="more",
        id="used",
    )


def _described(column: Column) -> str:
    """Return what a column was taken for, in words: role, kind, and what is not the default."""
    entries, usual = fields_of(column), fields_of(Column(column.name))
    more = [
        f"{words}: {entries[name]}"
        for name, words in _COLUMN_WORDS.items()
        if entries[name] and entries[name] != usual[name]
    ]
    more += [f"limits: {in_words(column)}"] if is_limited(column) else []
    return "; ".join([ROLES[column.role.value], f"kind: {column.kind.value}", *more])


def _glossary() -> Tag:
    """Return the terms of a result with their meanings."""
    measures = {each.label: each.help for each in MEASURES.values() if each.label}
    return tags.details(
        tags.summary("What do the terms mean?"),
        parts.facts({**TERMS, **measures}.items()),
        class_="more",
        id="terms",
    )


def _verdict(run: Run, *, outdated: bool) -> Tag:
    verdict = _shortened(run.result["verdict"])
    if not outdated:
        status = run.result["status"]
        box, heading = VERDICTS["caution" if status == "holds" and run.plan.dangers else status]
        return tags.div(tags.b(heading), verdict, class_=box, id="verdict")
    title = tags.b(f"Run {run.number}: made with other settings")
    return tags.div(
        tags.div(title, verdict, class_="verdict broken", id="verdict"),
        outdated_notice(run),
        parts.button("restore_run", f"Use the settings of run {run.number} again"),
        id="outdated",
    )


def _shortened(words: str) -> Tag:
    """Return a text; of a long one, such as about hundreds of columns, the beginning, and the rest folded."""
    if len(words) <= LONGEST_VERDICT:
        return tags.span(words)
    beginning = words[:LONGEST_VERDICT].rpartition(" ")[0]
    return tags.div(f"{beginning} …", tags.details(tags.summary("All of it"), words, class_="more"))


def _comparison(runs: tuple[Run, ...], shown: int | None) -> Tag:
    """Return a table of all runs, in which one of them is selected."""
    return tags.div(
        tags.h3("Comparison of your runs"),
        parts.notice(
            "These runs have different tables or columns: their figures cannot be compared directly.",
            alert=True,
        )
        if _differ(runs)
        else None,
        tags.div(
            tags.table(
                tags.caption("The runs so far", class_="unseen"),
                tags.thead(tags.tr(tags.td(), [_choice_of(run, run.number == shown) for run in runs])),
                tags.tbody(_comparison_lines(runs)),
            ),
            class_="scroll comparison shiny-input-radiogroup",
            id="shown_run",
            tabindex="0",
            role="region",
            aria_label="Comparison of runs",
        ),
    )


def _choice_of(run: Run, chosen: bool) -> Tag:
    """Return the heading of a run's column, with the button that selects the run."""
    value, checked = str(run.number), "" if chosen else None
    button = tags.input(type="radio", name="shown_run", value=value, checked=checked)
    return tags.th(tags.label(button, f"Run {run.number}"), scope="col")


def _comparison_lines(runs: tuple[Run, ...]) -> list[Tag]:
    """Return the lines of the comparison: guarantee, information loss, risk and time."""
    found = [run.result["certificate"] for run in runs]
    losses = [each["loss"]["gcp"] for each in found]
    worst = max(losses) or 1.0
    columns = {name: None for each in found for name in each["loss"]["by_attribute"]}
    differing = {str(run.plan.source.name) for run in runs}
    cells: dict[str, list[TagChild]] = {
        **({"table": [run.plan.source.name for run in runs]} if len(differing) > 1 else {}),
        **({_DIFFERENT: [_different(run, runs[0]) for run in runs]} if _differ(runs) else {}),
        "privacy model": [promise_words(run) for run in runs],
        "method": [each["method"] for each in found],
        "information loss": [_bar(loss / worst, percent(loss)) for loss in losses],
        **{
            each.heading or "": [each.compared(e["loss"].get(each.name)) for e in found]
            for each in headlines()
            if each.name != "gcp"
        },
        "fewest matches of a record": [f"{each['audit']['concealment']:,}" for each in found],
        "highest risk": [percent(each["audit"]["risks"]["prosecutor"]["highest"]) for each in found],
        "time": [f"{each['seconds']:.1f} s" for each in found],
        **{f"loss in {name}": [_loss_in(each, name) for each in found] for name in columns},
    }
    return [
        tags.tr(tags.th(title, scope="row"), [tags.td(cell) for cell in line])
        for title, line in cells.items()
    ]


def _differ(runs: tuple[Run, ...]) -> bool:
    """Return whether runs have different tables or columns."""
    first = runs[0].plan
    return any(run.plan.source != first.source or run.plan.schema != first.schema for run in runs)


def _different(run: Run, first: Run) -> str:
    """Return which columns of a run are not described as in the first one."""
    if run is first:
        return ""
    here, there = ({column.name: column for column in each.plan.schema} for each in (run, first))
    names = [name for name in {**there, **here} if here.get(name) != there.get(name)]
    read = "" if run.plan.source == first.plan.source else "read from another table or in another way"
    return "; ".join(filter(None, (", ".join(names), read))) or "none"


def _bar(share: float, words: str) -> TagList:
    return TagList(tags.meter(value=f"{share:.4f}", min="0", max="1", aria_hidden="true"), words)


def _loss_in(certificate: dict[str, Any], name: str) -> str:
    lost = certificate["loss"]["by_attribute"].get(name)
    return "" if lost is None else percent(lost)


def promise_words(run: Run) -> str:
    """Return the privacy model of a run with all that was chosen, in short."""
    parameters = {
        name: value
        for name, value in export.given_parameters(run.plan.model).items()
        if isinstance(value, int | float)
    }
    diverse = getattr(run.plan.model, "diverse", None)
    words = (name if value is True else f"{name} = {value:g}" for name, value in parameters.items())
    return ", ".join([run.plan.model.name, *words, *([f"only of {', '.join(diverse)}"] if diverse else [])])
