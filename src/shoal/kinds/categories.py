"""The kind of categories. A generalized value is a set of them or, with a hierarchy, a node."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, Reason, listing
from shoal.kinds import exact_numbers as exact
from shoal.kinds.domain import Codes, Domain
from shoal.kinds.hierarchy import MISSING
from shoal.kinds.sets import SetDomain
from shoal.kinds.value_kind import ValueKind

if TYPE_CHECKING:
    from shoal.schema import Column


class Categories(ValueKind, name="categorical"):
    """Values without an order; every value is a category."""

    __slots__ = ()

    any_text: ClassVar[bool] = True

    def values(self, cells: pl.Series, column: Column, rows: NDArray[np.int64]) -> pl.Series:
        del column, rows
        return exact.whole_if_possible(exact.floats(cells)) if cells.dtype.is_float() else cells

    def domain(
        self, labels: tuple[str, ...], values: pl.Series, missing: int | None, column: Column
    ) -> Domain:
        del column
        return SetDomain(labels, values, missing)

    def declared(
        self,
        column: Column,
        values: pl.Series,
        labels: tuple[str, ...],
        codes: Codes,
        rows: NDArray[np.int64],
    ) -> tuple[pl.Series, tuple[str, ...], Codes]:
        """Return values, labels and codes, renumbered by the declared domain."""
        if column.domain is None:
            return values, labels, codes
        declared = {
            value if isinstance(value, str) else self.texts(pl.Series([value]), column)[0]: value
            for value in column.domain
            if value not in (None, MISSING, *column.missing_marks)
        }
        place_of = {label: code for code, label in enumerate(declared)}
        renumber = np.array([*(place_of.get(label, -2) for label in labels), -1], dtype=np.int32)
        renumbered = renumber[codes]
        if (renumbered == -2).any():
            first = int((renumbered == -2).argmax())
            raise InputError(
                f"column {column.name!r}, row {int(rows[first]) + 1}: {labels[codes[first]]!r} is not in the "
                f"declared domain {listing(declared)}",
                reason=Reason.OUT_OF_DOMAIN,
                column=column.name,
            )
        return _typed(column.name, declared, values.dtype), tuple(declared), renumbered


def _typed(name: str, declared: Mapping[str, Any], dtype: pl.DataType) -> pl.Series:
    """Return declared categories with the type of the column, or as text if that is not possible."""
    labels = pl.Series(name, list(declared), dtype=pl.String)
    with suppress(TypeError, pl.exceptions.PolarsError):
        if dtype.is_numeric():
            return labels.cast(dtype)
        return pl.Series(name, list(declared.values()), dtype=dtype, strict=True)
    return labels
