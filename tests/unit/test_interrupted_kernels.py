"""Ctrl-C takes effect inside kernels, within a second."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal import Concealment, Freeform, KAnonymity, Schema, anonymize

ROWS = 30_000


class Interrupted(Exception):  # noqa: N818 - as KeyboardInterrupt is called
    """What the handler raises."""


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Raise an error in Python's signal handler after some seconds of processor time."""

    def handle(*_: Any) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGPROF, handle)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def table() -> pl.DataFrame:
    rng = np.random.default_rng(4)
    middle = rng.integers(0, 50, ROWS)
    near = {f"number {i}": middle + rng.integers(0, 12, ROWS) for i in range(4)}
    categories = {f"category {i}": (middle + rng.integers(0, 9, ROWS)) % 17 for i in range(3)}
    return pl.DataFrame({**near, **{name: values.astype(str) for name, values in categories.items()}})


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (Freeform(k=40), {}),
        (Freeform(k=20), {}),
        (Freeform(k=60), {"method": "ring", "effort": "balanced"}),
        (Freeform(k=40), {"method": "sort_greedy", "effort": "fast"}),
        (KAnonymity(k=40), {"method": "chain", "effort": "best"}),
        (Concealment(k=20, chance=1), {}),
        (Freeform(k=20, l=6), {"effort": "fast"}),
        (Concealment(k=20, chance=1, l=4), {"effort": "fast"}),
    ],
    ids=["matching", "doubling", "ring", "sort_greedy", "chain", "expansion", "diverse", "diverse expansion"],
)
def test_a_signal_is_handled_inside_a_kernel(model: Any, options: dict[str, Any]) -> None:
    frame = table()
    known = frame.columns
    frame = frame.with_columns(label=pl.col("number 0") // 4 % 10)
    schema = Schema.infer(
        frame, quasi=known, sensitive=["label"], kinds={f"category {i}": "categorical" for i in range(3)}
    )
    for seconds in (0.6, 1.2):
        start = time.process_time()
        with interrupted_after(seconds), pytest.raises(Interrupted):
            anonymize(frame, schema, model, seed=1, **options)
        # All cores may have worked for the second that is allowed.
        assert time.process_time() - start - seconds < (os.cpu_count() or 1)
