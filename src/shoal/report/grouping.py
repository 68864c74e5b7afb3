"""Groups of values large enough to be shown: no group of original values has fewer than some records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.kinds.domain import Attribute

LEAST = 5
"""No group of original values has fewer records than this, or k if that is more."""
MOST_GROUPS = 12
MISSING = "(missing)"
OTHERS = "all others"


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of the values of an attribute, none of them with fewer records than asked for.

    Parameters
    ----------
    labels
        How each is called. Numbers in them are round ones, and the outermost groups have no outer end: the
        least and the largest value of a column often belong to a single record.
    of_code
        The group of each code.
    """

    labels: tuple[str, ...]
    of_code: NDArray[np.int64]


def groups_of(attribute: Attribute, least: int) -> Groups | None:
    """Return groups of values that at least `least` records have; None if there are no two such groups.

    Parameters
    ----------
    attribute
        The attribute.
    least
        How many records must be in each group.
    """
    if attribute.domain.ordered:
        groups = _ranges(attribute, least)
    else:
        groups = _categories(attribute.domain.labels, attribute.domain.missing, attribute.counts, least)
    return groups if len(groups.labels) > 1 else None


def _categories(labels: Sequence[str], missing: int | None, counts: NDArray[np.int64], least: int) -> Groups:
    """Name the most frequent values; the others are one group, of at least as many records as any."""
    names = [MISSING if code == missing else label for code, label in enumerate(labels)]
    order = np.argsort(-counts, kind="stable")
    count = int(np.count_nonzero(counts >= least))
    if count > MOST_GROUPS:
        count = MOST_GROUPS - 1
    # A small group of others would reveal how many have one of few values: the next ones join it.
    while count and 0 < counts[order[count:]].sum() < least:
        count -= 1
    of_code = np.full(len(names), count, dtype=np.int64)
    of_code[order[:count]] = np.arange(count)
    named = [names[code] for code in order[:count]]
    if not counts[order[count:]].sum():
        of_code[order[count:]] = max(count - 1, 0)  # values that no record has
        return Groups(tuple(named), of_code)
    return Groups((*named, OTHERS), of_code)


def _ranges(attribute: Attribute, least: int) -> Groups:
    """Cut an ordered domain at round values; missing values are a group if they are enough."""
    domain, counts = attribute.domain, attribute.counts
    kind, known = attribute.column.kind, domain.known
    unknown = int(counts[known:].sum())
    before = np.concatenate(([0], np.cumsum(counts[:known])))
    starts, names = [0], []
    for edge, name in kind.group_starts(domain, counts, least, MOST_GROUPS):
        # Each group must be large enough, and so must what is left for the last one.
        if before[edge] - before[starts[-1]] >= least and before[known] - before[edge] >= least:
            starts.append(edge)
            names.append(name)
    of_code = np.searchsorted(starts, np.arange(len(domain)), side="right") - 1
    labels = kind.group_labels(domain, starts, names)
    if 0 < unknown < least:
        # Records without a value must not be a small group: the last group takes them in.
        of_code[known:] = of_code[known - 1] if known else 0
        labels[-1] += f" or {MISSING}"
    elif unknown:
        of_code[known:] = len(labels)
        labels.append(MISSING)
    return Groups(tuple(labels), of_code.astype(np.int64))
