"""The cut tree: which block a record belongs to, so that blocks hold neighbours and no value is divided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.base.ragged import Lists, ascending_sets
from shoal.base.randomness import Randomness
from shoal.engines.domains import Reference
from shoal.kinds.domain import Attribute, ItemsDomain, RangeDomain, SetDomain, TreeDomain
from shoal.methods.setorder import gray_ranks
from shoal.schema import Kind
from shoal.table import Table

SLACK = 1.5
"""A part is cut if it has more than so many times the records that a block should have."""
LEAST_SHARE = 1 / 3
"""No side of a cut has fewer records than this share of a block."""


@dataclass(frozen=True, eq=False)
class Leaf:
    """A part that is not cut.

    Parameters
    ----------
    chunks
        Into how many blocks its records are divided at random: more than one only where they cannot be told
        apart any further.
    """

    chunks: int = 1

    @property
    def blocks(self) -> int:
        """How many blocks there are below."""
        return self.chunks


@dataclass(frozen=True, eq=False)
class Cut:
    """A part that is cut in two by one quasi-identifier.

    Parameters
    ----------
    attribute
        Its number.
    bound
        Numbers and dates up to this are low, missing ones high; None if `codes` decide. Of items, those are
        low that come before so many other thresholds in the Gray order.
    codes
        Which codes of its domain are low.
    low, high
        The two parts.
    """

    attribute: int
    bound: Any
    codes: NDArray[np.bool_] | None
    low: Cut | Leaf
    high: Cut | Leaf

    @property
    def blocks(self) -> int:
        """How many blocks there are below."""
        return self.low.blocks + self.high.blocks


@dataclass(frozen=True, eq=False)
class CutTree:
    """A division of a table into blocks, numbered from left to right.

    Parameters
    ----------
    root
        The whole table.
    thresholds
        The sets of items that cuts of items are made at, in the Gray order; empty without such cuts.
    items
        The items in the order that the Gray order goes by.
    """

    root: Cut | Leaf
    thresholds: Lists
    items: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return how many blocks there are."""
        return self.root.blocks

    def blocks_of(self, table: Table, randomness: Randomness) -> NDArray[np.int32]:
        """Return the block of each record.

        Parameters
        ----------
        table
            Some records, encoded by the `Reference` that the tree was made with.
        randomness
            Decides between the chunks of records that cannot be told apart.
        """
        blocks = np.empty(len(table), dtype=np.int32)
        places: dict[int, NDArray[np.int64]] = {}

        def lower(cut: Cut, records: NDArray[np.int64]) -> NDArray[np.bool_]:
            attribute = table.attributes[cut.attribute]
            if cut.codes is not None:
                return np.asarray(cut.codes[attribute.codes[records]])
            if isinstance(attribute.domain, ItemsDomain):
                if cut.attribute not in places:
                    places[cut.attribute] = self._places(attribute, attribute.domain)
                return np.asarray(places[cut.attribute][records] <= cut.bound)
            return attribute.codes[records] < _codes_up_to(attribute, cut.bound)

        def descend(node: Cut | Leaf, records: NDArray[np.int64], first: int) -> None:
            if isinstance(node, Leaf):
                blocks[records] = first
                if node.chunks > 1:
                    chunks = randomness.words(len(records)) % np.uint64(node.chunks)
                    blocks[records] += chunks.astype(np.int32)
            elif len(records):
                low = lower(node, records)
                descend(node.low, records[low], first)
                descend(node.high, records[~low], first + node.low.blocks)

        descend(self.root, np.arange(len(table)), 0)
        return blocks

    def units(self, counts: Sequence[int], least: int) -> list[range]:
        """Return which blocks are worked on together, so that none has too few records.

        A part with too few records is united with all of the part it was cut from.

        Parameters
        ----------
        counts
            How many records each block has.
        least
            How many it should have.
        """
        before = np.concatenate(([0], np.cumsum(counts)))

        def united(node: Cut | Leaf, first: int) -> list[range]:
            whole = range(first, first + node.blocks)
            if isinstance(node, Leaf):
                parts = [range(block, block + 1) for block in whole]
            else:
                parts = united(node.low, first) + united(node.high, first + node.low.blocks)
            parts = [part for part in parts if before[part.stop] > before[part.start]]
            small = any(before[part.stop] - before[part.start] < least for part in parts)
            return [whole] if small or not parts else parts

        return united(self.root, 0)

    def wider(self, unit: range) -> range | None:
        """Return the blocks of the smallest part that holds more than these; None if they are all."""
        found = None
        node, first = self.root, 0
        while node.blocks > len(unit):
            found = range(first, first + node.blocks)
            if isinstance(node, Leaf):
                break
            if unit.start >= first + node.low.blocks:
                first += node.low.blocks
                node = node.high
            else:
                node = node.low
        return found

    def _places(self, attribute: Attribute, domain: ItemsDomain) -> NDArray[np.int64]:
        """Return how many thresholds come before the items of each record."""
        sets = _sets_among(domain, self.items)
        both = Lists.of_sizes(
            np.concatenate((sets.sizes, self.thresholds.sizes)),
            np.concatenate((sets.values, self.thresholds.values)),
        )
        ranks = gray_ranks(both, len(self.items))
        return np.searchsorted(ranks[len(sets) :], ranks[: len(sets)])[attribute.codes]


