"""Rules that build a hierarchy from the values of an attribute: intervals of numbers, prefixes of codes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation, localcontext
from functools import cache
from itertools import pairwise, starmap
from typing import TYPE_CHECKING

from shoal.errors import InputError, Reason
from shoal.kinds.hierarchy import MISSING, Hierarchy, from_paths, unused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


@dataclass(frozen=True)
class Intervals:
    """The rule that groups numbers in ever wider half-open intervals, such as `[20, 40)`.

    Parameters
    ----------
    widths
        Widths of the intervals, narrowest first; each is a multiple of the previous one.
    origin
        A number at which intervals of each width begin.

    Raises
    ------
    InputError
        If there are no widths, or they are not positive or not multiples.

    Examples
    --------
    >>> shoal.Intervals((10, 20)).widths
    (10, 20)
    """

    widths: tuple[float, ...]
    origin: float = 0.0

    def __post_init__(self) -> None:
        finite = all(map(math.isfinite, (*self.widths, self.origin)))
        if not finite or not self.widths or self.widths[0] <= 0 or not _nested(self.widths):
            raise InputError(
                f"intervals of widths {self.widths} from {self.origin} do not nest; give positive widths, "
                "each a multiple of the previous one, such as (5, 10, 20)",
                reason=Reason.PARAMETER,
            )

    def over(self, values: Sequence[str]) -> Hierarchy:
        """Return the hierarchy of the intervals that hold n values, with the root `*`, in O(n log n).

        Parameters
        ----------
        values
            Numbers as text, taken as the decimals they are written as: 0.3 begins an interval of width 0.1.
            Leaves are in numeric order, `MISSING` is the last.

        Raises
        ------
        InputError
            If a value is not a finite number, or there are no values.
        """
        with localcontext(_EXACT):
            origin, *widths = map(_decimal, (self.origin, *self.widths))
            # Intervals are counted in units of the narrowest: whole numbers nest without rounding.
            factors = [int(width / widths[0]) for width in widths]

            @cache
            def label(index: int, factor: int) -> str:
                low = origin + index * factor * widths[0]
                high = low + factor * widths[0]
                return f"[{low.normalize():f}, {high.normalize():f})"

            def path(number: Decimal, value: str) -> Iterator[str]:
                yield value
                quotient, remainder = divmod(number - origin, widths[0])
                index = int(quotient) - (remainder < 0)
                for factor in factors:
                    yield label(index // factor, factor)
                yield "*"

            numbers = sorted((_parse_number(value), value) for value in set(values) - {MISSING})
            return from_paths(starmap(path, numbers), "*", MISSING in values)


@dataclass(frozen=True)
class Prefixes:
    """The rule that groups codes by their first characters, such as `021**` for ZIP codes.

    Parameters
    ----------
    lengths
        Number of characters to keep on each level, descending: `(3, 2, 1)`.

    Raises
    ------
    InputError
        If there are no lengths, or they are not positive or not descending.

    Examples
    --------
    >>> shoal.Prefixes((3, 2)).lengths
    (3, 2)
    """

    lengths: tuple[int, ...]

    def __post_init__(self) -> None:
        falling = all(longer > shorter for longer, shorter in pairwise(self.lengths))
        if not self.lengths or not falling or self.lengths[-1] < 1:
            raise InputError(
                f"prefix lengths {self.lengths} are not descending; give positive lengths such as (3, 2, 1)",
                reason=Reason.PARAMETER,
            )

    def over(self, values: Sequence[str]) -> Hierarchy:
        """Return the hierarchy of the prefixes of n values, with the root `*`, in O(n log n).

        A prefix is filled up with stars to the length of the longest value. If that is also a value or the
        label of another prefix, it gets further stars until it is not; so does the root.

        Parameters
        ----------
        values
            Codes of any lengths. Each lies below the prefixes that are not longer than itself. Leaves are
            sorted, `MISSING` is the last.

        Raises
        ------
        InputError
            If there are no values.
        """
        codes = sorted(set(values) - {MISSING})
        longest = max(map(len, codes), default=0)
        taken = set(codes)
        root = unused("*", taken)
        taken.add(root)

        @cache
        def label(prefix: str) -> str:
            unique = unused(prefix.ljust(longest, "*"), taken)
            taken.add(unique)
            return unique

        def path(code: str) -> Iterator[str]:
            yield code
            for length in self.lengths:
                if length <= len(code) and length < longest:
                    yield label(code[:length])
            yield root

        return from_paths(map(path, codes), root, MISSING in values)


# Enough digits for sums and remainders of all numbers that `_decimal` and `_parse_number` let through.
_EXACT = Context(prec=2_000)


def _nested(widths: Iterable[float]) -> bool:
    with localcontext(_EXACT):
        return all(wide > narrow and wide % narrow == 0 for narrow, wide in pairwise(map(_decimal, widths)))


def _decimal(number: float) -> Decimal:
    return Decimal(repr(float(number)))


def _parse_number(value: str) -> Decimal:
    try:
        number = Decimal(value)
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or abs(number.adjusted()) > 400:
        raise InputError(
            f"{value!r} is not a number, so it is in no interval; correct it or give a table of levels",
            reason=Reason.BAD_VALUE,
        )
    return number
