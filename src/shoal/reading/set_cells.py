"""Columns without an order, and those with a hierarchy: cells are sets of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.base.ragged import Lists
from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.kernels.sparse import SparseMatrix
from shoal.kinds import notation
from shoal.kinds.hierarchy import MISSING, Hierarchy
from shoal.kinds.hierarchy_rules import Prefixes
from shoal.kinds.released_numbers import read_number
from shoal.reading.cells import ALL, Floats, Index, ReadCells
from shoal.reading.codebook import ColumnNotes


@dataclass(frozen=True)
class AskedLabels:
    """The atoms that are asked for, and values that only an open cell can have."""

    asked: NDArray[np.bool_]
    unlisted: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class SetCells(ReadCells[AskedLabels]):
    """Sets of labels.

    Parameters
    ----------
    labels
        The label of each atom; a missing value is ``""``. The last atom stands for all values that no cell
        names, if there can be any.
    members
        The atoms of each cell: a matrix with a row for each cell.
    open
        For each cell that can be a value that no cell names, the prefix of such a value; otherwise None.
    nodes
        The atoms below each label of a hierarchy that is not an atom itself.
    """

    labels: tuple[str, ...]
    members: SparseMatrix
    open: tuple[str | None, ...]
    nodes: dict[str, tuple[int, int]]

    @property
    def atoms(self) -> int:
        """The number of labels, and one for values that no cell names."""
        return len(self.labels) + 1

    @cached_property
    def exact(self) -> NDArray[np.bool_]:
        return np.asarray((self.members.sizes == 1) & ~self.vague)

    @cached_property
    def vague(self) -> NDArray[np.bool_]:
        return np.array([each is not None for each in self.open], dtype=np.bool_)

    def even(self) -> Floats:
        occurs = np.bincount(self.members.columns, minlength=self.atoms) > 0
        occurs[-1] = False
        return np.asarray(occurs / max(occurs.sum(), 1))

    def question(self, condition: Any) -> AskedLabels:
        if isinstance(condition, tuple):
            return AskedLabels(self._between(*condition))
        members = condition if isinstance(condition, list | set | frozenset) else [condition]
        code_of = {label: code for code, label in enumerate(self.labels)}
        asked = np.zeros(self.atoms, dtype=np.bool_)
        unlisted = []
        for each in members:
            label = self._label(each)
            if label in code_of:
                asked[code_of[label]] = True
            elif label in self.nodes:
                first, last = self.nodes[label]
                asked[first : last + 1] = True
            elif any(_can_be(prefix, label) for prefix in self.open):
                unlisted.append(label)
            elif label != MISSING:
                raise InputError(
                    f"column {self.notes.name!r}: no row can have {label!r}"
                    f"{did_you_mean(label, self.labels)}; its values are {listing(self.labels)}",
                    reason=Reason.BAD_VALUE,
                    column=self.notes.name,
                )
        return AskedLabels(asked, tuple(unlisted))

    def _label(self, value: Any) -> str:
        if value is None:
            return MISSING
        if isinstance(value, float) and value.is_integer():
            return str(int(value))
        if isinstance(value, bool):
            return str(value).lower()
        return str(value)

    def _between(self, low: Any, high: Any) -> NDArray[np.bool_]:
        """Return which labels lie in a range, if they have an order."""
        column: Any = self.notes
        kind = self.notes.kind
        texts = [self._label(low), self._label(high), *self.labels]
        if kind.numeric or not kind.ordered:
            found = [read_number(text) for text in texts]
            places = [None if number is None else float(number) for number in found]
        else:
            line = kind.on_a_line(pl.Series(texts, dtype=pl.String), column)
            places = [None] * len(texts) if line is None else line.cast(pl.Float64).to_list()
        first, last = places[:2]
        if first is None or last is None:
            raise InputError(
                f"column {self.notes.name!r} has no order, so that {low!r} to {high!r} is not a range; give "
                "a list of values",
                reason=Reason.BAD_VALUE,
                column=self.notes.name,
            )
        inside = [place is not None and first <= place <= last for place in places[2:]]
        return np.array([*inside, False], dtype=np.bool_)

    def certain(self, asked: AskedLabels) -> NDArray[np.bool_]:
        sizes = self.members.sizes
        inside = self.members @ asked.asked.astype(np.float64)
        return np.asarray((inside == sizes) & ~self.vague & (sizes > 0))

    def possible(self, asked: AskedLabels) -> NDArray[np.bool_]:
        touching = np.asarray(self.members @ asked.asked.astype(np.float64) > 0)
        for label in asked.unlisted:
            touching |= np.array([_can_be(prefix, label) for prefix in self.open], dtype=np.bool_)
        return touching

    def mass(self, weights: Floats, asked: AskedLabels | None = None, index: Index = ALL) -> Floats:
        if asked is not None:
            weights = weights * asked.asked[:, None]
        return np.asarray(self.members[index] @ weights)

    def required(self, asked: AskedLabels | None = None, index: Index = ALL) -> Floats:
        chosen = np.ones(self.atoms) if asked is None else asked.asked.astype(np.float64)
        chosen[-1] = 0.0
        count = np.asarray(self.members @ chosen)
        return np.where(self.tight | self.exact, count, 0.0)[index]

    def required_mass(self, weights: Floats) -> Floats:
        weights = weights.copy()
        weights[-1] = 0.0
        return np.where((self.tight | self.exact)[:, None], self.members @ weights, 0.0)

    def spread(self, amounts: Floats) -> Floats:
        return np.asarray(self.members.spread(amounts))

    def spread_required(self, amounts: Floats) -> Floats:
        found: Floats = np.asarray(
            self.members.spread(np.where((self.tight | self.exact)[:, None], amounts, 0.0))
        )
        found[-1] = 0.0
        return found

    def drawn(
        self, weights: Floats, rows: NDArray[np.int64], free: Floats, generator: np.random.Generator
    ) -> NDArray[Any]:
        starts, atoms = self.members.starts, self.members.columns
        cells = self.cell[rows]
        even = np.concatenate([[0.0], np.cumsum(np.where(atoms < len(self.labels), 1.0, 1e-9))])
        likely = np.concatenate([[0.0], np.cumsum(weights[atoms, 0] + 1e-12)])
        by_weight = (generator.random(len(rows)) < free) | ~(self.tight | self.exact)[cells]
        uniform = generator.random(len(rows))
        chosen = np.empty(len(rows), dtype=np.int64)
        for which, before in ((by_weight, likely), (~by_weight, even)):
            first, last = starts[cells[which]], starts[cells[which] + 1]
            at = before[first] + uniform[which] * (before[last] - before[first])
            chosen[which] = np.clip(np.searchsorted(before, at, side="right") - 1, first, last - 1)
        return np.asarray(atoms[chosen], dtype=np.int64)

    def decoded(self, values: NDArray[Any]) -> pl.Series:
        labels = pl.Series(
            [*(None if each == MISSING else each for each in self.labels), None], dtype=pl.String
        )
        drawn = labels.gather(values).rename(self.notes.name)
        if self.notes.kind.numeric:
            for dtype in (pl.Int64, pl.Float64):
                numbers = drawn.cast(dtype, strict=False)
                if numbers.null_count() == drawn.null_count():
                    return numbers
        return drawn

    def default_groups(self) -> list[tuple[Any, Any]]:
        occurs = np.bincount(self.members.columns, minlength=self.atoms) > 0
        groups: list[tuple[Any, Any]] = [
            (label, AskedLabels(np.arange(self.atoms) == code))
            for code, label in enumerate(self.labels)
            if occurs[code]
        ]
        if occurs[-1]:
            groups.append((None, AskedLabels(np.arange(self.atoms) == self.atoms - 1)))
        return groups

    def _gathered(self, cells: NDArray[np.int64]) -> Self:
        return replace(
            self,
            members=self.members[cells],
            open=tuple(self.open[cell] for cell in cells),
            tight=self.tight[cells],
        )


def set_cells(
    notes: ColumnNotes, texts: Sequence[str], cell: NDArray[np.int32], tight_stars: bool
) -> SetCells:
    """Return the cells of a column without an order, or with a hierarchy.

    Parameters
    ----------
    notes
        What is known about the column.
    texts
        The different cells as they are written; without any notation if it is no quasi-identifier.
    cell
        For each row, the number of its cell.
    tight_stars
        Whether a suppressed cell says that all values occur.

    Raises
    ------
    InputError
        If a cell cannot be read.
    """
    if isinstance(notes.hierarchy, Hierarchy) and notes.quasi:
        return _node_cells(notes, notes.hierarchy, texts, cell)
    prefixes = isinstance(notes.hierarchy, Prefixes) and notes.quasi
    stars = [notes.quasi and text == notation.SUPPRESSED for text in texts]
    named = [[] if star else _members(text, notes, prefixes) for text, star in zip(texts, stars, strict=True)]
    declared = [] if notes.domain is None or prefixes else [_declared_label(each) for each in notes.domain]
    groups = {text for text, members in zip(texts, named, strict=True) if not members} if prefixes else set()
    found = {member for members in named for member in members}
    labels = (*dict.fromkeys(declared), *sorted(found.difference(declared)))
    code_of = {label: code for code, label in enumerate(labels)}
    closed = bool(declared)
    other = len(labels)
    members, open_cells = [], []
    for text, star, names in zip(texts, stars, named, strict=True):
        prefix: str | None = None
        if star:
            codes = [*range(len(labels)), *([] if closed else [other])]
            prefix = None if closed and notes.missing != "category" else ""
        elif text in groups:
            prefix = notation.read_node(text).rstrip("*")
            codes = [*(code for label, code in code_of.items() if label.startswith(prefix)), other]
        else:
            codes = sorted(code_of[name] for name in names)
        members.append(codes)
        open_cells.append(prefix)
    tight = np.array([(not star or tight_stars) and not prefixes for star in stars], dtype=np.bool_)
    tight &= notes.quasi
    return _cells_of(notes, cell, tight, labels, members, tuple(open_cells), {})


def _node_cells(
    notes: ColumnNotes, declared: Hierarchy, texts: Sequence[str], cell: NDArray[np.int32]
) -> SetCells:
    """Return nodes of a declared hierarchy as sets of their leaves, which need not occur."""
    tree = declared.over([MISSING])
    members = []
    for text in texts:
        node = 0 if text == notation.SUPPRESSED else tree.node_of(notation.read_node(text))
        if node is None:
            raise InputError(
                f"column {notes.name!r} of the release: {text!r} is not a node of its hierarchy",
                reason=Reason.RELEASE_UNREADABLE,
                column=notes.name,
            )
        members.append(range(int(tree.first[node]), int(tree.last[node]) + 1))
    tight = np.array([len(leaves) == 2 for leaves in members], dtype=np.bool_)
    nodes = {
        label: (int(tree.first[node]), int(tree.last[node]))
        for node, label in enumerate(tree.labels)
        if label not in tree.leaf_index
    }
    return _cells_of(notes, cell, tight, tree.leaves, members, (None,) * len(texts), nodes)


def _cells_of(
    notes: ColumnNotes,
    cell: NDArray[np.int32],
    tight: NDArray[np.bool_],
    labels: Sequence[str],
    members: Sequence[Any],
    open_cells: tuple[str | None, ...],
    nodes: dict[str, tuple[int, int]],
) -> SetCells:
    lists = Lists.of(members)
    matrix = SparseMatrix(np.ones(len(lists.values)), lists.values, lists.starts, len(labels) + 1)
    ones = np.ones(len(members), dtype=np.int64)
    return SetCells(notes, cell, ones, tight, tuple(labels), matrix, open_cells, nodes)


def _members(text: str, notes: ColumnNotes, prefixes: bool) -> list[str]:
    """Return the labels that a cell names; nothing for a prefix, which names none."""
    if not notes.quasi:
        return [MISSING if text in notes.missing_marks else text]
    if prefixes:
        label = notation.read_node(text)
        return [] if label.endswith(notation.SUPPRESSED) else [label]
    return notation.read_set(text)


def _declared_label(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _can_be(prefix: str | None, label: str) -> bool:
    return prefix is not None and label.startswith(prefix)
