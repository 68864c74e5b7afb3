"""The joint distribution of the records behind a release: latent classes, fitted to tight cells.

In a row that was made for k records, m values of a column are required: each is the value of at least one of
these. The other k - m records have values that are drawn from the distribution of the column in the row's
latent class. So a value v of a cell S has the weight (required(v) + (k - m) p(v) / p(S)) / k. From these
weights, p is estimated again until it converges. `docs/estimator.md` derives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.sparse import SparseMatrix
from shoal.reading.cells import ALL, Floats, Index, ReadCells


@dataclass(frozen=True)
class Assumption:
    """How the values of a row's records are taken to be distributed over a cell.

    Parameters
    ----------
    power
        The power of a probability that values of free records follow. Frequent values fill whole rows, which
        then show a single value. So where a cell has several values, frequent ones are rarer than in the
        column as a whole, and the power is below 1. It is below 0 where rare values are even more likely than
        frequent ones.
    required
        The number of records that a required value is counted as. It is below 1 where the record of a row is
        seldom the one at the edge of its cells.
    nodes
        The power for nodes of hierarchies. They say nothing about which of their leaves occur, and the exact
        cells of a column little: values that are published exactly are the frequent ones.
    """

    power: float = 0.65
    required: float = 1.0
    nodes: float = 0.35

    def shifted(self, by: float) -> Assumption:
        """Return the assumption with other powers."""
        power, nodes = (float(np.clip(each + by, -1.0, 1.0)) for each in (self.power, self.nodes))
        return replace(self, power=power, nodes=nodes)

    def powers(self, column: ReadCells[Any]) -> list[tuple[float, NDArray[np.bool_]]]:
        """Return the powers for the cells of a column, and which cells each of them is for."""
        loose = column.loose
        if self.nodes == self.power or not loose.any():
            return [(self.power, np.ones(len(column), dtype=np.bool_))]
        return [(self.power, ~loose), (self.nodes, loose)]


RANDOM = Assumption(1.0, nodes=1.0)
"""Generalization that does not depend on values."""
CLASSES = 30
ROWS_PER_CLASS = 200
"""The maximum number of latent classes, and the minimum number of rows for each."""
ITERATIONS = 25
SAMPLE = 50_000
"""The classes are fitted to at most this many rows."""
PRIOR = 0.5
"""The number of imaginary rows in each class that are distributed as the column is."""
CHUNK = 20_000
RARE = 1e-3
"""With a power below 0, rarer values are taken to be as likely as values with this probability."""
NOWHERE = 1e-8
"""Values with a smaller probability are taken hardly to occur, with any power."""
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Mixture:
    """Latent classes of the records of a release.

    Parameters
    ----------
    columns
        The columns that the classes are fitted to.
    likely
        For each column, the probability of each atom in each class.
    shares
        The probability of each class.
    assumption
        How values are distributed over a cell.
    """

    columns: tuple[ReadCells[Any], ...]
    likely: tuple[Floats, ...]
    shares: Floats
    assumption: Assumption

    def weight(
        self, place: int, asked: Any, index: Index = ALL, assumption: Assumption | None = None
    ) -> Floats:
        """Return for each cell of a column, and each class, the probability that a question is met.

        Parameters
        ----------
        place
            The number of the column.
        asked
            The question, as the column understands it.
        index
            The cells.
        assumption
            Another assumption than that of the fit, to see how much the answer depends on it.
        """
        assumption = assumption or self.assumption
        column, likely = self.columns[place], self.likely[place]
        required, free = (each[index][:, None] for each in records_of(column, assumption))
        share = required / np.maximum(column.all_required[index][:, None], 1)
        met = column.required(asked, index)[:, None] * share
        inside: Any = 0.0
        for power, where in assumption.powers(column):
            weights = raised(likely, power)
            whole = np.maximum(column.mass(weights, None, index), _TINY)
            inside = inside + where[index][:, None] * column.mass(weights, asked, index) / whole
        return np.asarray((met + free * inside) / np.maximum(required + free, _TINY))

    def free_share(self, place: int) -> Floats:
        """Return for each cell of a column the probability that its value is none of the required ones."""
        required, free = records_of(self.columns[place], self.assumption)
        return np.asarray(free / np.maximum(required + free, _TINY))

    def memberships(self) -> NDArray[np.float32]:
        """Return the probability of each class for each row."""
        logs = [
            _log_likelihood(column, p, self.assumption).astype(np.float32)
            for column, p in zip(self.columns, self.likely, strict=True)
        ]
        rows = len(self.columns[0].cell)
        found = np.empty((rows, len(self.shares)), dtype=np.float32)
        shares = np.log(np.maximum(self.shares, _TINY)).astype(np.float32)
        for start in range(0, rows, CHUNK):
            part = slice(start, start + CHUNK)
            total = np.tile(shares, (len(found[part]), 1))
            for column, log in zip(self.columns, logs, strict=True):
                total += log[column.cell[part]]
            total -= total.max(axis=1, keepdims=True)
            np.exp(total, out=total)
            found[part] = total / total.sum(axis=1, keepdims=True)
        return found


def fitted(
    columns: Sequence[ReadCells[Any]],
    *,
    classes: int | None = None,
    assumption: Assumption = RANDOM,
    iterations: int = ITERATIONS,
    seed: int = 0,
) -> Mixture:
    """Return the latent classes that explain the cells of a release best.

    Parameters
    ----------
    columns
        The columns.
    classes
        The number of classes; by default as many as there are rows for, up to `CLASSES`. With one, columns
        are taken to be independent.
    assumption
        How values are distributed over a cell.
    iterations
        The number of steps.
    seed
        Of the first guess, and of the sample of rows in a large release.
    """
    generator = np.random.default_rng(seed)
    count = len(columns[0].cell)
    if classes is None:
        classes = int(np.clip(count // ROWS_PER_CLASS, 1, CLASSES))
    seen = list(columns)
    if count > SAMPLE:
        rows = np.sort(generator.choice(count, SAMPLE, replace=False))
        seen = [column.limited(rows) for column in columns]
    incidences = [_incidence(column) for column in seen]
    overall = tuple(_column_alone(c, i, assumption) for c, i in zip(seen, incidences, strict=True))
    if classes == 1:
        return Mixture(tuple(columns), tuple(p[:, None] for p in overall), np.ones(1), assumption)
    likely = []
    for probabilities in overall:
        noise = generator.gamma(5.0, 1.0, (len(probabilities), classes))
        first = np.maximum(probabilities, 1e-9)[:, None] * noise
        likely.append(first / first.sum(axis=0))
    mixture = Mixture(tuple(seen), tuple(likely), np.full(classes, 1 / classes), assumption)
    for _ in range(iterations):
        members = mixture.memberships()
        likely = []
        for column, incidence, p, alone in zip(seen, incidences, mixture.likely, overall, strict=True):
            often: Floats = np.asarray(incidence @ members)
            updated = _expected(column, often, p, assumption) + PRIOR * alone[:, None]
            likely.append(updated / updated.sum(axis=0))
        mixture = Mixture(tuple(seen), tuple(likely), members.mean(axis=0, dtype=np.float64), assumption)
    return replace(mixture, columns=tuple(columns))


def raised(likely: Floats, power: float) -> Floats:
    """Return a power of the probability of each atom, which weighs the values of free records."""
    if power >= 0:
        return np.asarray(likely**power)
    return np.where(likely < NOWHERE, likely, np.maximum(likely, RARE) ** power)


def even(columns: Sequence[ReadCells[Any]]) -> Mixture:
    """Return the distribution in which all values of a cell are equally likely."""
    return Mixture(tuple(columns), tuple(column.even()[:, None] for column in columns), np.ones(1), RANDOM)


def records_of(column: ReadCells[Any], assumption: Assumption) -> tuple[Floats, Floats]:
    """Return for each cell of a column how many of its records are required ones, and how many are free."""
    required, free = column.all_required, column.free.astype(np.float64)
    counted = np.where(column.exact, required, assumption.required * required)
    return counted, free + required - counted


def _incidence(column: ReadCells[Any]) -> SparseMatrix:
    """Return which rows show which cell, as a matrix."""
    rows = len(column.cell)
    ones = np.ones(rows, dtype=np.float32)
    return SparseMatrix.of_places(ones, column.cell, np.arange(rows), (len(column), rows))


def _column_alone(column: ReadCells[Any], incidence: SparseMatrix, assumption: Assumption) -> Floats:
    """Return the distribution of a column by itself."""
    often = incidence.sizes.astype(np.float64).reshape(-1, 1)
    likely = column.even()[:, None] + 1e-9
    for _ in range(3 if assumption.power < 1 else 2 * ITERATIONS):
        expected = _expected(column, often, likely, assumption)
        likely = expected / np.maximum(expected.sum(), _TINY)
    return likely[:, 0]


def _expected(column: ReadCells[Any], often: Floats, likely: Floats, assumption: Assumption) -> Floats:
    """Return the expected number of rows with each atom, if cells occur in each class so often."""
    required, free = (each[:, None] for each in records_of(column, assumption))
    per_record = often / np.maximum(required + free, _TINY)
    total = column.spread_required(per_record * required / np.maximum(column.all_required[:, None], 1))
    for power, where in assumption.powers(column):
        weights = raised(likely, power)
        scaled = where[:, None] * per_record * free / np.maximum(column.mass(weights), _TINY)
        total = total + weights * column.spread(scaled)
    return total


def _log_likelihood(column: ReadCells[Any], likely: Floats, assumption: Assumption) -> Floats:
    """Return the mean logarithm of the probability of a cell's records in each class."""
    logs = np.log(np.maximum(likely, 1e-30))
    required, free = (each[:, None] for each in records_of(column, assumption))
    total = column.required_mass(logs) * required / np.maximum(column.all_required[:, None], 1)
    for power, where in assumption.powers(column):
        weights = raised(likely, power)
        by_weight = column.mass(weights * logs) / np.maximum(column.mass(weights), _TINY)
        total = total + where[:, None] * free * by_weight
    return np.asarray(total / np.maximum(required + free, _TINY))
