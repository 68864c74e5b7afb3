"""The audit rule of each model: which parts of its guarantee a release breaks.

A rule is registered under the model's name and knows nothing of any method. A model without a rule cannot be
used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shoal.auditing.classes import Diversity
from shoal.auditing.outcome import Audit
from shoal.errors import InputError, Reason, listing
from shoal.kernels import ROUNDING
from shoal.models import (
    KK,
    Concealment,
    CoverageModel,
    Dissimilarity,
    Freeform,
    KAnonymity,
    KOne,
    Model,
    OneK,
    Patterned,
    SetAnonymity,
    SetDiversity,
)
from shoal.schema import Schema

COVERING = "among the rows that cover some record"
MATCHING = "among the matches of some record"
OVERALL = "in the release as a whole"
"""Judged, too, where crowds overlap: few rows that cover everybody would make a frequent value look rare."""

Evidence = Literal["around", "suppressions", "proximity"]
"""What an audit finds out only if it is needed: the sensitive values around each record, which cells are
suppressed, how close the sensitive values of a class are."""

Check = Callable[[Any, Audit, Schema], Iterator[str]]
"""Yields each part of a guarantee that does not hold, given the model, what the auditor found, and what the
columns of the original are."""


@dataclass(frozen=True)
class Rule:
    """How a release is held against a model.

    Parameters
    ----------
    check
        Yields what is broken.
    needs
        What the auditor must find out first, beyond classes, coverage and matches.
    """

    check: Check
    needs: frozenset[Evidence]


RULES: dict[str, Rule] = {}
"""The rule of each model, by the model's name."""


def rule(model: type[Model], *needs: Evidence) -> Callable[[Check], Check]:
    """Register a function as the audit rule of a model."""

    def register(check: Check) -> Check:
        RULES[model.name] = Rule(check, frozenset(needs))
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
def k_anonymity(model: KAnonymity, found: Audit, schema: Schema) -> Iterator[str]:
    """Classes of at least k identical rows, varied as required."""
    yield from small_classes(found, model.k)
    yield from few_rows(found, model.k)
    yield from few_matches(found, model.k)
    yield from undiverse(model, schema, {"in some class": found.diversity})


@rule(Freeform, "around")
def freeform(model: Freeform, found: Audit, schema: Schema) -> Iterator[str]:
    """At least k covering rows, covered records and matches, varied as required."""
    yield from few_rows(found, model.k)
    yield from few_records(found, model.k)
    yield from few_matches(found, model.k)
    places = {
        COVERING: found.diversity_consistent,
        MATCHING: found.diversity_around,
        OVERALL: found.diversity_overall,
    }
    yield from undiverse(model, schema, places)


@rule(SetAnonymity, "around")
def set_anonymity(model: SetAnonymity, found: Audit, schema: Schema) -> Iterator[str]:
    """As freeform, for sets of items."""
    yield from freeform(Freeform(k=model.k), found, schema)


@rule(SetDiversity, "around")
def set_diversity(model: SetDiversity, found: Audit, schema: Schema) -> Iterator[str]:
    """As freeform with l different sensitive values."""
    yield from freeform(Freeform(k=model.l, p=model.l), found, schema)
    if found.diversity_overall:
        yield from undiverse(Freeform(k=model.l, l=model.l), schema, {OVERALL: found.diversity_overall})


@rule(OneK, "around")
def one_k(model: OneK, found: Audit, schema: Schema) -> Iterator[str]:
    """At least k covering rows of each record."""
    yield from left_out(model, found)
    yield from few_rows(found, model.k)
    places = {COVERING: found.diversity_consistent, OVERALL: found.diversity_overall}
    yield from undiverse(model, schema, places)


@rule(KOne, "around")
def k_one(model: KOne, found: Audit, schema: Schema) -> Iterator[str]:
    """At least k covered records of each row."""
    yield from left_out(model, found)
    yield from few_records(found, model.k)
    places = {COVERING: found.diversity_consistent, OVERALL: found.diversity_overall}
    yield from undiverse(model, schema, places)


@rule(KK, "around")
def kk(model: KK, found: Audit, schema: Schema) -> Iterator[str]:
    """At least k covering rows and covered records."""
    yield from left_out(model, found)
    yield from few_rows(found, model.k)
    yield from few_records(found, model.k)
    places = {COVERING: found.diversity_consistent, OVERALL: found.diversity_overall}
    yield from undiverse(model, schema, places)


@rule(Concealment, "around")
def concealment(model: Concealment, found: Audit, schema: Schema) -> Iterator[str]:
    """At least k matches of each record, and of each row if two-sided."""
    yield from few_rows(found, model.k)
    yield from few_matches(found, model.k)
    if model.two_sided:
        least = int(found.matches.matches_of_row.min())
        if least < model.k:
            count = int((found.matches.matches_of_row < model.k).sum())
            yield (
                f"{count} released rows have fewer than k = {model.k} persons left once everybody must have "
                f"one; the worst has {least}"
            )
    places = {MATCHING: found.diversity_around, OVERALL: found.diversity_overall}
    yield from undiverse(model, schema, places)


