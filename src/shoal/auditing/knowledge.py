"""Attackers who know only some of the quasi-identifiers: every combination of a given number of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from shoal.auditing.released import ReleasedTable
from shoal.errors import InputError, Reason
from shoal.models import Model
from shoal.models.km_anonymity import MOST_COMBINATIONS
from shoal.recoding.coverage import Graph

WORST = 5


@dataclass(frozen=True)
class KnownColumns:
    """How well a release hides records and rows from an attacker who knows one combination of columns.

    Parameters
    ----------
    columns
        The quasi-identifiers that the attacker knows.
    rows_per_record, records_per_row
        The least number of rows that cover a record, and of records that a row covers, in these columns.
    records_below, rows_below
        The number of records and of rows with fewer than k; 0 if no k was promised.
    """

    columns: tuple[str, ...]
    rows_per_record: int
    records_per_row: int
    records_below: int
    rows_below: int


@dataclass(frozen=True)
class PartialKnowledge:
    """How well a release hides records from every attacker who knows at most a number of columns.

    Parameters
    ----------
    knows
        That number.
    combinations
        The number of combinations of this many columns. With fewer columns, more rows cover each record.
    rows_per_record, records_per_row
        The least number of rows that cover a record, and of records that a row covers, in any of them.
    worst
        The combinations with most records and rows below k, or with the fewest rows for a record.
    looked_at
        The number of combinations that were counted: none if all columns together hide every record.
    """

    knows: int
    combinations: int
    rows_per_record: int
    records_per_row: int
    worst: tuple[KnownColumns, ...]
    looked_at: int

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "worst"}
        return found | {"worst": [{**vars(each), "columns": list(each.columns)} for each in self.worst]}

    def findings(self, k: int) -> Iterator[str]:
        """Yield that some attacker finds fewer than k rows or records, if so."""
        for each in self.worst[:1]:
            if each.records_below or each.rows_below:
                yield (
                    f"an attacker who knows {', '.join(each.columns)} finds fewer than k = {k} rows for "
                    f"{each.records_below:,} records, and fewer than {k} records for {each.rows_below:,} rows"
                )


def require_knows(knows: int | None, columns: int, model: Model | None) -> None:
    """Refuse a number of known columns that is none, or a model that is not about coverage alone.

    Raises
    ------
    InputError
        If there are too many combinations for the audit, or it does not support this model.
    """
    if knows is None:
        return
    if isinstance(knows, bool) or not isinstance(knows, int) or not 1 <= knows <= columns:
        wrong = f"knows = {knows!r} must be a number of quasi-identifiers, from 1 to {columns}"
    elif comb(columns, knows) > MOST_COMBINATIONS:
        wrong = f"knows = {knows} has {comb(columns, knows):,} combinations of {columns} quasi-identifiers, "
        wrong += f"more than {MOST_COMBINATIONS:,}; choose a smaller number"
    elif model is not None and (not model.in_some_columns or model.diversity is not None):
        wrong = "knows is about freeform with k alone; choose this model, or none"
    else:
        return
    raise InputError(wrong, reason=Reason.PARAMETER, parameter="knows")


def require_countable(release: ReleasedTable, model: str, knows: int) -> None:
    """Refuse tables in which persons have several records, and more combinations than can be counted.

    Raises
    ------
    InputError
        If it is such a table.
    """
    require_knows(min(knows, columns := len(release.table.attributes)), columns, None)
    if release.table.owners is not None:
        raise InputError(
            f"{model} counts records, and some persons have several; choose freeform",
            reason=Reason.PARAMETER,
            parameter="model",
        )


def partial_knowledge(release: ReleasedTable, knows: int, k: int | None) -> PartialKnowledge:
    """Return how well a release hides records from attackers who know at most some columns; exactly.

    A record is covered by no fewer rows if the attacker knows fewer columns. So all combinations of `knows`
    columns are enough, and none is looked at if all columns together hide every record and every row.

    Parameters
    ----------
    release
        The release beside its original.
    knows
        The number of columns; all of them if there are fewer.
    k
        The crowd that was promised; None if nothing was.
    """
    names = [attribute.column.name for attribute in release.table.attributes]
    knows = min(knows, len(names))
    number = comb(len(names), knows)
    whole = release.consistency
    there = whole.rows_of_record > 0  # others were left out, which is another finding
    least, fewest = whole.rows_per_record, int(whole.records_of_row.min())
    if k is not None and least >= k and fewest >= k:
        return PartialKnowledge(knows, number, least, fewest, (), 0)
    cells = np.column_stack([column.cell for column in release.columns])
    found = []
    for chosen in combinations(range(len(names)), knows):
        some = list(chosen)
        graph = Graph.of(
            np.ascontiguousarray(release.table.codes[:, some]),
            np.ascontiguousarray(cells[:, some]),
            [release.columns[column].values for column in some],
        )
        rows, records = graph.degrees()
        rows = rows[there]
        below = (0, 0) if k is None else (int((rows < k).sum()), int((records < k).sum()))
        least_rows, least_records = int(rows.min(initial=len(release))), int(records.min())
        found.append(KnownColumns(tuple(names[i] for i in some), least_rows, least_records, *below))
    worst = sorted(found, key=lambda each: (-each.records_below - each.rows_below, each.rows_per_record))
    return PartialKnowledge(
        knows,
        number,
        min(each.rows_per_record for each in found),
        min(each.records_per_row for each in found),
        tuple(worst[:WORST]),
        number,
    )
