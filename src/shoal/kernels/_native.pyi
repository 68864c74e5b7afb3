"""What the compiled core offers; see the headers in native/."""

from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

class BoxTree:
    def __init__(
        self,
        codes: NDArray[np.int32],
        attributes: Sequence[tuple[int, float, int, NDArray[np.float64]]],
        room: int,
    ) -> None: ...
    def order(self) -> NDArray[np.int32]: ...
    def members(self) -> NDArray[np.int32]: ...
    def add(self, boxes: NDArray[np.int32], records: NDArray[np.int32]) -> None: ...
    def set_members(self, members: NDArray[np.int32]) -> None: ...
    def set_limits(self, limits: NDArray[np.float64]) -> None: ...
    def nearest_boxes(self, records: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.float64]]: ...
    def nearest_records(
        self, boxes: NDArray[np.int32], count: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]: ...
    def records_in(self, boxes: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]: ...
    def boxes_around(self, records: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]: ...
    def delete_records(self, records: NDArray[np.int32]) -> None: ...
    def delete_boxes(self, boxes: NDArray[np.int32]) -> None: ...
    def crowd_costs(
        self,
        records: NDArray[np.int32],
        copies: NDArray[np.int32],
        k: int,
        horizon: int,
        steps: int,
    ) -> NDArray[np.float64]: ...
    def match_cheapest_first(
        self,
        records: NDArray[np.int32],
        boxes: NDArray[np.int32],
        settled_records: NDArray[np.int32],
        settled_boxes: NDArray[np.int32],
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], int, int, int]: ...
    def match_cheapest_together(
        self, candidates: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], int, int, int]: ...
    def match_in_order(
        self, records: NDArray[np.int32], costless: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], int, int, int]: ...

class Diversification:
    def __init__(
        self,
        codes: NDArray[np.int32],
        attributes: Sequence[tuple[int, float, int, NDArray[np.float64]]],
        members: NDArray[np.int32],
        sensitive: Sequence[tuple[NDArray[np.int32], int]],
        frequency_l: float,
        distinct: int,
        entropy: float,
        record_of: NDArray[np.int32],
        widest: int,
    ) -> None: ...
    def violated(self) -> int: ...
    def shortfall(self) -> float: ...
    def swap(self) -> int: ...
    def widen(self) -> int: ...
    def grow(self, rows: NDArray[np.int32], records: NDArray[np.int32]) -> None: ...
    def record_of(self) -> NDArray[np.int32]: ...
    def grown(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]: ...

class ConsistencyGraph:
    def __init__(
        self,
        records: NDArray[np.int32],
        record_copies: NDArray[np.int64],
        boxes: NDArray[np.int32],
        box_copies: NDArray[np.int64],
        attributes: Sequence[
            tuple[bool, int, NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]
        ],
    ) -> None: ...
    def count(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
    def count_labels(
        self, labels: NDArray[np.int32], size: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]: ...
    def boxes_around(self, records: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]: ...
    def maximum_matching(
        self, records: NDArray[np.int32], boxes: NDArray[np.int32], copies: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], int, int, int]: ...
    def components(
        self, records: NDArray[np.int32], boxes: NDArray[np.int32], copies: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]: ...
    def stretches(
        self,
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]: ...

class MatchingChains:
    def __init__(
        self,
        graph: tuple[
            NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]
        ],
        components: tuple[NDArray[np.int64], NDArray[np.int32]],
        chains: int,
        key: NDArray[np.uint64],
    ) -> None: ...
    def run(
        self, components: NDArray[np.int32], walks: int, seconds: float
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.uint8], int]: ...

class OwnRows:
    def __init__(
        self,
        codes: NDArray[np.int32],
        attributes: Sequence[tuple[int, float, int, NDArray[np.float64]]],
        entropies: list[NDArray[np.float64]],
        withheld: NDArray[np.int32],
        room: int,
    ) -> None: ...
    def order(self) -> NDArray[np.int32]: ...
    def members(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]: ...
    def expand(self, k: int) -> None: ...
    def expand_at_random(self, k: int, keys: NDArray[np.uint64]) -> None: ...
    def expand_from_several(self, k: int, starts: int, keys: NDArray[np.uint64]) -> None: ...
    def cover(self, order: NDArray[np.int32], k: int) -> int: ...
    def begin_tightening(self, k: int, keep_cores: bool) -> None: ...
    def cover_dearest_first(self, widest: int) -> None: ...
    def relieve(self, order: NDArray[np.int32], together: int, widest: int) -> float: ...
    def hold_together(self, components: NDArray[np.int32]) -> None: ...
    def components(self) -> NDArray[np.int32]: ...
    def join(self, components: NDArray[np.int32]) -> None: ...
    def conceal_records(self, order: NDArray[np.int32], k: int) -> int: ...
    def conceal_cheapest_first(self, records: NDArray[np.int32], k: int) -> int: ...
    def conceal_rows(self, order: NDArray[np.int32], k: int) -> int: ...
    def vary(
        self,
        order: NDArray[np.int32],
        columns: list[NDArray[np.int32]],
        frequency_l: float,
        distinct: int,
        entropy: float,
    ) -> int: ...

