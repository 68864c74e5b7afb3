"""How far apart sensitive values are: what makes two of them close enough to give each other away."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal import kernels
from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.kinds import exact_numbers as exact
from shoal.kinds.domain import Sensitive
from shoal.kinds.hierarchy import MISSING, Hierarchy
from shoal.models.dissimilarity import DISTANCES, NORMS
from shoal.schema import Column

Values = NDArray[np.integer[Any]]
"""Numbers of values, from 0, in any shape."""

MOST_LISTED = 1 << 14
"""The maximum number of values whose closeness is listed: the list has a bit for each pair."""


class Distance(ABC):
    """A distance between the values 0, 1, 2, ... of a column, or of several columns together.

    It is symmetric, and 0 between a value and itself. Nothing else is expected of it.
    """

    @abstractmethod
    def __len__(self) -> int:
        """Return how many values there are."""

    @abstractmethod
    def between(self, first: Values, second: Values) -> NDArray[np.float64]:
        """Return the distance of each pair, for arrays that broadcast; infinite if nothing compares them."""

    @property
    @abstractmethod
    def diameter(self) -> float:
        """What no finite distance exceeds, at least 0."""

    @property
    def rounding(self) -> float:
        """By how much a distance can be too large because numbers such as 0.1 are not exact in binary."""
        return 0.0

    def close(self, first: Values, second: Values, epsilon: float) -> NDArray[np.bool_]:
        """Return whether each pair is within `epsilon`, itself included."""
        return np.asarray(self.between(first, second) <= epsilon + self.rounding)

    def degrees(self, counts: NDArray[np.integer[Any]], epsilon: float) -> NDArray[np.int64]:
        """Return for each value how many others are within `epsilon` of one that has it.

        Parameters
        ----------
        counts
            How many have each value.
        epsilon
            What counts as close.
        """
        return self.closeness(epsilon).degrees(counts)

    def clique(self, counts: NDArray[np.integer[Any]], epsilon: float) -> int:
        """Return how many are known to be within `epsilon` of each other, all of them; there may be more."""
        del epsilon
        return int(counts.max())

    def closeness(self, epsilon: float) -> kernels.Closeness:
        """Return which values are within `epsilon`, for the kernels.

        Raises
        ------
        InputError
            If there are too many values for a list of all pairs, and the distance needs one.
        """
        size = len(self)
        if size > MOST_LISTED:
            raise InputError(
                f"{size} different sensitive values are too many for a distance that must be asked about "
                f"each pair; it can be {MOST_LISTED} at most",
                reason=Reason.TOO_LARGE,
            )
        everything = np.arange(size)
        rows = [
            np.packbits(self.close(np.array([v]), everything, epsilon), bitorder="little") for v in everything
        ]
        return kernels.Closeness.listed(np.concatenate(rows), size)


class LinearDistance(Distance):
    """A distance for which the values can be ranked so that the neighbours of each have adjacent ranks."""

    def degrees(self, counts: NDArray[np.integer[Any]], epsilon: float) -> NDArray[np.int64]:
        low, high = self.reach(epsilon)
        before = self._before(counts)
        return np.asarray(before[high + 1] - before[low] - 1)

    def clique(self, counts: NDArray[np.integer[Any]], epsilon: float) -> int:
        # A value between two that are close to each other is close to both.
        high = self.reach(epsilon)[1]
        before = self._before(counts)
        return int((before[high + 1] - before[self.rank]).max())

    def _before(self, counts: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Return how many have a lower rank than each, and finally how many there are."""
        return np.concatenate(([0], np.cumsum(counts[np.argsort(self.rank)], dtype=np.int64)))

    def closeness(self, epsilon: float) -> kernels.Closeness:
        return kernels.Closeness.ranked([(self.rank, *self.reach(epsilon))])

    @abstractmethod
    def component(self, weight: float, codes: Values) -> kernels.Component:
        """Return the distance as a component of a norm over values with these codes here."""

    @property
    @abstractmethod
    def rank(self) -> NDArray[np.int64]:
        """The rank of each value: 0, 1, 2, ..., each once."""

    @abstractmethod
    def reach(self, epsilon: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return for each value the lowest and the highest rank within `epsilon`."""


@dataclass(frozen=True, eq=False)
class Absolute(LinearDistance):
    """The absolute difference of numbers, in their own unit.

    Whether two numbers are close is told exactly: a float stands for the shortest decimal that reads back as
    the same float. Distances themselves are floats.

    Parameters
    ----------
    numbers
        The float nearest to each value; NaN where it is missing. A missing value is close to missing values
        alone.
    multiples
        The values as whole multiples of `unit`, None where missing; by default they are the numbers.
    unit
        See there.
    """

    numbers: NDArray[np.float64]
    multiples: Sequence[int | None] | None = None
    unit: Fraction = Fraction(1)

    @classmethod
    def of(cls, values: pl.Series) -> Absolute:
        """Return the distance of numbers as `exact.read` returns them, null where missing."""
        known = exact.near(values.drop_nulls())
        numbers = np.full(len(values), np.nan)
        numbers[values.is_not_null().to_numpy()] = known
        return cls(numbers, *exact.scaled(values))

    def __len__(self) -> int:
        return len(self.numbers)

    def between(self, first: Values, second: Values) -> NDArray[np.float64]:
        x, y = self._places[first], self._places[second]
        unknown = np.isnan(x).astype(np.int8) + np.isnan(y)
        return np.where(unknown == 0, np.abs(x - y), np.where(unknown == 1, np.inf, 0.0))

    def close(self, first: Values, second: Values, epsilon: float) -> NDArray[np.bool_]:
        """Return whether each pair is within `epsilon`, exactly."""
        low, high = self.reach(epsilon)
        rank = self.rank[second]
        return np.asarray((low[first] <= rank) & (rank <= high[first]))

    @property
    def diameter(self) -> float:
        known = self._places[~np.isnan(self._places)]
        return float(known.max() - known.min()) if len(known) else 0.0

    @property
    def rounding(self) -> float:
        known = self._places[~np.isnan(self._places)]
        largest = float(np.abs(known).max(initial=0.0))
        whole = largest <= exact.WHOLE_FLOATS and np.array_equal(known, np.round(known))
        return 0.0 if whole else 2 * float(np.spacing(largest))

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """The rank of each value in ascending order, missing ones last."""
        steps, missing = self._steps[0], np.isnan(self.numbers)
        known = np.flatnonzero(~missing)
        order = np.concatenate((known[np.argsort(steps[known], kind="stable")], np.flatnonzero(missing)))
        ranks = np.empty(len(self), dtype=np.int64)
        ranks[order] = np.arange(len(self))
        return ranks

    def reach(self, epsilon: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if self._reached and self._reached[0][0] == epsilon:
            return self._reached[0][1:]
        steps, unit = self._steps
        known = np.sort(steps[~np.isnan(self.numbers)])
        most = int(known[-1]) if len(known) else 0  # the lowest is 0
        if epsilon < np.inf:
            most = min(most, int(Fraction(exact.exact(float(epsilon))) // unit))
        low = np.searchsorted(known, known - most)
        high = np.searchsorted(known, known + most, side="right") - 1
        missing = len(self) - len(known)
        low = np.concatenate((low, np.full(missing, len(known))))[self.rank]
        high = np.concatenate((high, np.full(missing, len(self) - 1)))[self.rank]
        self._reached[:] = [(epsilon, low, high)]
        return low, high

    def component(self, weight: float, codes: Values) -> kernels.Component:
        return kernels.Component(kernels.RANGE, weight, self.diameter, self._places[codes], np.empty(0))

    @cached_property
    def _reached(self) -> list[tuple[float, NDArray[np.int64], NDArray[np.int64]]]:
        """What was reached by the epsilon that was asked for last."""
        return []

    @cached_property
    def _steps(self) -> tuple[NDArray[Any], Fraction]:
        """How many units each value lies above the lowest one, 0 for a missing one, and the unit."""
        multiples, unit = self.multiples, self.unit
        if multiples is None:
            multiples, unit = exact.scaled([None if x != x else x for x in self.numbers.tolist()])
        lowest = min((each for each in multiples if each is not None), default=0)
        steps = [0 if each is None else each - lowest for each in multiples]
        kind = np.int64 if max(steps, default=0) < 2**62 else object
        return np.array(steps, dtype=kind), unit

    @cached_property
    def _places(self) -> NDArray[np.float64]:
        """The numbers; where they are so large that floats blur them, how far they lie above the lowest."""
        missing = np.isnan(self.numbers)
        if (np.abs(self.numbers[~missing]) <= exact.WHOLE_FLOATS).all():
            return self.numbers
        steps, unit = self._steps
        places = np.array([exact.as_float(step * unit) for step in steps.tolist()])
        return np.where(missing, np.nan, places)


@dataclass(frozen=True, eq=False)
class Equality(LinearDistance):
    """0 for equal values, 1 for different ones.

    Parameters
    ----------
    size
        How many values there are; a missing value is one like any other.
    """

    size: int

    def __len__(self) -> int:
        return self.size

    def between(self, first: Values, second: Values) -> NDArray[np.float64]:
        return np.asarray(first != second, dtype=np.float64)

    @property
    def diameter(self) -> float:
        return 1.0

    @property
    def rank(self) -> NDArray[np.int64]:
        """The values as they are numbered."""
        return np.arange(self.size)

    def reach(self, epsilon: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if epsilon < 1:
            return self.rank, self.rank
        return np.zeros(self.size, dtype=np.int64), np.full(self.size, self.size - 1)

    def component(self, weight: float, codes: Values) -> kernels.Component:
        return kernels.Component(kernels.SET, weight, 1.0, codes.astype(np.float64), np.empty(0))


@dataclass(frozen=True, eq=False)
class TreeDistance(LinearDistance):
    """How high above two leaves their lowest common ancestor lies: 0 for equal ones, 1 at the root.

    The height of a node is the number of steps to the deepest leaf below it, as a share of the root's (the
    hierarchical distance of Li, Li and Venkatasubramanian 2007).

    Parameters
    ----------
    hierarchy
        The tree; a missing value is a leaf of its own right below the root.
    leaves
        The leaf of each value, each another.
    """

    hierarchy: Hierarchy
    leaves: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.leaves)

    def between(self, first: Values, second: Values) -> NDArray[np.float64]:
        met = self.hierarchy.ancestor(self.leaves[first], self.leaves[second])
        return np.asarray(self._height[met])

    @property
    def diameter(self) -> float:
        return 1.0

    @property
    def rounding(self) -> float:
        return float(np.spacing(1.0))

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """The rank of each value in tree order."""
        ranks = np.empty(len(self), dtype=np.int64)
        ranks[np.argsort(self.leaves)] = np.arange(len(self))
        return ranks

    def reach(self, epsilon: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        tree = self.hierarchy
        # Parents come before their children: the highest node that is low enough is handed down from it.
        top = np.arange(len(tree.labels))
        for node in range(1, len(top)):
            above = top[tree.parent[node]]
            if self._height[above] <= epsilon + self.rounding:
                top[node] = above
        chosen = top[tree.leaf_node[self.leaves]]
        ordered = np.sort(self.leaves)
        low = np.searchsorted(ordered, tree.first[chosen])
        return low, np.searchsorted(ordered, tree.last[chosen], side="right") - 1

    def component(self, weight: float, codes: Values) -> kernels.Component:
        ordered = np.sort(self.leaves)
        steps = self._height[self.hierarchy.ancestor(ordered[:-1], ordered[1:])]
        return kernels.Component(kernels.TREE, weight, 1.0, self.rank[codes].astype(np.float64), steps)

    def moved(self, difference: NDArray[np.float64]) -> float:
        """Return the earth mover's distance of two distributions with this difference, given by rank.

        What children of a node have too much and others too little of meets there.
        """
        tree = self.hierarchy
        by_leaf = np.zeros(len(tree.leaf_node))
        by_leaf[np.sort(self.leaves)] = difference
        before = np.concatenate(([0.0], np.cumsum(by_leaf)))
        extra = before[tree.last + 1] - before[tree.first]
        inner = np.zeros((2, len(extra)))
        for sign, sums in zip((1, -1), inner, strict=True):
            np.add.at(sums, tree.parent[1:], np.maximum(sign * extra[1:], 0.0))
        return float((self._height * inner.min(axis=0)).sum())

    @cached_property
    def _height(self) -> NDArray[np.float64]:
        """The height of each node as a share of the root's."""
        tree = self.hierarchy
        steps = np.zeros(len(tree.labels), dtype=np.int64)
        for node in range(len(steps) - 1, 0, -1):
            steps[tree.parent[node]] = max(steps[tree.parent[node]], steps[node] + 1)
        return np.asarray(steps / max(steps[0], 1))


