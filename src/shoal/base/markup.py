"""Facts and tables as small pieces of HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_CELL = "text-align:left;padding:.15em 1em .15em 0;vertical-align:top"


def facts_html(title: str, facts: Sequence[tuple[str, object]]) -> str:
    """Return names and what there is to say about them."""
    lines = "".join(
        f'<tr><th scope="row" style="{_CELL};font-weight:600">{_text(name)}</th>'
        f'<td style="{_CELL}">{_text(fact)}</td></tr>'
        for name, fact in facts
    )
    return f"<table><caption>{_title(title)}</caption><tbody>{lines}</tbody></table>"


def table_html(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table with names above its columns."""
    names = "".join(f'<th scope="col" style="{_CELL}">{_text(name)}</th>' for name in head)
    lines = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{_text(cell)}</td>' for cell in row) + "</tr>" for row in rows
    )
    return (
        f"<table><caption>{_title(title)}</caption>"
        f"<thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table>"
    )


def _text(value: object) -> str:
    return escape(str(value))


def _title(title: str) -> str:
    return f'<div style="text-align:left;font-weight:600">{_text(title)}</div>'
