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
ANY = {"": "any"}


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
        if seen is None or len(seen["columns"]) <= ON_PAGE:
            return None
        return desk.memory.filled(_tools(len(seen["columns"]), roles))

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
    if len(columns) <= ON_PAGE:
        return list(range(len(columns)))
    wanted, role = str(desk.entry("columns_search") or "").lower(), desk.entry("columns_role") or ""
    found = [place for place, column in enumerate(columns) if wanted in column["name"].lower()]
    with reactive.isolate():
        return [place for place in found if not role or desk.entry(f"role_{place}") == role]


def _page(desk: Desk) -> slice:
    """Return which of the columns that were found are on the page that is asked for."""
    if len(needed(desk.seen())["columns"]) <= ON_PAGE:
        return slice(0, ON_PAGE)
    try:
        page = number(desk.entry("columns_page")) or 1
    except ShoalError:
        page = 1
    first = (max(1, int(page)) - 1) * ON_PAGE
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


def _tools(count: int, roles: Mapping[str, str]) -> Tag:
    pages = -(-count // ON_PAGE)
    return tags.div(
        tags.p(f"{count:,} columns, {ON_PAGE} on a page. All of them count, also those not on this page."),
        tags.div(
            parts.text("columns_search", "Search", "Part of the name of a column."),
            parts.choice("columns_role", "Role", {**ANY, **roles}, ""),
            parts.number("columns_page", "Page", 1, f"1 to {pages:,}, or fewer.", least=1, whole=True),
            parts.choice("bulk_role", "Role for all columns found", roles, "other"),
            class_="fields",
        ),
        parts.button("bulk_apply", "Set this role for all columns found"),
        class_="finding",
    )