@dataclass(frozen=True, eq=False)
class Least(Distance):
    """The distance of composite values in the component in which they are closest, each in its own unit.

    Parameters
    ----------
    parts
        The distance of each component.
    codes
        For each value, the numbers of its components.
    """

    parts: tuple[Distance, ...]
    codes: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.codes)

    def between(self, first: Values, second: Values) -> NDArray[np.float64]:
        return np.asarray(np.minimum.reduce(_by_part(self.parts, self.codes, first, second)))

    @property
    def diameter(self) -> float:
        return max(part.diameter for part in self.parts)  # a part may be infinite where it would be less

    @property
    def rounding(self) -> float:
        return max(part.rounding for part in self.parts)

    def close(self, first: Values, second: Values, epsilon: float) -> NDArray[np.bool_]:
        """Return whether each pair is within `epsilon` in some component, as that component sees it."""
        columns = zip(self.parts, self.codes.T, strict=True)
        near = [part.close(codes[first], codes[second], epsilon) for part, codes in columns]
        return np.asarray(np.logical_or.reduce(near))

    def closeness(self, epsilon: float) -> kernels.Closeness:
        ways = []
        for part, codes in zip(self.parts, self.codes.T, strict=True):
            if not isinstance(part, LinearDistance):
                return super().closeness(epsilon)
            ways.append(tuple(array[codes] for array in (part.rank, *part.reach(epsilon))))
        return kernels.Closeness.ranked(ways)


