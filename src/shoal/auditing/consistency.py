"""Coverage of a release: how many rows cover each record, and how many records each row covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.auditing.classes import Diversity
from shoal.auditing.reading import ReleasedColumn
from shoal.base.tally import Often, merged, total
from shoal.kinds.domain import Sensitive
from shoal.recoding.coverage import Graph, Matches
from shoal.table import Table


@dataclass(frozen=True, eq=False)
class Consistency:
    """How many rows cover each record, and how many records each row covers.

    Parameters
    ----------
    rows_of_record
        For each original record, the number of released rows that cover it.
    records_of_row
        For each released row, the number of original records it covers.
    strayed
        How many released rows do not cover the record they were made from; None without a key.
    records_often, rows_often
        How many records and rows have each of these numbers, if they are counted by number.
    """

    rows_of_record: NDArray[np.int64]
    records_of_row: NDArray[np.int64]
    strayed: int | None
    records_often: Often = None
    rows_often: Often = None

    @classmethod
    def merge(cls, parts: Sequence[Consistency]) -> Consistency:
        """Return the coverage within each of several releases, counted by number."""
        rows, records_often = merged((part.rows_of_record, part.records_often) for part in parts)
        records, rows_often = merged((part.records_of_row, part.rows_often) for part in parts)
        strayed = [part.strayed for part in parts if part.strayed is not None]
        return cls(rows, records, sum(strayed) if strayed else None, records_often, rows_often)

    @property
    def records_without_row(self) -> int:
        """Number of records that no released row covers."""
        return total(self.rows_of_record == 0, self.records_often)

    @property
    def rows_without_record(self) -> int:
        """Number of released rows that cover no record."""
        return total(self.records_of_row == 0, self.rows_often)

    @property
    def rows_per_record(self) -> int:
        """The minimum number of rows that cover a record, among the records that some row covers."""
        some = self.rows_of_record[self.rows_of_record > 0]
        return int(some.min()) if len(some) else 0

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "rows_per_record": self.rows_per_record,
            "records_per_row": int(self.records_of_row.min()),
            "records_without_row": self.records_without_row,
            "rows_without_record": self.rows_without_record,
            "strayed_rows": self.strayed,
        }


def graph_of(columns: Sequence[ReleasedColumn], table: Table) -> Graph:
    """Return the graph of original records and the released rows that cover them.

    Parameters
    ----------
    columns
        The release as an outsider reads it.
    table
        The original.
    """
    cells = np.column_stack([column.cell for column in columns])
    return Graph.of(table.codes, cells, [column.values for column in columns])


def consistency_of(
    columns: Sequence[ReleasedColumn],
    table: Table,
    key: NDArray[np.int64] | None = None,
    graph: Graph | None = None,
) -> Consistency:
    """Compare every released row with every original record, without listing the pairs.

    Parameters
    ----------
    columns
        The release as an outsider reads it.
    table
        The original.
    key
        For each released row, the record of the table it was made from, if that is known.
    graph
        `graph_of` columns and table, if it is known already.
    """
    rows, records = (graph or graph_of(columns, table)).degrees()
    strayed = None
    if key is not None:
        covered = np.logical_and.reduce(
            [c.values.covers(c.cell, a.codes[key]) for c, a in zip(columns, table.attributes, strict=True)]
        )
        strayed = int((~covered).sum())
    return Consistency(rows, records, strayed)


def diversity_around(column: Sensitive, graph: Graph, matches: Matches | None = None) -> Diversity:
    """Return how diverse a sensitive column is among the released rows that cover each record.

    Takes about as much work as `consistency_of`, however many values there are. Records that no row covers,
    because they were left out, are skipped.

    Parameters
    ----------
    column
        The column of the release.
    graph
        Which rows cover which records.
    matches
        The matches of this graph, if only those count.
    """
    found = graph.count_labels(column.codes, len(column), matches)
    some = graph.record_type[found.boxes[graph.record_type] > 0]
    rows = found.boxes[some].astype(np.float64)
    return Diversity(
        column.name,
        found.distinct[some],
        found.most[some] / rows,
        np.maximum(np.log(rows) - found.logs[some] / rows, 0.0),
        np.ones(len(some), dtype=np.int64),
    )
