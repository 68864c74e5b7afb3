"""How likely each row is a record's own, if all perfect matchings are equally likely: counted or sampled."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.base.randomness import Randomness
from shoal.errors import InputError, Reason
from shoal.recoding.coverage import Graph, Matches, Within

CHAINS = 8
"""Of two groups of matchings that no walk leads between, one hides from all chains once in 128 times."""
FIRST_WALKS = 16
MOST_WALKS = 2**30
MOST_EDGES = 2**22
"""The maximum number of edges between types that chains may see; each takes up to 50 bytes per chain."""
LEAST_DRAWS = 100
"""Chains that are worth fewer independent draws of a matching than this have not mixed."""
MOST_SPREAD = 1.2
"""Records for which chains differ by more than this have not mixed, wherever the others have."""
MOST_POWER = 1000
"""Ways are counted in floating-point numbers, which end at 2 to the power of 1024."""


_Found = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Types of records, what each is linked with, and how many records that is expected for, by both halves."""


@dataclass(frozen=True, eq=False)
class Links:
    """How likely each row is each record's own, by types of records and of rows.

    Parameters
    ----------
    record, target
        The pairs: the type of the record, and what it is linked with. Targets are the types of rows, and then
        the components: one in which every row covers every record is a target as a whole.
    expected
        How many records of the type have a row of the target, on average over all perfect matchings; twice
        for each pair, as two halves of all chains saw it. Both are the same where it was counted.
    records_of, rows_of
        How many records each type and how many rows each target stands for.
    sampled, refused
        The types of records for which chains gave an estimate, and those for which they could not.
    error
        The standard error of the probability of each type's likeliest row; 0 where it was counted.
    draws, spread
        Of the component that was sampled worst: how many independent draws of a matching its chains are
        worth, and how far they differ, 1 being not at all (as R-hat does); nan if there is none.
    steps
        The work it took: how often a box drew a record.
    """

    record: NDArray[np.int64]
    target: NDArray[np.int64]
    expected: NDArray[np.float64]
    records_of: NDArray[np.int64]
    rows_of: NDArray[np.int64]
    sampled: NDArray[np.bool_]
    refused: NDArray[np.bool_]
    error: NDArray[np.float64]
    draws: float
    spread: float
    steps: int


def links_of(
    graph: Graph,
    matches: Matches,
    *,
    seconds: float,
    draws: int,
    most_states: int,
    randomness: Randomness,
    most_walks: int = MOST_WALKS,
) -> Links:
    """Return how likely each row is each record's own, by types.

    Components do not depend on each other. In one where every row covers every record, all links are equally
    likely. In a small one the perfect matchings are counted. In any other, chains of closed walks through the
    matchings (see native/attacks/matching_chains.hpp) run until they are worth `draws` independent draws, or
    until time is up; each round makes up to twice as many walks as the one before, and only the last one
    counts. A component whose chains disagree is refused. So are single records for which they do, as far as
    that can be seen: chains that all miss the same matchings agree. The largest components are refused at
    once if the memory would not suffice for what chains see.

    Parameters
    ----------
    graph, matches
        The coverage graph and its matches. Records may be left over, and every matching of the others is as
        likely; rows may not.
    seconds
        How long chains may take.
    draws
        How many independent draws of a matching the chains of a component should be worth.
    most_states
        In components with at most this many states (2^n for n different records) matchings are counted.
    randomness
        Where the walks come from.
    most_walks
        The maximum number of walks of a round: with few, results do not depend on the speed of the machine.
    """
    if matches.unmatched_rows:
        raise InputError(
            f"{matches.unmatched_rows} released rows have no record of their own: the release was not made "
            "from this table, and there are no probabilities",
            reason=Reason.PARAMETER,
        )
    complete = matches.complete_components
    part = _with_spare(graph.within(matches, ~complete), matches)
    small = _small(part, len(complete), most_states)
    sampling = _Sampling(part, np.flatnonzero(~complete & ~small), randomness)
    sampling.run(seconds, draws, most_walks)
    found = (
        _equal_links(graph, matches, complete),
        _counted(part, np.flatnonzero(small)),
        sampling.links(),
    )
    return _joined(graph, matches, found, sampling)