class Refinement:
    def __init__(
        self,
        codes: NDArray[np.int32],
        attributes: Sequence[tuple[int, float, int, NDArray[np.float64]]],
        graph: NDArray[np.int32],
        key: NDArray[np.uint64],
    ) -> None: ...
    def exchange(self, foresight: float) -> int: ...
    def reassign(self, times: int, temperature: float) -> int: ...
    def cost(self) -> float: ...
    def members(self) -> NDArray[np.int32]: ...

def exact_links(
    graph: tuple[
        NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]
    ],
    components: tuple[NDArray[np.int64], NDArray[np.int32]],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]: ...
def cheapest_assignment(
    starts: NDArray[np.int64], columns: NDArray[np.int32], costs: NDArray[np.float64], count: int
) -> NDArray[np.int32]: ...

class Classes:
    def __init__(
        self,
        codes: NDArray[np.int32],
        attributes: Sequence[tuple[int, float, int, NDArray[np.float64]]],
        class_of: NDArray[np.int32],
        k: int,
    ) -> None: ...
    def sweep(self) -> int: ...
    def cost(self) -> float: ...
    def class_of(self) -> NDArray[np.int32]: ...

class Agglomeration:
    def __init__(
        self,
        codes: NDArray[np.int32],
        copies: NDArray[np.int32],
        attributes: Sequence[tuple[int, float, int, NDArray[np.float64]]],
        counts: Sequence[NDArray[np.float64]],
        k: int,
    ) -> None: ...
    def advance(self, pairs: int) -> int: ...
    def classes(self) -> NDArray[np.int32]: ...

def forest(
    codes: NDArray[np.int32],
    copies: NDArray[np.int32],
    attributes: Sequence[tuple[int, float, int, NDArray[np.float64]]],
    counts: Sequence[NDArray[np.float64]],
    k: int,
) -> NDArray[np.int32]: ...
def unify(
    codes: NDArray[np.int32],
    class_of: NDArray[np.int32],
    attributes: Sequence[tuple[int, float, int, NDArray[np.float64]]],
    counts: Sequence[NDArray[np.float64]],
    sensitive: Sequence[tuple[NDArray[np.int32], int]],
    diversity: float,
    weight: float,
) -> NDArray[np.int32]: ...

class Closeness:
    @overload
    def __init__(
        self, ranked: Sequence[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]]
    ) -> None: ...
    @overload
    def __init__(
        self,
        components: Sequence[tuple[int, float, float, NDArray[np.float64], NDArray[np.float64]]],
        power: float,
        limit: float,
    ) -> None: ...
    @overload
    def __init__(self, bits: NDArray[np.uint8], size: int) -> None: ...
    def degrees(self, counts: NDArray[np.int64]) -> NDArray[np.int64]: ...
    def near(self, values: NDArray[np.int32], counts: NDArray[np.int64]) -> NDArray[np.int64]: ...

class Coloring:
    def __init__(
        self,
        codes: NDArray[np.int32],
        attributes: Sequence[tuple[int, float, int, NDArray[np.float64]]],
        class_of: NDArray[np.int32],
        closeness: Closeness,
        values: NDArray[np.int32],
        allowed: NDArray[np.int32],
    ) -> None: ...
    def mend(self, goal: int, few: int, cycles: bool, most: int) -> int: ...
    def sweep(self, few: int, cycles: bool) -> int: ...
    def part(self, classes: NDArray[np.int32], few: int) -> int: ...
    def potential(self) -> int: ...
    def excess(self) -> int: ...
    def neighbours(self) -> NDArray[np.int32]: ...
    def cost(self) -> float: ...
    def class_of(self) -> NDArray[np.int32]: ...

class Ring:
    def __init__(
        self,
        codes: NDArray[np.int32],
        copies: NDArray[np.int32],
        attributes: Sequence[tuple[int, float, int, NDArray[np.float64]]],
        k: int,
    ) -> None: ...
    def sweep(self) -> int: ...
    def cost(self) -> float: ...
    def order(self) -> NDArray[np.int32]: ...