@dataclass(frozen=True, eq=False)
class Norm(Distance):
    """The weighted norm of the components' distances, each a share of its diameter: 0 to 1.

    With shares d and weights w that sum to 1, it is (sum of w d^power) ^ (1 / power), or the largest of the d
    for an infinite power, in which weights play no part. A component that nothing compares counts as 1.

    Parameters
    ----------
    parts
        The distance of each component.
    codes
        For each value, the numbers of its components.
    power
        1, 2, or infinity.
    weights
        How much each component counts; equally much by default.

    Raises
    ------
    InputError
        If the power is less than 1, or the weights are not one positive number for each component.
    """

    parts: tuple[Distance, ...]
    codes: NDArray[np.int32]
    power: float = 1.0
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if not self.power >= 1:
            raise InputError(f"power = {self.power!r} makes no norm; give 1 or more", reason=Reason.PARAMETER)
        weights = self.weights
        if weights is not None and (len(weights) != len(self.parts) or not all(w > 0 for w in weights)):
            raise InputError(
                f"weights {list(weights)} must be one positive number for each of the {len(self.parts)} "
                "components",
                reason=Reason.PARAMETER,
            )

    def __len__(self) -> int:
        return len(self.codes)

    def between(self, first: Values, second: Values) -> NDArray[np.float64]:
        distances = _by_part(self.parts, self.codes, first, second)
        shares = [
            np.minimum(distance / part.diameter, 1.0) if part.diameter > 0 else (distance > 0).astype(float)
            for part, distance in zip(self.parts, distances, strict=True)
        ]
        if np.isinf(self.power):
            return np.asarray(np.maximum.reduce(shares))
        weights = np.ones(len(self.parts)) if self.weights is None else np.asarray(self.weights, dtype=float)
        terms = [w * share**self.power for w, share in zip(weights / weights.sum(), shares, strict=True)]
        return np.asarray(np.add.reduce(terms) ** (1 / self.power))

    def clique(self, counts: NDArray[np.integer[Any]], epsilon: float) -> int:
        # Two that are within half of epsilon of a third are within epsilon of each other.
        half = (epsilon - self.rounding) / 2
        known = super().clique(counts, epsilon)
        return max(known, int(self.degrees(counts, half).max()) + 1) if half > 0 else known

    def closeness(self, epsilon: float) -> kernels.Closeness:
        components = []
        weights = [1.0] * len(self.parts) if self.weights is None else self.weights
        for part, weight, codes in zip(self.parts, weights, self.codes.T, strict=True):
            if not isinstance(part, LinearDistance):
                return super().closeness(epsilon)
            components.append(part.component(weight, codes))
        return kernels.Closeness.norm(components, self.power, epsilon + self.rounding)

    @property
    def diameter(self) -> float:
        return 1.0

    @property
    def rounding(self) -> float:
        # A norm moves no more than the component that moves most; sums and roots add the rest.
        return 1e-12 + max((p.rounding / p.diameter for p in self.parts if p.diameter > 0), default=0.0)


