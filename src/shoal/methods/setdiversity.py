"""Different labels around set-valued records, as they are published.

The procedure of Xue et al. (2012, Section 4.4) matches each record with rows of records whose own labels
differ, and draws the assignment of rows afterwards. The published labels are those of the assigned records,
and nothing makes these differ. Here they do.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
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
    cuts, often, most = [0], dict[int, int](), 0
    for place, label in enumerate(labels.tolist(), 1):
        often[label] = often.get(label, 0) + 1
        most = max(most, often[label])
        if most * different <= place - cuts[-1]:
            cuts.append(place)
            often, most = {}, 0
    while cuts[-1] < len(labels):  # the last stretch takes in those before it until it is eligible
        cuts.pop()
        rest = labels[cuts[-1] :]
        if int(np.bincount(rest).max()) * different <= len(rest):
            cuts.append(len(labels))
    groups = np.empty(len(labels), dtype=np.int32)
    made = 0
    for begin, end in pairwise(cuts):
        many = (end - begin) // different
        dealt = np.argsort(labels[begin:end], kind="stable")
        groups[begin + dealt] = made + np.arange(end - begin) % many
        made += many
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
    n = len(labels)
    rows = [tuple(enumerate(row)) for row in labels[order].tolist()]
    group_of = np.full(n, -1, dtype=np.int32)
    used: list[set[tuple[int, int]]] = []
    for first in range(n):
        if group_of[first] >= 0:
            continue
        members, taken = [first], set(rows[first])
        for other in range(first + 1, min(first + 1 + WINDOW * different, n)):
            if len(members) == different:
                break
            if group_of[other] < 0 and taken.isdisjoint(rows[other]):
                members.append(other)
                taken.update(rows[other])
        if len(members) == different:
            group_of[members] = len(used)
            used.append(taken)
    groups = np.zeros(n, dtype=np.int32)
    if not used:
        return groups
    for place in np.flatnonzero(group_of < 0).tolist():
        nearby = group_of[max(place - WINDOW * different, 0) : place + WINDOW * different]
        near = np.unique(nearby[nearby >= 0]).tolist() or list(range(len(used)))
        chosen = next((g for g in near if used[g].isdisjoint(rows[place])), near[0])
        used[chosen].update(rows[place])
        group_of[place] = chosen
    groups[order] = group_of
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
    members = np.split(np.argsort(groups, kind="stable"), np.cumsum(np.bincount(groups))[:-1])
    united: list[list[int]] = []
    held: list[int] = []
    for each in members:
        held = [*held, *each.tolist()]
        if int(np.bincount(owners[held]).max()) * different <= len(held):
            united.append(held)
            held = []
    while held:  # the last one takes in those before it
        held = [*united.pop(), *held]
        if int(np.bincount(owners[held]).max()) * different <= len(held):
            united.append(held)
            held = []
    numbers = np.empty_like(groups)
    for number, together in enumerate(united):
        numbers[together] = number
    return numbers


def _own_first(graph: NDArray[np.int32], assignment: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows with their assigned record first."""
    own = graph == assignment[:, None]
    return np.take_along_axis(graph, np.argsort(~own, axis=1, kind="stable"), axis=1)
