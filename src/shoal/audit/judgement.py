"""Which parts of a promise a release breaks, for each model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import singledispatch

import numpy as np

from shoal.audit.classes import Diversity
from shoal.audit.outcome import Audit
from shoal.errors import listing
from shoal.models import (
    KK,
    Concealment,
    ConsistentModel,
    Dissimilarity,
    DiverseModel,
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

_ROUNDING = 1e-9

FITTING = "among the rows that some record fits"
MATCHING = "among the matches of some record"
OVERALL = "in the release as a whole"
"""Judged, too, where crowds overlap: few rows that cover everybody would make a frequent value look rare."""


@singledispatch
def broken(model: Model, found: Audit, schema: Schema) -> Iterator[str]:  # noqa: ARG001 - used by those below
    """Yield each part of a promise that does not hold, in plain words.

    Parameters
    ----------
    model
        The promise.
    found
        What the auditor found, before it is judged.
    schema
        What the columns of the original are.
    """
    raise TypeError(f"nobody can judge {type(model).__name__}")


@broken.register
def _(model: KAnonymity, found: Audit, schema: Schema) -> Iterator[str]:
    yield from small_classes(found, model.k)
    yield from few_rows(found, model.k)
    yield from few_matches(found, model.k)
    yield from undiverse(model, schema, {"in some class": found.diversity})


@broken.register
def _(model: Freeform, found: Audit, schema: Schema) -> Iterator[str]:
    yield from few_rows(found, model.k)
    yield from few_records(found, model.k)
    yield from few_matches(found, model.k)
    places = {
        FITTING: found.diversity_consistent,
        MATCHING: found.diversity_around,
        OVERALL: found.diversity_overall,
    }
    yield from undiverse(model, schema, places)


@broken.register
def _(model: SetAnonymity, found: Audit, schema: Schema) -> Iterator[str]:
    yield from broken(Freeform(k=model.k), found, schema)


@broken.register
def _(model: SetDiversity, found: Audit, schema: Schema) -> Iterator[str]:
    yield from broken(Freeform(k=model.l, p=model.l), found, schema)
    if found.diversity_overall:
        yield from undiverse(Freeform(k=model.l, l=model.l), schema, {OVERALL: found.diversity_overall})


@broken.register
def _(model: OneK, found: Audit, schema: Schema) -> Iterator[str]:
    yield from left_out(model, found)
    yield from few_rows(found, model.k)
    places = {FITTING: found.diversity_consistent, OVERALL: found.diversity_overall}
    yield from undiverse(model, schema, places)


@broken.register
def _(model: KOne, found: Audit, schema: Schema) -> Iterator[str]:
    yield from left_out(model, found)
    yield from few_records(found, model.k)
    places = {FITTING: found.diversity_consistent, OVERALL: found.diversity_overall}
    yield from undiverse(model, schema, places)


@broken.register
def _(model: KK, found: Audit, schema: Schema) -> Iterator[str]:
    yield from left_out(model, found)
    yield from few_rows(found, model.k)
    yield from few_records(found, model.k)
    places = {FITTING: found.diversity_consistent, OVERALL: found.diversity_overall}
    yield from undiverse(model, schema, places)


@broken.register
def _(model: Concealment, found: Audit, schema: Schema) -> Iterator[str]:
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


def left_out(model: ConsistentModel, found: Audit) -> Iterator[str]:
    """Yield that more or fewer records are left out than were to be withheld, if so."""
    missing = found.records - found.rows
    withheld = math.ceil(model.withhold * found.records)
    if withheld and missing != withheld:
        yield f"{missing} records are left out, although {withheld} were to be withheld"


@broken.register
def _(model: Patterned, found: Audit, schema: Schema) -> Iterator[str]:
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


@broken.register
def _(model: Dissimilarity, found: Audit, schema: Schema) -> Iterator[str]:
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


def undiverse(
    model: DiverseModel, schema: Schema, places: Mapping[str, tuple[Diversity, ...]]
) -> Iterator[str]:
    """Yield which sensitive columns are less varied than promised, and in which of these places."""
    if not model.diverse:
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
                ("l", model.l, column.l),
                ("p", model.p, column.p),
                ("entropy_l", model.entropy_l, column.entropy_l),
            ):
                if asked is None or found >= asked * (1 - _ROUNDING) or (column.column, name, found) in named:
                    continue
                named.add((column.column, name, found))
                yield f"{column.column!r} has only {name} = {found:.4g} instead of {asked:g} {where}"