class Asked(Distance):
    """A distance that a function of two values tells.

    Each pair is asked about in both directions, once in each call of `between`.

    Parameters
    ----------
    function
        Called with two values, or with two tuples of values where several columns are one composite value;
        None stands for a missing value.
    values
        The different values.
    """

    def __init__(self, function: Callable[[Any, Any], float], values: Sequence[Any]) -> None:
        self._function = function
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def between(self, first: Values, second: Values) -> NDArray[np.float64]:
        first, second = np.broadcast_arrays(first, second)
        low, high = np.minimum(first, second), np.maximum(first, second)
        pairs, which = np.unique(low.astype(np.int64) * len(self) + high, return_inverse=True)
        told = np.array([self._tell(*divmod(int(pair), len(self))) for pair in pairs], dtype=np.float64)
        return told[which].reshape(first.shape)

    def _tell(self, low: int, high: int) -> float:
        try:
            there = float(self._function(self._values[low], self._values[high]))
            back = float(self._function(self._values[high], self._values[low]))
        except Exception as error:
            raise InputError(
                f"the distance of two sensitive values could not be told: {type(error).__name__}: {error}",
                reason=Reason.PARAMETER,
            ) from error
        for wrong, what in (
            (np.isnan(there) or np.isnan(back), "is not a number (NaN)"),
            (there != back, "is another one in the other direction: it must be symmetric"),
            (there < 0, "is negative"),
            (low == high and there != 0, "is not 0, although they are equal"),
        ):
            if wrong:
                raise InputError(
                    f"the distance of two sensitive values {what}; correct the function",
                    reason=Reason.PARAMETER,
                )
        return there

    @property
    def diameter(self) -> float:
        return float("inf")


