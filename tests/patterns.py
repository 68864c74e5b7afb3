"""What tests of patterns share: plain twins of the kernels, and optima by brute force."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import product

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 48  # patterns whose targets the kernel finds before it tries any of them
ROUNDING = 1e-9

Row = tuple[int, ...]


def projection(row: Row, blank: NDArray[np.bool_]) -> Row:
    """Return a row with suppressed cells as -1."""
    return tuple(-1 if gone else code for code, gone in zip(row, blank, strict=True))


def cover(rows: list[Row], suppressed: NDArray[np.bool_], k: int, *, shared: bool = False) -> list[int]:
    """Return the pattern of each row by Algorithm 1 of the paper, word for word; -1 if it is left over."""
    found = [-1] * len(rows)
    for pattern, blank in enumerate(suppressed):
        remaining = [i for i in range(len(rows)) if shared or found[i] < 0]
        instances = Counter(projection(rows[i], blank) for i in remaining)
        for i in remaining:
            if instances[projection(rows[i], blank)] >= k and found[i] < 0:
                found[i] = pattern
    return found


def varied(columns: list[list[int]], asked: tuple[float, int, float], members: list[int]) -> bool:
    """Return whether the labels of some rows are as varied as asked: share, number, entropy in nats."""
    share, distinct, entropy = asked
    for labels in columns:
        often = Counter(labels[i] for i in members).values()
        n = len(members)
        found = -sum(c / n * math.log(c / n) for c in often)
        if share * max(often) > n + ROUNDING or len(often) < distinct or found < entropy - ROUNDING:
            return False
    return True


def varied_part(
    columns: list[list[int]], asked: tuple[float, int, float], members: list[int], k: int
) -> list[int]:
    """Return what is left of some rows after the last ones with the most frequent label were removed."""
    members = list(members)
    while len(members) >= k:
        wrong = [labels for labels in columns if not varied([labels], asked, members)]
        if not wrong:
            return members
        often = Counter(wrong[0][i] for i in members)
        worst = min(label for label in often if often[label] == max(often.values()))
        members.remove(max(i for i in members if wrong[0][i] == worst))
    return []


def varied_cover(
    rows: list[Row],
    suppressed: NDArray[np.bool_],
    k: int,
    columns: list[list[int]],
    asked: tuple[float, int, float],
) -> list[int]:
    """Return the pattern of each row if each takes of equal rows only a part that is varied enough."""
    found = [-1] * len(rows)
    for pattern, blank in enumerate(suppressed):
        groups = defaultdict(list)
        for i in range(len(rows)):
            if found[i] < 0:
                groups[projection(rows[i], blank)].append(i)
        for members in groups.values():
            for i in varied_part(columns, asked, members, k):
                found[i] = pattern
    return found


def classes(rows: list[Row], suppressed: NDArray[np.bool_], pattern_of: list[int]) -> list[list[int]]:
    """Return the rows of each class."""
    found = defaultdict(list)
    for i, (row, p) in enumerate(zip(rows, pattern_of, strict=True)):
        found[p, projection(row, suppressed[p])].append(i)
    return list(found.values())


def varied_optimum(
    rows: list[Row],
    suppressed: NDArray[np.bool_],
    costs: NDArray[np.float64],
    k: int,
    columns: list[list[int]],
    asked: tuple[float, int, float],
) -> float:
    """Return the least cost of all ways in which every class is varied enough; infinity if there is none."""
    least = np.inf
    for chosen in product(range(len(costs)), repeat=len(rows)):
        cost = sum(costs[pattern] for pattern in chosen)
        if cost < least and all(
            len(members) >= k and varied(columns, asked, members)
            for members in classes(rows, suppressed, list(chosen))
        ):
            least = cost
    return float(least)


def sizes(rows: list[Row], suppressed: NDArray[np.bool_], pattern_of: list[int]) -> Counter[tuple[int, Row]]:
    """Return how many rows each class has."""
    return Counter((p, projection(row, suppressed[p])) for row, p in zip(rows, pattern_of, strict=True))


def optimum(rows: list[Row], suppressed: NDArray[np.bool_], costs: NDArray[np.float64], k: int) -> float:
    """Return the least cost of all ways to give rows their patterns; infinity if there is none."""
    least = np.inf
    for chosen in product(range(len(costs)), repeat=len(rows)):
        cost = sum(costs[pattern] for pattern in chosen)
        if cost < least and min(sizes(rows, suppressed, list(chosen)).values()) >= k:
            least = cost
    return float(least)


def fixed_parameter_optimum(
    rows: list[Row], suppressed: NDArray[np.bool_], costs: NDArray[np.float64], k: int
) -> float:
    """Return the least cost as Theorem 2 of the paper finds it.

    All ways are tried to say which row types use which patterns. For each, every class in use gets at least
    k rows, at the least cost: a flow with lower bounds.
    """
    from scipy.optimize import linprog

    types = Counter(rows)
    kinds = list(types)
    pairs = [(i, p) for i in range(len(kinds)) for p in range(len(costs))]
    least = np.inf
    for used in product([False, True], repeat=len(pairs)):
        chosen = [pair for pair, one in zip(pairs, used, strict=True) if one]
        if {i for i, _ in chosen} != set(range(len(kinds))):
            continue
        classes = defaultdict(list)
        for variable, (i, p) in enumerate(chosen):
            classes[p, projection(kinds[i], suppressed[p])].append(variable)
        equal = np.array([[float(i == kind) for i, _ in chosen] for kind in range(len(kinds))])
        enough = np.array(
            [[-float(v in members) for v in range(len(chosen))] for members in classes.values()]
        )
        flow = linprog(
            [costs[p] for _, p in chosen],
            A_ub=enough,
            b_ub=np.full(len(classes), -float(k)),
            A_eq=equal,
            b_eq=[types[kind] for kind in kinds],
        )
        if flow.success:
            least = min(least, round(float(flow.fun), 6))
    return least


class Search:
    """The twin of `kernels.PatternSearch`."""

    def __init__(
        self,
        rows: list[Row],
        suppressed: NDArray[np.bool_],
        costs: NDArray[np.float64],
        beyond: float,
        k: int,
        pattern_of: list[int],
    ) -> None:
        self.rows, self.suppressed, self.k = rows, suppressed, k
        self.costs = {-1: beyond, **dict(enumerate(costs.tolist()))}
        self.pattern_of = list(pattern_of)

    def key(self, row: int, pattern: int) -> tuple[int, Row]:
        """Return the class that a row belongs to under a pattern."""
        return pattern, () if pattern < 0 else projection(self.rows[row], self.suppressed[pattern])

    def classes(self) -> dict[tuple[int, Row], list[int]]:
        """Return the rows of each class."""
        found: dict[tuple[int, Row], list[int]] = defaultdict(list)
        for row, pattern in enumerate(self.pattern_of):
            found[self.key(row, pattern)].append(row)
        return dict(found)

    def cost(self) -> float:
        """Return what all rows cost."""
        return sum(self.costs[pattern] for pattern in self.pattern_of)

    def sweep(self, begin: int, end: int) -> int:
        """Try all patterns of a stretch, some of them at once; return how often that saved cost."""
        saved = 0
        for first in range(begin, end, AT_ONCE):
            targets = [t for p in range(first, min(first + AT_ONCE, end)) for t in self.targets(p)]
            saved += sum(self.attempt(pattern, rows) for pattern, rows in targets)
        return saved

    def targets(self, pattern: int) -> list[tuple[int, list[int]]]:
        """Return groups of at least k rows of which some gain."""
        groups = defaultdict(list)
        for row in range(len(self.rows)):
            groups[self.key(row, pattern)].append(row)
        return [
            (pattern, rows)
            for rows in groups.values()
            if len(rows) >= self.k
            and any(self.costs[self.pattern_of[row]] > self.costs[pattern] + ROUNDING for row in rows)
        ]

    def attempt(self, pattern: int, rows: list[int]) -> bool:
        """Make one class of rows, or let it grow, if that saves cost."""
        classes, cost = self.classes(), self.costs[pattern]
        own = self.key(rows[0], pattern)
        sources: dict[tuple[int, Row], list[int]] = defaultdict(list)
        for row in rows:
            if (source := self.key(row, self.pattern_of[row])) != own:
                sources[source].append(row)
        gain = {source: self.costs[source[0]] - cost for source in sources}
        gaining = [source for source in sources if gain[source] > ROUNDING]
        there = len(classes.get(own, []))

        hoped = sum(gain[source] * len(sources[source]) for source in gaining)
        coming = there + sum(len(sources[source]) for source in gaining)
        if coming < self.k:
            hoped -= self.fill_up(sources, classes, gain, self.k - coming, set())[0]
        if hoped <= ROUNDING:
            return False

        taken: dict[tuple[int, Row], int] = {}
        closing, homes = set(), {}
        for source in gaining:
            fits, size = len(sources[source]), len(classes[source])
            if source[0] >= 0 and fits == size:
                closing.add(source)
            taken[source] = fits if source[0] < 0 or fits == size else min(max(size - self.k, 0), fits)
        saved = sum(gain[source] * taken[source] for source in gaining)
        receiving = set()
        for source in gaining:
            if taken[source] == len(sources[source]) or source in receiving:
                continue
            new = {
                row: self.home(row, classes, closing | {source})
                for row in classes[source]
                if row not in sources[source]
            }
            if None in new.values():
                continue
            more = gain[source] * (len(sources[source]) - taken[source])
            more += sum(self.costs[source[0]] - self.costs[home[0]] for home in new.values() if home)
            if more > ROUNDING:
                closing.add(source)
                homes.update(new)
                receiving.update(new.values())
                taken[source] = len(sources[source])
                saved += more
        coming = there + sum(taken.values())
        if coming < self.k:
            loss, filling = self.fill_up(sources, classes, gain, self.k - coming, receiving)
            saved -= loss
            taken.update(filling)
        if not saved > ROUNDING:
            return False
        for row, home in homes.items():
            assert home is not None
            self.pattern_of[row] = home[0]
        for source, count in taken.items():
            for row in sources[source][:count]:
                self.pattern_of[row] = pattern
        return True

    def home(
        self, row: int, classes: dict[tuple[int, Row], list[int]], closing: set[tuple[int, Row]]
    ) -> tuple[int, Row] | None:
        """Return the cheapest class that a row could go to."""
        for pattern in range(len(self.suppressed)):
            found = self.key(row, pattern)
            if found in classes and found not in closing and row not in classes[found]:
                return found
        return None

    def fill_up(
        self,
        sources: dict[tuple[int, Row], list[int]],
        classes: dict[tuple[int, Row], list[int]],
        gain: dict[tuple[int, Row], float],
        need: int,
        receiving: set[tuple[int, Row] | None],
    ) -> tuple[float, dict[tuple[int, Row], int]]:
        """Return what it costs to take `need` rows from classes that do not gain, and how many from each."""
        donors = [source for source in sources if gain[source] <= ROUNDING]
        spare, loss, missing = {}, 0.0, need
        for source in sorted(donors, key=lambda source: -gain[source]):
            if len(classes[source]) > self.k:
                spare[source] = min(missing, len(classes[source]) - self.k, len(sources[source]))
                loss -= gain[source] * spare[source]
                missing -= spare[source]
        whole = [s for s in donors if len(sources[s]) == len(classes[s]) and s not in receiving]
        dearest = {source: -gain[source] * len(classes[source]) for source in whole}
        best = min(whole, key=lambda source: dearest[source], default=None)
        if missing == 0 and (best is None or loss <= dearest[best]):
            return loss, spare
        return (np.inf, {}) if best is None else (dearest[best], {best: len(classes[best])})
