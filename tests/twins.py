"""Plain-Python twins of the native kernels: slow, and short enough to be seen to be right."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate, permutations

from shoal.base.ragged import Subsets
from shoal.kernels import RANGE, SET, TREE, CodeIntervals, Component, Geometry

Row = tuple[int, ...]


def group_rows(rows: Sequence[Row]) -> tuple[list[int], list[int]]:
    """Return the group of each row, numbered by first appearance, and the first row of each group."""
    groups: dict[Row, int] = {}
    group = [groups.setdefault(row, len(groups)) for row in rows]
    return group, [group.index(number) for number in range(len(groups))]


def count_consistent(
    records: Sequence[Row],
    record_copies: Sequence[int],
    boxes: Sequence[Row],
    box_copies: Sequence[int],
    attributes: Sequence[CodeIntervals | Subsets],
) -> tuple[list[int], list[int]]:
    """Return how many boxes contain each record and how many records lie in each box, counting copies."""
    boxes_of, records_of = [0] * len(records), [0] * len(boxes)
    for r, record in enumerate(records):
        for b, box in enumerate(boxes):
            if all(map(contains, attributes, box, record)):
                boxes_of[r] += box_copies[b]
                records_of[b] += record_copies[r]
    return boxes_of, records_of


def count_labels(
    records: Sequence[Row],
    boxes: Sequence[Row],
    box_copies: Sequence[int],
    attributes: Sequence[CodeIntervals | Subsets],
    labels: Sequence[int],
) -> list[tuple[int, int, int, float]]:
    """Return for each record how many boxes contain it, the most with one label, labels, sum of c log c."""
    found = []
    for record in records:
        often: Counter[int] = Counter()
        for box, copies, label in zip(boxes, box_copies, labels, strict=True):
            if all(map(contains, attributes, box, record)):
                often[label] += copies
        counts = often.values()
        logs = sum(count * math.log(count) for count in counts)
        found.append((sum(counts), max(counts, default=0), len(counts), logs))
    return found


def miss(labels: Sequence[int], *, frequency_l: float, distinct: int, entropy: float) -> float:
    """Return by how much labels are less varied than asked, 0 if they are not; see Diversification."""
    often, n = Counter(labels).values(), len(labels)
    demand = entropy - 5e-10 if entropy else 0.0
    lacking = n * demand - n * math.log(n) + sum(c * math.log(c) for c in often) if entropy else 0.0
    return (
        sum(max(0.0, frequency_l * (1 - 5e-10) * count - n) for count in often)
        + max(0, distinct - len(often))
        + max(0.0, lacking)
    )


def consistent(
    records: Sequence[Sequence[int]],
    boxes: Sequence[Sequence[int]],
    attributes: Sequence[CodeIntervals | Subsets],
) -> list[list[bool]]:
    """Return for each record and box whether the record lies in the box."""
    return [[all(map(contains, attributes, box, record)) for box in boxes] for record in records]


def maximum_matching(edges: Sequence[Sequence[bool]], boxes: int) -> dict[int, int]:
    """Return a maximum matching as the record of each matched box: one augmenting path after the other."""
    record_of: dict[int, int] = {}

    def place(record: int, seen: set[int]) -> bool:
        for box in range(boxes):
            if edges[record][box] and box not in seen:
                seen.add(box)
                if box not in record_of or place(record_of[box], seen):
                    record_of[box] = record
                    return True
        return False

    for record in range(len(edges)):
        place(record, set())
    return record_of


def matches(edges: Sequence[Sequence[bool]], boxes: int) -> list[list[bool]]:
    """Return which pairs of a record and a box some maximum matching uses (Tassa et al. 2012, Algorithm 4).

    Records without a box get one around everything, and boxes without a record one in all of them: then the
    matching is perfect, and a pair is used by some perfect one if and only if it lies on a cycle.
    """
    records = len(edges)
    box_of = {record: box for box, record in maximum_matching(edges, boxes).items()}
    lonely = [box for box in range(boxes) if box not in box_of.values()]
    spare = iter(range(boxes, boxes + records))
    box_of |= {record: next(spare) for record in range(records) if record not in box_of}
    box_of |= {records + i: box for i, box in enumerate(lonely)}

    def has_edge(record: int, box: int) -> bool:
        if record >= records:
            return box < boxes
        return box >= boxes or edges[record][box]

    leads_to = {
        record: {other for other, box in box_of.items() if has_edge(record, box)} for record in box_of
    }
    reached = {}
    for start in box_of:
        reached[start], waiting = {start}, [start]
        while waiting:
            found = leads_to[waiting.pop()] - reached[start]
            reached[start] |= found
            waiting += found
    owner = {box: record for record, box in box_of.items()}
    return [
        [edges[record][box] and record in reached[owner[box]] for box in range(boxes)]
        for record in range(records)
    ]


def links(edges: Sequence[Sequence[bool]], boxes: int) -> list[list[float]]:
    """Return how likely each record has each box, over all matchings that give every box a record."""
    often = [[0] * boxes for _ in edges]
    matchings = 0
    for records in permutations(range(len(edges)), boxes):
        if all(edges[record][box] for box, record in enumerate(records)):
            matchings += 1
            for box, record in enumerate(records):
                often[record][box] += 1
    return [[count / matchings for count in row] for row in often]


def contains(attribute: CodeIntervals | Subsets, value: int, code: int) -> bool:
    """Return whether a generalized value, given by its number, contains a code."""
    if isinstance(attribute, CodeIntervals):
        return bool(attribute.low[value] <= code <= attribute.high[value])
    return code in attribute[value]


def cost(attribute: Geometry, codes: Sequence[int] | set[int]) -> float:
    """Return what it costs to cover these codes of one attribute by one generalized value."""
    low, high = min(codes), max(codes)
    if attribute.kind == SET:
        return (len(codes) - 1) / max(1.0, float(attribute.table[0]) - 1)
    if attribute.kind == RANGE:
        return min(1.0, float(attribute.table[high] - attribute.table[low]))
    return float(attribute.table[low:high].max(initial=0.0))


def box_cost(attributes: Sequence[Geometry], records: Sequence[Row]) -> float:
    """Return what it costs to cover these records by one box."""
    columns = zip(*records, strict=True)
    return sum(a.weight * cost(a, set(column)) for a, column in zip(attributes, columns, strict=True))


def covers(attributes: Sequence[Geometry], box: Sequence[Row], record: Row) -> bool:
    """Return whether the closure of these records covers another."""
    for a, code, *codes in zip(attributes, record, *box, strict=True):
        present = set(codes)
        mixed = a.kind == RANGE and len(present) > 1 and max(present) == a.size - 1 and a.table[-1] > 1
        if code in present or mixed:
            continue
        if a.kind == SET or (a.kind == RANGE and not min(present) <= code <= max(present)):
            return False
        if a.kind == TREE and cost(a, {*present, code}) > cost(a, present):
            return False
    return True


def entropy(attributes: Sequence[Geometry], counts: Sequence[Sequence[int]], records: Sequence[Row]) -> float:
    """Return the entropy of each attribute's value, given that it lies in the closure of these records."""
    bits = 0.0
    for attribute, often, column in zip(attributes, counts, zip(*records, strict=True), strict=True):
        codes = set(column)
        low, high = min(codes), max(codes)
        if len(codes) == 1:
            continue
        logs = [count * math.log2(count) if count else 0.0 for count in often]
        if attribute.kind == SET:
            count, log = (sum(values[code] for code in sorted(codes)) for values in (often, logs))
        else:
            if attribute.kind == TREE:
                height = cost(attribute, codes)
                while low > 0 and attribute.table[low - 1] <= height:
                    low -= 1
                while high + 1 < attribute.size and attribute.table[high] <= height:
                    high += 1
            elif attribute.table[-1] > 1 and high == attribute.size - 1:
                low = 0  # a number and the missing value: everything
            count, log = (
                before[high + 1] - before[low]
                for before in (list(accumulate(values, initial=0.0)) for values in (often, logs))
            )
        bits += attribute.weight * max(math.log2(count) - log / count, 0.0)
    return bits


