"""Survey weights in a release: unchanged if many records share each, otherwise the means of groups."""

from __future__ import annotations

from dataclasses import dataclass, replace

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from shoal.models import Model
from shoal.table import Table

FEWEST = 5
"""At least this number of records share a weight, also if a model has no crowd or a smaller one."""


@dataclass(frozen=True, eq=False)
class CoarseWeights:
    """Groups of neighbouring weights, each of which stands for all of its records.

    Parameters
    ----------
    first
        The smallest weight of each group, ascending.
    mean
        The mean weight of the records of each group.
    """

    first: NDArray[np.float64]
    mean: NDArray[np.float64]

    @classmethod
    def of(cls, weights: NDArray[np.float64], least: int) -> CoarseWeights | None:
        """Return groups of at least this number of records; None if each weight has it already.

        Equal weights are in one group, and groups are as small as possible from the smallest weight on. Sums
        of weights stay the same, up to six digits of each mean.

        Parameters
        ----------
        weights
            The weight of each record.
        least
            The minimum number of records of a group; all of them are one group if there are fewer.
        """
        values, often = np.unique(weights, return_counts=True)
        if often.min() >= least:
            return None
        group = np.empty(len(values), dtype=np.int64)
        number = size = 0
        for place, count in enumerate(often.tolist()):
            group[place] = number
            size += count
            if size >= least:
                number, size = number + 1, 0
        if size and number:
            group[group == number] = number - 1  # too few are left: they join the group before them
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        sums, counts = np.add.reduceat(values * often, starts), np.add.reduceat(often, starts)
        return cls(values[starts], np.array([float(f"{mean:.6g}") for mean in (sums / counts).tolist()]))

    def shown(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what a release shows for some weights."""
        place = np.searchsorted(self.first, weights, side="right") - 1
        return np.asarray(self.mean[np.maximum(place, 0)])


def fewest_sharing(model: Model) -> int:
    """Return how many records share each weight of a release with a guarantee, at least."""
    return max(model.crowd, int(getattr(model, "k", 0)), FEWEST)


def coarse_weights(released: Table, model: Model) -> CoarseWeights | None:
    """Return the groups of the survey weights of a table that is released; None if none are needed."""
    weights = released.survey_weights
    return None if weights is None else CoarseWeights.of(weights, fewest_sharing(model))


def with_coarse_weights(table: Table, coarse: CoarseWeights) -> Table:
    """Return a table that carries the means of groups; the audit still knows the weights themselves."""
    column, weights = table.schema.survey_weight, table.survey_weights
    assert column is not None
    assert weights is not None
    shown = nw.new_series(
        column.name, coarse.shown(weights).tolist(), nw.Float64, backend=table.frame.implementation
    )
    names = table.frame.columns
    columns = [shown if name == column.name else table.frame[name] for name in names]
    return replace(table, frame=table.frame.with_columns(*columns).select(names))


def note_on_weights(table: Table, coarse: CoarseWeights | None, model: Model) -> list[str]:
    """Return what a certificate says of survey weights; nothing if there are none."""
    if table.schema.survey_weight is None or table.survey_weights is None:
        return []
    name = repr(table.schema.survey_weight.name)
    if coarse is None:
        return [f"The survey weights in column {name} are unchanged: enough records share each of them."]
    return [
        f"The survey weights in column {name} are means of {len(coarse.mean):,} groups of neighbouring "
        f"weights, with at least {min(fewest_sharing(model), len(table)):,} records each."
    ]
