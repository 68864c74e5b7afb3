"""Which k and delta are achievable for a table, if sensitive values within epsilon count as close."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, Reason
from shoal.measures.distances import Distance, distance_over
from shoal.schema import Schema
from shoal.table import Table

DEFAULT_K = (2, 3, 5, 10, 15, 20, 30, 50, 100)
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Advice:
    """How much dissimilarity is achievable for a table (the paper on XColor, Section V-A).

    Parameters
    ----------
    records
        Number of records.
    values
        Number of different sensitive values.
    epsilon
        Two values are close if their distance is at most this.
    degree
        The maximum number of other records that are close to one record.
    clique
        The minimum number of records that are all close to each other.
    frontier
        For several k, the delta that is certain to be reached and an upper limit of delta.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(100)
    >>> schema = shoal.Schema.infer(patients, quasi=["age"], sensitive=["days"], drop=["patient", "name"])
    >>> advice = shoal.advise(patients, schema, epsilon=1.0, k=[5, 10])
    >>> advice.records
    100
    """

    records: int
    values: int
    epsilon: float
    degree: int
    clique: int
    frontier: tuple[Point, ...] = ()

    def guaranteed(self, k: int) -> float | None:
        """Return the largest delta that classes of k or more records are certain to reach; None if none is.

        The classes are as small as possible, of about equal size. Exchanges find them (Lemma 2 and Theorem
        3, extended to sizes that differ by one).
        """
        smallest = self.records // (self.records // k)
        for allowed in range(smallest):
            if self._enough(k, allowed):
                return 1 - allowed / (smallest - 1)
        return None

    def guarantees(self, k: int, delta: float) -> bool:
        """Return whether classes of k or more records are certain to reach this delta."""
        smallest = self.records // (self.records // k)
        return self._enough(k, int(allowed_neighbours(np.array([smallest]), delta)[0]))

    def possible(self, k: int) -> float:
        """Return a delta that no partition into classes of k or more records can exceed.

        A class of s records has room for (1 - delta)(s - 1) + 1 that are close to each other: a share of
        1 - delta (1 - 1/s).
        """
        return min(1.0, (1 - self.clique / self.records) / (1 - 1 / k))

    def at(self, ks: Sequence[int]) -> tuple[Point, ...]:
        """Return the frontier for several k, except those above the number of records."""
        return tuple(Point(k, self.guaranteed(k), self.possible(k)) for k in ks if k <= self.records)

    def as_dict(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        return {
            "records": self.records,
            "values": self.values,
            "epsilon": self.epsilon,
            "degree": self.degree,
            "clique": self.clique,
            "frontier": [
                {"k": point.k, "guaranteed_delta": point.guaranteed, "possible_delta": point.possible}
                for point in self.frontier
            ],
        }

    def _enough(self, k: int, allowed: int) -> bool:
        """Return whether every record with more neighbours than allowed can be exchanged."""
        if self.degree <= allowed:
            return True
        classes = self.records // k
        room = classes * (allowed + 1)
        # If classes differ in size, the proof of Lemma 2 needs slightly more room.
        return 2 * self.degree < room if self.records % classes else 2 * self.degree <= room


@dataclass(frozen=True)
class Point:
    """The achievable delta for one k.

    Parameters
    ----------
    k
        Minimum number of records of a class.
    guaranteed
        The largest delta that is certain to be reached; None if none is.
    possible
        An upper limit of delta.
    """

    k: int
    guaranteed: float | None
    possible: float


def advise(
    frame: Any,
    schema: Schema,
    *,
    epsilon: float,
    distance: str | Callable[[Any, Any], float] | None = None,
    k: int | Sequence[int] = DEFAULT_K,
) -> Advice:
    """Report which k and delta of `Dissimilarity` are achievable for a table.

    Parameters
    ----------
    frame
        The table: any frame that narwhals supports.
    schema
        What its columns are.
    epsilon, distance
        As for `Dissimilarity`.
    k
        Minimum crowd sizes to report on.

    Returns
    -------
    Advice
        O(n log n) for one column; for composite values, time is in proportion to the pairs of different
        values.

    Raises
    ------
    InputError
        If the frame, the schema or a parameter is wrong, or there is no sensitive column.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(100)
    >>> schema = shoal.Schema.infer(patients, quasi=["age"], sensitive=["days"], drop=["patient", "name"])
    >>> advice = shoal.advise(patients, schema, epsilon=1.0, k=[5, 10])
    >>> [point.k for point in advice.frontier]
    [5, 10]
    """
    given: Any = epsilon
    if not (isinstance(given, Real) and 0 <= float(given) < math.inf):
        raise InputError(
            f"epsilon = {epsilon!r} is not a distance; give a number of 0 or more", reason=Reason.PARAMETER
        )
    ks = [k] if isinstance(k, int) else list(k)
    if not ks or not all(isinstance(each, int) and each >= 2 for each in ks):
        raise InputError(f"k = {ks} is not possible; give 2 or more", reason=Reason.PARAMETER, parameter="k")
    table = Table.encode(frame, schema)
    values, measured = distance_over(table.sensitive, table.schema.sensitive, distance)
    found = advice_of(values, measured, epsilon)
    return Advice(found.records, found.values, epsilon, found.degree, found.clique, found.at(ks))


def advice_of(values: NDArray[np.int32], distance: Distance, epsilon: float) -> Advice:
    """Return the advice for records with these values, without a frontier."""
    counts = np.bincount(values, minlength=len(distance))
    degrees = distance.degrees(counts, epsilon)[counts > 0]
    return Advice(len(values), len(degrees), epsilon, int(degrees.max()), distance.clique(counts, epsilon))


def allowed_neighbours(sizes: NDArray[np.integer[Any]], delta: float) -> NDArray[np.int32]:
    """Return the maximum number of neighbours of a record in a class of each size: (1 - delta)(size - 1)."""
    return np.floor((1 - delta) * (np.asarray(sizes) - 1) + _ROUNDING).astype(np.int32)
