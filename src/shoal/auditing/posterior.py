"""The best guesses of an attacker who knows every record and weighs every perfect matching."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.auditing.crowds import stretches
from shoal.auditing.links import Links, links_of
from shoal.base.randomness import Randomness
from shoal.kinds.domain import Sensitive
from shoal.kinds.encoding import comparable
from shoal.recoding.coverage import Graph, Matches
from shoal.table import Table

QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
BINS = 20
CERTAIN = 3.0
"""A probability is above the promised one if it is by this many standard errors."""


@dataclass(frozen=True, eq=False)
class Labels:
    """A sensitive column on both sides: the same number for the same value.

    Parameters
    ----------
    column
        Its name.
    of_record, of_row
        The value of each record and of each released row.
    """

    column: str
    of_record: NDArray[np.int32]
    of_row: NDArray[np.int32]


@dataclass(frozen=True)
class Distribution:
    """How a probability is distributed over records.

    Parameters
    ----------
    mean
        Its mean.
    quantiles
        Which share of the records has at most which probability.
    histogram
        How many records have a probability from 0 to 1/20, from there to 2/20, and so on.
    """

    mean: float
    quantiles: tuple[tuple[float, float], ...]
    histogram: tuple[int, ...]

    @classmethod
    def of(cls, chances: NDArray[np.float64]) -> Self | None:
        """Return the distribution of some probabilities; None if there are none."""
        if not len(chances):
            return None
        chances = np.minimum(chances, 1.0)  # sums may be rounded up
        values = np.quantile(chances, QUANTILES)
        # A probability of 1/20 that rounding has made a little more is still one.
        counts, _ = np.histogram(np.clip(np.ceil(chances * BINS - 1e-9), 1, BINS), np.arange(1, BINS + 2))
        return cls(
            float(chances.mean()),
            tuple((share, float(value)) for share, value in zip(QUANTILES, values, strict=True)),
            tuple(counts.tolist()),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "mean": self.mean,
            "quantiles": {f"{share:g}": value for share, value in self.quantiles},
            "histogram": list(self.histogram),
        }


@dataclass(frozen=True)
class Disclosure:
    """How well the attacker guesses one sensitive column.

    Parameters
    ----------
    column
        Its name.
    right
        The probability that the attacker gives to each record's right value.
    likeliest
        The probability of the value that the attacker considers likeliest, right or wrong.
    """

    column: str
    right: Distribution | None
    likeliest: Distribution | None

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "column": self.column,
            "right": None if self.right is None else self.right.as_dict(),
            "likeliest": None if self.likeliest is None else self.likeliest.as_dict(),
        }


@dataclass(frozen=True)
class PersonPosterior:
    """What the same attacker believes about persons, some of whom have several records.

    Parameters
    ----------
    persons
        How many persons there are.
    refused
        How many of them have a record for which chains disagreed. The distribution is over the others.
    link
        For each person, the probability that the row that is likeliest hers is the row of any record of hers;
        None if all were refused.
    above
        Number of persons for whom that is surely above the promised probability; None if nothing was
        promised.
    """

    persons: int
    refused: int
    link: Distribution | None
    above: int | None

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "persons": self.persons,
            "refused": self.refused,
            "link": None if self.link is None else self.link.as_dict(),
            "above_promise": self.above,
        }


@dataclass(frozen=True)
class Posterior:
    """The beliefs of an attacker who considers every perfect matching of records and rows equally likely.

    Parameters
    ----------
    records
        How many records there are.
    counted, sampled, refused
        How many of them belong to components where matchings were counted, where chains sampled them, and
        where chains disagreed. Distributions are over the first two.
    promised
        1 / k, if a k was promised.
    link
        The probability of each record's likeliest row; None if all were refused.
    disclosures
        The same for sensitive columns.
    above
        Number of records with a row whose probability is surely above the promised one; None if nothing was
        promised.
    error
        The standard error of a sampled link, as the root of the mean square; 0 if none was sampled.
    draws, spread
        Of the component that was sampled worst: how many independent draws its chains are worth, and how far
        they differ, 1 being not at all; None if none was sampled.
    steps, seconds
        The work it took.
    of_persons
        The same for persons; None if no person has several records.
    """

    records: int
    counted: int
    sampled: int
    refused: int
    promised: float | None
    link: Distribution | None
    disclosures: tuple[Disclosure, ...]
    above: int | None
    error: float
    draws: float | None
    spread: float | None
    steps: int
    seconds: float
    of_persons: PersonPosterior | None = None

    @property
    def status(self) -> str:
        """``complete`` if nothing was refused, ``partial`` if some records were, otherwise ``not mixed``."""
        if self.refused == 0:
            return "complete"
        return "partial" if self.refused < self.records else "not mixed"

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data, for JSON."""
        return {
            "status": self.status,
            "records": self.records,
            "counted": self.counted,
            "sampled": self.sampled,
            "refused": self.refused,
            "promised": self.promised,
            "link": None if self.link is None else self.link.as_dict(),
            "above_promise": self.above,
            "sensitive": [each.as_dict() for each in self.disclosures],
            "standard_error": self.error,
            "draws": self.draws,
            "spread": self.spread,
            "steps": self.steps,
            "seconds": self.seconds,
            **({} if self.of_persons is None else {"persons": self.of_persons.as_dict()}),
        }


