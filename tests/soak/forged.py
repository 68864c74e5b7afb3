"""The campaign "forged": releases broken in many ways; the audit refuses those that the oracle does."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from drawing import Draw
from oracle import breaches
from oracle_reading import Plain, Reading, number, read_csv
from soaking import Campaign, Finding
from worlds import World, drawn_world, plain_frame, release_of

from shoal import InfeasibleError, InputError, audit
from shoal.errors import Reason

Cells = dict[str, list[str]]
FORGERIES = 6
"""How many times each release is forged."""


def case(draw: Draw, folder: Path) -> str:
    """Make a release, forge it several times, and compare the verdicts."""
    world = drawn_world(draw)
    while world.sheet.owners is not None or not judged(world):  # others are not judged by the oracle
        world = drawn_world(draw)
    try:
        file, _ = release_of(world, folder)
    except (InputError, InfeasibleError):
        return "no release"
    released = read_csv(file)
    original = plain_frame(world.sheet)
    broken = 0
    for _ in range(FORGERIES):
        kind = draw.choice(list(WAYS))
        cells = {name: list(texts) for name, texts in released.items()}
        WAYS[kind](draw, world, cells)
        broken += compare(world, original, cells, draw, kind)
    return f"forged: {broken} of {FORGERIES} broken"


def judged(world: World) -> bool:
    """Return whether the oracle can judge all of the guarantee."""
    name, asked = world.model.name, world.asked
    plain = len(world.schema.sensitive) == 1 and asked.get("distance") in (None, "absolute")
    numeric = [c.kind for c in world.sheet.having("sensitive")] == ["numeric"]
    if name == "dissimilarity":
        return asked.get("distance") == "equality" or (plain and numeric)
    return True


def compare(world: World, original: pl.DataFrame, cells: Cells, draw: Draw, kind: str) -> bool:
    """Return whether a release is broken, in the verdict of the oracle and of the audit.

    Raises
    ------
    Finding
        If they differ.
    """
    if not next(iter(cells.values())):
        return True
    broken = breaches(Reading(world.sheet, cells), world.model.name, world.asked)
    shown = renoted(draw, world, cells) if draw.random() < 0.3 else cells
    columns = {name: [text or None for text in texts] for name, texts in shown.items()}
    names = draw.sample(list(columns), len(columns))  # the order of columns and rows says nothing
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    frame = pl.DataFrame([frame[name] for name in names]).sample(
        fraction=1.0, shuffle=True, seed=draw.randrange(1000)
    )
    try:
        found = audit(original, frame, world.schema, world.model)
    except InputError as error:
        if error.reason is not Reason.RELEASE_UNREADABLE or shown is not cells:
            raise
        raise Finding(f"{kind}: the audit cannot read {error}") from error
    if found.holds == bool(broken):
        raise Finding(f"{kind}: the oracle finds {broken}, the audit {found.findings}")
    return bool(broken)


def renoted(draw: Draw, world: World, cells: Cells) -> Cells:
    """Return the same release in other notations, some of them of other tools; equal cells stay equal."""
    other = dict(cells)
    for column in world.sheet.having("quasi"):
        if column.kind == "numeric":
            way = draw.choice([_brackets, _spelled, _dashed])
            other[column.name] = [way(text) for text in cells[column.name]]
        elif column.kind == "categorical":
            other[column.name] = [_reversed(text) for text in cells[column.name]]
    return other


_INTERVAL = re.compile(r"(-?\d{1,9}(?:\.\d{1,9})?)\.\.(-?\d{1,9}(?:\.\d{1,9})?)")


def _reversed(text: str) -> str:
    return text if "\\" in text else "|".join(reversed(text.split("|")))


def _brackets(text: str) -> str:
    return f"[{found[1]}, {found[2]}]" if (found := _INTERVAL.fullmatch(text)) else text


def _dashed(text: str) -> str:
    return f"{found[1]} - {found[2]}" if (found := _INTERVAL.fullmatch(text)) else text


def _spelled(text: str) -> str:
    return f" {text}.0" if re.fullmatch(r"-?\d{1,9}", text) else text


def _some(draw: Draw, world: World, cells: Cells) -> tuple[Plain, int, int]:
    rows = len(next(iter(cells.values())))
    return draw.choice(world.sheet.having("quasi")), draw.randrange(rows), draw.randrange(rows)


def swap(draw: Draw, world: World, cells: Cells) -> None:
    """Let two rows change what they show in one column."""
    column, one, other = _some(draw, world, cells)
    for name in column.released_as:
        cells[name][one], cells[name][other] = cells[name][other], cells[name][one]


def copy(draw: Draw, world: World, cells: Cells) -> None:
    """Let one row show in a column what another shows."""
    column, one, other = _some(draw, world, cells)
    for name in column.released_as:
        cells[name][one] = cells[name][other]


def copy_row(draw: Draw, world: World, cells: Cells) -> None:
    """Let one row look like another."""
    _, one, other = _some(draw, world, cells)
    for column in world.sheet.having("quasi"):
        for name in column.released_as:
            cells[name][one] = cells[name][other]


def narrow(draw: Draw, world: World, cells: Cells) -> None:
    """Let a row show an exact value."""
    column, row, _ = _some(draw, world, cells)
    texts = [text for i in world.sheet.kept if (text := _exact(column, world.sheet.cells[column.name][i]))]
    if texts:
        cells[column.name][row] = draw.choice(texts)


def _exact(column: Plain, text: str) -> str | None:
    """Return a value as a release shows it alone; None where that is not simple."""
    if column.kind in ("numeric", "intervals"):
        return text if re.fullmatch(r"0|-?[1-9]\d{0,8}", text) else None
    if column.kind == "date" and (column.form is not None or len(text) > 10):
        return None
    simple = not column.is_missing(text) and not set(text) & set("|\\*.")
    return text if column.kind != "items" and simple else None


def widen(draw: Draw, world: World, cells: Cells) -> None:
    """Suppress a cell."""
    column, row, _ = _some(draw, world, cells)
    if column.kind != "items":
        cells[column.name][row] = "*"


def widen_column(draw: Draw, world: World, cells: Cells) -> None:
    """Suppress a column."""
    column, _, _ = _some(draw, world, cells)
    if column.kind != "items":
        cells[column.name] = ["*"] * len(cells[column.name])


def stretch(draw: Draw, world: World, cells: Cells) -> None:
    """Let an interval end elsewhere, or lower the number of errors of items."""
    column, row, other = _some(draw, world, cells)
    if column.kind == "items":
        errors = cells[column.released_as[2]]
        errors[row] = str(max(0, int(errors[row]) + draw.choice([-1, 1])))
        return
    shown = [*cells[column.name][row].split(".."), *cells[column.name][other].split("..")]
    ends = [each for each in shown if number(each) is not None]
    if column.kind == "numeric" and len(ends) > 1:
        low, high = sorted(draw.sample(ends, 2), key=lambda each: number(each) or 0)
        cells[column.name][row] = low if number(low) == number(high) else f"{low}..{high}"


def drop(draw: Draw, world: World, cells: Cells) -> None:
    """Leave a row out."""
    _, row, _ = _some(draw, world, cells)
    for texts in cells.values():
        del texts[row]


def double(draw: Draw, world: World, cells: Cells) -> None:
    """Show a row twice."""
    _, row, _ = _some(draw, world, cells)
    for texts in cells.values():
        texts.append(texts[row])


def replace_row(draw: Draw, world: World, cells: Cells) -> None:
    """Show one row in place of another."""
    _, one, other = _some(draw, world, cells)
    for texts in cells.values():
        texts[one] = texts[other]


def relabel(draw: Draw, world: World, cells: Cells) -> None:
    """Swap two sensitive values, or let one row carry that of another."""
    secrets = world.sheet.having("sensitive")
    if secrets:
        texts = cells[draw.choice(secrets).name]
        one, other = (draw.randrange(len(texts)) for _ in range(2))
        texts[one], texts[other] = texts[other], draw.choice([texts[one], texts[other]])


def nothing(draw: Draw, world: World, cells: Cells) -> None:
    """Leave the release as it is."""


WAYS: dict[str, Callable[[Draw, World, Cells], Any]] = {
    way.__name__: way
    for way in (swap, copy, copy_row, narrow, widen, widen_column, stretch, drop, double, replace_row)
} | {"relabel": relabel, "nothing": nothing}
"""The ways to forge a release."""

CAMPAIGN = Campaign("forged", case, slice=25)
