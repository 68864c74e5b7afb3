"""Limits of a column: how wide a released cell may be, and where intervals may end."""

from __future__ import annotations

import datetime
import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.kinds import exact_numbers as exact

if TYPE_CHECKING:
    from shoal.kinds.domain import Codes
    from shoal.kinds.generalized import Generalized
    from shoal.schema import Column

MOST_BANDS = 100_000
"""More bands than this are refused: they would be finer than most columns."""

_EPOCH = datetime.date(1970, 1, 1)
_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}
"""The greatest number of days in each unit of a duration."""
_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_LENGTH = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+?)s?\s*", re.IGNORECASE)
_EVERY = re.compile(r"\s*every\s+(?:(\d+(?:\.\d+)?)\s*)?([a-z]+?)?s?\s*", re.IGNORECASE)
_LEVEL = re.compile(r"\s*level\s+(\d+)\s*", re.IGNORECASE)

Place = int | Decimal
"""Where a value lies: a number, or a day since 1970-01-01."""

Band = tuple[Place, Place]
"""The two ends of a band, both of them part of it as it is written."""


@dataclass(frozen=True, eq=False)
class ColumnLimit:
    """Which codes of one attribute may share a cell.

    Parameters
    ----------
    parts
        A number for each code: codes with different numbers never share a cell. None if all may.
    reach
        For each code, the last code of the widest interval that begins there. None if there is no limit.
    most
        The largest number of members of a set. None if there is no limit.
    uncertain
        The largest number of uncertain items of a set of items. None if there is no limit.
    """

    parts: NDArray[np.int32] | None = None
    reach: Codes | None = None
    most: int | None = None
    uncertain: int | None = None

    def table(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the table of a `Geometry` with the limit after it; see native/base/space.hpp."""
        if self.reach is not None:
            return np.concatenate([table, self.reach.astype(np.float64)])
        return table if self.most is None else np.append(table, float(self.most))


@dataclass(frozen=True, eq=False)
class Bands:
    """The bands of a range: intervals end only where bands do.

    Parameters
    ----------
    first, last
        The code of the lower and of the upper end of each band.
    of_code
        The band of each code.
    """

    first: Codes
    last: Codes
    of_code: Codes


def is_limited(column: Column) -> bool:
    """Return whether a column has a limit of any kind."""
    return column.exact or column.widest is not None or column.bands is not None or not column.suppressible


def in_words(column: Column) -> str:
    """Return the limits of a column as the end of a sentence that begins with its name."""
    if column.exact:
        return "exact"
    said = []
    if column.widest is not None:
        unit = column.kind.unit if _is_number(column.widest) else ""
        said.append(f"at most {column.widest}{unit}{'' if column.kind.several else ' wide'}")
    if column.bands is not None:
        cuts = column.bands if isinstance(column.bands, str) else ", ".join(map(str, column.bands))
        said.append(f"in bands ({cuts})")
    if not column.suppressible:
        said.append("never suppressed")
    return ", ".join(said)


def read_widest(text: str) -> int | float | str:
    """Return the widest cell as people write it: a number, or a text such as ``6 months``."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text.strip()


def read_bands(text: str) -> tuple[Any, ...] | str:
    """Return bands as people write them: ``every 5``, or cuts with commas between them."""
    return text if text.strip().startswith("every") else tuple(map(read_widest, text.split(",")))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def check_limits(column: Column) -> None:
    """Refuse limits that the column cannot have.

    Raises
    ------
    ValueError
        With what is wrong.
    """
    if not isinstance(column.exact, bool) or not isinstance(column.suppressible, bool):
        raise ValueError("exact and suppressible must be true or false")
    if column.exact and (column.widest is not None or column.bands is not None):
        raise ValueError("an exact column has no other limit; leave out widest and bands")
    if column.widest is not None:
        _check_widest(column)
    if column.bands is not None:
        if column.hierarchy is not None or not column.kind.measured:
            raise ValueError("only numbers and dates without a hierarchy have bands")
        next(column.kind.bands(column, None, None, whole=False), None)


def _check_widest(column: Column) -> None:
    if column.hierarchy is not None:
        level(column.widest)
    elif column.kind.several:
        members(column.widest, "uncertain items")
    else:
        column.kind.width(column)


def level(widest: Any) -> tuple[int | None, int | None]:
    """Return the widest node of a hierarchy: as a number of leaves, or as a level above the leaves.

    Raises
    ------
    ValueError
        If it is neither.
    """
    if isinstance(widest, str) and (found := _LEVEL.fullmatch(widest)) is not None:
        return None, int(found[1])
    return members(widest, "leaves of a hierarchy, or a level such as 'level 1'"), None


def members(widest: Any, what: str) -> int:
    """Return a limit that is a number of values.

    Raises
    ------
    ValueError
        If it is not a positive whole number.
    """
    if not _is_number(widest) or widest != int(widest) or widest < 1:
        raise ValueError(f"widest {widest!r} must be a number of {what}")
    return int(widest)


def number(widest: Any) -> Decimal:
    """Return a limit that is a width in the unit of the values.

    Raises
    ------
    ValueError
        If it is not a number, or negative.
    """
    if not _is_number(widest) or not math.isfinite(widest) or widest < 0:
        raise ValueError(f"widest {widest!r} must be a number, at least 0")
    return exact.exact(widest)


def days(widest: Any) -> Decimal:
    """Return a limit that is a duration, in days; a month counts 31 days and a year 366.

    Raises
    ------
    ValueError
        If it is no duration.
    """
    if isinstance(widest, str):
        found = _LENGTH.fullmatch(widest)
        if found is None or found[2].lower() not in _DAYS:
            raise ValueError(f"widest {widest!r} must be a number of days, or a text such as '6 months'")
        return Decimal(found[1]) * _DAYS[found[2].lower()]
    return number(widest)


def widest_reach(starts: Sequence[Place], ends: Sequence[Place], width: Decimal) -> Codes:
    """Return for each start the last of the ascending ends that is no farther than a width."""
    reach = [max(bisect_right(ends, start + width) - 1, code) for code, start in enumerate(starts)]
    return np.array(reach, dtype=np.int32)


def bands_of_numbers(given: Any, low: Place | None, high: Place | None, *, whole: bool) -> Iterator[Band]:
    """Yield the bands of numbers from one that has `low` to one that has `high`.

    Parameters
    ----------
    given
        ``every 5``, or cuts in ascending order.
    low, high
        The lowest and the highest number; None if only the bands are checked.
    whole
        Whether all numbers are whole: a band then ends one below the next cut, otherwise at the next cut.

    Raises
    ------
    ValueError
        If the bands are not understood, or a number is outside them.
    """
    if isinstance(given, str):
        found = _EVERY.fullmatch(given)
        if found is None or found[1] is None or found[2] is not None or Decimal(found[1]) <= 0:
            raise ValueError(f"bands {given!r} must be cuts, or a text such as 'every 5'")
        step, low, high = Fraction(found[1]), low or 0, high or 0
        first, last = math.floor(Fraction(low) / step), math.floor(Fraction(high) / step)
        _require_few(last - first)
        cuts = [_decimal(step * turn) for turn in range(first, last + 2)]
    else:
        cuts = _ascending([exact.exact(cut) if _is_number(cut) else None for cut in given], given)
        _require_inside(low, high, cuts)
    whole = whole and all(cut == int(cut) for cut in cuts)
    yield from _between(cuts, 1 if whole else 0, low, high, last_belongs=not isinstance(given, str))


def bands_of_days(given: Any, low: int | None, high: int | None) -> Iterator[Band]:
    """Yield the bands of days from one that has `low` to one that has `high`; as `bands_of_numbers`."""
    if isinstance(given, str):
        found = _EVERY.fullmatch(given)
        unit = found[2].lower() if found is not None and found[2] else "day"
        if found is None or unit not in {*_DAYS, *_MONTHS} or "." in (found[1] or "") or found[1] == "0":
            raise ValueError(f"bands {given!r} must be dates, or a text such as 'every month'")
        many, low, high = int(found[1] or 1), low or 0, high or 0
        cuts = _by_months(low, high, many * _MONTHS[unit]) if unit in _MONTHS else None
        if cuts is None:
            step = many * _DAYS[unit]
            _require_few((high - low) // step)
            # Weeks begin on Mondays: 1970-01-05 was one.
            cuts = [4 + step * turn for turn in range((low - 4) // step, (high - 4) // step + 2)]
    else:
        places: list[int | None] = []
        for cut in given:
            try:
                places.append((datetime.date.fromisoformat(str(cut)[:10]) - _EPOCH).days)
            except ValueError:
                places.append(None)
        cuts = _ascending(places, given)
        _require_inside(low, high, cuts)
    yield from _between(cuts, 1, low, high, last_belongs=not isinstance(given, str))


def clipped(bands: Iterator[Band], bounds: Sequence[Place]) -> Iterator[Band]:
    """Yield bands without what is outside the two bounds of a domain, if it has any."""
    for start, end in bands:
        if not bounds:
            yield start, end
        elif start <= bounds[1] and end >= bounds[0]:
            yield max(start, bounds[0]), min(end, bounds[1])


def _by_months(low: int, high: int, months: int) -> list[int]:
    """Return the days on which groups of months begin, from one not after `low` to one after `high`."""
    first = _EPOCH + datetime.timedelta(days=low)
    turn = (first.year * 12 + first.month - 1) // months
    cuts: list[int] = []
    while not cuts or cuts[-1] <= high:
        year, month = divmod(turn * months, 12)
        day = datetime.date.max if year > 9999 else datetime.date(max(year, 1), month + 1, 1)
        cuts.append((day - _EPOCH).days + (year > 9999))
        turn += 1
        _require_few(len(cuts))
    return cuts


def _between(
    cuts: Sequence[Place], less: int, low: Place | None, high: Place | None, *, last_belongs: bool
) -> Iterator[Band]:
    """Yield the bands between cuts from `low` to `high`; the last cut may belong to the last band."""
    final = len(cuts) - 2
    first = 0 if low is None else min(bisect_right(cuts, low) - 1, final)
    last = final if high is None else min(bisect_right(cuts, high) - 1, final)
    for number in range(first, last + 1):
        whole_end = last_belongs and number == final
        yield cuts[number], cuts[number + 1] - (0 if whole_end else less)


def _ascending(places: Sequence[Any], given: Any) -> list[Any]:
    if len(places) < 2 or None in places or any(a >= b for a, b in pairwise(places)):
        raise ValueError(f"bands {list(given)!r} must be at least two cuts in ascending order")
    return list(places)


def _require_inside(low: Place | None, high: Place | None, cuts: Sequence[Place]) -> None:
    if low is not None and high is not None and (low < cuts[0] or high > cuts[-1]):
        raise ValueError(f"some values are outside the bands {cuts[0]}..{cuts[-1]}")


def _require_few(bands: int) -> None:
    if bands > MOST_BANDS:
        raise ValueError(f"there would be more than {MOST_BANDS:,} bands; choose wider ones")


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def exceeded(values: Generalized, limit: ColumnLimit) -> NDArray[np.bool_]:
    """Return which generalized values of a method are wider than a limit allows, parts aside."""
    if limit.reach is not None:
        kernel: Any = values.for_kernel()
        return np.asarray(kernel.high > limit.reach[kernel.low])
    if limit.most is not None:
        return np.asarray(values.sizes() > limit.most)
    return values.exceeds(limit)
