"""What the cells of a column can stand for, whatever its kind: the interface that estimators compute with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.reading.codebook import ColumnNotes

Floats = NDArray[np.float64]
Index = NDArray[np.int64] | slice
ALL = slice(None)

Q = TypeVar("Q")


@dataclass(frozen=True, eq=False)
class ReadCells(ABC, Generic[Q]):
    """The different cells of a column, and which of them each row shows.

    A cell stands for some *atoms*: values, or stretches of a scale. Some of these are *required*: they are
    known to occur among the records that a row was made for. Weights and probabilities of atoms are arrays
    with a row for each atom and a column for each latent class.

    Parameters
    ----------
    notes
        What is known about the column.
    cell
        For each row, the number of its cell.
    records
        For each cell, the number of records that it is tight around.
    tight
        For each cell, whether it is tight at all.
    """

    notes: ColumnNotes
    cell: NDArray[np.int32]
    records: NDArray[np.int64]
    tight: NDArray[np.bool_]

    def __len__(self) -> int:
        """Return the number of different cells."""
        return len(self.records)

    @property
    @abstractmethod
    def atoms(self) -> int:
        """The number of atoms."""

    @abstractmethod
    def even(self) -> Floats:
        """Return the probability of each atom if all values are equally likely."""

    @property
    @abstractmethod
    def exact(self) -> NDArray[np.bool_]:
        """Which cells stand for a single value."""

    @property
    @abstractmethod
    def vague(self) -> NDArray[np.bool_]:
        """Which cells may be values that no cell names, about which nothing is known."""

    @property
    def loose(self) -> NDArray[np.bool_]:
        """Which cells are nodes of a hierarchy whose leaves need not occur."""
        return (
            ~self.tight & ~self.exact if self.notes.hierarchy is not None else np.zeros(len(self), np.bool_)
        )

    @abstractmethod
    def question(self, condition: Any) -> Q:
        """Return a condition as this column understands it.

        Raises
        ------
        InputError
            If the condition makes no sense for the column.
        """

    @abstractmethod
    def certain(self, asked: Q) -> NDArray[np.bool_]:
        """Return which cells lie inside a question."""

    @abstractmethod
    def possible(self, asked: Q) -> NDArray[np.bool_]:
        """Return which cells touch a question."""

    @abstractmethod
    def mass(self, weights: Floats, asked: Q | None = None, index: Index = ALL) -> Floats:
        """Return the total weight of the atoms of each cell, or of its part inside a question."""

    @abstractmethod
    def required(self, asked: Q | None = None, index: Index = ALL) -> Floats:
        """Return the number of required values in each cell, or of those inside a question."""

    @abstractmethod
    def required_mass(self, weights: Floats) -> Floats:
        """Return the total weight of the required atoms of each cell."""

    @abstractmethod
    def spread(self, amounts: Floats) -> Floats:
        """Return for each atom the sum of the amounts of the cells that contain it, by the share they do."""

    @abstractmethod
    def spread_required(self, amounts: Floats) -> Floats:
        """Return for each atom the sum of the amounts of the cells that require it."""

    @abstractmethod
    def drawn(
        self, weights: Floats, rows: NDArray[np.int64], free: Floats, generator: np.random.Generator
    ) -> NDArray[Any]:
        """Return a value for each of some rows, drawn from its cell.

        Parameters
        ----------
        weights
            The weight of each atom: one column.
        rows
            The rows.
        free
            For each row, the probability that its value is none of the required ones.
        generator
            The source of random numbers.

        Returns
        -------
        NDArray
            Numbers that `decoded` understands.
        """

    @abstractmethod
    def decoded(self, values: NDArray[Any]) -> Any:
        """Return drawn values as a Polars series."""

    @abstractmethod
    def default_groups(self) -> list[tuple[Any, Any]]:
        """Return labels and conditions that divide the column into groups; together they are everything."""

    @abstractmethod
    def _gathered(self, cells: NDArray[np.int64]) -> Self:
        """Return the same with the cells of these numbers, which may repeat."""

    @cached_property
    def all_required(self) -> Floats:
        """The number of required values in each cell."""
        return self.required()

    @cached_property
    def free(self) -> NDArray[np.int64]:
        """For each cell the number of records about whose values nothing else is known."""
        left = np.maximum(self.records - self.all_required.astype(np.int64), 0)
        untied = np.where(self.tight, left, np.maximum(self.records, 1))
        return np.where(self.exact, 0, untied)

    def limited(self, rows: NDArray[np.int64]) -> Self:
        """Return the same column for some rows only, with the cells that these have."""
        cells, cell = np.unique(self.cell[rows], return_inverse=True)
        found = self._gathered(cells.astype(np.int64))
        return replace(found, cell=cell.astype(np.int32).ravel(), records=self.records[cells])

    def around(self, records: NDArray[np.int64]) -> Self:
        """Return the same column with cells that are tight around different numbers of records.

        Parameters
        ----------
        records
            The number for each row.
        """
        pairs = np.stack([self.cell.astype(np.int64), records], axis=1)
        width = int(records.max(initial=0)) + 1
        keys, cell = np.unique(pairs[:, 0] * width + pairs[:, 1], return_inverse=True)
        found = self._gathered(keys // width)
        return replace(found, cell=cell.astype(np.int32).ravel(), records=keys % width)
