"""Count queries: the errors of a release if its readers ask how many records have certain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.base.randomness import Randomness
from shoal.errors import InputError, Reason
from shoal.kinds.domain import Sensitive
from shoal.recoding import Recoding
from shoal.table import Table

if TYPE_CHECKING:
    from shoal.reading import Reader

MOST_DRAWS = 1000
"""Up to this many times as many queries are drawn as are wanted, since some have no answer."""
ROUNDING = 1e-6
"""By how much the end of an interval may miss the truth."""


@dataclass(frozen=True, eq=False)
class Query:
    """How many records have values from a first to a last one in each of some columns?

    Parameters
    ----------
    quasi
        For each quasi-identifier that is asked about, its place in the table, the first and the last code.
    sensitive
        The same for sensitive columns, with ranks in the order of `Sensitive.ranks`.
    answer
        How many records of the original do; at least 1.
    """

    quasi: tuple[tuple[int, int, int], ...]
    sensitive: tuple[tuple[int, int, int], ...]
    answer: int


@dataclass(frozen=True, eq=False)
class QueryError:
    """The errors of the answers to some queries.

    Parameters
    ----------
    errors
        For each query, the difference of the release's answer and the true one, as a share of the true one.
    covered
        The share of queries whose true answer lies in the interval that the reader gave, which has 95%
        confidence; None for answers without intervals.
    """

    errors: NDArray[np.float64]
    covered: float | None = None

    @property
    def mean(self) -> float:
        """The average error."""
        return float(self.errors.mean())

    @property
    def median(self) -> float:
        """The error that half of the queries do not exceed."""
        return float(np.median(self.errors))

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        found = {"queries": len(self.errors), "mean": self.mean, "median": self.median}
        return found if self.covered is None else {**found, "covered": self.covered}


def draw_queries(
    table: Table,
    count: int,
    randomness: Randomness,
    *,
    selectivity: float = 0.1,
    quasi: int = 2,
    sensitive: int = 2,
) -> tuple[Query, ...]:
    """Draw random range queries (the paper on XColor, Section VI-B).

    Each asks about random columns. In each of q columns it asks for a random stretch of the domain, which has
    a share of selectivity^(1/q) of its values. Queries that no record answers are drawn again.

    Parameters
    ----------
    table
        The table.
    count
        How many queries.
    randomness
        Where they come from.
    selectivity
        Which share of the domain a query asks for in all; above 0, up to 1.
    quasi
        About how many quasi-identifiers each asks: the query dimensionality.
    sensitive
        About how many sensitive columns, at most as many as there are.

    Raises
    ------
    InputError
        If a parameter is impossible, or hardly any query has an answer.
    """
    available = len(table.attributes)
    sensitive = min(sensitive, len(table.sensitive))
    if not (count >= 1 and 0 < selectivity <= 1 and 1 <= quasi <= available and sensitive >= 0):
        raise InputError(
            f"{count} queries with selectivity {selectivity!r} about {quasi} of {available} "
            "quasi-identifiers are not possible; give 1 or more, a share above 0, and as many columns as "
            "there are",
            reason=Reason.PARAMETER,
        )
    generator = np.random.default_rng(randomness.words(4))
    ranks = [column.ranks for column in table.sensitive]
    drawn = (
        _query(table, ranks, generator, selectivity, quasi, sensitive) for _ in range(MOST_DRAWS * count)
    )
    queries = tuple(islice((query for query in drawn if query.answer), count))
    if len(queries) < count:
        raise InputError(
            "hardly any query has an answer; choose a larger selectivity or fewer columns",
            reason=Reason.PARAMETER,
        )
    return queries


def _query(
    table: Table,
    ranks: Sequence[NDArray[np.int64]],
    generator: np.random.Generator,
    selectivity: float,
    quasi: int,
    sensitive: int,
) -> Query:
    """Return a random query about this many columns, which may have the answer 0."""
    share = selectivity ** (1 / (quasi + sensitive))
    asked = generator.choice(len(table.attributes), quasi, replace=False)
    carried = generator.choice(len(ranks), sensitive, replace=False) if sensitive else ()
    about = tuple(_stretch(generator, int(a), len(table.attributes[a].domain), share) for a in asked)
    values = tuple(_stretch(generator, int(s), len(table.sensitive[s]), share) for s in carried)
    query = Query(about, values, 0)
    return replace(query, answer=int(_met(table, ranks, query).sum()))


def met_by(table: Table, query: Query) -> NDArray[np.bool_]:
    """Return which records a query counts."""
    return _met(table, [column.ranks for column in table.sensitive], query)


def _met(table: Table, ranks: Sequence[NDArray[np.int64]], query: Query) -> NDArray[np.bool_]:
    meets = _carrying(query.sensitive, table.sensitive, ranks, len(table))
    for place, first, last in query.quasi:
        codes = table.attributes[place].codes
        meets = meets & (first <= codes) & (codes <= last)
    return meets


def query_error(
    recoding: Recoding,
    queries: Sequence[Query],
    *,
    rows: NDArray[np.integer[Any]] | None = None,
    records: NDArray[np.integer[Any]] | None = None,
) -> QueryError:
    """Return the errors of a release's answers, if values are spread evenly over generalized ones.

    Parameters
    ----------
    recoding
        What is released for the quasi-identifiers.
    queries
        Drawn from the same table.
    rows, records
        For each released row, the row of the recoding it shows and the record whose sensitive values it
        carries, as `Release.rows` and `Release.order` say. By default each row carries the values of its own
        record, which is true of classes.

    Returns
    -------
    QueryError
        O(rows) time for each query.
    """
    table = recoding.table
    shown = recoding.box if rows is None else recoding.box[rows]
    carrier = np.arange(len(table)) if records is None else records
    ranks = [column.ranks for column in table.sensitive]
    sizes = [
        v.sizes_within(0, len(a.domain) - 1) for v, a in zip(recoding.values, table.attributes, strict=True)
    ]
    errors = np.empty(len(queries))
    for i, query in enumerate(queries):
        inside = np.ones(len(recoding.values[0]))
        for place, first, last in query.quasi:
            part = recoding.values[place].sizes_within(first, last)
            inside *= part / np.maximum(sizes[place], 1)
        carries = _carrying(query.sensitive, table.sensitive, ranks, len(table))[carrier]
        errors[i] = abs(inside[shown[carries]].sum() - query.answer) / query.answer
    return QueryError(errors)


def conditions_of(table: Table, query: Query) -> dict[str, Any]:
    """Return a query as a reader of the release takes it: conditions by column."""
    asked: dict[str, Any] = {}
    for place, first, last in query.quasi:
        attribute = table.attributes[place]
        values = attribute.domain.values.to_list()[first : last + 1]
        known = [value for value in values if value is not None]
        if attribute.domain.ordered:
            missing = [None] if len(known) < len(values) else []
            asked[attribute.column.name] = [*([(min(known), max(known))] if known else []), *missing]
        else:
            asked[attribute.column.name] = list(attribute.domain.labels[first : last + 1])
    for place, first, last in query.sensitive:
        column = table.sensitive[place]
        asked[column.name] = column.in_order[first : last + 1]
    return asked


def read_error(reader: Reader, table: Table, queries: Sequence[Query]) -> QueryError:
    """Return the errors of the answers of a release's reader.

    Parameters
    ----------
    reader
        The reader, which knows the release alone.
    table
        The original.
    queries
        Drawn from it.
    """
    answers = np.array([_read(reader, conditions_of(table, query)) for query in queries])
    truth = np.array([query.answer for query in queries])
    estimates, low, high = answers.T
    errors = np.abs(estimates - truth) / truth
    covered = (low - ROUNDING <= truth) & (truth <= high + ROUNDING)
    return QueryError(errors, float(covered.mean()))


def _read(reader: Reader, conditions: dict[str, Any]) -> tuple[float, float, float]:
    """Return a reader's estimate, and the ends of its interval."""
    try:
        answer = reader.count(conditions)
    except InputError:  # all records with such a value were withheld
        return 0.0, 0.0, 0.0
    return answer.estimate, *answer.interval


def _stretch(generator: np.random.Generator, place: int, domain: int, share: float) -> tuple[int, int, int]:
    """Return a random stretch of a domain: the place of its column, and the first and the last code."""
    length = min(max(round(domain * share), 1), domain)
    first = int(generator.integers(0, domain - length + 1))
    return place, first, first + length - 1


def _carrying(
    asked: Sequence[tuple[int, int, int]],
    columns: Sequence[Sensitive],
    ranks: Sequence[NDArray[np.int64]],
    records: int,
) -> NDArray[np.bool_]:
    """Return which records have the sensitive values that are asked for."""
    fits = np.ones(records, dtype=np.bool_)
    for place, first, last in asked:
        wanted = (first <= ranks[place]) & (ranks[place] <= last)
        fits &= wanted[columns[place].codes]
    return fits
