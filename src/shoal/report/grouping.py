"""Groups of values large enough to be told: no group of original values has fewer than some records."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.kinds import exact_numbers as exact
from shoal.kinds.domain import Attribute

MOST_GROUPS = 12
MISSING = "(missing)"
OTHERS = "all others"
_DAY = datetime.timedelta(days=1)
_EPOCH = datetime.date(1970, 1, 1)
_FINEST = 1e-300
_MOST_DIGITS = 15


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
    # A small group of others would tell how many have one of few values: the next ones join it.
    while count and 0 < counts[order[count:]].sum() < least:
        count -= 1
    of_code = np.full(len(names), count, dtype=np.int64)
    of_code[order[:count]] = np.arange(count)
    named = [names[code] for code in order[:count]]
    return Groups((*named, OTHERS) if counts[order[count:]].sum() else tuple(named), of_code)


def _ranges(attribute: Attribute, least: int) -> Groups:
    """Cut an ordered domain at round values; missing values are a group if they are enough."""
    domain, counts = attribute.domain, attribute.counts
    known = len(domain) if domain.missing is None else domain.missing
    unknown = int(counts[known:].sum())
    before = np.concatenate(([0], np.cumsum(counts[:known])))
    starts, names = [0], []
    for edge, name in _edges(attribute, known, least):
        # Each group must be large enough, and so must what is left for the last one.
        if before[edge] - before[starts[-1]] >= least and before[known] - before[edge] >= least:
            starts.append(edge)
            names.append(name)
    of_code = np.searchsorted(starts, np.arange(len(domain)), side="right") - 1
    measured = attribute.column.kind.measured
    labels = _spans(names, domain.values.dtype) if measured else _runs(domain.labels, [*starts, known])
    if 0 < unknown < least:
        # Who has no value must not stand alone: the last group takes them in.
        of_code[known:] = of_code[known - 1] if known else 0
        labels[-1] += f" or {MISSING}"
    elif unknown:
        of_code[known:] = len(labels)
        labels.append(MISSING)
    return Groups(tuple(labels), of_code.astype(np.int64))


def _edges(attribute: Attribute, known: int, least: int) -> Iterator[tuple[int, str]]:
    """Yield the codes at which groups may begin, and how the values there are written."""
    values = attribute.domain.values[:known]
    if not attribute.column.kind.measured:
        step = max(1, -(-known // MOST_GROUPS))
        yield from ((code, attribute.domain.labels[code]) for code in range(step, known, step))
        return
    dates = values.dtype.is_temporal()
    numbers = exact.near(values.cast(pl.Date).to_physical() if dates else values)
    # From where `least` records are below to where as many are above: no single record decides the steps.
    before = np.cumsum(attribute.counts[:known])
    if not len(before) or before[-1] < 2 * least:
        return
    low, high = (float(numbers[np.searchsorted(before, at)]) for at in (least, before[-1] - least + 1))
    if low >= high:
        return
    finest = 1.0 if values.dtype.is_integer() else _FINEST
    marks = _round_dates(low, high) if dates else _round_numbers(low, high, finest)
    for mark, name in marks:
        yield int(np.searchsorted(numbers, mark)), name


def _round_numbers(low: float, high: float, finest: float) -> Iterator[tuple[float, str]]:
    """Yield round numbers from low to high, about as many as there may be groups."""
    raw = max(high / MOST_GROUPS - low / MOST_GROUPS, finest)
    power = 10.0 ** np.floor(np.log10(raw))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9))
    digits = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    for turn in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1):
        mark = turn * step
        plain = digits < _MOST_DIGITS and abs(mark) < 10.0**_MOST_DIGITS
        yield mark, f"{mark:.{digits}f}" if plain else exact.write(exact.exact(float(mark)))


def _round_dates(low: float, high: float) -> Iterator[tuple[float, str]]:
    """Yield first days of decades, years, quarters, months or weeks, as fine as there may be groups."""
    first, last = (_EPOCH + _DAY * int(end) for end in (low, high))
    months = 1
    for months in (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200):
        if (high - low) / (30.4 * months) <= MOST_GROUPS:
            break
    if (high - low) / 30.4 < 4:
        step = max(1, int(np.ceil((high - low) / (7 * MOST_GROUPS)))) * 7
        for number in range(int(low) // step * step + step, int(high) + 1, step):
            yield float(number), (_EPOCH + _DAY * number).isoformat()
        return
    turn = (first.year * 12 + first.month - 1) // months
    while True:
        turn += 1
        year, month = divmod(turn * months, 12)
        if year > 9999 or (day := datetime.date(year, month + 1, 1)) > last:
            return
        yield float((day - _EPOCH).days), f"{day.year}" if months % 12 == 0 else day.strftime("%Y-%m")


def _spans(names: list[str], dtype: pl.DataType) -> list[str]:
    """Return the names of groups that begin at these values, the first one before all of them."""
    if not names:
        return ["all"]
    inner = []
    for low, high in pairwise(names):
        last = _last_before(high, dtype)
        inner.append(low if last == low else f"{low} to {last}")
    if dtype.is_temporal():
        return [f"before {names[0]}", *inner, f"{names[-1]} and later"]
    return [f"below {names[0]}", *inner, f"{names[-1]} and up"]


def _last_before(name: str, dtype: pl.DataType) -> str:
    """Return how a group ends that the next one follows: a whole number, year, month or day earlier."""
    if (dtype.is_integer() or dtype.is_temporal()) and name.lstrip("-").isdigit():
        return str(int(name) - 1)
    if dtype.is_temporal():
        day = datetime.date.fromisoformat(name if name.count("-") == 2 else f"{name}-01") - _DAY
        return day.isoformat()[: len(name)]
    return name


def _runs(labels: Sequence[str], starts: Sequence[int]) -> list[str]:
    """Return the names of groups of neighbours in an order of categories."""
    return [
        labels[begin] if end - begin == 1 else f"{labels[begin]} to {labels[end - 1]}"
        for begin, end in pairwise(starts)
    ]
