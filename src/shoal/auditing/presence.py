"""How likely each record of a population is in a table, to those who see the release."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.auditing.consistency import graph_of
from shoal.auditing.crowds import stretches
from shoal.auditing.reading import read_release
from shoal.schema import Schema, as_frame
from shoal.table import Table


def presence_in_table(released: Any, population: Any, schema: Schema) -> tuple[int, NDArray[np.float64]]:
    """Return how many rows cover no record of a population, and the chance of each record to have a row.

    A row belongs to each of the records that it covers with the same chance; the chances of all rows that
    cover a record are added up.

    Parameters
    ----------
    released, population
        The two tables, as any frames that narwhals supports. The population needs the quasi-identifiers only.
    schema
        What the columns of the original are.

    Raises
    ------
    InputError
        If a table does not match the schema.
    """
    table = Table.of_population(population, schema)
    graph = graph_of(read_release(as_frame(released), table), table)
    rows_of_record, records_of_row = graph.degrees()
    covered = np.zeros(len(graph.boxes))
    covered[graph.row_type] = records_of_row
    rows = np.bincount(graph.row_type, minlength=len(graph.boxes))
    chance_of_box = rows / np.maximum(covered, 1)
    sizes = np.zeros(len(graph.records), dtype=np.int64)
    sizes[graph.record_type] = rows_of_record
    chances = np.zeros(len(graph.records))
    for begin, end in stretches(sizes):
        starts, boxes = graph.crowds(np.arange(begin, end))
        which = np.repeat(np.arange(begin, end), np.diff(starts))
        chances += np.bincount(which, chance_of_box[boxes], len(chances))
    return int((records_of_row == 0).sum()), np.asarray(chances[graph.record_type])