def _joined(graph: Graph, matches: Matches, found: Sequence[_Found], sampling: _Sampling) -> Links:
    """Return the links of all components together, and how good the sampled ones are."""
    record, target, expected = (np.concatenate(each) for each in zip(*found, strict=True))
    real = target >= 0  # not among those that are left over
    records_of = np.bincount(graph.record_type)
    quality, places = sampling.quality(), sampling.part.records
    sampled, refused = np.zeros((2, len(records_of)), dtype=np.bool_)
    error = np.zeros(len(records_of))
    sampled[places], refused[places], error[places] = quality.sampled, quality.refused, quality.error
    return Links(
        record[real],
        target[real],
        expected[real],
        records_of,
        np.append(np.bincount(graph.row_type), matches.rows_of_component),
        sampled,
        refused,
        error,
        quality.draws,
        quality.spread,
        sampling.steps,
    )


def _equal_links(graph: Graph, matches: Matches, complete: NDArray[np.bool_]) -> _Found:
    """Return the links in components where every row covers every record: each with the whole component."""
    records_of = np.bincount(graph.record_type)
    of_type = np.empty(len(records_of), dtype=np.int64)
    of_type[graph.record_type] = matches.component_of_record
    whole = np.flatnonzero(complete[of_type])
    return whole, len(graph.boxes) + of_type[whole], np.repeat(records_of[whole, None], 2, axis=1)


def _with_spare(part: Within, matches: Matches) -> Within:
    """Return the graph with a box, of type -1, for the records that are left over.

    They are all in the same component, and any of its records could be left over: paths lead from each to
    another's row.
    """
    over = matches.records_of_component - matches.rows_of_component
    if not over.any():
        return part
    component = int(over.argmax())
    around = part.neighbourhoods
    inside = np.concatenate(([False], part.component_of_record == component, [False])).astype(np.int8)
    begins, ends = (np.flatnonzero(np.diff(inside) == way).astype(np.int32) for way in (1, -1))
    return replace(
        part,
        boxes=np.append(part.boxes, -1),
        component_of_box=np.append(part.component_of_box, np.int32(component)),
        neighbourhoods=kernels.Neighbourhoods(
            around.record_copies,
            np.append(around.box_copies, over[component]),
            np.append(around.starts, around.starts[-1] + len(begins)),
            np.append(around.begins, begins),
            np.append(around.ends, ends),
        ),
    )


def _small(part: Within, components: int, most_states: int) -> NDArray[np.bool_]:
    """Return in which components the matchings can be counted."""
    around = part.neighbourhoods
    sides = (part.component_of_record, around.record_copies), (part.component_of_box, around.box_copies)
    states = np.array([np.bincount(of, np.log2(copies + 1.0), components) for of, copies in sides])
    types = np.array([np.bincount(of, minlength=components) for of, _ in sides])
    copies = np.bincount(part.component_of_record, around.record_copies, components)
    few = states.min(axis=0) <= np.log2(max(most_states, 1)) + 1e-9
    short = copies * np.log2(np.maximum(types.max(axis=0), 1)) <= MOST_POWER
    small: NDArray[np.bool_] = few & short & (types[0] > 0)
    return small


def _counted(part: Within, components: NDArray[np.int64]) -> _Found:
    """Return the links in small components, from all their matchings."""
    record, box, expected = kernels.exact_links(part.neighbourhoods, part.parts(components))
    return part.records[record], part.boxes[box], np.column_stack((expected, expected))


@dataclass(frozen=True, eq=False)
class _Seen:
    """Pairs that chains saw: record and box by their places, and what each chain says."""

    record: NDArray[np.int32]
    box: NDArray[np.int32]
    shares: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Quality:
    """How good the chains were: for each record in the part, and for the worst component."""

    sampled: NDArray[np.bool_]
    refused: NDArray[np.bool_]
    error: NDArray[np.float64]
    draws: float
    spread: float


