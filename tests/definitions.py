"""The guarantees as docs/promises.md defines them, by brute force on the text of a small release."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
from allowed_patterns import can_be_patterned, unpatterned
from chance_program import least_chance_by_program
from close_values import (
    ROUNDING,
    all_sensitive_values,
    can_be_partitioned,
    dissimilar,
    distance_of,
    like_the_whole,
    sensitive_values,
)
from few_records import Original, Row, all_at_home, grouped, matches_of, quasi_cells, text_of

from shoal import (
    KK,
    Concealment,
    Dissimilarity,
    Freeform,
    KAnonymity,
    KmAnonymity,
    KOne,
    OneK,
    Patterned,
    SetAnonymity,
    SetDiversity,
)
from shoal.models import LikenessModel, Model, OwnRowsModel
from shoal.schema import Role


def breaches(original: Original, rows: Sequence[Row], model: Model) -> list[str]:
    """Return which parts of a guarantee a release breaks."""
    return list(_breaches(original, rows, model))


def _breaches(original: Original, rows: Sequence[Row], model: Model) -> Iterator[str]:
    records = [original.records[i] for i in original.kept]
    cover = [[original.row_covers(row, record) for row in rows] for record in records]
    withheld = math.ceil(getattr(model, "withhold", 0.0) * len(records))
    if len(rows) != len(records) - withheld:
        yield "another number of rows"
        return
    if not all_at_home(cover, len(rows)):
        yield "not every row can have a record of its own"
        return
    around = [[j for j in range(len(rows)) if covering[j]] for covering in cover]
    crowds = [rows_of for rows_of in around if rows_of]  # a record that is withheld may have none
    covered = [sum(covering[j] for covering in cover) for j in range(len(rows))]
    quasi = quasi_cells(original, rows)
    classes = list(grouped(quasi).values())
    k = model.crowd
    whole = [list(range(len(rows)))]
    match model:
        case KAnonymity():
            yield from _fewer(map(len, classes), k, "rows are identical")
            yield from _undiverse(original, rows, classes, model.l, model.p, model.entropy_l)
        case Freeform() | SetAnonymity() | SetDiversity():
            matches = matches_of(cover)
            yield from _fewer(map(len, around), k, "rows cover a record")
            yield from _fewer(covered, k, "records covered by a row")
            yield from _fewer(map(len, matches), k, "matches of a record")
            yield from _undiverse(original, rows, around + matches + whole, *_asked(model))
            if isinstance(model, SetDiversity):
                yield from _undiverse(original, rows, whole, model.l, None, None)
        case OneK() | KOne() | KK():
            if not isinstance(model, KOne):
                yield from _fewer(map(len, crowds), k, "rows cover a record")
            if not isinstance(model, OneK):
                yield from _fewer(covered, k, "records covered by a row")
            yield from _likely(cover, model)
            yield from _undiverse(original, rows, crowds + whole, model.l, model.p, model.entropy_l)
        case Concealment():
            matches = matches_of(cover)
            yield from _fewer(map(len, matches), k, "matches of a record")
            if model.two_sided:
                of_row = Counter(row for rows_of in matches for row in rows_of)
                yield from _fewer([of_row[j] for j in range(len(rows))], k, "matches of a row")
            yield from _likely(cover, model)
            yield from _undiverse(original, rows, matches + whole, model.l, model.p, model.entropy_l)
        case KmAnonymity():
            yield from _seen_in_few_columns(original, rows, records, model)
        case Patterned():
            yield from _fewer(map(len, classes), k, "rows are identical")
            yield from unpatterned(original, rows, model)
            yield from _undiverse(original, rows, classes, model.l, model.p, model.entropy_l)
        case LikenessModel():
            yield from _fewer(map(len, classes), k, "rows are identical")
            # What holds for classes holds for the rows around a record, and for its matches, too.
            crowds = classes if min(map(len, classes)) < k else classes + around + matches_of(cover)
            yield from _unlike(original, rows, crowds, model)
        case Dissimilarity():
            yield from _fewer(map(len, classes), k, "rows are identical")
            yield from _close(original, rows, classes, model)


def _close(
    original: Original, rows: Sequence[Row], classes: Sequence[Sequence[int]], model: Dissimilarity
) -> Iterator[str]:
    distance = distance_of(original, model)
    values = [sensitive_values(original, row) for row in rows]
    for members in classes:
        if not dissimilar([values[j] for j in members], model, distance):
            yield "too many close values in a class"


def _seen_in_few_columns(
    original: Original, rows: Sequence[Row], records: Sequence[Row], model: KmAnonymity
) -> Iterator[str]:
    known = original.having(Role.QUASI)
    for some in combinations(known, min(model.knows, len(known))):
        seen = [[all(original.covers(c, row, r[c.name]) for c in some) for row in rows] for r in records]
        yield from _fewer(map(sum, seen), model.k, "rows cover a record in a few columns")
        yield from _fewer(map(sum, zip(*seen, strict=True)), model.k, "records covered there by a row")


def _unlike(
    original: Original, rows: Sequence[Row], crowds: Sequence[Sequence[int]], model: LikenessModel
) -> Iterator[str]:
    for column, crowd in product(original.having(Role.SENSITIVE), crowds):
        shown = [row[column.name] for row in rows]
        if not like_the_whole(original, column, [shown[j] for j in crowd], shown, model):
            yield "a crowd is distributed otherwise than the whole"
            return


def _asked(model: Freeform | SetAnonymity | SetDiversity) -> tuple[Any, Any, Any]:
    """Return l, p and the l of the entropy that such a model requires."""
    if isinstance(model, SetDiversity):
        return None, model.l, None
    return (model.l, model.p, model.entropy_l) if isinstance(model, Freeform) else (None, None, None)


def possible(original: Original, model: Model) -> bool:
    """Return whether some release of this table can keep a guarantee, as far as a few records tell.

    For guarantees about sensitive values, the table as one crowd decides.
    """
    records = [original.records[i] for i in original.kept]
    match model:
        case Patterned():
            rows = [text_of(original, record) for record in records]

            def varied(members: frozenset[int]) -> bool:
                limits = (model.l, model.p, model.entropy_l)
                return not list(_undiverse(original, rows, [sorted(members)], *limits))

            return can_be_patterned(original, records, model, varied)
        case Dissimilarity():
            distance = distance_of(original, model)
            return can_be_partitioned(
                tuple(range(len(records))), all_sensitive_values(original), model, distance
            )
        case SetDiversity():
            rows = [text_of(original, record) for record in records]
            return all(
                max(Counter(row[column.name] for row in rows).values()) * model.l <= len(rows)
                for column in original.having(Role.SENSITIVE)
            )
        case _:
            size = len(records) - math.ceil(getattr(model, "withhold", 0.0) * len(records))
            rows = [text_of(original, record) for record in records]
            asked = (getattr(model, name, None) for name in ("l", "p", "entropy_l"))
            limits = tuple(asked)
            if isinstance(model, OwnRowsModel) and model.degree > size:
                return False
            # Some records may be withheld, at random: possible only if it is for every choice of them.
            return all(
                not list(_undiverse(original, [rows[i] for i in chosen], [list(range(size))], *limits))
                for chosen in combinations(range(len(rows)), size)
            )


def _undiverse(
    original: Original,
    rows: Sequence[Row],
    crowds: Sequence[Sequence[int]],
    frequency: float | None,
    different: int | None,
    entropy: float | None,
) -> Iterator[str]:
    for column, crowd in product(original.having(Role.SENSITIVE), crowds):
        often = Counter(rows[j][column.name] for j in crowd).values()
        size = sum(often)
        if frequency is not None and max(often, default=0) * frequency > size * (1 + ROUNDING):
            yield "one sensitive value is too frequent"
        if different is not None and len(often) < different:
            yield "too few different sensitive values"
        if entropy is not None:
            bits = -sum(count / size * math.log(count / size) for count in often)
            if math.exp(bits) < entropy * (1 - ROUNDING):
                yield "too little entropy of sensitive values"


def _likely(cover: Sequence[Sequence[bool]], model: OwnRowsModel) -> Iterator[str]:
    """Yield that no assignment of rows to records keeps every guess as unlikely as promised, if so."""
    if model.chance is not None and least_chance_by_program(np.array(cover).T) > model.chance + 1e-7:
        yield "a guess about a row is too likely to be right"


def _fewer(sizes: Any, k: int, what: str) -> Iterator[str]:
    least = min(sizes)
    if least < k:
        yield f"only {least} {what}"
