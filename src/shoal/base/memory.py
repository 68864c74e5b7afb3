"""Memory that is free, but still counts as that of the process."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from functools import cache

FEW = 10_000
"""The number of records from which on memory is worth returning."""


def give_back_memory(records: int) -> None:
    """Return freed memory to the operating system, if the allocator is glibc's, which keeps most of it.

    It takes some milliseconds, also after a gigabyte was freed in small pieces.

    Parameters
    ----------
    records
        The size of the table that was worked on; after a small one, nothing is returned.
    """
    trim = _trim()
    if trim is not None and records >= FEW:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    with suppress(AttributeError, OSError, TypeError):  # another allocator, or another system
        return ctypes.CDLL(None).malloc_trim
    return None
