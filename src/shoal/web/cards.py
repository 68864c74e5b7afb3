"""The card of a column: what is known about it, and the fields that suit its role and its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from htmltools import Tag, TagList, tags

from shoal.base.choices import CHOICES
from shoal.base.wording import plural
from shoal.report.panel import percent
from shoal.schema import Kind, Missing, Role
from shoal.web import parts
from shoal.web.finding import histogram

ROLES = {
    Role.QUASI.value: "quasi-identifier: generalized",
    Role.SENSITIVE.value: "sensitive: must not be learned",
    Role.IDENTIFIER.value: "identifier: left out",
    Role.PERSON.value: "person: whose record it is, left out",
    Role.WEIGHT.value: "survey weight: in groups if it identifies",
    Role.OTHER.value: "other: published unchanged",
}
KINDS = {kind.value: kind.value for kind in Kind}
MISSINGS = {
    Missing.CATEGORY.value: "treat as a value",
    Missing.SUPPRESS.value: "leave the record out",
    Missing.ERROR.value: "refuse the table",
}
HIERARCHIES = {
    "none": "none: intervals or sets",
    "intervals": "intervals of fixed widths",
    "prefixes": "first characters of a code",
    "file": "from a file or the editor",
}
_PROTECTED = (Role.QUASI, Role.SENSITIVE)
_GENERALIZED = (Role.QUASI,)


def column_card(place: int, column: dict[str, Any], files: Mapping[str, tuple[str, Path]]) -> Tag:
    """Return the card of a column.

    Parameters
    ----------
    place
        The number of the column.
    column
        What is known about it, as the task `look` returns it.
    files
        Name and path of the hierarchy files, by field.
    """
    missing = f", {percent(column['missing_share'])} missing" if column["missing"] else ""
    unique = f", {percent(column['unique_share'])} of the records unique" if column["unique_share"] else ""
    return tags.li(
        tags.div(
            tags.h3(column["name"]),
            tags.p(f"{plural(column['distinct'], 'value')}{missing}{unique}", class_="hint"),
            tags.p(f"{column['reason'][:1].upper()}{column['reason'][1:]}.", class_="reason"),
            class_="about",
        ),
        histogram(column["histogram"]),
        tags.div(
            parts.choice(f"role_{place}", f"Role of {column['name']}", ROLES, column["role"], bare=True),
            tags.details(
                tags.summary("Kind, hierarchy, limits and more"),
                tags.div(
                    parts.choice(
                        f"kind_{place}", "Kind", KINDS, column["kind"], "Decides how values are generalized."
                    ),
                    *_about_kind(place, column),
                    *_about_hierarchy(place, files),
                    *_limits(place),
                    parts.choice(f"missing_{place}", "Missing values", MISSINGS, Missing.CATEGORY.value),
                    parts.text(
                        f"marks_{place}", "Texts that mean missing", "Separated by commas, such as ?, n/a."
                    ),
                    _for(
                        parts.number(
                            f"weight_{place}",
                            "Weight",
                            1,
                            "How much information loss in this column counts; 1 if empty.",
                            least=0,
                        ),
                        roles=_PROTECTED,
                    ),
                    class_="fields",
                ),
                class_="more",
            ),
            class_="what",
        ),
        class_=f"column {column['role']}",
    )


def _about_kind(place: int, column: Mapping[str, Any]) -> TagList:
    """Return the fields that only some kinds have."""
    return TagList(
        _for(
            parts.text(
                f"order_{place}",
                "Order",
                'All values, lowest first, separated by commas; "a, b" in quotes is one value.',
                column.get("order", ""),
            ),
            kinds=lambda kind: kind.needs_domain,
        ),
        _for(
            parts.text(
                f"dates_{place}",
                "Date format",
                "Such as %d.%m.%Y, if not YYYY-MM-DD.",
                column.get("dates", ""),
            ),
            kinds=lambda kind: "date_format" in kind.settings,
        ),
        _for(
            parts.text(f"separator_{place}", "Item separator", "Such as ; if not a space."),
            kinds=lambda kind: "separator" in kind.settings,
        ),
    )


def _about_hierarchy(place: int, files: Mapping[str, tuple[str, Path]]) -> TagList:
    attached = files.get(f"levels_{place}")
    return TagList(
        _for(
            parts.choice(
                f"hierarchy_{place}",
                "Hierarchy",
                HIERARCHIES,
                "none",
                tags.button("Edit the groups", type="button", class_="edits", data_edits=str(place)),
            ),
            kinds=_has_hierarchy,
            roles=_PROTECTED,
        ),
        _for(
            parts.text(
                f"rule_{place}",
                "Widths or lengths",
                "Interval widths such as 5, 10, or numbers of first characters such as 3, 2.",
            ),
            kinds=_has_hierarchy,
            roles=_PROTECTED,
            hierarchies=("intervals", "prefixes"),
        ),
        _for(
            parts.file(
                f"levels_{place}",
                "Hierarchy file",
                "CSV with a line for each value: the value, then wider and wider groups."
                + (f" Attached: {attached[0]}." if attached else ""),
                accept=".csv,.txt,.tsv",
            ),
            kinds=_has_hierarchy,
            roles=_PROTECTED,
            hierarchies=("file",),
        ),
    )


def _limits(place: int) -> TagList:
    """Return the fields of the limits of a quasi-identifier."""
    return TagList(
        _for(
            parts.text(
                f"widest_{place}",
                CHOICES["widest"].label,
                f"{_plain('widest')}, or a number of values. No limit if empty.",
            ),
            kinds=_is_single,
            roles=_GENERALIZED,
        ),
        _for(
            parts.text(
                f"bands_{place}",
                CHOICES["bands"].label,
                _plain("bands"),
            ),
            kinds=lambda kind: kind.measured,
            roles=_GENERALIZED,
            hierarchies=("none",),
        ),
        _for(
            parts.tick(f"exact_{place}", "Exact", "Values are never generalized: one stratum for each."),
            kinds=_is_single,
            roles=_GENERALIZED,
        ),
        _for(
            parts.tick(f"shown_{place}", "Never suppressed", "No cell is *."),
            kinds=_is_single,
            roles=_GENERALIZED,
        ),
    )


def _plain(name: str) -> str:
    """Return the words for a choice without the quotes of a command line."""
    return CHOICES[name].help.replace("'", "")


def _has_hierarchy(kind: Kind) -> bool:
    return "hierarchy" in kind.settings


def _is_single(kind: Kind) -> bool:
    return not kind.several


def _for(
    field: Tag,
    *,
    kinds: Callable[[Kind], bool] | None = None,
    roles: Iterable[Role] = (),
    hierarchies: Iterable[str] = (),
) -> Tag:
    """Return a field that the page shows only for some kinds, roles or hierarchies of its column."""
    if kinds is not None:
        field.attrs["data-kinds"] = " ".join(kind.value for kind in Kind if kinds(kind))
    for name, shown in (("data-roles", roles), ("data-hierarchies", hierarchies)):
        if words := " ".join(shown):
            field.attrs[name] = words
    return field
