"""Progress moves while a kernel works."""

from __future__ import annotations

import itertools
import threading
import time

import numpy as np
import polars as pl
import pytest

from shoal import Freeform, Schema, anonymize
from shoal.methods.moving import MovingProgress

Shown = list[tuple[str, float]]


def paced() -> tuple[MovingProgress, Shown]:
    shown: Shown = []
    return MovingProgress(lambda stage, share: shown.append((stage, share))), shown


def test_kernels_fill_what_is_left_by_halves() -> None:
    pace, shown = paced()
    pace.hear(0.5)  # before the first stage there is nothing to show
    assert shown == []
    pace("growing", 0.0)
    for done in (0.5, 1.0, 0.0, 1.0):
        pace.hear(done)
    assert [share for _, share in shown] == [0.0, 0.25, 0.5, 0.5, 0.75]
    pace("auditing", 0.0)
    assert shown[-1] == ("auditing", 0.0)


def test_the_next_report_is_expected_after_an_equal_step() -> None:
    pace, shown = paced()
    pace("growing", 0.0)
    pace("growing", 0.1)
    pace.hear(1.0)
    assert shown[-1] == ("growing", pytest.approx(0.15))
    pace("growing", 0.12)  # earlier than expected: what is shown does not go back
    assert shown[-1] == ("growing", pytest.approx(0.15))


def table(rows: int) -> tuple[pl.DataFrame, Schema]:
    rng = np.random.default_rng(4)
    middle = rng.integers(0, 50, rows)
    frame = pl.DataFrame({f"number {i}": middle + rng.integers(0, 12, rows) for i in range(6)})
    return frame, Schema.infer(frame, quasi=frame.columns)


def test_progress_moves_in_kernels_and_never_back() -> None:
    frame, schema = table(12_000)
    shown: list[tuple[float, str, float]] = []
    anonymize(
        frame,
        schema,
        Freeform(k=30),
        seed=1,
        progress=lambda stage, share: shown.append((time.process_time(), stage, share)),
    )
    for (before, stage, share), (after, next_stage, further) in itertools.pairwise(shown):
        assert after - before < 2
        assert next_stage != stage or further >= share
        assert 0 <= further <= 1


class CancelledError(Exception):
    """What the callback raises."""


def test_a_callback_cancels_in_a_kernel_of_any_thread() -> None:
    frame, schema = table(12_000)
    seen: list[object] = []

    def progress(_stage: str, _share: float) -> None:
        if time.process_time() > start + 1:
            raise CancelledError

    def work() -> None:
        try:
            anonymize(frame, schema, Freeform(k=50), seed=1, progress=progress)
        except CancelledError:
            seen.append(time.process_time() - start)

    start = time.process_time()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(seen) == 1
