"""Parts of the page: sections, tables, and fields with a label, a hint and a place for an error message.

`htmltools` escapes all text that is not made of its own tags.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from htmltools import Tag, TagChild, TagList, tags
from shiny import ui

STEPS = {
    "data": "Data",
    "columns": "Columns",
    "promise": "Privacy model",
    "run": "Run",
    "result": "Result",
    "attack": "Attack it",
    "download": "Download",
    "use": "Use it",
}
"""The steps of the page, in their order, with their titles."""


def number_of(name: str) -> int:
    """Return the number of a step, as it is shown."""
    return list(STEPS).index(name) + 1


def step(name: str, lead: str, *content: TagChild) -> Tag:
    """Return the section of a step."""
    number = number_of(name)
    return tags.section(
        tags.h2(tags.span(str(number), class_="number", aria_hidden="true"), STEPS[name], tabindex="-1"),
        tags.p(lead, class_="lead"),
        *content,
        id=f"step-{name}",
        aria_label=f"Step {number}: {STEPS[name]}",
    )


def number(
    name: str,
    label: str,
    value: float | None,
    hint: TagChild = None,
    *,
    least: float | None = None,
    most: float | None = None,
    whole: bool = False,
) -> Tag:
    """Return a field for a number.

    It is a text field: browsers report an unreadable number as an empty field, and the server must see what
    is on the page. The limits are informative; the server checks the number.
    """
    entry = tags.input(
        type="text",
        id=name,
        value="" if value is None else _plain(value),
        min=least,
        max=most,
        inputmode="numeric" if whole else "decimal",
        autocomplete="off",
        spellcheck="false",
        **_described(name),
    )
    return _field(name, label, entry, hint)


def text(name: str, label: str, hint: TagChild = None, value: str = "") -> Tag:
    """Return a field for a line of text."""
    entry = tags.input(
        type="text",
        id=name,
        value=value,
        autocomplete="off",
        spellcheck="false",
        **_described(name),
    )
    return _field(name, label, entry, hint)


def choice(
    name: str,
    label: str,
    options: Mapping[str, str],
    selected: str | None,
    hint: TagChild = None,
    *,
    bare: bool = False,
) -> Tag:
    """Return a drop-down list; a bare one shows its label to screen readers only."""
    entry = tags.select(
        [
            tags.option(words, value=value, selected="" if value == selected else None)
            for value, words in options.items()
        ],
        id=name,
        **_described(name),
    )
    return _field(name, label, entry, hint, bare=bare)


def tick(name: str, label: str, hint: TagChild = None, *, value: bool = False) -> Tag:
    """Return a checkbox."""
    entry = tags.input(type="checkbox", id=name, checked="" if value else None, **_described(name))
    return tags.div(
        tags.label(entry, tags.span(label), class_="tick"), *_below(name, hint), class_="field ticked"
    )


def file(name: str, label: str, hint: TagChild = None, *, accept: str = "") -> Tag:
    """Return a field for a file, which can also be dropped on it."""
    return tags.div(
        tags.div(
            tags.label(label, for_=name, class_="label"),
            tags.input(type="file", id=name, accept=accept, **_described(name)),
            class_="drop input-group",  # Shiny lets files be dropped on what has this class
        ),
        tags.div(
            tags.div(class_="progress-bar"),
            id=f"{name}_progress",
            class_="progress active shiny-file-input-progress",
        ),
        *_below(name, hint),
        class_="field shiny-input-container",
    )


def button(name: str, words: TagChild, *, main: bool = False, disabled: bool = False) -> Tag:
    """Return a button; the main button of a step is highlighted."""
    kind = "main" if main else "plain"
    return tags.button(
        words,
        id=name,
        type="button",
        class_=f"action-button {kind}",
        disabled="" if disabled else None,
        data_val="0",
    )


def download(name: str, words: TagChild, hint: TagChild = None) -> Tag:
    """Return a link to a file, which is enabled as soon as the file exists."""
    link = tags.a(words, id=name, href="", download="", class_="shiny-download-link disabled", tabindex="-1")
    return tags.li(link, tags.span(hint, class_="hint") if hint else None)


def table(
    caption: str,
    head: Sequence[TagChild],
    rows: Sequence[Sequence[TagChild]],
    *,
    class_: str = "",
    hidden_caption: bool = False,
) -> Tag:
    """Return a table that scrolls horizontally if it is too wide; a hidden caption is for screen readers."""
    return tags.div(
        tags.table(
            tags.caption(caption, class_="unseen" if hidden_caption else None),
            tags.thead(tags.tr([tags.th(cell, scope="col") for cell in head])),
            tags.tbody([tags.tr([tags.td(cell) for cell in row]) for row in rows]),
        ),
        class_=f"scroll {class_}".strip(),
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def facts(pairs: Iterable[tuple[TagChild, TagChild]]) -> Tag:
    """Return a list of names and what is said about each."""
    return tags.dl([TagList(tags.dt(name), tags.dd(words)) for name, words in pairs])


def fold(title: str, *content: TagChild, name: str) -> Tag:
    """Return a part of a result that can be unfolded, as the panels of a report are on the page."""
    return tags.section(
        tags.details(tags.summary(tags.h3(title)), *content, class_="part"),
        id=name,
        aria_label=title,
    )


def output(name: str) -> Tag:
    """Return the place of a large output, which screen readers do not read out when it changes."""
    return ui.output_ui(name, aria_live="off")


def problem(name: str) -> Tag:
    """Return the place for the error message of a field or a step."""
    return tags.p(id=f"problem-{name}", class_="problem", role="alert")


def notice(*words: TagChild, alert: bool = False) -> Tag:
    """Return a highlighted note."""
    return tags.div(*words, class_="notice alert" if alert else "notice")


def code(title: str, content: str, name: str) -> Tag:
    """Return lines of code with a copy button."""
    return tags.figure(
        tags.figcaption(
            tags.span(title), tags.button("Copy", type="button", class_="copy", data_copies=name)
        ),
        tags.pre(tags.code(content, id=name), tabindex="0"),
        class_="code",
    )


def _plain(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"


def _field(name: str, label: str, entry: Tag, hint: TagChild, *, bare: bool = False) -> Tag:
    return tags.div(
        tags.label(label, for_=name, class_="unseen" if bare else "label"),
        entry,
        *_below(name, hint),
        class_="field",
    )


def _below(name: str, hint: TagChild) -> TagList:
    return TagList(tags.p(hint, id=f"hint-{name}", class_="hint") if hint else None, problem(name))


def _described(name: str) -> dict[str, str]:
    return {"aria-describedby": f"hint-{name} problem-{name}"}
