"""How generalized values are written as text: intervals, sets and suppressed cells, and reading them back."""

from __future__ import annotations

import re
from collections.abc import Iterable

SUPPRESSED = "*"
BETWEEN = ".."


def write_interval(low: str, high: str) -> str:
    """Return ``low..high``."""
    return join_ends(write_end(low), write_end(high))


def join_ends(low: str, high: str) -> str:
    """Return ``low..high`` from two ends that `write_end` wrote."""
    return f"{low}{BETWEEN}{high}"


def write_end(label: str) -> str:
    """Return an end of an interval: the value, with a backslash before dots that could look like ``..``."""
    return _DOTS.sub(r"\\.", write_member(label))


def write_set(labels: Iterable[str]) -> str:
    """Return ``a|b|c``; a missing value is an empty member."""
    return join_members(map(write_member, labels))


def join_members(members: Iterable[str]) -> str:
    """Return ``a|b|c`` from members that `write_member` wrote."""
    return "|".join(members)


def write_member(label: str) -> str:
    """Return a member of a set: the value, with a backslash before ``|`` and backslashes in it."""
    return label.replace("\\", "\\\\").replace("|", "\\|")


def write_single(label: str) -> str:
    """Return a single value as a cell: itself, unless it could be taken for something else."""
    return "\\*" if label == SUPPRESSED else write_member(label)


def write_point(label: str) -> str:
    """Return a single value of an ordered domain: as `write_single`, but never like an interval."""
    return write_end(label) if BETWEEN in label else write_single(label)


def write_node(label: str) -> str:
    """Return a node of a hierarchy: its label, with a backslash in front of one that is a star."""
    return f"\\{label}" if _STAR.fullmatch(label) else label


def read_node(cell: str) -> str:
    """Return the label of a written node."""
    return cell[1:] if _STAR.fullmatch(cell) else cell


def write_items(names: Iterable[str]) -> str:
    """Return names separated by spaces, with a backslash before white space and backslashes in them."""
    return " ".join("\\*" if name == SUPPRESSED else _SPACES.sub(r"\\\g<0>", name) for name in names)


def items_columns(name: str) -> tuple[str, str, str]:
    """Return the three columns that a column of items becomes: base, uncertain items, how many are wrong."""
    return name, f"{name}_uncertain", f"{name}_max_errors"


def read_items(cell: str) -> list[str]:
    """Return the items of a cell as `write_items` writes them."""
    if "\\" not in cell:
        return cell.split()
    return [_unescape(name) for name in _ITEM.findall(cell)]


def read_set(cell: str) -> list[str]:
    """Return the members of a written set or single value."""
    if "\\" not in cell:
        return cell.split("|")
    members = [""]
    for token in _TOKENS.findall(cell):
        if token == "|":
            members.append("")
        else:
            members[-1] += _unescape(token)
    return members


def read_interval(cell: str) -> tuple[str, str] | None:
    """Return the two ends of ``low..high``, or None if the cell is not written that way."""
    match = _INTERVAL.fullmatch(cell)
    return (_unescape(match[1]), _unescape(match[2])) if match else None


def read_foreign_interval(cell: str) -> tuple[str, str, bool, bool] | None:
    """Return low, high and whether each end belongs to it, for intervals as other tools write them.

    Understands ``[20, 40[``, ``[20,40)``, ``]20, 40]``, ``(20, 40]``, ``[20, 40]`` and ``20-40``.
    """
    match = _BRACKETS.fullmatch(cell)
    if match:
        return match[2], match[3], match[1] == "[", match[4] == "]"
    match = _DASH.fullmatch(cell)
    return (match[1], match[2], True, True) if match else None


_STAR = re.compile(r"\\*\*")
_TOKENS = re.compile(r"\\.|[^|\\]+|\||\\$", re.DOTALL)
_SPACES = re.compile(r"[\s\\]")
_ITEM = re.compile(r"(?:[^\s\\]|\\.)+|\\$", re.DOTALL)
_INTERVAL = re.compile(r"((?:[^\\]|\\.)+?)\.\.((?:[^\\]|\\.)+)", re.DOTALL)
_DATUM = r"[^\[\](),;]+?"
_BRACKETS = re.compile(rf"([\[\](])\s*({_DATUM})\s*[,;]\s*({_DATUM})\s*([\[\])])")
_NUMBER = r"-?\d+(?:\.\d+)?"
_DASH = re.compile(rf"({_NUMBER})\s*-\s*({_NUMBER})")
_DOTS = re.compile(r"^\.|\.$|\.(?=\.)|(?<=\.)\.")


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL) if "\\" in text else text
