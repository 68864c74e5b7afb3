"""Singling out: predicates learned from the release that hold for exactly one record of the original."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacking.predicates import Cells, Predicates, sizes_of, with_single_codes
from shoal.attacking.rates import Rate
from shoal.attacking.results import AttackResult
from shoal.attacking.scene import Scene
from shoal.kernels import CodeIntervals

ROWS = (
    "Each released row is taken as a predicate. A record is singled out if such a predicate holds for it and "
    "for no other record of the original."
)
NARROWED = (
    "As singling out, but one cell of each row is narrowed to a value that must occur if cells are as small "
    "as their records allow: an end of an interval, or one value of a set."
)


def singling_out(scene: Scene, confidence: float) -> Iterator[AttackResult]:
    """Yield how many records are singled out by the rows of a release, and by narrowed rows.

    A control record is singled out if a predicate would hold for it alone, had it been in the original
    instead of a record drawn at random. Without the release, the attacker has as many predicates, with cells
    of each column of the release in random combinations.
    """
    types = scene.release.graph.row_type
    for name, about, predicates in (
        ("singling-out", ROWS, scene.rows.some(types)),
        ("singling-out-narrowed", NARROWED, narrowed(scene)),
    ):
        orders = [scene.randomness.permutation(len(predicates)) for _ in predicates.columns]
        mixed = np.column_stack([predicates.cells[order, c] for c, order in enumerate(orders)])
        isolated = isolated_members(scene, predicates)
        control = None
        if len(scene.control):
            control = Rate.of(isolated_controls(scene, predicates), confidence)
        guessed = isolated_members(scene, Predicates(predicates.columns, mixed))
        yield AttackResult(name, about, Rate.of(isolated, confidence), control, Rate.of(guessed, confidence))


def isolated_members(scene: Scene, predicates: Predicates) -> NDArray[np.bool_]:
    """Return for which targets of the original some predicate holds that holds for no other record."""
    counts = predicates.counts(scene.codes[scene.is_member])
    alone = _different(predicates.some(counts == 1))
    found = [
        alone.holding(scene.codes[some]).any(axis=1) for some in scene.stretches(scene.members, len(alone))
    ]
    return np.concatenate(found)


def isolated_controls(scene: Scene, predicates: Predicates) -> NDArray[np.bool_]:
    """Return which records of the control group would be singled out in the place of a record drawn."""
    counts = predicates.counts(scene.codes[scene.is_member])
    members = np.flatnonzero(scene.is_member)
    left = members[scene.randomness.permutation(len(members))]
    left = np.resize(left, len(scene.control))
    empty, alone = (_different(predicates.some(counts == many)) for many in (0, 1))
    found = []
    place = np.arange(len(scene.control))
    for some in scene.stretches(place, len(empty) + len(alone)):
        codes, gone = scene.codes[scene.control[some]], scene.codes[left[some]]
        by_one = (alone.holding(codes) & alone.holding(gone)).any(axis=1)
        found.append(by_one | empty.holding(codes).any(axis=1))
    return np.concatenate(found)


def narrowed(scene: Scene) -> Predicates:
    """Return a predicate for each row, with one cell narrowed to a single value.

    Rows that look the same are narrowed differently. Cells with many values come first, and of the values in
    a set the ones that are rarest in the column.
    """
    rows = scene.rows
    columns = tuple(map(with_single_codes, rows.columns))
    sizes = np.column_stack([sizes_of(c)[rows.cells[:, i]] for i, c in enumerate(rows.columns)])
    rarity = [
        _expected(c, np.bincount(rows.cells[:, i], scene.copies, _length(c)))
        for i, c in enumerate(rows.columns)
    ]
    made = np.repeat(rows.cells, scene.copies, axis=0)
    first = np.cumsum(scene.copies) - scene.copies
    for kind, copies in enumerate(scene.copies):
        corners = _corners(rows, kind, sizes[kind], rarity, int(copies))
        for number in range(int(copies) if corners else 0):
            column, code = corners[number % len(corners)]
            made[first[kind] + number, column] = _length(rows.columns[column]) + code
    return Predicates(columns, made)


def _corners(
    rows: Predicates, kind: int, sizes: NDArray[np.int64], rarity: list[NDArray[np.float64]], most: int
) -> list[tuple[int, int]]:
    """Return the first columns and codes to narrow a type of row to, best first."""
    corners: list[tuple[int, int]] = []
    for column in np.argsort(-sizes, kind="stable").tolist():
        if sizes[column] < 2 or len(corners) >= most:
            break
        cells, cell = rows.columns[column], int(rows.cells[kind, column])
        if isinstance(cells, CodeIntervals):
            codes = [int(cells.low[cell]), int(cells.high[cell])]
        else:
            inside = cells[cell]
            codes = inside[np.argsort(rarity[column][inside], kind="stable")].tolist()
        corners += [(column, code) for code in codes]
    return corners


def _expected(cells: Cells, often: NDArray[Any]) -> NDArray[np.float64]:
    """Return how often each code occurs, if all codes of a cell are equally likely; of sets only."""
    if isinstance(cells, CodeIntervals):
        return np.zeros(0)
    each = often / np.maximum(cells.sizes, 1)
    return np.bincount(cells.values, each[cells.owners], cells.size).astype(np.float64)


def _length(cells: Cells) -> int:
    return len(cells.low) if isinstance(cells, CodeIntervals) else len(cells)


def _different(predicates: Predicates) -> Predicates:
    """Return each predicate once."""
    return predicates.some(np.unique(predicates.cells, axis=0, return_index=True)[1])
