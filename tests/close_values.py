"""Distances between sensitive values, and classes with few close ones, by their definitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations
from typing import Any

from few_records import Original, Row, datum, text_of
from scipy.optimize import linprog

from shoal import BetaLikeness, DeltaDisclosure, Dissimilarity, Kind, TCloseness
from shoal.models import LikenessModel
from shoal.schema import Column, Role

ROUNDING = 1e-9
"""Shares and distances that differ by no more are the same."""


def dissimilar(
    values: Sequence[tuple[str, ...]], model: Dissimilarity, distance: Callable[[Any, Any], float]
) -> bool:
    """Return whether no value of a class has too many others close to it (Definition 11 of the paper)."""
    allowed = (1 - model.delta) * (len(values) - 1) + ROUNDING
    near = model.epsilon + ROUNDING
    return all(sum(distance(one, other) <= near for other in values) - 1 <= allowed for one in values)


def distance_of(original: Original, model: Dissimilarity) -> Callable[[Any, Any], float]:
    """Return the distance of two tuples of sensitive values, as texts."""
    columns = original.having(Role.SENSITIVE)
    values = [[text_of(original, original.records[i])[c.name] for i in original.kept] for c in columns]
    parts = [_single_distance(original, column) for column in columns]
    named = model.distance
    if callable(named):

        def asked(one: Any, other: Any) -> float:
            plain = [tuple(text or None for text in each) for each in (one, other)]
            return named(*(plain if len(columns) > 1 else [each[0] for each in plain]))

        return asked
    if named == "equality":
        return lambda one, other: float(one != other)
    if named in (None, "absolute", "tree") and len(parts) == 1:
        return lambda one, other: parts[0](one[0], other[0])
    if named == "least":
        return lambda one, other: min(part(a, b) for part, a, b in zip(parts, one, other, strict=True))
    largest = [
        max((d for a in each for b in each if (d := part(a, b)) < math.inf), default=0.0)
        if column.hierarchy is None and column.kind is not Kind.CATEGORICAL
        else 1.0
        for column, part, each in zip(columns, parts, values, strict=True)
    ]
    weights = [column.weight / sum(each.weight for each in columns) for column in columns]

    def norm(one: Any, other: Any) -> float:
        shares = []
        for part, most, a, b in zip(parts, largest, one, other, strict=True):
            apart = part(a, b)
            shares.append(min(apart / most, 1.0) if most else float(apart > 0))
        if named == "linf":
            return max(shares)
        power = 2 if named == "l2" else 1
        return float(sum(w * s**power for w, s in zip(weights, shares, strict=True)) ** (1 / power))

    return norm


def like_the_whole(
    original: Original, column: Column, crowd: Sequence[str], whole: Sequence[str], model: LikenessModel
) -> bool:
    """Return whether the values of a crowd, as texts, are distributed as a model asks beside the whole."""
    values = sorted(set(whole))
    p = [crowd.count(value) / len(crowd) for value in values]
    q = [whole.count(value) / len(whole) for value in values]
    match model:
        case TCloseness():
            return moved(_ground(original, column, values, model), p, q) <= model.t + ROUNDING
        case BetaLikeness(enhanced=False):
            return all((x - y) / y <= model.beta + ROUNDING for x, y in zip(p, q, strict=True) if x > y)
        case BetaLikeness():
            return all(
                (x - y) / y <= min(model.beta, -math.log(y)) + ROUNDING
                for x, y in zip(p, q, strict=True)
                if x > y
            )
        case DeltaDisclosure():
            limit = model.disclosure_delta * (1 - ROUNDING)
            return all(x > 0 and abs(math.log2(x / y)) < limit for x, y in zip(p, q, strict=True))
    raise TypeError(model)


def moved(costs: Sequence[Sequence[float]], one: Sequence[float], other: Sequence[float]) -> float:
    """Return the earth mover's distance of two distributions, as a linear program."""
    size = len(one)
    leaving = [[float(cell // size == i) for cell in range(size * size)] for i in range(size)]
    coming = [[float(cell % size == i) for cell in range(size * size)] for i in range(size)]
    flat = [cost for row in costs for cost in row]
    return float(linprog(flat, A_eq=leaving + coming, b_eq=[*one, *other]).fun)


def _ground(
    original: Original, column: Column, values: Sequence[str], model: TCloseness
) -> list[list[float]]:
    """Return how far each value is from each other one: equal, by rank, or by the height they meet at."""
    plain = column.hierarchy is None and column.kind is Kind.CATEGORICAL
    if model.ground_distance == "equal" or plain:
        return [[float(a != b) for b in values] for a in values]
    if column.hierarchy is not None:
        apart = _tree_distance(original, column)
        return [[apart(a, b) for b in values] for a in values]
    ranked = sorted(values, key=lambda value: (value == "", value and datum(column, value)))
    steps = max(len(ranked) - 1, 1)
    return [[abs(ranked.index(a) - ranked.index(b)) / steps for b in values] for a in values]


def all_sensitive_values(original: Original) -> list[tuple[str, ...]]:
    """Return the sensitive values of all records that are kept, as texts."""
    return [sensitive_values(original, text_of(original, original.records[i])) for i in original.kept]


def sensitive_values(original: Original, row: Row) -> tuple[str, ...]:
    return tuple(row[column.name] for column in original.having(Role.SENSITIVE))


def can_be_partitioned(
    rest: tuple[int, ...], values: Sequence[Any], model: Dissimilarity, distance: Callable[[Any, Any], float]
) -> bool:
    if not rest:
        return True
    first, others = rest[0], rest[1:]
    for size in range(model.k - 1, len(others) + 1):
        for chosen in combinations(others, size):
            if dissimilar([values[i] for i in (first, *chosen)], model, distance):
                left = tuple(i for i in others if i not in chosen)
                if can_be_partitioned(left, values, model, distance):
                    return True
    return False


def _single_distance(original: Original, column: Column) -> Callable[[str, str], float]:
    if column.hierarchy is not None:
        return _tree_distance(original, column)
    if column.kind is Kind.CATEGORICAL:
        return lambda a, b: float(a != b)

    def apart(a: str, b: str) -> float:
        if not a or not b:
            return 0.0 if a == b else math.inf
        x, y = datum(column, a), datum(column, b)
        return float((x - y).days if column.kind is Kind.DATE else x - y)

    return lambda a, b: abs(apart(a, b))


def _tree_distance(original: Original, column: Column) -> Callable[[str, str], float]:
    """Return how high two values meet: steps down to the deepest value, as a share of those from the top."""
    nodes = set(original.nodes(column.name).values())
    if any(original.records[i][column.name] is None for i in original.kept):
        top = max(nodes, key=len)
        nodes = {node for node in nodes if node != top or len(top) == 1} | {top | {""}, frozenset({""})}

    @cache
    def height(node: frozenset[str]) -> int:
        return max((1 + height(other) for other in nodes if other < node), default=0)

    steps = max(height(max(nodes, key=len)), 1)
    return lambda a, b: height(min((n for n in nodes if {a, b} <= n), key=len)) / steps
