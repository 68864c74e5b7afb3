"""What the fields of the page contain, so that they can be drawn again as they were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from htmltools import Tag, TagChild, TagList
from shiny import Session, reactive

FILE_FIELDS = ("upload", "project", "levels_")
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
        # What fields contain that were drawn and not heard of since: what was heard before, and the content.
        self._drawn: dict[str, tuple[Any, Any]] = {}
        self._usual: dict[str, Any] = {}
        self._known: dict[str, Any] = {}

    def follow(self, session: Session) -> None:
        """Remember what is entered on the page of a session from now on."""
        self._known = {}
        session.on_flush(lambda: self._learn(session), once=False)

    def recall(self, entries: Mapping[str, Any]) -> None:
        """Fill fields, when they are drawn the next time, with a given content."""
        for name, content in entries.items():
            self._usual.pop(name, None)
            self._draw(name, content)

    def forget(self) -> None:
        """Draw all fields as if they were untouched."""
        self._usual |= self.entries

    def filled(self, content: Tag | TagList) -> Tag | TagList:
        """Return content of the page with all fields filled as they were; untouched fields stay as given."""
        for field, usual in _fields(content):
            name = str(field.attrs["id"])
            untouched = name in self._usual and self.entries.get(name) == self._usual[name]
            self._usual[name] = usual
            fills = not untouched and name in self.entries and _fill(field, self.entries[name])
            self._draw(name, self.entries[name] if fills else usual)
        return content

    def content(self, name: str, heard: Any) -> Any:
        """Return the content of a field, given what the page said last: until it speaks, what was drawn."""
        before, drawn = self._drawn.get(name, (heard, heard))
        return drawn if heard == before else heard

    def _draw(self, name: str, content: Any) -> None:
        self.entries[name] = content
        self._drawn[name] = (self._known.get(name), content)

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
                    self._drawn.pop(name, None)


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


def _fill(field: Tag, value: Any) -> bool:
    """Fill a field; return whether it can have this value."""
    if field.name == "input" and field.attrs.get("type") == "text":
        if isinstance(value, str):
            field.attrs["value"] = value
        return isinstance(value, str)
    if field.name == "input":
        _mark(field, "checked", value is True)
        return isinstance(value, bool)
    options = list(_options(field.children))
    known = {str(each.attrs["value"]) for each in options}
    several = _is_group(field, "checkboxgroup")
    wanted = set(value or ()) if several and isinstance(value, list | tuple | None) else {value}
    if not wanted <= known:
        return False
    for each in options:
        _mark(each, "selected" if field.name == "select" else "checked", str(each.attrs["value"]) in wanted)
    return True


def _mark(tag: Tag, how: str, marked: bool) -> None:
    tag.attrs.pop(how, None)
    if marked:
        tag.attrs[how] = ""
