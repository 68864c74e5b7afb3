"""The start of a process of Shoal's own, in which most of the time goes into loading modules."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Load modules in less time: no garbage is collected meanwhile, and linear algebra gets one thread.

    Modules stay until the end, so no later collection has to look through them. Shoal's linear algebra takes
    little time, and threads that wait for some would take time from all others; ``OPENBLAS_NUM_THREADS`` sets
    another number.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
