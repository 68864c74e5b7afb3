"""A plain-Python twin of Mondrian: slow, and short enough to be seen to be right."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any

from twins import Row, cost

from shoal.kernels import SET, TREE, Geometry

PATIENCE = 64
"""After this many cuts in a row, Mondrian considers only even ones; see native/classes/mondrian.cpp."""


def mondrian(
    rows: Sequence[Row],
    attributes: Sequence[Geometry],
    sensitive: Sequence[Sequence[int]],
    *,
    k: int,
    frequency_l: float = 0.0,
    distinct: int = 0,
    entropy: float = 0.0,
    relaxed: bool = False,
) -> list[int]:
    """Return the class of each record, numbered from left to right.

    Exact if weights, positions and costs are multiples of a power of 1/2; otherwise the order in which the
    losses are summed may decide between two cuts.
    """

    def loss(records: list[int]) -> float:
        columns = zip(*(rows[r] for r in records), strict=True)
        return len(records) * sum(
            a.weight * cost(a, set(c)) for a, c in zip(attributes, columns, strict=True)
        )

    def diverse(records: list[int]) -> bool:
        columns = ([column[r] for r in records] for column in sensitive)
        return all(is_diverse(column, frequency_l, distinct, entropy) for column in columns)

    classes = [-1] * len(rows)
    number = 0
    pending = [(list(range(len(rows))), 0)]
    while pending:
        records, depth = pending.pop()
        cuts = []
        if len(records) >= 2 * k:
            for a, attribute in enumerate(attributes):
                codes = [rows[r][a] for r in records]

                def parts(goes_left: list[bool], records: list[int] = records) -> tuple[list[int], list[int]]:
                    left = [r for r, goes in zip(records, goes_left, strict=True) if goes]
                    return left, [r for r, goes in zip(records, goes_left, strict=True) if not goes]

                def allowed(goes_left: list[bool], parts: Any = parts) -> bool:
                    return all(len(part) >= k and diverse(part) for part in parts(goes_left))

                hurried = depth >= PATIENCE
                found = proposals(attribute, codes, allowed, relaxed=relaxed, hurried=hurried)
                cuts += [parts(goes_left) for goes_left in found]
        cuts.sort(key=lambda cut: loss(cut[0]) + loss(cut[1]))
        for left, right in cuts:
            if diverse(left) and diverse(right):
                pending += [(right, depth + 1), (left, depth + 1)]
                break
        else:
            for r in records:
                classes[r] = number
            number += 1
    return classes


def is_diverse(values: list[int], frequency_l: float, distinct: int, entropy: float) -> bool:
    """Return whether the sensitive values of a class are diverse, with the kernel's slack for rounding."""
    often = Counter(values).values()
    shares = [number / len(values) for number in often]
    return not (
        max(shares) * frequency_l > 1 + 1e-9
        or len(often) < distinct
        or -sum(share * math.log(share) for share in shares) < entropy - 1e-9
    )


def proposals(
    attribute: Geometry,
    codes: list[int],
    allowed: Callable[[list[bool]], bool],
    *,
    relaxed: bool,
    hurried: bool,
) -> list[list[bool]]:
    """Return the cuts Mondrian considers in one attribute, each as whether a record goes left."""
    often, n = Counter(codes), len(codes)
    order, natural = in_order(attribute, often)
    left = list(accumulate((often[code] for code in order), initial=0))
    whole = {i: sides(codes, set(order[:i]), order[i], 0) for i in range(1, len(order))}
    possible = [i for i in whole if allowed(whole[i])]

    def loss(i: int) -> float:
        return left[i] * cost(attribute, order[:i]) + (n - left[i]) * cost(attribute, order[i:])

    def unevenness(i: int) -> tuple[bool, int]:
        return hurried and i not in natural, abs(2 * left[i] - n)

    cuts = []
    if possible:
        evenest = min(possible, key=unevenness)
        cheapest = evenest if hurried else min(possible, key=loss)
        cuts = [whole[i] for i in dict.fromkeys([cheapest, evenest])]
    halfway = max(i for i in range(len(order)) if left[i] <= n // 2)
    if relaxed and left[halfway] < n // 2:
        cuts.append(sides(codes, set(order[:halfway]), order[halfway], n // 2 - left[halfway]))
    return cuts


def in_order(attribute: Geometry, often: Counter[int]) -> tuple[list[int], set[int]]:
    """Return the codes in cutting order, and the cuts that part children of their common ancestor."""
    codes = sorted(often, key=lambda code: (-often[code] if attribute.kind == SET else 0, code))
    if attribute.kind != TREE:
        return codes, set(range(len(codes)))
    top = cost(attribute, codes)
    children = [[codes[0]]]
    for before, code in pairwise(codes):
        if cost(attribute, [before, code]) < top:
            children[-1].append(code)
        else:
            children.append([code])
    children.sort(key=lambda child: -sum(often[c] for c in child) * (top - cost(attribute, child)))
    return list(chain.from_iterable(children)), set(accumulate(map(len, children), initial=0))


def sides(codes: list[int], left: set[int], divided: int, ties: int) -> list[bool]:
    """Return whether each record goes left: those with a code of the left, and the first few of another."""
    first = [r for r, code in enumerate(codes) if code == divided][:ties]
    return [code in left or r in first for r, code in enumerate(codes)]