@dataclass(frozen=True, eq=False)
class _Way:
    """A way to cut a part.

    Parameters
    ----------
    gain
        By how much the expected cost of two records of the same part falls.
    attribute, bound, codes
        As of `Cut`.
    low
        Which records of the part are low.
    """

    gain: float
    attribute: int
    bound: Any
    codes: NDArray[np.bool_] | None
    low: NDArray[np.bool_]


def cut_tree(
    sample: Table, reference: Reference, rows: int, *, block_rows: int, least: int, apart: bool = False
) -> CutTree:
    """Divide a table where two records of the same block are then expected to cost least together.

    Sets of items are cut by ranges of the Gray order, and then nothing else is.

    Parameters
    ----------
    sample
        A uniform sample of the table, encoded by `reference`.
    reference
        What all parts of the table agree on.
    rows
        How many records the table has.
    block_rows
        How many records a block should have.
    least
        How many each must have, as far as the sample tells.
    apart
        Whether no generalized value of a block may cover a value of another, nor look like one there: then
        hierarchies and columns with missing numbers or dates are not cut, nor are records divided that cannot
        be told apart, even if blocks become larger.
    """
    scale = rows / len(sample)
    fewest = max(least, LEAST_SHARE * block_rows) / scale
    items = [a for a, each in enumerate(sample.attributes) if isinstance(each.domain, ItemsDomain)]
    if items:
        return _gray_tree(sample, reference, items[0], max(1, round(rows / block_rows)))
    cuttable = [a for a, each in enumerate(sample.attributes) if not apart or _keeps_apart(each, reference)]

    def grown(records: NDArray[np.int64]) -> Cut | Leaf:
        if len(records) * scale <= SLACK * block_rows:
            return Leaf()
        ways = (_best_way(sample, a, records, fewest) for a in cuttable)
        best = max((way for way in ways if way is not None), key=lambda way: way.gain, default=None)
        if best is None:
            return Leaf(1 if apart else max(1, round(len(records) * scale / block_rows)))
        low, high = grown(records[best.low]), grown(records[~best.low])
        return Cut(best.attribute, best.bound, best.codes, low, high)

    return CutTree(grown(np.arange(len(sample))), Lists.of([]))


def _keeps_apart(attribute: Attribute, reference: Reference) -> bool:
    match attribute.domain:
        case SetDomain():
            return True
        case RangeDomain():
            # A number and a missing value have only the whole domain in common.
            return attribute.column.name not in reference.missing
        case _:
            return False  # the common ancestor of some values covers others


def _gray_tree(sample: Table, reference: Reference, number: int, blocks: int) -> CutTree:
    attribute = sample.attributes[number]
    assert isinstance(attribute.domain, ItemsDomain)
    names = reference.items[attribute.column.name]
    sets = _sets_among(attribute.domain, names)
    order = np.argsort(gray_ranks(sets, len(names)))
    ends = np.cumsum(attribute.counts[order])
    wanted = len(sample) * np.arange(1, blocks) / blocks
    chosen = np.unique(np.searchsorted(ends, wanted))
    thresholds = sets.gather(order[chosen[chosen < len(order) - 1]])

    def halved(first: int, last: int) -> Cut | Leaf:
        if first == last:
            return Leaf()
        middle = (first + last) // 2
        return Cut(number, middle, None, halved(first, middle), halved(middle + 1, last))

    return CutTree(halved(0, len(thresholds)), thresholds, names)


def _sets_among(domain: ItemsDomain, names: tuple[str, ...]) -> Lists:
    """Return the sets of a domain, by the numbers that items have among all of them."""
    number = {name: item for item, name in enumerate(names)}
    items = np.array([number[name] for name in domain.names], dtype=np.int32)
    return ascending_sets(domain.sets.owners, items[domain.sets.values], len(domain.sets))


