"""Classes over all columns, narrowed cell by cell while every few columns still hide all records and rows."""

from __future__ import annotations

from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from shoal.base.ragged import Lists
from shoal.errors import InputError, Reason
from shoal.kernels import CodeIntervals
from shoal.kernels.narrowing import CellColumn, Narrowing
from shoal.kinds.domain import Attribute
from shoal.kinds.generalized import Generalized
from shoal.kinds.trees import TreeDomain
from shoal.methods.chain import chain
from shoal.methods.method import Circumstances, Effort, keeps
from shoal.models import KAnonymity, KmAnonymity
from shoal.models.km_anonymity import MOST_COMBINATIONS
from shoal.recoding import Recoding
from shoal.table import Table

MOST_COUNTED = 50_000_000
"""More combinations of values are refused: each takes about 40 bytes."""
PARTS = 50
"""Cells are narrowed in this many parts, so that progress can be shown."""


@keeps(KmAnonymity, default=True, persons="combinations of values are counted in records")
def narrowing(
    table: Table, model: KmAnonymity, circumstances: Circumstances, /, *, effort: Effort = "balanced"
) -> Recoding:
    """Return rows of their own that are narrower than classes.

    The classes of the method `chain` keep the guarantee in all columns together. Then cells become exact, or
    narrower, one after the other, those that lose most first: a cell does if afterwards at least k rows
    cover each combination of `knows` values that occurs, and the row at least k records in each combination
    of columns. Which of two equally wide cells is first is random. Takes time and memory of about
    O(records x combinations of columns).

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    effort
        How long to search for classes; see `chain`.

    Raises
    ------
    InputError
        If there are too many combinations to count.
    """
    knows = min(model.knows, len(table.attributes))
    _require_countable(table, knows)
    classes = chain(table, KAnonymity(k=model.k), circumstances, effort=effort)
    members = [_members(values) for values in classes.values]
    order = np.argsort(classes.box, kind="stable").astype(np.int32)
    rows = Lists.of_sizes(np.bincount(classes.box, minlength=len(members[0])), order)
    found = Narrowing(table.codes, [_column(a) for a in table.attributes], rows, members, knows, model.k)
    parts = np.array_split(_widest_first(classes, circumstances), PARTS)
    for number, part in enumerate(parts):
        circumstances.progress("narrowing cells", number / PARTS)
        found.narrow(part)
    circumstances.progress("narrowing cells", 1.0)
    values = []
    for column, attribute in enumerate(table.attributes):
        cells = found.cells(column)
        values.append(attribute.domain.closure(cells.values, cells.starts))
    return Recoding(table, tuple(values), np.arange(len(table), dtype=np.int32))


def _require_countable(table: Table, knows: int) -> None:
    """Refuse a table with more combinations than memory has room for."""
    sizes = sorted((len(a.domain) for a in table.attributes), reverse=True)
    combinations = comb(len(sizes), knows)
    counted = combinations * len(table)
    if combinations > MOST_COMBINATIONS or counted > MOST_COUNTED or prod(sizes[:knows]) >= 2**62:
        raise InputError(
            f"knows = {knows} of {len(sizes)} quasi-identifiers has about {counted:,} combinations, "
            "too many to count; choose a smaller number",
            reason=Reason.PARAMETER,
            parameter="knows",
        )


def _column(attribute: Attribute) -> CellColumn:
    domain = attribute.domain
    tree: tuple[NDArray[np.int32], ...] = ()
    if isinstance(domain, TreeDomain):
        nodes = domain.hierarchy
        tree = (nodes.parent, nodes.first, nodes.last, nodes.leaf_node)
    return CellColumn(attribute.geometry(1.0).kind, len(domain), domain.missing, tree)


def _members(values: Generalized) -> Lists:
    """Return the codes in each generalized value, ascending."""
    found = values.for_kernel()
    if not isinstance(found, CodeIntervals):
        return found
    sizes = (found.high - found.low + 1).astype(np.int64)
    ends = np.cumsum(sizes)
    codes = np.arange(ends[-1]) - np.repeat(ends - sizes - found.low, sizes)
    return Lists.of_sizes(sizes, codes.astype(np.int32))


def _widest_first(classes: Recoding, circumstances: Circumstances) -> NDArray[np.int64]:
    """Return the cells that are not exact, as row * columns + column, those that lose most first."""
    weights = classes.table.weights
    lost = np.column_stack([w * v.ncp()[classes.box] for w, v in zip(weights, classes.values, strict=True)])
    lost = lost.ravel()
    chance = circumstances.randomness.words(len(lost))
    order = np.lexsort((chance, -lost))
    return order[lost[order] > 0].astype(np.int64)
