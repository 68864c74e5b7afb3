"""The audit rule of each model: which parts of its guarantee a release breaks.

A rule is registered under the model's name, reads the release beside its original, and knows nothing of any
method. A model without a rule cannot be used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from shoal.auditing.classes import Diversity
from shoal.auditing.knowledge import partial_knowledge
from shoal.auditing.likeness import unlike_the_whole
from shoal.auditing.persons import Persons, uncounted
from shoal.auditing.presence import presence_in_table
from shoal.auditing.released import ReleasedTable
from shoal.auditing.risks import consistency_with_population
from shoal.errors import InputError, Reason, listing
from shoal.kernels import ROUNDING
from shoal.models import (
    KK,
    BetaLikeness,
    Concealment,
    CoverageModel,
    DeltaDisclosure,
    DeltaPresence,
    Dissimilarity,
    Freeform,
    KAnonymity,
    KmAnonymity,
    KMap,
    KOne,
    LikenessModel,
    Model,
    OneK,
    OwnRowsModel,
    Patterned,
    SetAnonymity,
    SetDiversity,
    TCloseness,
)

COVERING = "among the rows that cover some record"
MATCHING = "among the matches of some record"
OVERALL = "in the release as a whole"
"""Checked as well where crowds overlap: a few rows that cover every record would make a frequent value look
rare."""

Rule = Callable[[Any, ReleasedTable], Iterator[str]]
"""Yields each part of a guarantee that does not hold, given the model and the release beside its original."""

RULES: dict[str, Rule] = {}
"""The rule of each model, by the model's name."""


def rule(model: type[Model]) -> Callable[[Rule], Rule]:
    """Register a function as the audit rule of a model."""

    def register(check: Rule) -> Rule:
        RULES[model.name] = check
        return check

    return register


def rule_for(model: Model) -> Rule:
    """Return the audit rule of a model.

    Raises
    ------
    InputError
        If it has none: nothing can then be said about its releases, so none is made.
    """
    if model.name not in RULES:
        raise InputError(
            f"model {model.name!r} has no audit rule and cannot be used; register one with "
            "shoal.auditing.rules.rule",
            reason=Reason.PARAMETER,
            parameter="model",
        )
    return RULES[model.name]


@rule(KAnonymity)
def k_anonymity(model: KAnonymity, release: ReleasedTable) -> Iterator[str]:
    """Classes of at least k identical rows, varied as required."""
    yield from small_classes(release, model.k)
    yield from few_rows(release, model.k)
    yield from few_matches(release, model.k)
    yield from undiverse(model, release, {"in some class": release.diversity})


@rule(Freeform)
def freeform(model: Freeform, release: ReleasedTable) -> Iterator[str]:
    """At least k covering rows, covered records and matches, varied as required."""
    yield from few_rows(release, model.k)
    yield from few_records(release, model.k)
    yield from few_matches(release, model.k)
    places = {
        COVERING: release.diversity_consistent,
        MATCHING: release.diversity_around,
        OVERALL: release.diversity_overall,
    }
    yield from undiverse(model, release, places)


@rule(SetAnonymity)
def set_anonymity(model: SetAnonymity, release: ReleasedTable) -> Iterator[str]:
    """As freeform, for sets of items."""
    yield from freeform(Freeform(k=model.k), release)


@rule(SetDiversity)
def set_diversity(model: SetDiversity, release: ReleasedTable) -> Iterator[str]:
    """As freeform with l different sensitive values."""
    yield from freeform(Freeform(k=model.l, p=model.l), release)
    if release.diversity_overall:
        yield from undiverse(Freeform(k=model.l, l=model.l), release, {OVERALL: release.diversity_overall})


@rule(OneK)
def one_k(model: OneK, release: ReleasedTable) -> Iterator[str]:
    """At least k covering rows of each record."""
    yield from left_out(model, release)
    yield from few_rows(release, model.k)
    yield from likely_guesses(model, release)
    yield from undiverse(model, release, _covering(release))


@rule(KOne)
def k_one(model: KOne, release: ReleasedTable) -> Iterator[str]:
    """At least k covered records of each row."""
    yield from left_out(model, release)
    yield from few_records(release, model.k)
    yield from likely_guesses(model, release)
    yield from undiverse(model, release, _covering(release))


@rule(KK)
def kk(model: KK, release: ReleasedTable) -> Iterator[str]:
    """At least k covering rows and covered records."""
    yield from left_out(model, release)
    yield from few_rows(release, model.k)
    yield from few_records(release, model.k)
    yield from likely_guesses(model, release)
    yield from undiverse(model, release, _covering(release))


