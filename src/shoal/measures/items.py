"""Loss of information in sets of items: error rate, uncertain items, possible worlds, and query error."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.base.ragged import Lists
from shoal.base.randomness import Randomness
from shoal.kinds.domain import Attribute
from shoal.kinds.items import Worlds
from shoal.measures.measure import loss_measure, mean_by_name
from shoal.recoding import Recoding

QUERIES = 500
"""How many random queries are asked (Xue et al. 2012, Section 5.2)."""
DENSE = 0.1
"""From this share of items on that a set has on average, queries ask for more present items, fewer absent."""
MOST_REMEMBERED = 64_000_000
"""Up to this many sets times items, which sets have an item is remembered from query to query."""
AT_ONCE = 1_000_000
"""Up to this many sets times queries are counted at once."""


@dataclass(frozen=True)
class ItemsLoss:
    """What a release loses of one column of items (Xue et al. 2012, Section 5).

    Parameters
    ----------
    error_rate
        ER: in how many items the base of a row differs from its record, as a share of the items that the
        record has; the mean over rows and the records that each could be given.
    uncertain
        How many uncertain items a row has, on average.
    bits
        The binary logarithm of the number of possible worlds of a row, on average.
    query_error_present, query_error_absent
        QE of type I and II: by how much the base sets miscount the records that have all of some items, or
        none, as a share of all records; the mean over random items. None for a release that was made block
        by block.
    """

    error_rate: float
    uncertain: float
    bits: float
    query_error_present: float | None = None
    query_error_absent: float | None = None


def merged_items(losses: Sequence[Mapping[str, ItemsLoss]], rows: Sequence[int]) -> dict[str, ItemsLoss]:
    """Return what is lost of each column in several releases together; queries were asked of each alone."""
    means = {
        name: mean_by_name(
            [
                {"error_rate": e[name].error_rate, "uncertain": e[name].uncertain, "bits": e[name].bits}
                for e in losses
            ],
            rows,
        )
        for name in losses[0]
    }
    return {name: ItemsLoss(**mean) for name, mean in means.items()}


@loss_measure(
    help="What was lost of each column of items; see `ItemsLoss`.", name="items", merge=merged_items, place=8
)
def items_loss(recoding: Recoding) -> dict[str, ItemsLoss]:
    """Return what is lost of each column of items; the queries are the same for releases of one table."""
    return {
        attribute.column.name: _loss(recoding, attribute, values)
        for attribute, values in columns_of_items(recoding)
    }


def columns_of_items(recoding: Recoding) -> Iterator[tuple[Attribute, Worlds]]:
    """Yield the columns of items, each with what was released for it."""
    for attribute, values in zip(recoding.table.attributes, recoding.values, strict=True):
        if (worlds := values.of_items()) is not None:
            yield attribute, worlds


def _loss(recoding: Recoding, attribute: Attribute, values: Worlds) -> ItemsLoss:
    present, absent = query_sizes(attribute, values)
    return ItemsLoss(
        error_rate=error_rate(recoding, attribute, values),
        uncertain=float(values.uncertain.sizes[recoding.box].mean()),
        bits=float(values.bits()[recoding.box].mean()),
        query_error_present=query_error(recoding, attribute, values, present, absent=False),
        query_error_absent=query_error(recoding, attribute, values, absent, absent=True),
    )


def error_rate(recoding: Recoding, attribute: Attribute, values: Worlds) -> float:
    """Return the mean share of wrong items in the base (ER); see `ItemsLoss`.

    Any of the records that a row was made to cover can be given it, equally likely, unless the assignment is
    known. A record without items counts as one with a single item.
    """
    rows, records = _possible_pairs(recoding)
    sets, codes = values.domain.sets, attribute.codes[records]
    wrong = kernels.differences(values.base.arrays, sets.arrays, recoding.box[rows], codes)
    return float((wrong / np.maximum(sets.sizes[codes], 1)).mean())


def query_sizes(attribute: Attribute, values: Worlds) -> tuple[int, int]:
    """Return for how many present and how many absent items queries ask: as the paper for such data."""
    sizes = values.domain.sets.sizes[attribute.codes]
    share = sizes.mean() / max(len(values.domain.names), 1)
    return (3, 4) if share >= DENSE else (1, 5)


def query_error(
    recoding: Recoding,
    attribute: Attribute,
    values: Worlds,
    size: int,
    *,
    absent: bool,
    queries: int = QUERIES,
) -> float:
    """Return by how much base sets miscount records with, or without, some random items, on average (QE).

    Parameters
    ----------
    recoding, attribute, values
        What was released for a column of items.
    size
        How many items a query asks for; all, if there are fewer.
    absent
        Whether records count that have none of them (type II), and not those that have all (type I).
    queries
        How many queries are asked.
    """
    return float(query_errors(recoding, attribute, values, size, absent=absent, queries=queries).mean())


def query_errors(
    recoding: Recoding,
    attribute: Attribute,
    values: Worlds,
    size: int,
    *,
    absent: bool,
    queries: int = QUERIES,
) -> NDArray[np.float64]:
    """Return the error of each random query, as a share of all records; see `query_error`."""
    width = len(values.domain.names)
    if width == 0:
        return np.zeros(queries)
    original = _Owners(values.domain.sets.gather(attribute.codes), width)
    released = _Owners(values.base.gather(recoding.box), width)
    asked = _random_items(width, min(size, width), queries)
    errors = np.abs(original.counts(asked, absent=absent) - released.counts(asked, absent=absent))
    return np.asarray(errors / len(recoding.box))


def _possible_pairs(recoding: Recoding) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and the records that each could be given."""
    rows = np.arange(len(recoding.box))
    if recoding.assignment is not None:
        return rows, recoding.assignment.astype(np.int64)
    if recoding.graph is not None:
        return np.repeat(rows, recoding.graph.shape[1]), recoding.graph.ravel().astype(np.int64)
    return rows, rows  # where there are classes, row i shows record i's