def cover(
    codes: NDArray[np.int32], kept: NDArray[np.uint64], k: int, shared: bool
) -> tuple[NDArray[np.int32], int]: ...

class PatternSearch:
    def __init__(
        self,
        codes: NDArray[np.int32],
        kept: NDArray[np.uint64],
        costs: NDArray[np.float64],
        beyond: float,
        k: int,
        pattern_of: NDArray[np.int32],
    ) -> None: ...
    def sweep(self, begin: int, end: int) -> int: ...
    def cost(self) -> float: ...
    def pattern_of(self) -> NDArray[np.int32]: ...

def chain(
    codes: NDArray[np.int32],
    copies: NDArray[np.int32],
    elsewhere: NDArray[np.float64],
    attributes: Sequence[tuple[int, float, int, NDArray[np.float64]]],
    k: int,
) -> NDArray[np.int32]: ...
def cut(
    codes: NDArray[np.int32], attributes: Sequence[tuple[int, float, int, NDArray[np.float64]]], k: int
) -> NDArray[np.int32]: ...
def smallest_worlds(
    sets: tuple[NDArray[np.int64], NDArray[np.int32]],
    groups: tuple[NDArray[np.int64], NDArray[np.int32]],
    width: int,
) -> tuple[
    tuple[NDArray[np.int64], NDArray[np.int32]],
    tuple[NDArray[np.int64], NDArray[np.int32]],
    NDArray[np.int32],
]: ...
def differences(
    left: tuple[NDArray[np.int64], NDArray[np.int32]],
    right: tuple[NDArray[np.int64], NDArray[np.int32]],
    lefts: NDArray[np.int32],
    rights: NDArray[np.int32],
) -> NDArray[np.int32]: ...
def sets_among_worlds(
    sets: tuple[NDArray[np.int64], NDArray[np.int32]],
    base: tuple[NDArray[np.int64], NDArray[np.int32]],
    uncertain: tuple[NDArray[np.int64], NDArray[np.int32]],
    most_errors: NDArray[np.int32],
    width: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]: ...
def walk(
    members: NDArray[np.int32], which: int, key: NDArray[np.uint64], backtracking: bool, seconds: float
) -> tuple[NDArray[np.int32], int, int]: ...
def group_rows(codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]: ...
def mondrian(
    codes: NDArray[np.int32],
    attributes: Sequence[tuple[int, float, int, NDArray[np.float64]]],
    sensitive: Sequence[tuple[NDArray[np.int32], int]],
    k: int,
    frequency_l: float,
    distinct: int,
    entropy: float,
    relaxed: bool,
) -> NDArray[np.int32]: ...

_Sets = tuple[NDArray[np.int64], NDArray[np.int32], int]

def hamming(sets: _Sets, ones: NDArray[np.int32], others: NDArray[np.int32]) -> NDArray[np.int32]: ...
def gray_order(sets: _Sets) -> NDArray[np.int32]: ...
def breakpoints(steps: NDArray[np.int32], shortest: int, longest: int) -> NDArray[np.int32]: ...
def shorten(
    sets: _Sets,
    weights: NDArray[np.int32],
    order: NDArray[np.int32],
    starts: NDArray[np.int32],
    kicks: int,
) -> NDArray[np.int32]: ...
def vote(
    sets: _Sets, row_starts: NDArray[np.int64], records: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]: ...
def near_sets(
    sets: _Sets, weights: NDArray[np.int32], orders: NDArray[np.int32], count: int, rounds: int
) -> NDArray[np.int32]: ...
def greedy_extraction(
    sets: _Sets,
    order: NDArray[np.int32],
    labels: NDArray[np.int32],
    starts: NDArray[np.int32],
    most: int,
) -> NDArray[np.int32]: ...
def cahd(
    sets: _Sets, order: NDArray[np.int32], labels: NDArray[np.int32], different: int, size: int, reach: int
) -> NDArray[np.int32]: ...
def mix(
    graph: NDArray[np.int32],
    assignment: NDArray[np.int32],
    labels: NDArray[np.int32],
    steps: int,
    key: NDArray[np.uint64],
) -> NDArray[np.int32]: ...

class SetGraph:
    def __init__(
        self,
        sets: _Sets,
        weights: NDArray[np.int32],
        graph: NDArray[np.int32],
        neighbours: NDArray[np.int32],
        labels: NDArray[np.int32],
        key: NDArray[np.uint64],
    ) -> None: ...
    def reassign(self, times: int, temperature: float) -> int: ...
    def cost(self) -> float: ...
    def members(self) -> NDArray[np.int32]: ...
