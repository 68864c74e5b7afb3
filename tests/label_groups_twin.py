"""Groups of neighbours with different labels, record by record: what the kernels must agree with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise


def cut_where_diverse(labels: Sequence[int], ends: Sequence[int], different: int) -> list[int]:
    """Return where an order is cut into the shortest stretches with no label more frequent than 1 / l."""
    cuts = [0]
    for end in ends:
        if _is_diverse(labels[cuts[-1] : end], different):
            cuts.append(end)
    while cuts[-1] < len(labels):  # the last stretch takes in those before it until it is eligible
        cuts.pop()
        if _is_diverse(labels[cuts[-1] :], different):
            cuts.append(len(labels))
    return cuts


def _is_diverse(labels: Sequence[int], different: int) -> bool:
    return max(Counter(labels).values()) * different <= len(labels)


def diverse_groups(labels: Sequence[int], different: int) -> list[int]:
    """Return the group of each record: those of a stretch are distributed to its groups, label by label."""
    groups = [0] * len(labels)
    made = 0
    cuts = cut_where_diverse(labels, range(1, len(labels) + 1), different)
    for begin, end in pairwise(cuts):
        many = (end - begin) // different
        for turn, place in enumerate(sorted(range(begin, end), key=lambda each: (labels[each], each))):
            groups[place] = made + turn % many
        made += many
    return groups


def varied_groups(labels: Sequence[Sequence[int]], different: int, window: int) -> list[int]:
    """Return groups of records near in an order with different labels in every column."""
    rows = [set(enumerate(row)) for row in labels]
    group_of = [-1] * len(rows)
    used: list[set[tuple[int, int]]] = []
    for first, row in enumerate(rows):
        if group_of[first] >= 0:
            continue
        members, taken = [first], set(row)
        for other in range(first + 1, min(first + 1 + window, len(rows))):
            if len(members) == different:
                break
            if group_of[other] < 0 and taken.isdisjoint(rows[other]):
                members.append(other)
                taken.update(rows[other])
        if len(members) == different:
            for member in members:
                group_of[member] = len(used)
            used.append(taken)
    if not used:
        return [0] * len(rows)
    for place, row in enumerate(rows):
        if group_of[place] >= 0:
            continue
        nearby = sorted({g for g in group_of[max(place - window, 0) : place + window] if g >= 0})
        near = nearby or list(range(len(used)))
        chosen = next((g for g in near if used[g].isdisjoint(row)), near[0])
        used[chosen].update(row)
        group_of[place] = chosen
    return group_of