class _Owners:
    """Which sets have each item, and how many of them have some items."""

    def __init__(self, sets: Lists, width: int) -> None:
        order = np.argsort(sets.values, kind="stable")
        counts = np.bincount(sets.values, minlength=width)
        self._owners = Lists.of_sizes(counts, sets.owners[order].astype(np.int32))
        self._sets = len(sets)
        self._masks: NDArray[np.bool_] | None = None
        if width * len(sets) <= MOST_REMEMBERED:
            self._masks = np.zeros((width, len(sets)), dtype=np.bool_)
            self._masks[sets.values, sets.owners] = True

    def counts(self, asked: NDArray[np.int64], *, absent: bool) -> NDArray[np.int64]:
        """Return how many sets have all the items of each query, or none of them."""
        both = np.logical_or if absent else np.logical_and
        hits = np.zeros(len(asked), dtype=np.int64)
        step = max(1, AT_ONCE // max(self._sets, 1))
        for first in range(0, len(asked), step):
            items = asked[first : first + step].T
            found = self._having(items[0]).copy()
            for each in items[1:]:
                both(found, self._having(each), out=found)
            hits[first : first + step] = np.count_nonzero(found, axis=1)
        return self._sets - hits if absent else hits

    def _having(self, items: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which sets have each of some items."""
        if self._masks is not None:
            one = len(items) == 1  # then nothing is copied
            return self._masks[items[0] : items[0] + 1] if one else self._masks[items]
        masks = np.zeros((len(items), self._sets), dtype=np.bool_)
        for mask, item in zip(masks, items, strict=True):
            mask[self._owners[item]] = True
        return masks


@functools.lru_cache(maxsize=64)
def _random_items(width: int, size: int, queries: int) -> NDArray[np.int64]:
    """Return different items for each query, one query in a row; always the same ones."""
    words = iter(Randomness(0).words(queries * size).tolist())
    drawn = []
    for _ in range(queries):
        chosen: list[int] = []
        for last in range(width - size, width):  # Floyd's sampling
            item = next(words) % (last + 1)
            chosen.append(last if item in chosen else item)
        drawn.append(chosen)
    return np.array(drawn, dtype=np.int64)
