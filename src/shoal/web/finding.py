"""Many columns: search, filter, pages and a role for all that were found; small pictures of their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from htmltools import Tag, TagChild, tags
from shiny import reactive, render

from shoal.errors import ShoalError
from shoal.web import parts
from shoal.web.fields import chosen, number
from shoal.web.state import Desk, Problems, needed, put

ON_PAGE = 40
"""Number of columns that are shown at once."""
FEW = 12
"""A table with at most this number of columns needs no search."""
ANY = {"": "any"}
SEARCH = ("columns_search", "columns_role")
"""The fields that say which columns are shown."""


def serve_finding(desk: Desk, roles: Mapping[str, str]) -> None:
    """Show the tools for many columns, and make them work.

    Parameters
    ----------
    desk
        The state.
    roles
        The roles of columns, with their descriptions.
    """

    @render.ui
    def columns_tools() -> TagChild:
        seen = desk.seen()
        if seen is None or len(seen["columns"]) <= FEW:
            return None
        return desk.memory.filled(_tools(roles))

    @render.ui
    def columns_found() -> TagChild:
        columns = needed(desk.seen())["columns"]
        found = len(found_places(desk))
        return None if len(columns) <= FEW else _found(found, len(columns))

    @render.ui
    def columns_pages() -> TagChild:
        pages = _pages(len(found_places(desk)))
        if pages == 1:
            return None
        numbers = {str(page): f"{page} of {pages}" for page in range(1, pages + 1)}
        return desk.memory.filled(
            tags.div(parts.choice("columns_page", "Page", numbers, "1"), class_="paging")
        )

    @reactive.effect(priority=2)
    @reactive.event(lambda: [desk.entry(name) for name in SEARCH], ignore_init=True)
    def _() -> None:
        desk.memory.recall({"columns_page": "1"})  # what is found otherwise is shown from its beginning

    @reactive.effect(priority=1)  # before the columns are drawn
    def _() -> None:
        if desk.seen() is not None:
            put(desk.places, found_places(desk)[_page(desk)])

    @reactive.effect
    @reactive.event(desk.input.bulk_apply)
    def _() -> None:
        try:
            role = chosen(desk.entry("bulk_role"), roles)
        except ShoalError as error:
            desk.tell({"bulk_role": str(error)})
            return
        found = found_places(desk)
        desk.memory.recall({f"role_{place}": role for place in found})
        desk.redraw()
        desk.say(f"{len(found):,} columns now have the role {roles[role]}.")


def found_places(desk: Desk) -> list[int]:
    """Return the numbers of the columns that the search finds, by the roles of now; all of a small table."""
    columns = needed(desk.seen())["columns"]
    if len(columns) <= FEW:
        return list(range(len(columns)))
    search, role = (desk.entry(name) or "" for name in SEARCH)
    wanted = str(search).lower()
    found = [place for place, column in enumerate(columns) if wanted in column["name"].lower()]
    with reactive.isolate():
        return [place for place in found if not role or desk.entry(f"role_{place}") == role]


def _pages(found: int) -> int:
    """Return the number of pages for columns that were found."""
    return max(1, -(-found // ON_PAGE))


def _page(desk: Desk) -> slice:
    """Return which of the columns that were found are on the page that is asked for; else the first ones."""
    try:
        page = number(desk.entry("columns_page")) or 1
    except ShoalError:
        page = 1
    if not 1 <= page <= _pages(len(found_places(desk))):
        page = 1
    first = (int(page) - 1) * ON_PAGE
    return slice(first, first + ON_PAGE)


def at_shown_fields(desk: Desk, names: Sequence[str], problems: Problems) -> Problems:
    """Return problems of columns such that those of columns that are not on the page name the column."""
    shown = {str(place) for place in desk.places()}
    found: Problems = {}
    for field, message in problems.items():
        place = field.rpartition("_")[2]
        if not place.isdecimal() or place in shown:
            found[field] = message
        else:
            found.setdefault("columns", f"{names[int(place)]}: {message}")
    return found


def histogram(counts: Sequence[int]) -> Tag | None:
    """Return a small picture of how often values occur; the words beside it say the same in numbers."""
    if not counts or max(counts) == 0:
        return None
    width, height, highest = 6, 22, max(counts)
    bars = [
        Tag(
            "rect",
            x=str(place * width),
            y=f"{height - height * count / highest:.1f}",
            width=str(width - 1),
            height=f"{height * count / highest:.1f}",
        )
        for place, count in enumerate(counts)
    ]
    return tags.svg(
        bars,
        viewBox=f"0 0 {width * len(counts)} {height}",
        preserveAspectRatio="xMinYMid",
        class_="histogram",
        width=str(width * len(counts)),
        height=str(height),
        aria_hidden="true",
    )


def _tools(roles: Mapping[str, str]) -> Tag:
    return tags.div(
        tags.div(
            parts.text("columns_search", "Search", "Part of the name of a column."),
            parts.choice("columns_role", "Role", {**ANY, **roles}, ""),
            tags.div(
                parts.choice("bulk_role", "Role for all columns found", roles, "other"),
                parts.button("bulk_apply", "Set this role"),
                class_="stack",
            ),
            class_="fields",
        ),
        class_="finding",
    )


def _found(found: int, count: int) -> Tag:
    """Return how many columns were found."""
    words = f"{count:,} columns." if found == count else f"{found:,} of {count:,} columns found."
    more = " All of them count, also those that are not shown." if min(found, ON_PAGE) < count else ""
    return tags.p(words, more, class_="hint", id="columns-found")
