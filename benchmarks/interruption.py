"""How soon Ctrl-C takes effect, and how often progress moves, for each model, method and effort.

`python -m benchmarks interruption --only freeform,concealment` measures the cells of some models. A timer
sends a signal all the time, and Python's handler notes how late each one is handled: Ctrl-C at that moment
would take effect as late. So the longest delay of a whole run is found, not one of a few moments.
"""

from __future__ import annotations

import argparse
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import polars as pl

import shoal
from benchmarks.harness import ADULT_QUASI, adult_like, markdown_table, remembered, write_page
from benchmarks.setvalued import data_set
from shoal import Schema, anonymize
from shoal.methods import METHODS, options_of

ROWS = 40_000
EVERY = 0.1
"""Seconds of processor time between two signals."""
MOST = 60.0
"""A run that takes more processor seconds is interrupted, and measured up to there."""

PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "KAnonymity": [{"k": 10}, {"k": 10, "l": 1.2}],
    "Freeform": [{"k": 10}, {"k": 40}, {"k": 10, "l": 1.2}],
    "SetAnonymity": [{"k": 10}],
    "SetDiversity": [{"l": 4}],
    "OneK": [{"k": 10}, {"k": 10, "l": 1.2}],
    "KOne": [{"k": 10}],
    "KK": [{"k": 10}, {"k": 10, "chance": 1, "l": 1.2}],
    "Concealment": [{"k": 10}, {"k": 10, "chance": 1}, {"k": 10, "chance": 1, "l": 1.2}],
    "TCloseness": [{"k": 10, "t": 0.1}],
    "BetaLikeness": [{"k": 10, "beta": 2}],
    "DeltaDisclosure": [{"k": 10, "delta": 2}],
    "KmAnonymity": [{"k": 10, "m": 2}],
    "Patterned": [{"k": 10}],
    "Dissimilarity": [{"k": 20, "epsilon": 0.1, "delta": 0.8}],
}
SMALL = {"exact": 40, "subsets": 40, "printed_greedy": 3000, "printed_sort_greedy": 3000, "forest": 20_000}
"""Methods for small tables, and numbers of records that they take several seconds for."""


class TooLong(BaseException):
    """Ends a run that takes too long."""


@dataclass
class Gap:
    """The longest time between two events, and what ended it.

    It is the shorter one of clock and processor time: on a busy machine the clock goes on while nothing is
    done, and processor time is that of several threads together.
    """

    longest: float = 0.0
    where: str = ""
    last: tuple[float, float] = field(default_factory=lambda: (time.monotonic(), time.process_time()))

    def ends(self, where: str) -> None:
        """Note an event."""
        now = time.monotonic(), time.process_time()
        gap = min(now[0] - self.last[0], now[1] - self.last[1])
        if gap > self.longest:
            self.longest, self.where = gap, where
        self.last = now


@contextmanager
def signals(handled: Callable[[FrameType | None], None]) -> Iterator[None]:
    """Send a signal all the time, and tell what the main thread does when it is handled."""
    before = signal.signal(signal.SIGPROF, lambda _, frame: handled(frame))
    signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def work(model: str, parameters: dict[str, Any], method: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return how long signals and progress were delayed in a run, at most, and where."""
    frame, schema = table_for(model, method)
    stage, start = [""], time.process_time()
    deaf, still = Gap(), Gap()

    def handled(at: FrameType | None) -> None:
        deaf.ends(f"{stage[0]}: {place(at)}")
        if time.process_time() - start > MOST:
            raise TooLong

    def moved(name: str, share: float) -> None:
        still.ends(f"{stage[0]} {share:.3f}")
        stage[0] = name

    promise = getattr(shoal, model)(**parameters)
    ended = "done"
    with warnings.catch_warnings(), signals(handled):
        warnings.simplefilter("ignore")
        try:
            anonymize(frame, schema, promise, method=method, seed=1, progress=moved, **options)
        except TooLong:
            ended = "interrupted"
        except shoal.ShoalError as error:
            ended = str(error)
        deaf.ends("end")
        still.ends(f"{stage[0]} end")
    return {
        "seconds": time.process_time() - start,
        "ended": ended,
        "deaf": max(deaf.longest - EVERY, 0.0),
        "deaf_where": deaf.where,
        "still": still.longest,
        "still_where": still.where,
    }


def place(frame: FrameType | None) -> str:
    """Return the innermost function of Shoal in a stack of calls."""
    while frame is not None and "shoal" not in Path(frame.f_code.co_filename).parts:
        frame = frame.f_back
    return "" if frame is None else f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}"


def table_for(model: str, method: str) -> tuple[pl.DataFrame, Schema]:
    """Return a table on which a method takes several seconds."""
    if model.startswith("Set"):
        frame = data_set("generated" if method not in ("cahd", "printed_diversity") else "Chess")
        return frame, Schema.infer(frame, quasi=["items"], sensitive=["label"])
    frame = adult_like(SMALL.get(method, ROWS))
    sensitive = "fnlwgt" if model == "Dissimilarity" else "income"
    return frame, Schema.infer(frame, quasi=ADULT_QUASI, sensitive=[sensitive])


def cells(only: Sequence[str]) -> list[dict[str, Any]]:
    """Return what to measure, for the models of these names or for all."""
    found = []
    for model, methods in METHODS.items():
        if model.__name__ not in PARAMETERS or (only and model.name not in only):
            continue
        for method, function in methods.items():
            efforts = options_of(function).get("effort")
            for effort in efforts.choices if efforts else (None,):
                options = {} if effort is None else {"effort": effort}
                found += [
                    {
                        "model": model.__name__,
                        "parameters": parameters,
                        "method": method,
                        "options": options,
                    }
                    for parameters in PARAMETERS[model.__name__]
                ]
    return found


def main(options: Sequence[str] = ()) -> None:
    """Measure and write the results page."""
    parser = argparse.ArgumentParser(prog="benchmarks interruption")
    parser.add_argument("--only", default="", help="names of models, separated by commas")
    only = [name for name in parser.parse_args(options).only.split(",") if name]
    rows = []
    for cell in cells(only):
        found = remembered("interruption", **cell)
        asked = ", ".join(f"{name}={value:g}" for name, value in cell["parameters"].items())
        effort = cell["options"].get("effort", "")
        rows.append(
            (
                f"`{cell['model']}({asked})`",
                cell["method"],
                effort,
                f"{found['seconds']:.1f}",
                f"{found['deaf']:.2f}",
                f"{found['still']:.2f}",
            )
        )
        print(rows[-1], found["ended"], found["deaf_where"], "|", found["still_where"], flush=True)
    if only:
        return
    head = ("model", "method", "effort", "processor seconds", "longest delay of a signal", "of progress")
    text = "\n\n".join(
        (
            "# Ctrl-C and progress",
            f"Each run is `anonymize` on a perturbed bootstrap of Adult with {ROWS:,} records, fewer for "
            "methods that take long, or on sets of items. While it works, signals arrive ten times in a "
            "second, and the longest delay until Python handles one is that of Ctrl-C at the worst moment. "
            "The last column is the longest time between two reports of progress. Delays are in seconds, "
            "each the shorter one of clock and processor time, because the machine is shared. Runs of "
            f"more than {MOST:.0f} processor seconds were interrupted.",
            markdown_table(head, rows),
        )
    )
    write_page("interruption", text, {})