def chain_cost(attributes: Sequence[Geometry], tail: Sequence[Row], record: Row, k: int) -> float:
    """Return what a record adds to the cost of the last record, the last two, ..., the last k - 1.

    `tail` begins with the last record; while it is shorter than k - 1, all of it stands for more.
    """
    stretches = [tail[:length] for length in range(1, k)]
    return sum(box_cost(attributes, [*s, record]) - box_cost(attributes, s) for s in stretches if s)


def ring_cost(attributes: Sequence[Geometry], ring: Sequence[Row], k: int) -> float:
    """Return the cost of all windows of k neighbours in a cyclic order."""
    around = [*ring, *ring]
    return sum(box_cost(attributes, around[i : i + k]) for i in range(len(ring)))


def cheapest_cut(attributes: Sequence[Geometry], rows: Sequence[Row], k: int) -> float:
    """Return the least cost of classes, each times its size, in any division into stretches of k or more."""
    if not rows:
        return 0.0
    firsts = [size for size in range(k, len(rows) + 1) if len(rows) - size not in range(1, k)]
    return min(
        size * box_cost(attributes, rows[:size]) + cheapest_cut(attributes, rows[size:], k) for size in firsts
    )


def match_in_order(
    order: Sequence[int],
    costless: Sequence[int],
    costs: Sequence[Sequence[float]],
    nearest: Callable[[int, set[int]], int],
) -> tuple[list[int], set[int], int]:
    """Return the box of each record, who got it by an exchange, and how many found only boxes that had them.

    `costs` are those of each record in each box, infinite where the box has it; `nearest` tells which of some
    boxes a record prefers, or -1.
    """
    n = len(order)
    box_of, free = [-1] * n, set(range(n))
    exchanged: set[int] = set()
    dead_ends = 0

    def may(record: int, box: int) -> bool:
        return costs[record][box] < math.inf

    def exchange(record: int, before: Sequence[int]) -> list[tuple[int, int]]:
        for other in before:
            spares = [box for box in sorted(free) if may(other, box)]
            if may(record, box_of[other]) and spares:
                return [(other, min(spares, key=lambda box: costs[other][box])), (record, box_of[other])]
        chains = [[(record, box)] for box in range(n) if may(record, box)]
        seen = {box for ((_, box),) in chains}
        for moves in chains:
            last = moves[-1][1]
            if last in free:
                return moves
            holder = box_of.index(last)
            for box in range(n):
                if box not in seen and may(holder, box):
                    seen.add(box)
                    chains.append([*moves, (holder, box)])
        raise AssertionError("no chain of exchanges")

    for i, record in enumerate(order):
        box = costless[i]
        if box not in free or not may(record, box):
            box = nearest(record, free)
        moves = [(record, box)]
        if box < 0:
            dead_ends += 1
            moves = exchange(record, order[:i][::-1])
            exchanged.update(mover for mover, _ in moves)
        for mover, target in moves:
            box_of[mover] = target
        free = set(range(n)) - set(box_of)
    return box_of, exchanged, dead_ends