def _best_way(table: Table, number: int, records: NDArray[np.int64], fewest: float) -> _Way | None:
    attribute, weight = table.attributes[number], float(table.weights[number])
    codes = attribute.codes[records]
    counts = np.bincount(codes, minlength=len(attribute.domain))
    finders: dict[type, Callable[[Any, NDArray[np.int64], float], tuple[float, NDArray[np.bool_]] | None]]
    finders = {RangeDomain: _cut_range, SetDomain: _cut_set, TreeDomain: _cut_tree}
    found = finders[type(attribute.domain)](attribute.domain, counts, fewest)
    if found is None:
        return None
    gain, low = found
    bound = None
    if isinstance(attribute.domain, RangeDomain) and attribute.column.kind is not Kind.ORDINAL:
        # Codes of numbers and dates are those of the sample only.
        bound = attribute.domain.values[int(low.sum()) - 1]
    return _Way(weight * gain, number, bound, None if bound is not None else low, low[codes])


def _cut_range(
    domain: RangeDomain, counts: NDArray[np.int64], fewest: float
) -> tuple[float, NDArray[np.bool_]] | None:
    """Return by how much the mean distance of two records falls at best, and which codes are then low."""
    below = np.cumsum(counts)[:-1]
    total = int(counts.sum())
    allowed = (below >= fewest) & (total - below >= fewest)
    if not allowed.any():
        return None
    left = _distances(counts, domain.positions)
    right = _distances(counts[::-1], -domain.positions[::-1])[::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = (left[:-1] / below + right[1:] / (total - below)) / total
    cost[~allowed] = np.inf
    best = int(np.argmin(cost))
    return float(left[-1] / total**2 - cost[best]), np.arange(len(domain)) <= best


def _distances(counts: NDArray[np.int64], positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of the distances of all pairs, both ways, of records up to each code."""
    before = np.cumsum(counts) - counts
    places = np.cumsum(counts * positions) - counts * positions
    return np.asarray(2 * np.cumsum(counts * (positions * before - places)))


def _cut_set(
    domain: SetDomain, counts: NDArray[np.int64], fewest: float
) -> tuple[float, NDArray[np.bool_]] | None:
    """Return by how much two records differ less often, as a share of the domain, if divided evenly."""
    low = np.zeros(len(domain), dtype=np.bool_)
    sides = [0, 0]
    for code in np.argsort(-counts, kind="stable"):
        side = int(sides[1] < sides[0])
        sides[side] += int(counts[code])
        low[code] = side == 0
    if min(sides) < max(fewest, 1):
        return None
    total = sum(sides)
    squares = counts.astype(np.float64) ** 2
    before = 1 - squares.sum() / total**2
    after = sum(size - squares[which].sum() / size for size, which in zip(sides, (low, ~low), strict=True))
    return float(before - after / total) / max(domain.cardinality - 1, 1), low


def _cut_tree(
    domain: TreeDomain, counts: NDArray[np.int64], fewest: float
) -> tuple[float, NDArray[np.bool_]] | None:
    """Return by how much the cost of a common ancestor falls at best, between two children of the top."""
    present = np.flatnonzero(counts)
    tree = domain.hierarchy
    top = int(tree.ancestor(present[0], present[-1]))
    children = np.flatnonzero(tree.parent == top)
    if not len(children):
        return None
    children = children[np.argsort(tree.first[children])]
    ends = np.cumsum(counts)
    before = ends[tree.last[children]]
    sizes = np.diff(before, prepend=0).astype(np.float64)
    total = float(counts.sum())
    below = before[:-1].astype(np.float64)
    allowed = (below >= fewest) & (total - below >= fewest)
    if not allowed.any():
        return None
    # Pairs of one child cost what they did; pairs of two cost the top, on either side, and no more across.
    squares = np.cumsum(sizes**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = (below**2 - squares[:-1]) / below
        right = ((total - below) ** 2 - (squares[-1] - squares[:-1])) / (total - below)
    possible = np.concatenate(([0], np.cumsum(domain.possible)))
    spans = possible[tree.last[top] + 1] - possible[tree.first[top]]
    price = max(int(spans) - 1, 0) / max(domain.cardinality - 1, 1)
    gain = price * ((total**2 - squares[-1]) / total - left - right) / total
    gain[~allowed] = -np.inf
    best = int(np.argmax(gain))
    return float(gain[best]), np.arange(len(domain)) <= tree.last[children[best]]


def _codes_up_to(attribute: Attribute, bound: Any) -> int:
    """Return how many codes of numbers or dates are not above a bound."""
    known = attribute.domain.values.head(len(attribute.domain) - (attribute.domain.missing is not None))
    return int((known <= bound).sum())