@rule(Concealment)
def concealment(model: Concealment, release: ReleasedTable) -> Iterator[str]:
    """At least k matches of each record, and of each row if two-sided."""
    yield from few_rows(release, model.k)
    yield from few_matches(release, model.k)
    if model.two_sided:
        matched = release.matches.matches_of_row
        least = int(matched.min())
        if least < model.k:
            count = int((matched < model.k).sum())
            yield f"{count:,} released rows match fewer than k = {model.k} records; the worst matches {least}"
    yield from likely_guesses(model, release)
    places = {MATCHING: release.diversity_around, OVERALL: release.diversity_overall}
    yield from undiverse(model, release, places)


@rule(Patterned)
def patterned(model: Patterned, release: ReleasedTable) -> Iterator[str]:
    """Classes of at least k identical rows, varied as required, suppressed by allowed patterns."""
    yield from small_classes(release, model.k)
    yield from few_rows(release, model.k)
    yield from few_matches(release, model.k)
    yield from undiverse(model, release, {"in some class": release.diversity})
    mask = model.mask({column.name: column.weight for column in release.table.schema.quasi})
    for kind in release.suppressions:
        if kind.blurred:
            yield f"{kind.rows:,} rows are neither exact nor suppressed in {listing(kind.blurred)}"
        elif not mask.allows(np.isin(mask.columns, kind.suppressed), np.isin(mask.columns, kind.either)):
            what = listing(kind.suppressed) or "nothing"
            yield f"{kind.rows:,} rows suppress {what}, which no pattern allows"


@rule(Dissimilarity)
def dissimilarity(model: Dissimilarity, release: ReleasedTable) -> Iterator[str]:
    """Classes of at least k identical rows whose sensitive values are far apart."""
    yield from small_classes(release, model.k)
    yield from few_rows(release, model.k)
    yield from few_matches(release, model.k)
    near = release.proximity(model.required_distance)
    absent = _absent(release)
    if absent or near is None:
        what = f"{listing(absent)} are not in the release" if absent else "there are none"
        yield f"a distance of sensitive values was promised, but of the sensitive columns {what}"
    elif near.vulnerability:
        yield (
            f"in {near.vulnerability:.1%} of the classes, more than {1 - model.delta:.1%} of the other "
            f"values of {near.column} are within {model.epsilon:g} of one; in the worst, {near.risk:.1%} are"
        )


@rule(TCloseness)
@rule(BetaLikeness)
@rule(DeltaDisclosure)
def likeness(model: LikenessModel, release: ReleasedTable) -> Iterator[str]:
    """Classes of at least k identical rows whose sensitive values are distributed nearly as in the whole."""
    yield from small_classes(release, model.k)
    yield from few_rows(release, model.k)
    yield from few_matches(release, model.k)
    absent = _absent(release)
    if absent or not release.sensitive:
        what = f"{listing(absent)} are not in the release" if absent else "there are none"
        yield f"{model.name} was promised, but of the sensitive columns {what}"
    for name, shown in release.sensitive.items():
        yield from unlike_the_whole(model, release.classes, shown, release.table.schema[name])


@rule(KMap)
def k_map(model: KMap, release: ReleasedTable) -> Iterator[str]:
    """At least k people of the population that each row covers."""
    covered = consistency_with_population(release.frame, model.population, release.table.schema)
    least = int(covered.records_of_row.min())
    if least < model.k:
        count = int((covered.records_of_row < model.k).sum())
        yield (
            f"{count:,} released rows cover fewer than k = {model.k} people of the population; the worst "
            f"covers {least:,}"
        )


@rule(KmAnonymity)
def km_anonymity(model: KmAnonymity, release: ReleasedTable) -> Iterator[str]:
    """At least k covering rows and covered records in every combination of a few columns."""
    yield from partial_knowledge(release, model.knows, model.k).findings(model.k)


@rule(DeltaPresence)
def delta_presence(model: DeltaPresence, release: ReleasedTable) -> Iterator[str]:
    """Chances to be in the table within two bounds, for all records of the population."""
    strangers, chances = presence_in_table(release.frame, model.population, release.table.schema)
    if strangers:
        yield f"{strangers:,} released rows cover no record of the population"
    for wrong, what in (
        (chances > model.delta_max + ROUNDING, f"above delta_max = {model.delta_max:g}"),
        (chances < model.delta_min - ROUNDING, f"below delta_min = {model.delta_min:g}"),
    ):
        if wrong.any():
            worst = float(chances[wrong].max() if "above" in what else chances[wrong].min())
            yield (
                f"{int(wrong.sum()):,} records of the population are in the table with a chance {what}; the "
                f"worst with {worst:.4g}"
            )


