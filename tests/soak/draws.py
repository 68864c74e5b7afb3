"""The campaign "randomness": draws and orders are uniform, and no two runs share a stream."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from math import factorial
from pathlib import Path

import numpy as np
import polars as pl
from drawing import Draw
from scipy.stats import chi2
from soaking import Campaign, Finding

from shoal import Column, KAnonymity, Role, Schema, anonymize
from shoal.base.randomness import Randomness
from shoal.recoding.assignment import random_assignment

UNLIKELY = 1e-9
"""A chi-square statistic that uniform draws exceed with a smaller probability is a finding."""
DRAWS = 4_000
"""The number of draws in a case."""


def case(draw: Draw, folder: Path) -> str:
    """Check one property of the random choices."""
    del folder
    chosen = draw.choice(KINDS)
    chosen(draw)
    return chosen.__name__


def require_uniform(seen: Counter[Hashable], possible: int, what: str) -> None:
    """Refuse counts that are not those of uniform draws among a number of possible outcomes.

    Raises
    ------
    Finding
        If they are too uneven, or there are more outcomes than possible.
    """
    expected = seen.total() / possible
    statistic = sum((often - expected) ** 2 for often in seen.values()) / expected
    statistic += (possible - len(seen)) * expected
    chance = float(chi2.sf(statistic, possible - 1))
    if len(seen) > possible or chance < UNLIKELY:
        raise Finding(f"{what}: chi-square of {statistic:.1f} for {possible} outcomes, {chance:.2g}: {seen}")


def assignments(draw: Draw) -> None:
    """Each edge of a regular graph is used with probability 1 / k."""
    n, k = draw.randint(3, 7), draw.randint(2, 3)
    graph = regular_graph(draw, n, k)
    randomness = Randomness()
    used = np.array([random_assignment(graph, randomness) for _ in range(DRAWS)])
    CAMPAIGN.counts["drawn assignments"] += DRAWS
    if any(len(set(each)) < n for each in used[:100].tolist()):
        raise Finding(f"an assignment gives a record twice: {graph.tolist()}")
    for row in range(n):
        seen: Counter[Hashable] = Counter(used[:, row].tolist())
        if not set(seen) <= set(graph[row].tolist()):
            raise Finding(f"row {row} of {graph.tolist()} carries {sorted(map(str, seen))}")
        require_uniform(seen, k, f"row {row} of {graph.tolist()}")


def regular_graph(draw: Draw, n: int, k: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    """Return the records of each row: k assignments without a common edge."""
    while True:
        orders = [draw.sample(range(n), n) for _ in range(k)]
        if all(len(set(records)) == k for records in zip(*orders, strict=True)):
            return np.array(list(zip(*orders, strict=True)), dtype=np.int32)


def orders(draw: Draw) -> None:
    """Each order of a few rows is as likely as any other."""
    n = draw.randint(2, 5)
    randomness = Randomness()
    seen: Counter[Hashable] = Counter(tuple(randomness.permutation(n).tolist()) for _ in range(DRAWS))
    require_uniform(seen, factorial(n), f"orders of {n}")


def numbers(draw: Draw) -> None:
    """Each number below a bound is as likely as any other."""
    bound = draw.choice([2, 3, 5, 7, 10, 120, 3 * 2**62])
    few = min(bound, 12)
    randomness = Randomness()
    seen: Counter[Hashable] = Counter(randomness.below(bound) * few // bound for _ in range(DRAWS))
    require_uniform(seen, few, f"numbers below {bound}")


def released_orders(draw: Draw) -> None:
    """Which record each row of a release carries is as likely as any other, whatever global seeds are."""
    n = 3
    frame = pl.DataFrame({"q": ["a"] * n, "row": range(n)})
    schema = Schema((Column("q", Role.QUASI),))
    seen: Counter[Hashable] = Counter()
    states = random.getstate(), np.random.get_state()  # noqa: NPY002 - what others may have set
    for _ in range(60):
        random.seed(7)
        np.random.seed(7)  # noqa: NPY002
        release = anonymize(frame, schema, KAnonymity(k=n), method=draw.choice(["mondrian", "forest"]))
        if release.certificate["seeded"]:
            raise Finding("a release without a seed says that it has one")
        seen[tuple(release.table["row"].to_list())] += 1
    random.setstate(states[0])
    np.random.set_state(states[1])  # noqa: NPY002
    require_uniform(seen, factorial(n), "released orders")


STREAMS = """
import os, sys
from shoal.base.randomness import Randomness
source = Randomness()
before = source.words(4).tolist()
print(*before)
sys.stdout.flush()
for _ in range(2):
    if not (child := os.fork()):
        print(*source.words(4).tolist(), *Randomness().words(4).tolist())
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
print(*source.words(4).tolist(), *Randomness().words(4).tolist())
"""


def streams(draw: Draw) -> None:
    """No two processes, and no two sources, draw the same words, even after a fork."""
    del draw
    told = [
        subprocess.run(
            [sys.executable, "-c", STREAMS], capture_output=True, text=True, check=True, timeout=60
        ).stdout.split()
        for _ in range(2)
    ]
    words: Sequence[str] = list(itertools.chain(*told))
    if len(words) != 2 * (4 + 3 * 8) or len(set(words)) < len(words):
        raise Finding(f"streams are repeated: {told}")


KINDS: list[Callable[[Draw], None]] = [assignments] * 12 + [orders] * 6 + [numbers] * 4
KINDS += [released_orders, streams]

CAMPAIGN = Campaign("randomness", case, slice=20)