class _Sampling:
    """Chains of some components, and what they saw."""

    def __init__(self, part: Within, components: NDArray[np.int64], randomness: Randomness) -> None:
        self.part = part
        self._components = components
        self._walks = np.zeros(len(components), dtype=np.int64)
        self.seen = _Seen(np.empty(0, np.int32), np.empty(0, np.int32), np.empty((0, CHAINS)))
        self.steps = 0
        key = randomness.words(4 * CHAINS * len(components))
        parts = part.parts(components)
        self._chains = kernels.MatchingChains(part.neighbourhoods, parts, CHAINS, key)

    def run(self, seconds: float, draws: int, most_walks: int) -> None:
        """Make walks until chains are worth enough draws, or time is up."""
        end = time.monotonic() + seconds
        active = self._affordable()
        walks = FIRST_WALKS
        while len(active):
            begin = time.monotonic()
            in_time = self._round(active, walks, end - begin)
            now = time.monotonic()
            active = in_time[self._draws()[in_time] < draws]
            # The next round should end in time, and is worthwhile only if it is longer.
            affordable = 0.8 * (end - now) / max(now - begin, 1e-9) * walks
            if min(affordable, most_walks) < 1.25 * walks:
                break
            walks = int(min(2 * walks, affordable, most_walks))

    def links(self) -> _Found:
        """Return the links that chains saw, as two halves of the chains say."""
        halves = self.seen.shares.reshape(-1, 2, CHAINS // 2).mean(axis=2)
        return self.part.records[self.seen.record], self.part.boxes[self.seen.box], halves

    def _affordable(self) -> NDArray[np.int32]:
        """Return the components for which the memory suffices, smaller ones first."""
        around = self.part.neighbourhoods
        lengths = np.concatenate(([0], np.cumsum(around.ends - around.begins, dtype=np.int64)))
        edges = np.bincount(
            np.searchsorted(self._components, self.part.component_of_box),
            np.diff(lengths[around.starts]),
            len(self._components) + 1,
        )[: len(self._components)]
        order = np.argsort(edges, kind="stable")
        return order[np.cumsum(edges[order]) <= MOST_EDGES].astype(np.int32)

    def _round(self, active: NDArray[np.int32], walks: int, seconds: float) -> NDArray[np.int32]:
        record, box, shares, complete, steps = self._chains.run(active, walks, seconds)
        self.steps += steps
        in_time = active[complete]
        self._walks[in_time] = walks
        kept = ~np.isin(self.part.component_of_box[self.seen.box], self._components[in_time])
        self.seen = _Seen(
            np.concatenate((self.seen.record[kept], record)),
            np.concatenate((self.seen.box[kept], box)),
            np.concatenate((self.seen.shares[kept], shares)),
        )
        return in_time

    def _likeliest(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return each record that was seen, and for each chain the probability of its likeliest row."""
        around = self.part.neighbourhoods
        copies = around.record_copies[self.seen.record] * around.box_copies[self.seen.box]
        chance = self.seen.shares / copies[:, None]
        order = np.lexsort((chance.mean(axis=1), self.seen.record))
        record = self.seen.record[order]
        last = np.append(record[1:] != record[:-1], True)[: len(record)]
        return record[last], chance[order][last]

    def _variances(self) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        """Return each record that was seen, the variance of one draw, and that between chains."""
        record, chance = self._likeliest()
        mean = chance.mean(axis=1)
        return record, mean * (1.0 - mean), chance.var(axis=1, ddof=1)

    def _draws(self) -> NDArray[np.float64]:
        """Return how many independent draws the chains of each component are worth, all records together."""
        record, of_draw, of_chains = self._variances()
        place = np.searchsorted(self._components, self.part.component_of_record[record])
        # Where nothing ever moved, chains agree, but this shows nothing.
        copies = self.part.neighbourhoods.record_copies[record] * (of_chains > 0)
        one, between = (
            np.bincount(place, copies * variance, minlength=len(self._components))
            for variance in (of_draw, of_chains)
        )
        draws = np.zeros(len(self._components))
        np.divide(CHAINS * one, between, out=draws, where=between > 0)
        return np.minimum(draws, CHAINS * self._walks)

    def quality(self) -> _Quality:
        """Return what the chains are worth."""
        draws = self._draws()
        mixed = draws >= LEAST_DRAWS
        asked = np.isin(self.part.component_of_record, self._components)
        place = np.searchsorted(self._components, self.part.component_of_record)
        trusted = asked & np.append(mixed, False)[place]
        record, of_draw, of_chains = self._variances()
        agreed = np.ones(len(trusted), dtype=np.bool_)
        agreed[record] = of_chains <= (MOST_SPREAD**2 - 1) * of_draw
        error = np.zeros(len(trusted))
        error[record] = np.sqrt(of_chains / CHAINS)
        sampled = trusted & agreed
        worst = float(draws[mixed].min()) if mixed.any() else float("nan")
        return _Quality(
            sampled,
            asked & ~sampled,
            np.where(sampled, error, 0.0),
            worst,
            float(np.sqrt(1 + CHAINS / worst)),
        )