def distance_over(
    sensitive: Sequence[Sensitive],
    columns: Sequence[Column],
    named: str | Callable[[Any, Any], float] | None = None,
) -> tuple[NDArray[np.int32], Distance]:
    """Return the values of one or several sensitive columns as one, and how far these are apart.

    Parameters
    ----------
    sensitive
        The columns; several are one composite value.
    columns
        What each of them is; their weights count in norms.
    named
        One of `DISTANCES`, or a function of two values; None for the distance that suits one column, and
        ``l1`` for several.

    Returns
    -------
    tuple
        For each record the number of its value, and the distance of these values.

    Raises
    ------
    InputError
        If there is no column, no distance of that name, or the columns do not suit it.
    """
    if not sensitive:
        raise InputError(
            "how close sensitive values are can be told only of sensitive columns, but none is named; name "
            "the sensitive columns",
            reason=Reason.NO_SENSITIVE,
            parameter="sensitive",
        )
    if not (named is None or callable(named) or named in DISTANCES):
        raise InputError(
            f"distance {named!r} is unknown{did_you_mean(str(named), DISTANCES)}; there is "
            f"{listing(DISTANCES)}",
            reason=Reason.PARAMETER,
            parameter="distance",
        )
    if callable(named):
        texts = [column.values.to_list() for column in sensitive]
        if len(texts) == 1:
            return sensitive[0].codes, Asked(named, texts[0])
        numbers, codes = _composite([column.codes for column in sensitive])
        rows = [tuple(t[i] for t, i in zip(texts, row, strict=True)) for row in codes.tolist()]
        return numbers, Asked(named, rows)
    if named in ("absolute", "equality", "tree"):
        return _single(sensitive, columns, named)
    parts = tuple(distance_of(s.values, c) for s, c in zip(sensitive, columns, strict=True))
    if named is None and len(parts) == 1:
        return sensitive[0].codes, parts[0]
    # Numbered by rank, so that values with near numbers tend to be close.
    numbers, ranks = _composite([p.rank[s.codes] for p, s in zip(parts, sensitive, strict=True)])
    by_part = [np.argsort(p.rank)[column] for p, column in zip(parts, ranks.T, strict=True)]
    components = np.column_stack(by_part).astype(np.int32)
    if named == "least":
        return numbers, Least(parts, components)
    return numbers, Norm(parts, components, NORMS[named or "l1"], tuple(column.weight for column in columns))


