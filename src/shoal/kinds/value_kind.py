"""Kinds with one value in each cell: how cells become codes into the domain of a column."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, Reason
from shoal.kinds import exact_numbers as exact
from shoal.kinds import limits
from shoal.kinds.domain import Attribute, Codes, Domain
from shoal.kinds.encoding import factorize
from shoal.kinds.hierarchy import MISSING
from shoal.kinds.kind import Kind, refuse_years
from shoal.kinds.marks import check_marks
from shoal.kinds.ranges import with_bands
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
        bands: Sequence[limits.Band] = ()
        if column.bands is not None and len(values):
            values, codes, bands = self._with_ends_of_bands(values, codes, column)
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
            if bands:
                found = replace(
                    found, domain=with_bands(found.domain, bands, self.places(values.drop_nulls()))
                )
        check_marks(column, found.domain, self.is_value(column, found.domain))
        return found

    def at_places(self, places: Sequence[limits.Place], column: Column) -> pl.Series:
        """Return the values that lie at some `places`, if the kind has bands."""
        del places
        raise TypeError(f"column {column.name!r} has no bands")

    def _with_ends_of_bands(
        self, values: pl.Series, codes: Codes, column: Column
    ) -> tuple[pl.Series, Codes, list[limits.Band]]:
        """Return values with the ends of all bands among them, the codes into these, and the bands."""
        places = self.places(values)
        try:
            bands = list(self.bands(column, places[0], places[-1], whole=values.dtype.is_integer()))
        except ValueError as error:
            raise InputError(
                f"column {column.name!r}: {error}", reason=Reason.OUT_OF_DOMAIN, column=column.name
            ) from None
        ends = self.at_places([end for band in bands for end in band], column)
        united = exact.united([values, ends]) if self.numeric else pl.concat([values, ends]).unique().sort()
        known = {place: code for code, place in enumerate(self.places(united))}
        number = np.array([*(known[place] for place in places), -1], dtype=np.int32)
        return united.rename(column.name), number[codes], bands

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