def left_out(model: CoverageModel, found: Audit) -> Iterator[str]:
    """Yield that more or fewer records are left out than were to be withheld, if so."""
    missing = found.records - found.rows
    withheld = math.ceil(model.withhold * found.records)
    if withheld and missing != withheld:
        yield f"{missing} records are left out, although {withheld} were to be withheld"


@rule(Patterned, "suppressions")
def patterned(model: Patterned, found: Audit, schema: Schema) -> Iterator[str]:
    """Classes of at least k identical rows, suppressed by allowed patterns."""
    yield from small_classes(found, model.k)
    yield from few_rows(found, model.k)
    yield from few_matches(found, model.k)
    mask = model.mask({column.name: column.weight for column in schema.quasi})
    for kind in found.suppressions:
        if kind.blurred:
            yield f"{kind.rows} rows are neither exact nor suppressed in {listing(kind.blurred)}"
        elif not mask.allows(np.isin(mask.columns, kind.suppressed), np.isin(mask.columns, kind.either)):
            what = listing(kind.suppressed) or "nothing"
            yield f"{kind.rows} rows suppress {what}, which no pattern allows"


@rule(Dissimilarity, "around", "proximity")
def dissimilarity(model: Dissimilarity, found: Audit, schema: Schema) -> Iterator[str]:
    """Classes of at least k identical rows whose sensitive values are far apart."""
    yield from small_classes(found, model.k)
    yield from few_rows(found, model.k)
    yield from few_matches(found, model.k)
    present = {column.column for column in found.diversity}
    absent = [column.name for column in schema.sensitive if column.name not in present]
    if absent or not found.proximity:
        what = f"{listing(absent)} are not in the release" if absent else "there are none"
        yield f"a distance of sensitive values was promised, but of the sensitive columns {what}"
        return
    near = found.proximity[0]
    if near.vulnerability:
        yield (
            f"in {near.vulnerability:.1%} of the classes, more than {1 - model.delta:.1%} of the other "
            f"values of {near.column} are within {model.epsilon:g} of one; in the worst, {near.risk:.1%} are"
        )


def small_classes(found: Audit, k: int) -> Iterator[str]:
    """Yield that some classes of equal rows are smaller than k, if so."""
    if found.k < k:
        small = found.classes.sizes[found.classes.sizes < k]
        yield (
            f"{len(small)} classes with {int(small.sum())} rows have fewer than k = {k} rows; "
            f"the smallest has {found.k}"
        )


def few_rows(found: Audit, k: int) -> Iterator[str]:
    """Yield that some records fit fewer than k rows, if so: the level (1,k)."""
    least = found.consistency.rows_per_record
    if least < k:
        few = found.consistency.rows_of_record
        count = int(((few > 0) & (few < k)).sum())
        yield f"{count} records are consistent with fewer than k = {k} rows; the worst with {least}"


def few_records(found: Audit, k: int) -> Iterator[str]:
    """Yield that some rows fit fewer than k records, if so: the level (k,1)."""
    least = int(found.consistency.records_of_row.min())
    if least < k:
        count = int((found.consistency.records_of_row < k).sum())
        yield f"{count} released rows fit fewer than k = {k} records; the worst fits {least}"


def few_matches(found: Audit, k: int) -> Iterator[str]:
    """Yield that some records have fewer than k matches, if so, although they fit as many rows."""
    if found.consistency.rows_per_record >= k > found.concealment:
        count = int((found.matches.matches_of_record < k).sum())
        yield (
            f"{count} records have fewer than k = {k} rows left once everybody must have one; "
            f"the worst has {found.concealment}"
        )


def undiverse(model: Model, schema: Schema, places: Mapping[str, tuple[Diversity, ...]]) -> Iterator[str]:
    """Yield which sensitive columns are less varied than promised, and in which of these places."""
    required = model.diversity
    if required is None:
        return
    measured = {column.column for crowds in places.values() for column in crowds}
    absent = [column.name for column in schema.sensitive if column.name not in measured]
    if absent or not measured:
        what = (
            f"the sensitive columns {listing(absent)} are not in the release" if absent else "there is none"
        )
        yield f"diversity of sensitive values was promised, but {what}"
    named = set()
    for where, crowds in places.items():
        for column in crowds:
            for name, asked, found in (
                ("l", required.l, column.l),
                ("p", required.p, column.p),
                ("entropy_l", required.entropy_l, column.entropy_l),
            ):
                if asked is None or found >= asked * (1 - ROUNDING) or (column.column, name, found) in named:
                    continue
                named.add((column.column, name, found))
                yield f"{column.column!r} has only {name} = {found:.4g} instead of {asked:g} {where}"
