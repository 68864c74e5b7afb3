"""What all campaigns share: cases drawn by number, a limit in time, findings, and how to continue a run."""

from __future__ import annotations

import os
import random
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

Case = Callable[[random.Random, Path], str]
"""One case: draws what it needs, works in an empty folder, and returns in a word how it ended.

It raises an exception if there is a finding.
"""

HELD = 1000
"""The number of cases after which what the process holds is noted."""


class Finding(AssertionError):  # noqa: N818 - not an error of the campaign
    """What a case found: a fault, in words."""


@dataclass(frozen=True)
class Campaign:
    """One campaign.

    Parameters
    ----------
    name
        Its name, as in ``make soak NAME=worlds``.
    case
        What is done in each case.
    slice
        The number of cases in the ordinary tests.
    by_name
        Whether it runs only if it is named.
    counts
        What its cases count, such as inputs of which a case has many.
    """

    name: str
    case: Case
    slice: int
    by_name: bool = False
    counts: Counter[str] = field(default_factory=Counter)


@dataclass
class Outcome:
    """What a run of a campaign did.

    Parameters
    ----------
    first, after
        The number of its first case, and that of the case after its last.
    ended
        How often cases ended in each way.
    findings
        For each case with a finding, its number and what was found.
    seconds
        The processor time it took.
    held
        What the process held after some cases: their number, MiB of memory, open files, threads.
    """

    first: int
    after: int
    ended: Counter[str] = field(default_factory=Counter)
    findings: list[tuple[int, str]] = field(default_factory=list)
    seconds: float = 0.0
    held: list[tuple[int, int, int, int]] = field(default_factory=list)

    @property
    def cases(self) -> int:
        """The number of cases."""
        return self.after - self.first


def soak(
    campaign: Campaign,
    *,
    first: int = 0,
    cases: int | None = None,
    minutes: float | None = None,
    found: Callable[[int, str], object] | None = None,
) -> Outcome:
    """Run cases of a campaign, one after the other, from a number on.

    Parameters
    ----------
    campaign
        The campaign.
    first
        The number of the first case. The same number is the same case.
    cases, minutes
        When to stop; whichever comes first.
    found
        Called with each finding, as soon as there is one.
    """
    end = None if minutes is None else time.monotonic() + 60 * minutes
    outcome = Outcome(first, first)
    began = _processor_time()
    while (cases is None or outcome.cases < cases) and (end is None or time.monotonic() < end):
        try:
            outcome.ended[run_case(campaign, outcome.after)] += 1
        except Exception:  # whatever it is, it is a finding
            outcome.ended["finding"] += 1
            outcome.findings.append((outcome.after, traceback.format_exc()))
            if found is not None:
                found(*outcome.findings[-1])
        outcome.after += 1
        if outcome.cases % HELD == 0:
            outcome.held.append(_held(outcome.cases))
    outcome.seconds = _processor_time() - began
    return outcome


def _held(cases: int) -> tuple[int, int, int, int]:
    """Return what the process holds after a number of cases; zeros where that is not told."""
    place = Path("/proc/self")
    if not place.exists():
        return cases, 0, 0, 0
    pages = int((place / "statm").read_text().split()[1])
    memory = pages * os.sysconf("SC_PAGE_SIZE") >> 20
    return cases, memory, len(os.listdir(place / "fd")), len(os.listdir(place / "task"))


def _processor_time() -> float:
    """Return the processor time of this process and of those that it started and that ended."""
    return sum(os.times()[:4])


def run_case(campaign: Campaign, number: int) -> str:
    """Run one case in an empty folder, and return how it ended."""
    with tempfile.TemporaryDirectory(prefix="shoal-soak-") as folder:
        return campaign.case(random.Random(f"{campaign.name} {number}"), Path(folder))


def summary(campaign: Campaign, outcome: Outcome) -> Iterator[str]:
    """Yield what a run did, line by line, and how to continue it or repeat a finding."""
    rate = outcome.cases / outcome.seconds if outcome.seconds else 0.0
    yield (
        f"{campaign.name}: {outcome.cases:,} cases ({outcome.first} to {outcome.after - 1}), "
        f"{len(outcome.findings)} findings, {outcome.seconds:,.0f} s of processor time, {rate:.3g} cases/s"
    )
    for how, often in sorted(outcome.ended.items()):
        yield f"  {often:>10,} {how}"
    for what, often in sorted(campaign.counts.items()):
        yield f"  {often:>10,} {what} in all"
    for cases, memory, files, threads in outcome.held[:1] + outcome.held[1:][-1:]:
        yield f"  after {cases:,} cases: {memory:,} MiB, {files} open files, {threads} threads"
    for number, _ in outcome.findings:
        yield f"  repeat a finding: make soak NAME={campaign.name} CASE={number}"
    yield f"  continue: make soak NAME={campaign.name} SEED={outcome.after}"