def posterior(
    graph: Graph,
    matches: Matches,
    labels: Sequence[Labels] = (),
    *,
    k: int | None = None,
    seconds: float = 30.0,
    draws: int = 1000,
    most_states: int = 2**20,
    randomness: Randomness | None = None,
    owners: NDArray[np.int32] | None = None,
) -> Posterior:
    """Return how likely the attacker's best guesses are (Tassa et al. 2012, Section 5.2).

    The attacker knows the quasi-identifiers of all records, sees the release, and considers every perfect
    matching of records and covering rows equally likely. Matchings are counted in small components, and
    sampled in the others.

    Parameters
    ----------
    graph, matches
        The coverage graph of original and release, and its matches.
    labels
        Sensitive columns.
    k
        What was promised.
    seconds
        How long chains may take.
    draws
        How many independent draws of a matching chains should be worth: the standard error of a probability p
        is about the root of p (1 - p) / draws.
    most_states
        In components with at most this many states (2^n for n different records) matchings are counted.
    randomness
        Where chains get their choices from.
    owners
        The person of each record, if some persons have several.

    Returns
    -------
    Posterior
        Distributions over records; nothing about a single one. Where chains sampled, two halves of them name
        the likeliest row, and each is asked for the probability of what the other has named: so noise does
        not make guesses look better than they are.

    Raises
    ------
    InputError
        If some row can have no record of its own.
    """
    begin = time.monotonic()
    limits: dict[str, Any] = {"seconds": seconds, "draws": draws, "most_states": most_states}
    links = links_of(graph, matches, **limits, randomness=randomness or Randomness())
    disclosures = tuple(_disclosure(graph, matches, links, each) for each in labels)
    promised = None if k is None else 1.0 / k
    of_persons = None if owners is None else _of_persons(links, graph.record_type, owners, promised)
    return replace(_summary(links, disclosures, promised, begin), of_persons=of_persons)


def _summary(
    links: Links, disclosures: tuple[Disclosure, ...], promised: float | None, begin: float
) -> Posterior:
    """Return the distribution of links over records, and how it was found since `begin`."""
    chance = links.expected / (links.records_of[links.record] * links.rows_of[links.target])[:, None]
    link = _best(links.record, chance, len(links.records_of))
    trusted = ~links.refused
    weight = links.records_of
    above = None
    if promised is not None:
        above = int(weight[trusted & (link - CERTAIN * links.error > promised + 1e-9)].sum())
    return Posterior(
        records=int(weight.sum()),
        counted=int(weight[trusted & ~links.sampled].sum()),
        sampled=int(weight[links.sampled].sum()),
        refused=int(weight[links.refused].sum()),
        promised=promised,
        link=Distribution.of(np.repeat(link[trusted], weight[trusted])),
        disclosures=disclosures,
        above=above,
        error=_root_mean_square(links),
        draws=None if np.isnan(links.draws) else links.draws,
        spread=None if np.isnan(links.spread) else links.spread,
        steps=links.steps,
        seconds=time.monotonic() - begin,
    )