def _single(
    sensitive: Sequence[Sensitive], columns: Sequence[Column], named: str
) -> tuple[NDArray[np.int32], Distance]:
    """Return the same for a distance that only one column can have."""
    if len(sensitive) > 1 and named == "equality":
        numbers, codes = _composite([column.codes for column in sensitive])
        return numbers, Equality(len(codes))
    if len(sensitive) > 1:
        raise InputError(
            f"distance {named!r} is for one sensitive column, not for {listing(c.name for c in sensitive)}; "
            f"take {listing((*NORMS, 'least'))}",
            reason=Reason.PARAMETER,
        )
    if named == "equality":
        return sensitive[0].codes, Equality(len(sensitive[0]))
    suits = distance_of(sensitive[0].values, columns[0])
    if not isinstance(suits, Absolute if named == "absolute" else TreeDistance):
        needs = "numbers, dates or ordered categories" if named == "absolute" else "a hierarchy"
        raise InputError(
            f"distance {named!r} needs {needs}, which column {columns[0].name!r} does not have",
            reason=Reason.PARAMETER,
            column=columns[0].name,
        )
    return sensitive[0].codes, suits


def _composite(columns: Sequence[NDArray[np.integer[Any]]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the number of each row of several columns, and the different rows in ascending order."""
    rows, numbers = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    return numbers.reshape(-1).astype(np.int32), rows


def has_distance(column: Column) -> bool:
    """Return whether values of a column can be nearer to each other or farther apart, not only equal."""
    return column.hierarchy is not None or column.kind.ordered


def distance_of(values: pl.Series, column: Column) -> LinearDistance:
    """Return the distance that suits a sensitive column.

    Leaves of a hierarchy have a `TreeDistance`; numbers and dates (in days) their absolute difference, and so
    have ordered categories, by their place; other categories are equal or not.

    Parameters
    ----------
    values
        Its different values, null for a missing one.
    column
        What it is.

    Raises
    ------
    InputError
        If the hierarchy lacks a value, or a value is no number, not finite, no date or not in the declared
        domain.
    """
    if column.hierarchy is not None:
        texts = values.cast(pl.String).fill_null(MISSING).to_list()
        tree = column.hierarchy.over(texts)
        return TreeDistance(tree, np.array([tree.leaf_index[text] for text in texts], dtype=np.int32))
    numbers = column.kind.on_a_line(values, column)
    if numbers is None:
        return Equality(len(values))
    wrong = numbers.is_null() & values.is_not_null()
    if wrong.any() and (not column.kind.numeric or not _infinite(values.filter(wrong))):
        what = f"a {column.kind.value} value" if column.kind.measured else "in the declared domain"
        raise InputError(
            f"column {column.name!r} holds values that are not {what}; correct them, declare them as missing "
            "marks, or make the column categorical",
            reason=Reason.BAD_VALUE,
            column=column.name,
        )
    if wrong.any():
        raise InputError(
            f"column {column.name!r} holds numbers that are not finite, which are at no distance of others; "
            "correct them or leave them empty",
            reason=Reason.NOT_FINITE,
            column=column.name,
        )
    return Absolute.of(numbers)


def _infinite(values: pl.Series) -> bool:
    """Return whether some values would be numbers if these were finite."""
    plain = values.str.strip_chars() if values.dtype == pl.String else values
    return bool(plain.cast(pl.Float64, strict=False).is_not_null().any())


def _by_part(
    parts: Sequence[Distance], codes: NDArray[np.int32], first: Values, second: Values
) -> list[NDArray[np.float64]]:
    """Return the distances in each component."""
    columns = zip(parts, codes.T, strict=True)
    return [part.between(column[first], column[second]) for part, column in columns]
