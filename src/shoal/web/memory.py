"""What the fields of the page contain, so that they can be drawn again as they were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from inspect import signature
from typing import Any

from htmltools import Tag, TagChild, TagList
from shiny import Inputs, Session, reactive

FILE_FIELDS = ("upload", "project", "levels_", "earlier_", "after_")
"""The beginnings of the names of fields for files, which a browser does not fill again."""
_NOT_KEPT = (*FILE_FIELDS, ".clientdata", "confirmed", "key", "last_key", "folder_file")


_NAMED = "name" in signature(reactive.Value).parameters


def _value(name: str, *content: Any) -> reactive.Value[Any]:
    """Return a value with a name: Shiny would look for one in the whole call stack, which takes long."""
    options: dict[str, Any] = {"name": f"input.{name}"} if _NAMED else {}
    return reactive.Value(*content, **options)


class Fields:
    """The fields of a page, by name or as attributes; the server can set them, too.

    Shiny makes a value that only the page can set for each field. Here, each gets one that can also be set by
    the server, before anything depends on it.

    Parameters
    ----------
    inputs
        The fields as Shiny knows them.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._own: dict[str, reactive.Value[Any]] = {}

    def __getitem__(self, name: str) -> reactive.Value[Any]:
        if name not in self._own:
            with reactive.isolate():
                known = self._inputs[name]
                self._own[name] = _value(name, known()) if known.is_set() else _value(name)
            self._inputs[name] = self._own[name]
        return self._own[name]

    def __getattr__(self, name: str) -> reactive.Value[Any]:
        return self[name]

    def said(self) -> Iterator[tuple[str, reactive.Value[Any]]]:
        """Yield all fields that the page has said something about, with their names."""
        for name in dir(self._inputs):
            yield name, self._inputs[name]


class Memory:
    """The content of the fields of a page, which outlives the page."""

    def __init__(self) -> None:
        self._entries: dict[str, Any] = {}
        self._outdated = False
        self._usual: dict[str, Any] = {}
        self._known: dict[str, Any] = {}
        self._fields: Fields | None = None

    def follow(self, session: Session, fields: Fields) -> None:
        """Remember what is entered in the fields of the page of a session from now on."""
        self.learn()
        self._known, self._fields = {}, fields
        session.on_flush(self._expire, once=False)

    @property
    def entries(self) -> dict[str, Any]:
        """The last content of each field."""
        if self._outdated:
            self.learn()
        return self._entries

    def recall(self, entries: Mapping[str, Any]) -> None:
        """Fill fields, when they are drawn the next time, with a given content."""
        self.learn()
        for name, content in entries.items():
            self._usual.pop(name, None)
            self._draw(name, content)

    def forget(self) -> None:
        """Draw all fields as if they were untouched."""
        self.learn()
        self._usual |= self._entries

    def expect(self, usual: Mapping[str, Any]) -> None:
        """Give fields their usual content before they are drawn, unless they were filled otherwise."""
        self.learn()
        for name, content in usual.items():
            self._draw(name, self._wanted(name, content))

    def filled(self, content: Tag | TagList) -> Tag | TagList:
        """Return content of the page with all fields filled as they were; untouched fields stay as given."""
        self.learn()
        for field, usual in _fields(content):
            name = str(field.attrs["id"])
            wanted = self._wanted(name, usual)
            fills = wanted == usual or _fill(field, wanted)
            self._draw(name, wanted if fills else usual)
        return content

    def _wanted(self, name: str, usual: Any) -> Any:
        """Return what a field should contain: the usual content, or what was entered instead."""
        untouched = name in self._usual and self._entries.get(name) == self._usual[name]
        self._usual[name] = usual
        return usual if untouched else self._entries.get(name, usual)

    def _draw(self, name: str, content: Any) -> None:
        """Take for granted that a field contains what it is drawn with: the page says so a little later."""
        self._entries[name] = content
        if self._fields is None:
            return
        with reactive.isolate():
            value = self._fields[name]
            if value.is_set() and value() != content:
                value.set(content)
        self._known[name] = content

    def learn(self) -> None:
        """Read what the page said about its fields.

        Pages send one message for each field, so this is done when it is needed, not after each message.
        """
        self._outdated = False
        if self._fields is None:
            return
        with reactive.isolate():
            for name, value in self._fields.said():
                if name.startswith(_NOT_KEPT) or not value.is_set():
                    continue
                content = value()
                if name not in self._known or self._known[name] != content:
                    self._known[name] = content
                    self._entries[name] = content

    def _expire(self) -> None:
        self._outdated = True


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
