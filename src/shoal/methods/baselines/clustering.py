"""Baselines for classes: the agglomerative and the forest algorithm, and how to make either diverse.

Tassa, Mazza and Gionis (2012, Section 9) compare k-concealment with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.errors import InputError, Reason
from shoal.kernels import baselines
from shoal.measures.geometry import Costs, costs
from shoal.methods.feasibility import require_feasible
from shoal.methods.method import Circumstances, Option, keeps
from shoal.models import KAnonymity
from shoal.recoding import Recoding
from shoal.table import Table

LOSS_WEIGHT = 0.15
"""Weight of the loss, compared with diversity, when classes are united, as in Appendix C."""
PAIRS = 500
"""Number of pairs that are merged between two reports of progress."""

Clustering = Callable[[NDArray[np.int32], NDArray[np.int64], Costs], NDArray[np.int32]]
"""From distinct records, the number of copies of each, and costs, to the class of each copy."""

ClusterMeasure = Annotated[Literal["lm", "em"], Option("Information loss to keep small.")]


@keeps(KAnonymity, persons=True)
def agglomerative(
    table: Table, model: KAnonymity, circumstances: Circumstances, /, *, measure: ClusterMeasure = "lm"
) -> Recoding:
    """Return classes of k records: the two closest clusters are merged repeatedly; a baseline.

    Clusters are close if their closure costs little more than both, relative to the logarithm of their size,
    one of the distances of Gionis, Mazza and Tassa (2008). A cluster that reaches k records is a class; if it
    has more, the records without which the others cost least leave it and start again. At the end, fewer than
    k records are left and join the classes where they cost least. With `l`, classes are then united (Tassa,
    Mazza and Gionis 2012, Algorithm 8); so they are if persons have several records, until none has more than
    1 in k of a class. The result is the same for every order of the rows.

    O(n) memory; about O(n log n) searches in a tree over the clusters. A search visits a small part of the
    tree, or all of it if the measure is not monotone and an attribute has no hierarchy.

    Parameters
    ----------
    table, model, circumstances
        As for every method. Of the guarantees about sensitive values, only `l` is supported.
    measure
        Information loss to keep small: ``lm``, the loss metric, or ``em``, the entropy measure.
    """

    def classes(codes: NDArray[np.int32], copies: NDArray[np.int64], by: Costs) -> NDArray[np.int32]:
        stage = "merging clusters"
        circumstances.progress(stage, 0.0)
        agglomeration = baselines.Agglomeration(codes, copies, by.attributes, model.k, by.counts)
        while (settled := agglomeration.advance(PAIRS)) < len(table):
            circumstances.progress(stage, settled / len(table))
        circumstances.progress(stage, 1.0)
        return agglomeration.classes

    return _clustered(table, model, measure, classes)


@keeps(KAnonymity, persons=True)
def forest(
    table: Table, model: KAnonymity, circumstances: Circumstances, /, *, measure: ClusterMeasure = "lm"
) -> Recoding:
    """Return classes of k to max(2k - 1, 3k - 5) records, parts of trees along lightest edges; a baseline.

    The forest algorithm of Aggarwal et al. (2005): each tree of fewer than k records is linked to the nearest
    record outside, then trees that are too large are cut, heavy edges first. With a measure that adds up
    along paths, such as ``lm``, it loses at most 3k - 3 times as much as the best classes. If nothing else
    can be cut, a class may have up to 3k - 3 records. With `l`, classes are then united (Tassa, Mazza and
    Gionis 2012, Algorithm 8). The result is the same for every order of the rows. About O(n log n) searches
    in a tree, O(n) memory.

    Parameters
    ----------
    table, model, circumstances, measure
        As for `agglomerative`.
    """

    def classes(codes: NDArray[np.int32], copies: NDArray[np.int64], by: Costs) -> NDArray[np.int32]:
        circumstances.progress("linking records", 0.0)
        found = baselines.forest(codes, copies, by.attributes, model.k, by.counts)
        circumstances.progress("linking records", 1.0)
        return found

    return _clustered(table, model, measure, classes)


def _clustered(table: Table, model: KAnonymity, measure: str, clustering: Clustering) -> Recoding:
    """Return the recoding of a clustering of the distinct records, made diverse if the model asks for it."""
    by = costs(table, measure)
    require_feasible(table, model)
    if model.p is not None or model.entropy_l is not None:
        raise InputError(
            "clustering supports k and l only; leave out p and entropy_l, or choose the method 'mondrian'",
            reason=Reason.PARAMETER,
        )
    group, first = kernels.group_rows(table.codes)
    first = first[np.lexsort(table.codes[first].T)]  # so that the order of the rows does not matter
    rank = np.empty(len(first), dtype=np.int64)
    rank[group[first]] = np.arange(len(first))
    order = np.argsort(rank[group], kind="stable")
    classes = np.empty(len(table), dtype=np.int32)
    classes[order] = clustering(table.codes[first], np.bincount(group)[group[first]], by)
    if model.diversity is not None:
        columns = [(column.codes, len(column)) for column in model.diversity.among(table.sensitive)]
        classes = _united(table, classes, by, columns, model.diversity.frequency_l)
    if table.owners is not None:  # united classes stay as diverse as they were
        classes = _united(table, classes, by, [(table.owners, table.persons)], model.k)
    return Recoding.of_classes(table, classes)


def _united(
    table: Table,
    classes: NDArray[np.int32],
    by: Costs,
    columns: list[tuple[NDArray[np.int32], int]],
    diversity: float,
) -> NDArray[np.int32]:
    """Return classes united until no value of some columns has a share above 1 / `diversity` in any."""
    return baselines.unify(
        table.codes,
        classes,
        by.attributes,
        columns,
        diversity=diversity,
        weight=LOSS_WEIGHT,
        counts=by.counts,
    )
