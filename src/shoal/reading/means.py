"""The mean of a column of numbers over the rows that meet conditions, and what its error rests on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, Reason
from shoal.reading.answers import NEVER, SHIFT, Evidence
from shoal.reading.cells import Floats
from shoal.reading.joint import Asked, Joint
from shoal.reading.mixture import Assumption, raised, records_of
from shoal.reading.ordered_cells import AskedRanges, OrderedCells
from shoal.reading.places import declared_ends

_TINY = 1e-300


def mean_evidence(joint: Joint, numbers: OrderedCells, asked: Asked) -> Evidence:
    """Return the estimate of a mean, and what it rests on, in the unit of the column.

    Parameters
    ----------
    joint
        The columns and their joint distribution.
    numbers
        The column.
    asked
        The conditions.

    Raises
    ------
    InputError
        If no row can meet the conditions, or nothing is known about any number.
    """
    if nothing_known(numbers):
        raise InputError(
            f"column {numbers.notes.name!r}: its numbers are suppressed, and no domain was declared",
            reason=Reason.NO_ROWS,
            column=numbers.notes.name,
        )
    certain, possible = joint.bounds(asked)
    rows = np.flatnonzero(possible)
    values, spread, weights = _rows(joint, numbers, asked, rows, joint.assumption)
    if not len(rows):
        raise InputError("no row can meet the conditions", reason=Reason.NO_ROWS)
    total = float(weights.sum())
    if total <= NEVER:
        return _unknown(numbers, rows, int(certain.sum()))
    mean = float((weights * values).sum()) / total
    blank = int(((weights <= NEVER) & joint.vague(asked, rows)).sum())
    # Which numbers are suppressed depends on them, so nothing says where in their spread the mean lies.
    suppressed = numbers.vague[numbers.cell[rows]]
    unknown = (
        blank / (blank + total) * float(np.std(values)) + float((weights * spread)[suppressed].sum()) / total
    )
    # Rows that may not belong, and values that are not exact, both make the mean uncertain.
    doubt = weights * (1 - weights) * (values - mean) ** 2 + weights * spread**2
    unsure = (
        float((np.minimum(weights, 1 - weights) * np.abs(values - mean) + weights * spread).sum()) / total
    )
    inside, between = (float((weights * each**2).sum()) for each in (spread, values - mean))
    return Evidence(
        mean,
        int(certain.sum()),
        int(possible.sum()),
        float(doubt.sum()) / total**2,
        float((doubt * (joint.sharing[rows] - 1)).sum()) / total**2,
        unsure,
        _difference(joint, numbers, asked, rows) if doubt.any() else 0.0,
        unknown,
        unsure * float(np.sqrt(inside / max(inside + between, _TINY))),
    )


def nothing_known(numbers: OrderedCells) -> bool:
    """Return whether numbers are suppressed, at most one is published, and no domain was declared."""
    published = ~(numbers.suppressed | numbers.absent)
    ends = np.unique(np.concatenate([numbers.low[published], numbers.high[published]]))
    return len(ends) < 2 and bool(numbers.suppressed.any()) and not len(declared_ends(numbers.notes))


def _unknown(numbers: OrderedCells, rows: NDArray[np.int64], certain: int) -> Evidence:
    """Return what is known if no cell names what was asked for: any number of the rows may be the ones."""
    low, high = numbers.low[numbers.cell[rows]], numbers.high[numbers.cell[rows]]
    there = ~np.isnan(low)
    if not there.any():
        raise InputError("no row that can meet the conditions has a number", reason=Reason.NO_ROWS)
    lowest, highest = float(low[there].min()), float(high[there].max())
    return Evidence((lowest + highest) / 2, certain, len(rows), 0.0, 0.0, 0.0, 0.0, (highest - lowest) / 2)


def _difference(joint: Joint, numbers: OrderedCells, asked: Asked, rows: NDArray[np.int64]) -> float:
    """Return how far apart the means under different assumptions are."""
    if joint.estimator not in ("tight", "columns"):
        return 0.0
    means = []
    for assumption in (joint.assumption.shifted(by) for by in (-SHIFT, SHIFT)):
        values, _, weights = _rows(joint, numbers, asked, rows, assumption)
        means.append(float((weights * values).sum()) / max(float(weights.sum()), _TINY))
    return abs(means[1] - means[0])


def _rows(
    joint: Joint,
    numbers: OrderedCells,
    asked: Asked,
    rows: NDArray[np.int64],
    assumption: Assumption,
) -> tuple[Floats, Floats, Floats]:
    """Return the expected number of each row, its standard deviation, and the probability that it counts.

    A row counts if it meets the conditions and its number is not missing.
    """
    name = numbers.notes.name
    cells = numbers.cell[rows]
    if not numbers.notes.quasi:
        values = numbers.low[cells]
        weights = joint.weights(asked, rows, assumption) * ~np.isnan(values)
        return np.nan_to_num(values), np.zeros(len(rows)), weights
    within = next((question for column, question in asked if column == name), None)
    apart, joined = joint.parts([each for each in asked if each[0] != name], rows, assumption)
    needed, where = np.unique(cells, return_inverse=True)
    moments = _moments(joint, numbers, within, needed.astype(np.int64), assumption)
    members = joint.members[rows] if joined is None else joint.members[rows] * joined
    there, first, second = ((each[where.ravel()] * members).sum(axis=1) for each in moments)
    share = np.maximum(there, _TINY)
    values = first / share
    spread = np.sqrt(np.maximum(second / share - values**2, 0.0))
    exact = numbers.exact[cells]
    values = np.where(exact, np.nan_to_num(numbers.low[cells]), values)
    return values, np.where(exact, 0.0, spread), np.clip(apart * there, 0.0, 1.0)


def _moments(
    joint: Joint,
    column: OrderedCells,
    within: AskedRanges | None,
    cells: NDArray[np.int64],
    assumption: Assumption,
) -> tuple[Floats, Floats, Floats]:
    """Return for some cells and each class how likely a number inside a question is, and its moments.

    The moments are the expected number and the expected square, where numbers outside count as 0.
    """
    likely = joint.mixture.likely[joint.places[column.notes.name]]
    required, free = (each[cells][:, None] for each in records_of(column, assumption))
    counted = required / np.maximum(column.required(None, cells)[:, None], 1)
    edges = column.edges
    middles = np.append(edges[:-1] / 2 + edges[1:] / 2, 0.0)[:, None]
    present = np.append(np.ones(len(edges) - 1), 0.0)[:, None]  # the last atom is a missing value
    found = [counted * column.required_powers(each, within, cells)[:, None] for each in range(3)]
    for power, where in assumption.powers(column):
        weights = raised(likely, power)
        whole = np.maximum(column.mass(weights, None, cells), _TINY)
        share = where[cells][:, None] * free / whole
        for each in range(3):
            inner = column.mass(weights * present * middles**each, within, cells)
            found[each] = found[each] + share * inner
    there, first, second = (each / np.maximum(required + free, _TINY) for each in found)
    return there, first, second
