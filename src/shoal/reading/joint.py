"""The columns of a release and the joint distribution that was estimated for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.reading.cells import Floats, ReadCells
from shoal.reading.item_cells import ItemCells
from shoal.reading.mixture import RANDOM, Assumption, Mixture, even, fitted
from shoal.reading.ordered_cells import OrderedCells

Estimator = Literal["tight", "columns", "marginal", "even"]
ESTIMATORS: tuple[Estimator, ...] = ("tight", "columns", "marginal", "even")
"""How values are estimated; see `open_release`."""

MOST_LABELS = 200
"""Columns with more labels do not take part in the joint estimate."""
WHOLE = 20_000
"""Up to this many different cells, all are weighed at once."""

Asked = Sequence[tuple[str, Any]]


@dataclass(frozen=True, eq=False)
class Joint:
    """Columns of a release, and how likely their values are together.

    Parameters
    ----------
    rows
        The number of rows.
    columns, items
        The columns that were read, and apart from them the columns of items.
    estimator, seed
        See `open_release`.
    assumption
        How values are distributed over a cell.
    sharing
        For each row, the number of records that it was made for.
    """

    rows: int
    columns: Mapping[str, ReadCells[Any]]
    items: Mapping[str, ItemCells]
    estimator: Estimator
    seed: int
    assumption: Assumption
    sharing: NDArray[np.int64]

    @cached_property
    def mixture(self) -> Mixture:
        """The latent classes."""
        columns = [_coarse(column) for column in self.columns.values() if _takes_part(column)]
        if self.estimator == "even" or not columns:
            return even(columns)
        if self.estimator == "marginal":
            return fitted(columns, classes=1, assumption=RANDOM)
        classes = 1 if self.estimator == "columns" else None
        return fitted(columns, classes=classes, assumption=self.assumption, seed=self.seed)

    @cached_property
    def members(self) -> NDArray[np.float32]:
        """The probability of each latent class for each row."""
        if not self.mixture.columns:
            return np.ones((self.rows, 1), dtype=np.float32)
        return self.mixture.memberships()

    @cached_property
    def places(self) -> dict[str, int]:
        """The number of each column in the mixture."""
        return {column.notes.name: place for place, column in enumerate(self.mixture.columns)}

    def bounds(self, asked: Asked) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which rows meet a question for certain, and which may."""
        certain = np.ones(self.rows, dtype=np.bool_)
        possible = np.ones(self.rows, dtype=np.bool_)
        for name, question in asked:
            column: Any = self.items[name] if name in self.items else self.columns[name]
            certain &= column.certain(question)[column.cell]
            possible &= column.possible(question)[column.cell]
        return certain, possible

    def vague(self, asked: Asked, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of some rows have a cell, in a column that is asked about, that may be any value."""
        found = np.zeros(len(rows), dtype=np.bool_)
        for name, _ in asked:
            if name in self.columns:
                found |= self.columns[name].vague[self.columns[name].cell[rows]]
        return found

    def weights(self, asked: Asked, rows: NDArray[np.int64], assumption: Assumption | None = None) -> Floats:
        """Return the probability that each of some rows meets a question, which all of them may.

        Parameters
        ----------
        asked
            The question.
        rows
            The rows.
        assumption
            Another assumption than that of the fit.
        """
        apart, joined = self.parts(asked, rows, assumption)
        if joined is None:
            return apart
        return np.asarray(apart * np.clip((joined * self.members[rows]).sum(axis=1), 0.0, 1.0))

    def parts(
        self, asked: Asked, rows: NDArray[np.int64], assumption: Assumption | None = None
    ) -> tuple[Floats, Floats | None]:
        """Return the probability that some rows meet a question, as two factors.

        Parameters
        ----------
        asked, rows, assumption
            See `weights`.

        Returns
        -------
        tuple
            The part of columns that are taken to be independent of all others, and for each class the part
            of quasi-identifiers; None if the question is about none of these.
        """
        joined: Floats | None = None
        apart = np.ones(len(rows))
        for name, question in asked:
            if name in self.items:
                items = self.items[name]
                apart *= items.probability(question)[items.cell[rows]]
                continue
            column = self.columns[name]
            cells = column.cell[rows]
            if not column.notes.quasi:
                apart *= column.certain(question)[cells]
                continue
            part = self._class_weights(name, question, cells, assumption)
            joined = part if joined is None else joined * part
        return apart, joined

    def _class_weights(
        self, name: str, question: Any, cells: NDArray[np.int32], assumption: Assumption | None
    ) -> Floats:
        """Return the probability that the cells of some rows meet a question, for each class."""
        column, place = self.columns[name], self.places[name]
        if len(column) <= WHOLE and len(column) <= 4 * len(cells):
            return self.mixture.weight(place, question, assumption=assumption)[cells]
        needed, where = np.unique(cells, return_inverse=True)
        return self.mixture.weight(place, question, needed.astype(np.int64), assumption)[where.ravel()]


def _takes_part(column: ReadCells[Any]) -> bool:
    return column.notes.quasi or column.atoms <= MOST_LABELS + 1


def _coarse(column: ReadCells[Any]) -> ReadCells[Any]:
    """Return a column as the joint estimate takes it: values that are not generalized need few cells."""
    return column.coarsened() if isinstance(column, OrderedCells) and not column.notes.quasi else column
