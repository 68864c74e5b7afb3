"""A table as a sample of a population: the risks of its records, before and after."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.auditing.crowds import stretches
from shoal.auditing.population import IndividualRisks, SampleRisks, individual_risks, population_uniques
from shoal.auditing.released import ReleasedTable
from shoal.recoding.coverage import Graph
from shoal.table import survey_weights


def sample_risks(
    release: ReleasedTable, sampling_fraction: float | None, survey_weight: str | None, threshold: float
) -> SampleRisks | None:
    """Return the risks in the population of which the original is a sample; None if nothing is known of it.

    Parameters
    ----------
    release
        A release beside its original.
    sampling_fraction
        The share of the population that the original is.
    survey_weight
        The column of the original that says how many people each record stands for; by default the one of
        the role `weight`, if there is any.
    threshold
        Above this a risk is too high.

    Raises
    ------
    InputError
        If the fraction is not possible, or the column has no weights.
    """
    weights = release.table.survey_weights
    if survey_weight is not None:
        weights = survey_weights(release.table.frame, survey_weight, release.table.rows)
    if sampling_fraction is None and weights is None:
        return None
    of_record = np.unique(release.table.codes, axis=0, return_inverse=True)[1].reshape(-1)
    sizes = np.bincount(of_record)
    found = SampleRisks()
    if sampling_fraction is not None:
        # Rows that cover several records are unique nowhere, even if no other row is identical.
        alone = int(release.consistency.records_of_row.min()) == 1
        released = release.classes.sizes if alone else np.full(1, len(release))
        found = SampleRisks(
            population_uniques(sizes, sampling_fraction), population_uniques(released, sampling_fraction)
        )
    if weights is None:
        return found
    people = np.bincount(of_record, weights).astype(np.float64)
    covered, people_of_row = release.consistency.records_of_row, _people_of_rows(release.graph, weights)
    return replace(
        found,
        individual=IndividualRisks.of(individual_risks(sizes, people)[of_record], threshold),
        individual_released=IndividualRisks.of(
            individual_risks(covered[covered > 0], people_of_row[covered > 0]), threshold
        ),
    )


def _people_of_rows(graph: Graph, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of the weights of the records that each row covers."""
    of_type = np.bincount(graph.record_type, weights, len(graph.records))
    sizes = np.zeros(len(graph.records), dtype=np.int64)
    sizes[graph.record_type] = graph.degrees()[0]
    sums = np.zeros(len(graph.boxes))
    for begin, end in stretches(sizes):
        starts, boxes = graph.crowds(np.arange(begin, end))
        sums += np.bincount(boxes, np.repeat(of_type[begin:end], np.diff(starts)), len(sums))
    return np.asarray(sums[graph.row_type])
