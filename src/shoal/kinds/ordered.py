"""The kind of categories in a declared order. A generalized value is an interval of them."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from shoal.kinds.categories import Categories
from shoal.kinds.ranges import RangeDomain

if TYPE_CHECKING:
    from shoal.schema import Column


class Ordered(Categories, name="ordinal"):
    """Categories in the order of the column's domain, lowest first."""

    __slots__ = ()

    ordered: ClassVar[bool] = True
    any_text: ClassVar[bool] = False
    needs_domain: ClassVar[bool] = True

    def checked_domain(self, column: Column) -> tuple[Any, ...] | None:
        if column.domain is None:
            raise ValueError("an ordinal column needs its domain: all values, lowest first")
        return super().checked_domain(column)

    def domain(
        self, labels: tuple[str, ...], values: pl.Series, missing: int | None, column: Column
    ) -> RangeDomain:
        del column
        known = len(values) - (missing is not None)
        positions = np.append(np.arange(known) / max(known - 1, 1), [2.0] * (missing is not None))
        return RangeDomain(labels, values, missing, positions)

    def width(self, column: Column) -> Decimal:
        return super().width(column) - 1

    def on_a_line(self, values: pl.Series, column: Column) -> pl.Series:
        places = {str(value): float(place) for place, value in enumerate(column.domain or ())}
        texts = values.cast(pl.String).to_list()
        return pl.Series([places.get(text) for text in texts], dtype=pl.Float64)