def few_persons(model: Model, persons: Persons | None) -> Iterator[str]:
    """Yield for whom the guarantee does not hold if persons are counted; None if they are not.

    With one record of each person this is no more than the model declares: crowds of records, of rows or of
    both, and by matching or not. If persons have several records, a one-sided guarantee is about both sides;
    in a table that was cut into blocks, only if they have in each block.
    """
    if persons is None or model.needs_population:
        return
    one_sided = model.one_sided and persons.one_each
    yield from uncounted(
        persons,
        model.crowd,
        classes=model.crowd_kind == "classes",
        matching=model.by_matching,
        of_rows=model.of_rows and not one_sided,
        around=model.of_records,
    )


def small_classes(release: ReleasedTable, k: int) -> Iterator[str]:
    """Yield that some classes of identical rows are smaller than k, if so."""
    sizes = release.classes.sizes
    if release.classes.smallest < k:
        small = sizes[sizes < k]
        yield (
            f"{len(small):,} classes with {int(small.sum()):,} rows have fewer than k = {k} rows; "
            f"the smallest has {release.classes.smallest:,}"
        )


def few_rows(release: ReleasedTable, k: int) -> Iterator[str]:
    """Yield that some records are covered by fewer than k rows, if so: the level (1,k)."""
    least = release.consistency.rows_per_record
    if least < k:
        few = release.consistency.rows_of_record
        count = int(((few > 0) & (few < k)).sum())
        yield f"{count:,} records are covered by fewer than k = {k} rows; the worst by {least:,}"


def few_records(release: ReleasedTable, k: int) -> Iterator[str]:
    """Yield that some rows cover fewer than k records, if so: the level (k,1)."""
    covered = release.consistency.records_of_row
    least = int(covered.min())
    if least < k:
        count = int((covered < k).sum())
        yield f"{count:,} released rows cover fewer than k = {k} records; the worst covers {least:,}"


def few_matches(release: ReleasedTable, k: int) -> Iterator[str]:
    """Yield that some records have fewer than k matches, if so, although k rows cover each."""
    matches = release.matches
    if release.consistency.rows_per_record >= k > matches.concealment:
        count = int((matches.matches_of_record < k).sum())
        yield (
            f"{count:,} records have fewer than k = {k} matches, because other records need some of the rows "
            f"that cover them; the worst has {matches.concealment:,}"
        )


def likely_guesses(model: OwnRowsModel, release: ReleasedTable) -> Iterator[str]:
    """Yield that the least chance is above what was promised, if so."""
    if model.chance is None or model.chance >= 1:
        return
    found = release.chance
    if found is not None and found.least is not None and found.least > model.chance * (1 + ROUNDING):
        yield (
            f"the least chance of a right guess about a row is {float(found.least):.4g} instead of at most "
            f"{model.chance:.4g}"
        )


def left_out(model: CoverageModel, release: ReleasedTable) -> Iterator[str]:
    """Yield that more or fewer records are left out than were to be withheld, if so."""
    records = len(release.table)
    missing = records - len(release)
    withheld = math.ceil(model.withhold * records)
    if withheld and missing != withheld:
        yield f"{missing:,} records are left out, although {withheld:,} were to be withheld"


def undiverse(
    model: Model, release: ReleasedTable, places: Mapping[str, tuple[Diversity, ...]]
) -> Iterator[str]:
    """Yield which sensitive columns are less varied than promised, and in which of these places."""
    required = model.diversity
    if required is None:
        return
    measured = {column.column for crowds in places.values() for column in crowds}
    promised = required.columns or [column.name for column in release.table.schema.sensitive]
    absent = [name for name in promised if name not in measured]
    if absent or not measured:
        what = (
            f"the sensitive columns {listing(absent)} are not in the release" if absent else "there is none"
        )
        yield f"diversity of sensitive values was promised, but {what}"
    named = set()
    for where, crowds in places.items():
        for column in (each for each in crowds if required.applies_to(each.column)):
            for name, asked, found in (
                ("l", required.l, column.l),
                ("p", required.p, column.p),
                ("entropy_l", required.entropy_l, column.entropy_l),
            ):
                if asked is None or found >= asked * (1 - ROUNDING) or (column.column, name, found) in named:
                    continue
                named.add((column.column, name, found))
                yield f"{column.column!r} has only {name} = {found:.4g} instead of {asked:g} {where}"


def _covering(release: ReleasedTable) -> dict[str, tuple[Diversity, ...]]:
    """Return where sensitive values must be varied if crowds are the rows that cover a record."""
    return {COVERING: release.diversity_consistent, OVERALL: release.diversity_overall}


def _absent(release: ReleasedTable) -> list[str]:
    """Return the sensitive columns of the original that the release does not have."""
    return [column.name for column in release.table.schema.sensitive if column.name not in release.sensitive]
