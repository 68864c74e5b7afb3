"""A table's attributes as the native kernels see them: what it costs to cover several values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.kernels import Geometry
from shoal.table import Table

COSTED = ("lm", "em")
"""What closures can be costed by, besides NCP."""


@dataclass(frozen=True, eq=False)
class Costs:
    """What closures cost.

    Parameters
    ----------
    attributes
        The cost of each attribute's generalized values.
    counts
        For each attribute, how many records have each code, if cost is measured by entropy; otherwise empty.
    """

    attributes: list[Geometry]
    counts: list[NDArray[np.int64]]


def costs(table: Table, measure: str) -> Costs:
    """Return what closures cost by a measure: ``lm`` or ``em``, see `Loss`.

    Raises
    ------
    InputError
        If there is no such measure.
    """
    if measure not in COSTED:
        raise InputError(
            f"measure {measure!r} is unknown{did_you_mean(measure, COSTED)}; it is one of {listing(COSTED)}",
            reason=Reason.PARAMETER,
        )
    if measure == "em":
        return Costs(geometry(table), [attribute.counts for attribute in table.attributes])
    refuse_items(table)
    weighted = zip(table.attributes, table.weights, strict=True)
    return Costs([attribute.geometry(float(weight), lm=True) for attribute, weight in weighted], [])


def refuse_items(table: Table) -> None:
    """Refuse a table with a column of items, for methods that know nothing of these.

    Raises
    ------
    InputError
        If there is one.
    """
    for attribute in table.attributes:
        if not attribute.domain.in_boxes:
            raise InputError(
                f"column {attribute.column.name!r} holds items, which only set-anonymity and set-diversity "
                "generalize; promise one of these, or give the column another role",
                reason=Reason.PARAMETER,
                column=attribute.column.name,
                parameter="model",
            )


def geometry(table: Table) -> list[Geometry]:
    """Return the cost of each attribute's generalized values, by NCP.

    Raises
    ------
    InputError
        If there is a column of items, about which these kernels know nothing.
    """
    refuse_items(table)
    return [
        attribute.geometry(float(weight))
        for attribute, weight in zip(table.attributes, table.weights, strict=True)
    ]


def entropies(table: Table) -> list[NDArray[np.float64]]:
    """Return for each attribute how often each code occurs; of a tree, the entropy where neighbours meet."""
    return [attribute.domain.kernel_entropies(attribute.counts) for attribute in table.attributes]
