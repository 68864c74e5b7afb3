"""Consistency: which released rows could be a given person's, and whose could a given row be?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.audit.classes import Diversity
from shoal.audit.reading import ReleasedColumn
from shoal.encoding import sensitive as encode_sensitive
from shoal.errors import InternalError
from shoal.recoding import Generalized, Nodes, Ranges, Sets
from shoal.schema import Column
from shoal.table import Table


@dataclass(frozen=True, eq=False)
class Consistency:
    """How many rows and records are consistent with each other.

    Parameters
    ----------
    rows_of_record
        For each original record, the number of released rows that could be its own.
    records_of_row
        For each released row, the number of original records it could belong to.
    strayed
        How many released rows do not cover the record they were made from; None if nobody said which that is.
    """

    rows_of_record: NDArray[np.int64]
    records_of_row: NDArray[np.int64]
    strayed: int | None

    @property
    def records_without_row(self) -> int:
        """How many records are consistent with no released row."""
        return int((self.rows_of_record == 0).sum())

    @property
    def rows_without_record(self) -> int:
        """How many released rows are consistent with no record."""
        return int((self.records_of_row == 0).sum())

    @property
    def rows_per_record(self) -> int:
        """The least number of rows that any record is consistent with, among those that are with some."""
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


def consistency_of(
    columns: Sequence[ReleasedColumn], table: Table, key: NDArray[np.int64] | None = None
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
    """
    record_type, first_record = kernels.group_rows(table.codes)
    cells = np.column_stack([column.cell for column in columns])
    box_of_row, first_row = kernels.group_rows(cells)
    rows, records = kernels.count_consistent(
        table.codes[first_record],
        np.bincount(record_type),
        cells[first_row],
        np.bincount(box_of_row),
        [_for_kernel(column.values) for column in columns],
    )
    strayed = None
    if key is not None:
        covered = np.logical_and.reduce(
            [c.values.covers(c.cell, a.codes[key]) for c, a in zip(columns, table.attributes, strict=True)]
        )
        strayed = int((~covered).sum())
    return Consistency(rows[record_type], records[box_of_row], strayed)


def diversity_around(
    frame: nw.DataFrame[Any], sensitive: Column, columns: Sequence[ReleasedColumn], table: Table
) -> Diversity:
    """Return how varied a sensitive column is among the released rows that each record is consistent with.

    Takes about as much work as `consistency_of`, however many values there are. Records without any row,
    which were left out, are passed over.

    Parameters
    ----------
    frame
        The release.
    sensitive
        The column, as the schema describes it.
    columns
        The quasi-identifiers of the release as an outsider reads them.
    table
        The original.
    """
    values = encode_sensitive(frame[sensitive.name], sensitive.missing_marks)
    record_type, first_record = kernels.group_rows(table.codes)
    cells = np.column_stack([column.cell for column in columns])
    box_of_row, first_row = kernels.group_rows(np.column_stack((cells, values.codes)))
    found = kernels.count_labels(
        table.codes[first_record],
        cells[first_row],
        np.bincount(box_of_row),
        [_for_kernel(column.values) for column in columns],
        values.codes[first_row],
        len(values),
    )
    some = record_type[found.boxes[record_type] > 0]
    rows = found.boxes[some].astype(np.float64)
    return Diversity(
        sensitive.name,
        found.distinct[some],
        found.most[some] / rows,
        np.maximum(np.log(rows) - found.logs[some] / rows, 0.0),
    )


def _for_kernel(values: Generalized) -> kernels.Intervals | kernels.Subsets:
    match values:
        case Ranges() | Nodes():
            return kernels.Intervals(len(values.domain), values.low, values.high)
        case Sets():
            return kernels.Subsets(len(values.domain), values.starts, values.members)
    raise InternalError(f"the auditor does not know {type(values).__name__}")
