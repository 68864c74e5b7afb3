"""Pieces of the page: fields with a label, a hint and a place for what is wrong with them; tables; sections.

Texts become text: `htmltools` escapes all that is not made of its own tags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from htmltools import Tag, TagChild, TagList, tags

STEPS = {
    "data": "Data",
    "columns": "Columns",
    "promise": "Guarantee",
    "run": "Run",
    "result": "Result",
    "download": "Download",
}
"""The steps of the page, in their order, with their titles."""


def step(name: str, lead: str, *content: TagChild) -> Tag:
    """Return the section of a step."""
    number = list(STEPS).index(name) + 1
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

    It is a field for text: browsers call a number that they cannot read an empty field, and what is on the
    screen must reach the server. The limits are for the eye; the server checks what is entered.
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


def text(name: str, label: str, value: str = "", hint: TagChild = None, *, placeholder: str = "") -> Tag:
    """Return a field for a line of text."""
    entry = tags.input(
        type="text",
        id=name,
        value=value,
        placeholder=placeholder,
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
    """Return a field with a list to choose from; a bare one shows its label to screen readers only."""
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
    """Return a box to tick."""
    entry = tags.input(type="checkbox", id=name, checked="" if value else None, **_described(name))
    return tags.div(
        tags.label(entry, tags.span(label), class_="tick"), *_below(name, hint), class_="field ticked"
    )


def file(name: str, label: str, hint: TagChild = None, *, accept: str = "") -> Tag:
    """Return a field that takes a file, also one that is dropped on it."""
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
    """Return a button; the main one of a step stands out."""
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
    """Return a link that downloads a file; it works as soon as there is one."""
    link = tags.a(words, id=name, href="", download="", class_="shiny-download-link disabled", tabindex="-1")
    return tags.li(link, tags.span(hint, class_="hint") if hint else None)


def table(
    caption: str, head: Sequence[TagChild], rows: Sequence[Sequence[TagChild]], *, class_: str = ""
) -> Tag:
    """Return a table in a region that scrolls by itself where it is too wide."""
    return tags.div(
        tags.table(
            tags.caption(caption),
            tags.thead(tags.tr([tags.th(cell, scope="col") for cell in head])),
            tags.tbody([tags.tr([tags.td(cell) for cell in row]) for row in rows]),
        ),
        class_=f"scroll {class_}".strip(),
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def problem(name: str) -> Tag:
    """Return the place for what is wrong with a field, or with a step."""
    return tags.p(id=f"problem-{name}", class_="problem", role="alert")


def notice(*words: TagChild, alert: bool = False) -> Tag:
    """Return a remark that stands out."""
    return tags.div(*words, class_="notice alert" if alert else "notice")


def code(title: str, content: str, name: str) -> Tag:
    """Return lines to copy, with a button that does it."""
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
