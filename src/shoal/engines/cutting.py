"""The cut tree assigns records to blocks, so that similar records are in the same block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.base.ragged import Lists
from shoal.base.randomness import Randomness
from shoal.engines.domains import Reference
from shoal.kinds.domain import Attribute
from shoal.methods.setorder import gray_ranks
from shoal.table import Table

SLACK = 1.5
"""A part is cut if it has more than this multiple of the records that a block should have."""
LEAST_SHARE = 1 / 3
"""No side of a cut has fewer records than this share of a block."""


@dataclass(frozen=True, eq=False)
class Leaf:
    """A part that is not cut.

    Parameters
    ----------
    chunks
        The number of blocks that its records are divided into at random: more than one only if no
        quasi-identifier distinguishes them any further.
    """

    chunks: int = 1

    @property
    def blocks(self) -> int:
        """The number of blocks in this part."""
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
        low that come before this many other thresholds in the Gray order.
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
        """The number of blocks in this part."""
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
        The items in the order that defines the Gray order.
    """

    root: Cut | Leaf
    thresholds: Lists
    items: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of blocks."""
        return self.root.blocks

    def blocks_of(self, table: Table, randomness: Randomness) -> NDArray[np.int32]:
        """Return the block of each record.

        Parameters
        ----------
        table
            Some records, encoded by the `Reference` that the tree was made with.
        randomness
            Chooses the chunk of records that no quasi-identifier distinguishes.
        """
        blocks = np.empty(len(table), dtype=np.int32)
        places: dict[int, NDArray[np.int64]] = {}

        def lower(cut: Cut, records: NDArray[np.int64]) -> NDArray[np.bool_]:
            attribute = table.attributes[cut.attribute]
            if cut.codes is not None:
                return np.asarray(cut.codes[attribute.codes[records]])
            if not attribute.domain.in_boxes:
                if cut.attribute not in places:
                    places[cut.attribute] = self._places(attribute)
                return np.asarray(places[cut.attribute][records] <= cut.bound)
            known = attribute.domain.values.head(attribute.domain.known)
            return attribute.codes[records] < attribute.column.kind.up_to(known, cut.bound)

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
            The number of records in each block.
        least
            The minimum number of records in a unit.
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
        """Return the blocks of the smallest part that contains these and more; None if these are all."""
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

    def _places(self, attribute: Attribute) -> NDArray[np.int64]:
        """Return the number of thresholds before the items of each record."""
        sets = attribute.domain.sets_among(self.items)
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
        The reduction of the expected cost of two records in the same part.
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
    """Divide a table so that the expected cost of two records in the same block is as small as possible.

    Sets of items are cut by ranges of the Gray order, and then nothing else is.

    Parameters
    ----------
    sample
        A uniform sample of the table, encoded by `reference`.
    reference
        What all parts of the table agree on.
    rows
        The number of records in the table.
    block_rows
        The intended number of records in a block.
    least
        The minimum number of records in a block, estimated from the sample.
    apart
        Whether no generalized value of a block may cover a value of another, nor look like one there: then
        hierarchies and columns with missing numbers or dates are not cut, and records that no
        quasi-identifier distinguishes are not divided, even if blocks become larger.
    """
    scale = rows / len(sample)
    fewest = max(least, LEAST_SHARE * block_rows) / scale
    items = [a for a, each in enumerate(sample.attributes) if not each.domain.in_boxes]
    if items:
        return _gray_tree(sample, reference, items[0], max(1, round(rows / block_rows)))
    cuttable = [
        a
        for a, each in enumerate(sample.attributes)
        if not apart or each.domain.cut_parts_are_apart(missing=each.column.name in reference.missing)
    ]

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


def _gray_tree(sample: Table, reference: Reference, number: int, blocks: int) -> CutTree:
    attribute = sample.attributes[number]
    names = reference.items[attribute.column.name]
    sets = attribute.domain.sets_among(names)
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


def _best_way(table: Table, number: int, records: NDArray[np.int64], fewest: float) -> _Way | None:
    attribute, weight = table.attributes[number], float(table.weights[number])
    codes = attribute.codes[records]
    counts = np.bincount(codes, minlength=len(attribute.domain))
    found = attribute.domain.best_cut(counts, fewest)
    if found is None:
        return None
    gain, low = found
    bound = None
    if attribute.column.measured:
        # Codes of numbers and dates are those of the sample only.
        bound = attribute.domain.values[int(low.sum()) - 1]
    return _Way(weight * gain, number, bound, None if bound is not None else low, low[codes])