def norm(components: Sequence[Component], power: float, a: int, b: int) -> float:
    """Return the weighted norm of the shares by which two values differ."""
    shares = []
    for part in components:
        x, y = part.numbers[a], part.numbers[b]
        if part.kind == TREE:
            low, high = sorted((int(x), int(y)))
            share = max(part.steps[low:high], default=0.0)
        elif part.kind == SET or math.isnan(x) or math.isnan(y):
            share = float(x != y and not (math.isnan(x) and math.isnan(y)))
        elif part.diameter > 0:
            share = min(abs(x - y) / part.diameter, 1.0)
        else:
            share = float(x != y)
        shares.append(share)
    if power == math.inf:
        return max(shares)
    weights = [part.weight for part in components]
    terms = (w * share**power for w, share in zip(weights, shares, strict=True))
    return float((sum(terms) / sum(weights)) ** (1 / power))


def xcolor_step(
    attributes: Sequence[Geometry],
    rows: Sequence[Row],
    near: Sequence[Sequence[bool]],
    class_of: Sequence[int],
    allowed: Sequence[int],
) -> list[int] | None:
    """Return the classes after the next exchange of XColor's Algorithm 2, or None if there is none."""
    n = len(rows)

    def members(number: int) -> list[int]:
        return [r for r in range(n) if class_of[r] == number]

    def loss(records: Sequence[int]) -> float:
        return box_cost(attributes, [rows[r] for r in records]) if records else 0.0

    def degree(record: int, records: Sequence[int]) -> int:
        return sum(near[record][other] for other in records)

    def without(records: Sequence[int], *gone: int) -> list[int]:
        return [r for r in records if r not in gone]

    violations = [r for r in range(n) if degree(r, members(class_of[r])) > allowed[class_of[r]]]
    departure = {}
    for v in violations:
        home = members(class_of[v])
        departure[v] = (loss(without(home, v)) - loss(home) if len(home) > 1 else 0.0, v)
    for v in sorted(violations, key=departure.__getitem__):
        here, best = members(class_of[v]), None
        for other in range(n):
            there = members(class_of[other])
            if class_of[other] == class_of[v] or degree(v, there) > allowed[class_of[other]]:
                continue
            new_here, new_there = [*without(here, v), other], [*without(there, other), v]
            change = (
                degree(v, without(there, other))
                - degree(v, here)
                + degree(other, without(here, v))
                - degree(other, there)
            )
            if change >= 0:
                continue
            cost = len(here) * (loss(new_here) - loss(here)) + len(there) * (loss(new_there) - loss(there))
            if best is None or (cost, other) < best:
                best = (cost, other)
        if best is not None:
            moved = list(class_of)
            moved[v], moved[best[1]] = class_of[best[1]], class_of[v]
            return moved
    return None


def shown(attributes: Sequence[Geometry], records: Sequence[Row]) -> tuple[object, ...]:
    """Return what a box around these records shows: sets, or all codes that cost nothing more."""
    seen: list[object] = []
    for attribute, column in zip(attributes, zip(*records, strict=True), strict=True):
        codes = set(column)
        if attribute.kind == RANGE:
            low, high = min(codes), max(codes)
            missing = attribute.table[-1] > 1 and high == attribute.size - 1 and low < high
            seen.append((0 if missing else low, high))
        elif attribute.kind == SET:
            seen.append(frozenset(codes))
        else:
            alike = [
                c for c in range(attribute.size) if cost(attribute, codes | {c}) == cost(attribute, codes)
            ]
            seen.append(frozenset(alike) if len(codes) > 1 else frozenset(codes))
    return tuple(seen)
