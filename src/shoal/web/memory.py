"""What the fields of the page contain, so that they can be drawn again as they were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from htmltools import Tag, TagChild, TagList
from shiny import Session, reactive

FILE_FIELDS = ("upload", "levels_")
"""The beginnings of the names of fields for files, which a browser does not fill again."""
_NOT_KEPT = (*FILE_FIELDS, ".clientdata", "confirmed", "key", "last_key", "folder_file")


class Memory:
    """The content of the fields of a page, which outlives the page.

    Attributes
    ----------
    entries
        The last content of each field.
    """

    def __init__(self) -> None:
        self.entries: dict[str, Any] = {}
        self._usual: dict[str, Any] = {}
        self._known: dict[str, Any] = {}

    def follow(self, session: Session) -> None:
        """Remember what is entered on the page of a session from now on."""
        self._known = {}
        session.on_flush(lambda: self._learn(session), once=False)

    def recall(self, entries: Mapping[str, Any]) -> None:
        """Fill fields, when they are drawn the next time, with a given content."""
        self.entries |= entries

    def forget(self) -> None:
        """Draw all fields as if they were untouched."""
        self._usual |= self.entries

    def filled(self, content: Tag | TagList) -> Tag | TagList:
        """Return content of the page with all fields filled as they were; untouched fields stay as given."""
        for field, usual in _fields(content):
            name = str(field.attrs["id"])
            untouched = name in self._usual and self.entries.get(name) == self._usual[name]
            self._usual[name] = usual
            if untouched:
                self.entries[name] = usual
            elif name in self.entries:
                _fill(field, self.entries[name])
        return content

    def _learn(self, session: Session) -> None:
        with reactive.isolate():
            for name in dir(session.input):
                value = session.input[name]
                if name.startswith(_NOT_KEPT) or not value.is_set():
                    continue
                content = value()
                if name not in self._known or self._known[name] != content:
                    self._known[name] = content
                    self.entries[name] = content


def _fields(content: TagChild) -> Iterator[tuple[Tag, Any]]:
    """Yield the fields in some content, each with the value that it would have."""
    if isinstance(content, Tag):
        kind = content.attrs.get("type")
        if content.attrs.get("id") is not None:
            if content.name == "select":
                yield content, next(_checked(content, "selected"), None)
            elif content.name == "input" and kind == "text":
                yield content, content.attrs.get("value", "")
            elif content.name == "input" and kind == "checkbox":
                yield content, "checked" in content.attrs
            elif _is_group(content, "radiogroup"):
                yield content, next(_checked(content, "checked"), None)
            elif _is_group(content, "checkboxgroup"):
                yield content, tuple(_checked(content, "checked")) or None
        yield from _fields(content.children)
    elif isinstance(content, Iterable) and not isinstance(content, str):
        for child in content:
            yield from _fields(child)


def _is_group(content: Tag, kind: str) -> bool:
    return f"shiny-input-{kind}" in str(content.attrs.get("class", "")).split()


def _options(content: TagChild) -> Iterator[Tag]:
    """Yield the options of a list, or the buttons or boxes of a group."""
    if isinstance(content, Tag):
        if content.name in ("option", "input"):
            yield content
        yield from _options(content.children)
    elif isinstance(content, Iterable) and not isinstance(content, str):
        for child in content:
            yield from _options(child)


def _checked(content: Tag, how: str) -> Iterator[str]:
    return (str(each.attrs["value"]) for each in _options(content.children) if how in each.attrs)


def _fill(field: Tag, value: Any) -> None:
    """Fill a field; a value that it cannot have is ignored."""
    if field.name == "input" and field.attrs.get("type") == "text":
        if isinstance(value, str):
            field.attrs["value"] = value
        return
    if field.name == "input":
        _mark(field, "checked", value is True)
        return
    options = list(_options(field.children))
    wanted = {value} if isinstance(value, str) else set(value or ())
    single = field.name == "select" or _is_group(field, "radiogroup")
    if single and not wanted & {str(each.attrs["value"]) for each in options}:
        return
    for each in options:
        _mark(each, "selected" if field.name == "select" else "checked", str(each.attrs["value"]) in wanted)


def _mark(tag: Tag, how: str, marked: bool) -> None:
    tag.attrs.pop(how, None)
    if marked:
        tag.attrs[how] = ""
