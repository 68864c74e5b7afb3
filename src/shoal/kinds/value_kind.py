"""Kinds with one value in each cell: how cells become codes into the domain of a column."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, Reason
from shoal.kinds.domain import Attribute, Codes, Domain
from shoal.kinds.encoding import factorize
from shoal.kinds.hierarchy import MISSING
from shoal.kinds.kind import Kind, refuse_years
from shoal.kinds.marks import check_marks
from shoal.kinds.trees import tree_attribute

if TYPE_CHECKING:
    from shoal.schema import Column


class ValueKind(Kind):
    """A kind with one value in each cell, generalized to a node where the column has a hierarchy."""

    __slots__ = ()

    @abstractmethod
    def values(self, cells: pl.Series, column: Column, rows: NDArray[np.int64]) -> pl.Series:
        """Return cells as values of this kind; parameters as for `attribute`.

        Raises
        ------
        InputError
            If a cell is not a value; the message names the first row with such a cell.
        """

    @abstractmethod
    def domain(
        self, labels: tuple[str, ...], values: pl.Series, missing: int | None, column: Column
    ) -> Domain:
        """Return the domain of a column without a hierarchy; parameters as of `Domain`."""

    def attribute(
        self,
        cells: pl.Series,
        column: Column,
        rows: NDArray[np.int64],
        known: Domain | None = None,
        *,
        times: bool = False,
    ) -> Attribute:
        del times
        refuse_years(cells, column, rows)
        read = self.values(cells, column, rows)
        values, codes = factorize(read, numeric=self.numeric)
        if known is not None:
            return Attribute(column, known, self._codes_in(known, values, column, codes, rows))
        labels = self.texts(values, column)
        values, labels, codes = self.declared(column, values, labels, codes, rows)
        if column.hierarchy is not None:
            found = tree_attribute(column, values, labels, codes)
        else:
            missing = len(labels) if (codes < 0).any() else None
            if missing is not None:
                codes = np.where(codes < 0, np.int32(missing), codes)
                labels = (*labels, MISSING)
                values = pl.concat([values, pl.Series([None], dtype=values.dtype)])
            found = Attribute(column, self.domain(labels, values, missing, column), codes)
        check_marks(column, found.domain, self.is_value(column, found.domain))
        return found

    def declared(
        self,
        column: Column,
        values: pl.Series,
        labels: tuple[str, ...],
        codes: Codes,
        rows: NDArray[np.int64],
    ) -> tuple[pl.Series, tuple[str, ...], Codes]:
        """Return values, labels and codes, renumbered if the column declares all its values."""
        del column, rows
        return values, labels, codes

    def is_value(self, column: Column, domain: Domain) -> Callable[[str], bool]:
        """Return a function that tells whether a text can be a value, such as the end of an interval."""
        del column
        return domain.code_of.__contains__

    def _codes_in(
        self, domain: Domain, values: pl.Series, column: Column, codes: Codes, rows: NDArray[np.int64]
    ) -> Codes:
        """Return codes into a given domain instead of into the values that occur."""
        places = [domain.code_of.get(label, -2) for label in self.texts(values, column)]
        missing = -2 if domain.missing is None else domain.missing
        renumbered = np.array([*places, missing], dtype=np.int32)[codes]
        if (renumbered == -2).any():
            first = int(rows[int((renumbered == -2).argmax())]) + 1
            raise InputError(
                f"column {column.name!r}, row {first}: the value was not found before; did the table change?",
                reason=Reason.OUT_OF_DOMAIN,
                column=column.name,
            )
        return renumbered
