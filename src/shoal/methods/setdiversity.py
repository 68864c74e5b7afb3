"""Different labels around set-valued records, as they are published.

The procedure of Xue et al. (2012, Section 4.4) matches each record with rows of records whose own labels
differ, and draws the assignment of rows afterwards. The published labels are those of the assigned records,
and nothing makes these differ. Here they do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.base.ragged import Subsets
from shoal.errors import InfeasibleError
from shoal.kernels import itemsets
from shoal.methods.alternatives import alternatives
from shoal.methods.method import Circumstances, Effort
from shoal.methods.ring import ring_graph
from shoal.methods.setgraphs import EXCHANGES, near_records
from shoal.methods.setorder import error_weights, short_order
from shoal.recoding.assignment import random_assignment

MIXED, MIXED_AT_LAST = 20, 200
"""Number of tries, for each row, to pass labels on: between two exchanges, and at the end."""
NEAR = 64
"""Number of near records that are listed for each record, where it can take the places of few of them."""
WINDOW = 50
"""A group for several sensitive columns tries this many records for each it needs."""


@dataclass(frozen=True, eq=False)
class Diverse:
    """A regular graph and an assignment, so that each record is in rows with different labels.

    Parameters
    ----------
    graph
        The records of each row.
    assignment
        The record of each row, one of those it covers; the row is published with its label.
    """

    graph: NDArray[np.int32]
    assignment: NDArray[np.int32]


def require_eligible(labels: NDArray[np.integer[Any]], different: int) -> None:
    """Refuse an l that no release can keep.

    If a label is more frequent than 1 / l, no release can bound the probability that a record has it by 1 / l
    for every record, because these probabilities sum to the number of records that have it.

    Raises
    ------
    InfeasibleError
        If some label is more frequent than 1 / l; the message names the largest l that is achievable.
    """
    most = int(np.bincount(labels).max())
    if most * different > len(labels):
        raise InfeasibleError(
            f"l = {different} is not achievable: {most} of {len(labels)} records have the same label, which "
            f"allows l = {len(labels) // most} at most"
        )


def diverse(
    sets: Subsets,
    labels: NDArray[np.integer[Any]],
    different: int,
    circumstances: Circumstances,
    *,
    effort: Effort = "balanced",
) -> Diverse:
    """Return rows of l records each, so that each record is in l rows that carry different labels.

    First come groups of at least l neighbours with different labels, within which an assignment is drawn.
    Then rows keep the record whose label they carry and exchange the others, where this reduces errors and
    labels stay different around each record. Between exchanges and at the end, labels are passed on at
    random, so that the record whose label a row carries does not stand out. About O(l n) for each round.

    Parameters
    ----------
    sets
        The items of each record.
    labels
        The label of each, numbered from 0.
    different
        The number of different labels, l; at least 1.
    circumstances
        The source of random choices, and the callback for progress.
    effort
        ``fast``, ``balanced`` or ``best``.

    Raises
    ------
    InfeasibleError
        If some label is more frequent than 1 / l.
    """
    chosen = EXCHANGES[effort]
    require_eligible(labels, different)
    order = short_order(sets)
    graph = ring_graph(order.astype(np.int64), diverse_groups(labels[order], different), different)
    randomness = circumstances.randomness
    assignment = random_assignment(graph, randomness)
    if not 1 < different < len(graph):
        return Diverse(graph, assignment)
    neighbours = near_records(sets)
    weights = error_weights(sets)
    rounds = chosen.rounds + chosen.heated + 2 * different
    for done in range(rounds):
        circumstances.progress("reassigning records", done / rounds)
        rows = _own_first(graph, assignment)
        search = itemsets.SetGraph(sets, weights, rows, neighbours, randomness.words(4), labels[assignment])
        search.reassign(1)
        graph = search.graph
        assignment = itemsets.mix(graph, assignment, labels, MIXED * len(graph), randomness.words(4))
    circumstances.progress("reassigning records", 1.0)
    steps = MIXED_AT_LAST * len(graph)
    return Diverse(graph, itemsets.mix(graph, assignment, labels, steps, randomness.words(4)))


def unseen_rows(
    sets: Subsets,
    labels: NDArray[np.integer[Any]],
    different: int,
    circumstances: Circumstances,
    *,
    effort: Effort = "balanced",
) -> Diverse:
    """Return rows of l records each, made such that l labellings explain them equally well.

    The true labels are hidden among l - 1 alternatives; see `alternatives`. A row with a label has one record
    from each labelling, one that has this label there. First these are neighbours in the order, then records
    change places, within labellings, where this reduces errors. The record from the true labelling is the
    one that the row carries. About O(l n) for each round.

    Parameters
    ----------
    sets, labels, different, circumstances, effort
        As for `diverse`; l is at least 2.

    Raises
    ------
    InfeasibleError
        If some label is more frequent than 1 / l.
    """
    chosen = EXCHANGES[effort]
    require_eligible(labels, different)
    order = short_order(sets)
    randomness = circumstances.randomness
    found = alternatives(labels, order, different, randomness)
    rows_by_label = [order[np.argsort(column[order], kind="stable")] for column in found.labels.T]
    graph = np.column_stack(rows_by_label).astype(np.int32)
    shown = found.labels[graph[:, 0], 0]
    if different < len(graph):
        neighbours = near_records(sets, NEAR)
        weights = error_weights(sets)
        key = randomness.words(4)
        search = itemsets.SetGraph(sets, weights, graph, neighbours, key, shown, in_places=True)
        rounds = chosen.rounds + chosen.heated + 2 * different
        for done in range(rounds):
            circumstances.progress("reassigning records", done / rounds)
            search.reassign(1)
        graph = search.graph
    circumstances.progress("reassigning records", 1.0)
    return Diverse(graph, np.ascontiguousarray(graph[:, found.true]))


def diverse_groups(labels: NDArray[np.integer[Any]], different: int) -> NDArray[np.int32]:
    """Return groups of at least l records with different labels, of records near in an order.

    Parameters
    ----------
    labels
        The label of each record, in the order. None is more frequent than 1 / l.
    different
        The minimum number of records, all with different labels, of a group (l).

    Returns
    -------
    NDArray
        The group of each, numbered from 0. The order is cut into the shortest stretches in which no label is
        more frequent than 1 / l, and the records of each are distributed to its groups, label by label. O(n
        log n).
    """
    n = len(labels)
    cuts = itemsets.cut_where_diverse(labels, np.arange(1, n + 1), different)
    sizes = np.diff(cuts)
    many = sizes // different
    stretch = np.repeat(np.arange(len(sizes)), sizes)
    groups = np.empty(n, dtype=np.int32)
    made = np.cumsum(many) - many
    groups[np.lexsort((labels, stretch))] = made[stretch] + (np.arange(n) - cuts[stretch]) % many[stretch]
    return groups


def varied_groups(sets: Subsets, labels: NDArray[np.integer[Any]], different: int) -> NDArray[np.int32]:
    """Return groups of neighbours in the short order with at least l different labels in every column.

    Parameters
    ----------
    sets
        The items of each record.
    labels
        The labels of each, a column for each sensitive one; each has at least l different labels.
    different
        The number of different labels that a group has in each column (l).

    Returns
    -------
    NDArray
        The group of each record, numbered from 0. Records that find no group of l whose labels all differ
        join one nearby; if there is no such group at all, all records are one.
    """
    order = short_order(sets)
    groups = np.empty(len(labels), dtype=np.int32)
    groups[order] = itemsets.varied_groups(labels[order], different, WINDOW * different)
    return groups


def united_groups(groups: NDArray[np.int32], owners: NDArray[np.int32], different: int) -> NDArray[np.int32]:
    """Return groups, united with the next ones until no person has more than 1 / l of any.

    Parameters
    ----------
    groups
        The group of each record; near groups have near numbers.
    owners
        The person of each record; none has more than 1 / l of all.
    different
        The number l.
    """
    members = np.argsort(groups, kind="stable")
    cuts = itemsets.cut_where_diverse(owners[members], np.cumsum(np.bincount(groups)), different)
    united = np.empty_like(groups)
    united[members] = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
    return united


def _own_first(graph: NDArray[np.int32], assignment: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows with their assigned record first."""
    own = graph == assignment[:, None]
    return np.take_along_axis(graph, np.argsort(~own, axis=1, kind="stable"), axis=1)
