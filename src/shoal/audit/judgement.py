"""Which parts of a promise a release breaks, for each model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import singledispatch

from shoal.audit.classes import Diversity
from shoal.audit.outcome import Audit
from shoal.errors import listing
from shoal.models import Dissimilarity, DiverseModel, Freeform, KAnonymity, Model
from shoal.schema import Schema

_ROUNDING = 1e-9


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
        "among the rows that some record fits": found.diversity_consistent,
        "among the matches of some record": found.diversity_around,
    }
    yield from undiverse(model, schema, places)


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
