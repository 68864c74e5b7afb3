"""The distance of sensitive columns: the one that suits them, or the one that is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.base.wording import with_article
from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.kinds.domain import Sensitive
from shoal.kinds.hierarchy import MISSING
from shoal.measures.distances.absolute import Absolute
from shoal.measures.distances.asked import Asked
from shoal.measures.distances.composite import Least, Norm
from shoal.measures.distances.distance import Distance, LinearDistance
from shoal.measures.distances.equality import Equality
from shoal.measures.distances.tree import TreeDistance
from shoal.models.dissimilarity import DISTANCES, NORMS
from shoal.schema import Column


def distance_over(
    sensitive: Sequence[Sensitive],
    columns: Sequence[Column],
    named: str | Callable[[Any, Any], float] | None = None,
) -> tuple[NDArray[np.int32], Distance]:
    """Return the values of one or several sensitive columns as one, and the distance between these.

    Parameters
    ----------
    sensitive
        The columns; several are one composite value.
    columns
        What each of them is; their weights count in norms.
    named
        One of `DISTANCES`, or a function of two values; None for the distance that suits one column, and
        ``l1`` for several.

    Returns
    -------
    tuple
        For each record the number of its value, and the distance of these values.

    Raises
    ------
    InputError
        If there is no column, no distance of that name, or the columns do not suit it.
    """
    if not sensitive:
        raise InputError(
            "how close sensitive values are can be told only of sensitive columns, but none is named; name "
            "the sensitive columns",
            reason=Reason.NO_SENSITIVE,
            parameter="sensitive",
        )
    if not (named is None or callable(named) or named in DISTANCES):
        raise InputError(
            f"distance {named!r} is unknown{did_you_mean(str(named), DISTANCES)}; there is "
            f"{listing(DISTANCES)}",
            reason=Reason.PARAMETER,
            parameter="distance",
        )
    if callable(named):
        texts = [column.values.to_list() for column in sensitive]
        if len(texts) == 1:
            return sensitive[0].codes, Asked(named, texts[0])
        numbers, codes = _composite([column.codes for column in sensitive])
        rows = [tuple(t[i] for t, i in zip(texts, row, strict=True)) for row in codes.tolist()]
        return numbers, Asked(named, rows)
    if named in ("absolute", "equality", "tree"):
        return _single(sensitive, columns, named)
    parts = tuple(distance_of(s.values, c) for s, c in zip(sensitive, columns, strict=True))
    if named is None and len(parts) == 1:
        return sensitive[0].codes, parts[0]
    # Numbered by rank, so that values with near numbers tend to be close.
    numbers, ranks = _composite([p.rank[s.codes] for p, s in zip(parts, sensitive, strict=True)])
    by_part = [np.argsort(p.rank)[column] for p, column in zip(parts, ranks.T, strict=True)]
    components = np.column_stack(by_part).astype(np.int32)
    if named == "least":
        return numbers, Least(parts, components)
    return numbers, Norm(parts, components, NORMS[named or "l1"], tuple(column.weight for column in columns))


def _single(
    sensitive: Sequence[Sensitive], columns: Sequence[Column], named: str
) -> tuple[NDArray[np.int32], Distance]:
    """Return the same for a distance that only one column can have."""
    if len(sensitive) > 1 and named == "equality":
        numbers, codes = _composite([column.codes for column in sensitive])
        return numbers, Equality(len(codes))
    if len(sensitive) > 1:
        raise InputError(
            f"distance {named!r} is for one sensitive column, not for {listing(c.name for c in sensitive)}; "
            f"take {listing((*NORMS, 'least'))}",
            reason=Reason.PARAMETER,
        )
    if named == "equality":
        return sensitive[0].codes, Equality(len(sensitive[0]))
    suits = distance_of(sensitive[0].values, columns[0])
    if not isinstance(suits, Absolute if named == "absolute" else TreeDistance):
        needs = "numbers, dates or ordered categories" if named == "absolute" else "a hierarchy"
        raise InputError(
            f"distance {named!r} needs {needs}, which column {columns[0].name!r} does not have",
            reason=Reason.PARAMETER,
            column=columns[0].name,
        )
    return sensitive[0].codes, suits


def _composite(columns: Sequence[NDArray[np.integer[Any]]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the number of each row of several columns, and the different rows in ascending order."""
    rows, numbers = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    return numbers.reshape(-1).astype(np.int32), rows


def has_distance(column: Column) -> bool:
    """Return whether values of a column can be nearer to each other or farther apart, not only equal."""
    return column.hierarchy is not None or column.kind.ordered


def distance_of(values: pl.Series, column: Column) -> LinearDistance:
    """Return the distance that suits a sensitive column.

    Leaves of a hierarchy have a `TreeDistance`; numbers and dates (in days) their absolute difference, and so
    have ordered categories, by their place; other categories are equal or not.

    Parameters
    ----------
    values
        Its different values, null for a missing one.
    column
        What it is.

    Raises
    ------
    InputError
        If the hierarchy lacks a value, or a value is not a number, not finite, not a date or not in the
        declared domain.
    """
    if column.hierarchy is not None:
        texts = values.cast(pl.String).fill_null(MISSING).to_list()
        tree = column.hierarchy.over(texts)
        return TreeDistance(tree, np.array([tree.leaf_index[text] for text in texts], dtype=np.int32))
    numbers = column.kind.on_a_line(values, column)
    if numbers is None:
        return Equality(len(values))
    wrong = numbers.is_null() & values.is_not_null()
    if wrong.any() and (not column.kind.numeric or not _infinite(values.filter(wrong))):
        what = (
            "in the declared domain"
            if column.kind.needs_domain
            else f"{with_article(column.kind.value)} value"
        )
        raise InputError(
            f"column {column.name!r} holds values that are not {what}; correct them, declare them as missing "
            "marks, or make the column categorical",
            reason=Reason.BAD_VALUE,
            column=column.name,
        )
    if wrong.any():
        raise InputError(
            f"column {column.name!r} holds numbers that are not finite, which are at no distance of others; "
            "correct them or leave them empty",
            reason=Reason.NOT_FINITE,
            column=column.name,
        )
    return Absolute.of(numbers)


def ground_distance(values: pl.Series, column: Column, named: str | None) -> LinearDistance:
    """Return the distance between two values of a sensitive column by which t-closeness moves shares.

    Parameters
    ----------
    values, column
        See `distance_of`.
    named
        One of `GROUND_DISTANCES`; None for the one that suits the column.

    Raises
    ------
    InputError
        If the column does not suit the distance, or see `distance_of`.
    """
    if named == "equal":
        return Equality(len(values))
    suits = distance_of(values, column)
    needed = {"ordered": Absolute, "hierarchical": TreeDistance}
    if named is not None and not isinstance(suits, needed[named]):
        needs = "numbers, dates or ordered categories" if named == "ordered" else "a hierarchy"
        raise InputError(
            f"the {named} distance needs {needs}, which column {column.name!r} does not have",
            reason=Reason.PARAMETER,
            column=column.name,
            parameter="ground_distance",
        )
    return suits


def _infinite(values: pl.Series) -> bool:
    """Return whether some values would be numbers if these were finite."""
    plain = values.str.strip_chars() if values.dtype == pl.String else values
    return bool(plain.cast(pl.Float64, strict=False).is_not_null().any())