def _of_persons(
    links: Links, record_type: NDArray[np.int32], owners: NDArray[np.int32], promised: float | None
) -> PersonPosterior:
    """Return how likely the likeliest row of each person is hers: the row of any record of hers.

    Two of her records cannot have the same row, so the probabilities of a row add up over her records.
    """
    count = int(owners.max()) + 1
    pairs, many = np.unique(np.column_stack((owners, record_type)), axis=0, return_counts=True)
    person, kind = pairs.T
    order = np.argsort(links.record, kind="stable")
    begins = np.searchsorted(links.record[order], np.arange(len(links.records_of) + 1))
    sizes = np.diff(begins)[kind]
    chance = links.expected / (links.records_of[links.record] * links.rows_of[links.target])[:, None]
    link = np.zeros(count)
    for begin, end in _whole_persons(person, sizes):
        many_links = sizes[begin:end]
        within = np.arange(int(many_links.sum())) - np.repeat(np.cumsum(many_links) - many_links, many_links)
        at = order[np.repeat(begins[kind[begin:end]], many_links) + within]
        hers = np.repeat(person[begin:end], many_links).astype(np.int64)
        rows, place = np.unique(hers * len(links.rows_of) + links.target[at], return_inverse=True)
        sums = np.zeros((len(rows), 2))
        np.add.at(sums, place, chance[at] * np.repeat(many[begin:end], many_links)[:, None])
        link += _best(rows // len(links.rows_of), sums, count)
    refused = np.zeros(count, dtype=np.bool_)
    refused[person[links.refused[kind]]] = True
    above = None
    if promised is not None:
        error = np.bincount(person, many * links.error[kind], count)
        above = int((~refused & (link - CERTAIN * error > promised + 1e-9)).sum())
    return PersonPosterior(count, int(refused.sum()), Distribution.of(link[~refused]), above)


def _whole_persons(person: NDArray[np.int32], sizes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield the ends of stretches of links that hold all of some persons, about `PAIRS` links each.

    Parameters
    ----------
    person
        Whose links these are, ascending.
    sizes
        How many they are.
    """
    first = np.append(np.flatnonzero(np.diff(person, prepend=-1)), len(person))
    of_person = np.add.reduceat(sizes, first[:-1]) if len(person) else sizes
    for begin, end in stretches(of_person):
        yield int(first[begin]), int(first[end])


def labels_of(table: Table, released: Mapping[str, Sensitive]) -> tuple[Labels, ...]:
    """Return the sensitive columns that a table and its release share; values are compared as texts.

    Parameters
    ----------
    table
        The original.
    released
        The sensitive columns of the release, by name.
    """
    found = []
    for column, original in zip(table.schema.sensitive, table.sensitive, strict=True):
        shown = released.get(column.name)
        if shown is None:
            continue
        numbers: dict[str | None, int] = {}
        of_record, of_row = (
            np.array(
                [
                    numbers.setdefault(value, len(numbers))
                    for value in comparable(each.values.cast(pl.String), column)
                ],
                np.int32,
            )[each.codes]
            for each in (original, shown)
        )
        found.append(Labels(column.name, of_record, of_row))
    return tuple(found)


def _root_mean_square(links: Links) -> float:
    weight = links.records_of[links.sampled]
    return float(np.sqrt((weight * links.error[links.sampled] ** 2).sum() / max(weight.sum(), 1)))


def _best(group: NDArray[np.int64], chances: NDArray[np.float64], groups: int) -> NDArray[np.float64]:
    """Return for each group its largest chance: each half picks one, and the other says what it is."""
    best = np.zeros(groups)
    for half in (0, 1):
        order = np.lexsort((chances[:, half], group))
        last = order[np.append(group[order][1:] != group[order][:-1], True)[: len(order)]]
        best[group[last]] += chances[last, 1 - half] / 2
    return best


def _disclosure(graph: Graph, matches: Matches, links: Links, labels: Labels) -> Disclosure:
    values = 1 + int(max(labels.of_record.max(initial=0), labels.of_row.max(initial=0)))
    target = np.concatenate((graph.row_type, len(graph.boxes) + matches.component_of_row))
    record, value, chance = value_chances(links, target, np.tile(labels.of_row, 2), values)
    trusted = ~links.refused[graph.record_type]
    likeliest = _best(record, chance, len(links.records_of))
    pairs = record * values + value  # ascending
    asked = graph.record_type * np.int64(values) + labels.of_record
    place = np.searchsorted(pairs, asked)
    found = np.append(pairs, -1)[place] == asked
    right = np.where(found, np.append(chance.mean(axis=1), 0.0)[place], 0.0)
    return Disclosure(
        labels.column,
        Distribution.of(right[trusted]),
        Distribution.of(likeliest[graph.record_type][trusted]),
    )


def value_chances(
    links: Links, target: NDArray[np.integer[Any]], label: NDArray[np.int32], values: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the type of a record, a value, and its probability, for each pair that is possible.

    Each row shows its label once for each target that it belongs to.
    """
    shown, often = np.unique(target * np.int64(values) + label, return_counts=True)
    begins = np.searchsorted(shown, links.target * values)
    sizes = np.searchsorted(shown, (links.target + 1) * values) - begins
    starts = np.cumsum(sizes) - sizes
    at = np.repeat(begins - starts, sizes) + np.arange(sizes.sum())
    link = np.repeat(np.arange(len(sizes)), sizes)
    copies = links.records_of[links.record] * links.rows_of[links.target]
    part = links.expected[link] * (often[at] / copies[link])[:, None]
    pairs, number = np.unique(links.record[link] * values + shown[at] % values, return_inverse=True)
    chance = np.zeros((len(pairs), 2))
    np.add.at(chance, number, part)
    return pairs // values, pairs % values, chance
