"""Diverse sensitive values by rows that do not depend on them.

An attacker with the code can ask which sensitive values would have led to the rows that are shown. If a row
grew because of the labels around it, this would reveal the labels. So rows are made without labels, and then
the record that each row carries is drawn among all assignments in which the labels are diverse. If there is
none in a small table, all rows are shared by more people, by the same rule for the whole table. In larger
tables, rows grow where labels lack diversity. Decisions 044 and 060 have the reasons.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import Crowds, DiverseDraw, DrawnColumn, Shares
from shoal.methods.method import Circumstances
from shoal.models import Freeform
from shoal.recoding import Recoding
from shoal.recoding.assignment import random_assignment
from shoal.recoding.coverage import Graph, Matches
from shoal.table import Table

SMALL = 128
"""The maximum number of records of a small table. In larger ones, rows grow if no assignment is diverse."""

DRAWN = 50_000
"""The maximum number of records for which a diverse assignment is searched before rows grow."""

MIXED = 32
"""Up to this many rows, an assignment is mixed until it is valid by itself. With more rows this is unlikely,
and it is repaired after mixing."""

FITTING = 50
"""Number of turns of proportional fitting."""

SEARCH, LONGER = 20_000, 200
"""Number of moves to find a valid assignment: this many, and at least this many for each row."""

TURN, WORTHWHILE = 5, 0.05
"""In tables that are not small, the search has turns with this many moves for each row, and ends after one
that repaired less than this share of the violated crowds."""

MIXING = 60
"""Number of random moves for each row after which an assignment no longer depends on where it began."""

PRICES = (2.0, 3.0, 4.0, 6.0)
"""How unlikely violated crowds are. With low prices all assignments are reached soon, but few are valid."""

FORBIDDEN = 1e9
"""A price at which crowds are never violated."""

SHARED = 8
"""In one of this number of releases of a small table, rows are shared by more people than needed. Otherwise,
shared rows would tell that the labels of some crowd were not diverse before."""

TRIES = 20
"""How often mixing is tried with each price until the result is valid."""


def drawn_unseen(
    table: Table, model: Freeform, graph: NDArray[np.int32], circumstances: Circumstances
) -> Recoding:
    """Return the recoding of a regular graph with a random assignment whose labels are diverse.

    Each row carries each record that it covers with a certain probability of at most 1 / k. Weighted by these
    probabilities, the labels of the rows that cover a record must be diverse; and, counted, those of all rows
    that cover it, and of its matches. If no such assignment is found, rows are united to units of 2, 3, 4, 6,
    ... rows that show the same, up to all rows. In one of 8 releases, they are united further without need.

    Parameters
    ----------
    table, model, circumstances
        As for every method; the guarantee is feasible.
    graph
        The records of each row, near rows together; every record is in as many rows as rows have records.
    """
    size = 1
    while True:
        recoding = _united(table, graph, size)
        assignment = random_assignment(graph, circumstances.randomness)
        draw = _draw(recoding, model, assignment, circumstances)
        settled = settle(draw, len(graph))
        if settled and (size >= len(graph) or circumstances.randomness.below(SHARED) > 0):
            return Recoding(table, recoding.values, recoding.box, graph, draw.assignment)
        if size >= len(graph):  # no crowd can be more diverse than the table, up to rounding
            return Recoding(table, recoding.values, recoding.box, graph, assignment)
        size = max(size + 1, size * 3 // 2)


def settle(draw: DiverseDraw, rows: int) -> bool:
    """Draw a valid assignment; return whether there is one.

    A search shows whether there is a valid one. Then the assignment is mixed until it is valid again, and no
    longer depends on what the search found.
    """
    moves = max(SEARCH, LONGER * rows)
    if draw.search(moves) > 0:
        return False
    if rows <= MIXED:
        for price in PRICES:
            for _ in range(TRIES):
                draw.mix(MIXING * rows, price)
                if draw.violated == 0:
                    return True
        return draw.search(moves) == 0
    for _ in range(TRIES):
        draw.mix(MIXING * rows, PRICES[-1])
        if draw.search(moves) == 0:
            return True
    return False


def drawn_as_diverse(
    recoding: Recoding, model: Freeform, assignment: NDArray[np.int32], circumstances: Circumstances
) -> tuple[NDArray[np.int32], bool]:
    """Draw who carries which row of a larger table, and return whether no row has to grow for diversity.

    Parameters
    ----------
    recoding, model, circumstances
        Rows that were made without labels, each with a box of its own; what is asked of their labels.
    assignment
        A random assignment, to begin with.

    Returns
    -------
    NDArray
        The record of each row: a valid assignment, or one in which fewer crowds are violated.
    bool
        Whether it is valid. Takes about O(n) for each turn of the search.
    """
    draw = _draw(recoding, model, assignment, circumstances)
    rows = len(assignment)
    if not _repaired(draw, rows):
        return draw.assignment, False
    draw.mix(MIXING // 3 * rows, PRICES[-1])
    valid = _repaired(draw, rows)  # it changes the assignment
    return draw.assignment, valid


def redrawn(
    recoding: Recoding, different: int, assignment: NDArray[np.int32], circumstances: Circumstances
) -> NDArray[np.int32]:
    """Draw anew who carries which row, so that the assignment no longer shows how the rows were made.

    Parameters
    ----------
    recoding, circumstances
        Rows, each with a box of its own.
    different
        The number of different labels around each record. Where possible, no label has a larger share than
        one in this number.
    assignment
        The record of each row, with labels as different as that.

    Returns
    -------
    NDArray
        The record of each row, with labels as different; the same as before if no other one was found.
    """
    draw = _draw(recoding, Freeform(k=different, l=different, p=different), assignment, circumstances)
    rows = len(assignment)
    draw.mix(MIXING * rows, PRICES[1])
    draw.search(LONGER * rows)
    found = draw.assignment
    left = _draw(recoding, Freeform(k=different, p=different), found, circumstances).violated
    return assignment if left else found


def reshuffled(
    recoding: Recoding,
    model: Freeform,
    assignment: NDArray[np.int32],
    matched: tuple[Graph, Matches],
    circumstances: Circumstances,
) -> NDArray[np.int32]:
    """Draw anew who carries which row after rows grew, while all crowds stay diverse as counted.

    Rows that grew cover records that they could not carry before. Without this draw, an attacker who tells
    both apart would find a record among fewer rows.

    Parameters
    ----------
    recoding, model, assignment, circumstances
        Rows, what is asked of their labels, and an assignment that keeps it.
    matched
        Which rows cover which records, and the matches for this assignment.

    Returns
    -------
    NDArray
        The record of each row; the same as before if the assignment was not as diverse as asked.
    """
    draw = _draw(recoding, model, assignment, circumstances, weighed=False, matched=matched)
    if draw.violated:
        return assignment
    draw.mix(MIXING * len(assignment), FORBIDDEN)
    return assignment if draw.violated else draw.assignment


def _repaired(draw: DiverseDraw, rows: int) -> bool:
    """Search while this is worthwhile; return whether no crowd is violated."""
    left = draw.violated
    while left:
        now = draw.search(TURN * rows)
        if now > (1 - WORTHWHILE) * left:
            return False
        left = now
    return True


def _united(table: Table, graph: NDArray[np.int32], size: int) -> Recoding:
    """Return the recoding in which units of about `size` rows show the same.

    The rows of a unit are about k rows apart in their order: nearer ones have the same records, and would add
    no labels, and farther ones lose more.
    """
    n, k = graph.shape
    apart = max(min(k, n // size), 1)
    blocks = max(n // (apart * size), 1)
    block = np.minimum(np.arange(n) // (apart * size), blocks - 1)
    units = (block * apart + np.arange(n) % apart).astype(np.int32)
    members = graph[np.argsort(units, kind="stable")].ravel()
    starts = np.concatenate(([0], np.cumsum(np.bincount(units)))) * k
    values = tuple(a.domain.closure(a.codes[members], starts) for a in table.attributes)
    return Recoding(table, values, units, graph)


def _draw(
    recoding: Recoding,
    model: Freeform,
    assignment: NDArray[np.int32],
    circumstances: Circumstances,
    *,
    weighed: bool = True,
    matched: tuple[Graph, Matches] | None = None,
) -> DiverseDraw:
    """Return a draw over the crowds of a recoding: covering rows, counted or also weighed, and matches."""
    units = recoding.box
    if matched is None:
        found = Graph.of_recoding(recoding)
        matched = found, found.matches(assignment)
    graph, matches = matched
    edges = _Edges.of(graph, matches, units)
    share = edges.shares(1 / model.k)
    match, types = edges.match, len(graph.records)
    first = np.unique(graph.record_type, return_index=True)[1]
    fewer = np.unique(edges.kind[~match])
    some = match & np.isin(edges.kind, fewer)
    # Of each kind of crowd: the units, the crowd of each, its weight, and a record that each crowd surrounds.
    counted = [
        (edges.unit, edges.kind, np.ones(len(match)), first),
        (edges.unit[some], np.searchsorted(fewer, edges.kind[some]), np.ones(int(some.sum())), first[fewer]),
    ]
    kinds = [(edges.unit[match], edges.kind[match], share * model.k, first), *counted] if weighed else counted
    before = np.cumsum([0, *(len(records) for *_, records in kinds)])
    unit, weight, around = (np.concatenate([kind[part] for kind in kinds]) for part in (0, 2, 3))
    crowd = np.concatenate([kind[1] + begin for kind, begin in zip(kinds, before, strict=False)])
    # By unit, then by crowd. If all weights are 1, they need not be sorted.
    pairs = unit * len(around) + crowd
    if weighed:
        by_unit = np.argsort(pairs)
        pairs, weight = pairs[by_unit], weight[by_unit]
    else:
        pairs.sort()
    unit, crowd = np.divmod(pairs, len(around))
    starts = np.searchsorted(unit, np.arange(int(units.max()) + 2))
    crowds = Crowds(starts.astype(np.int64), crowd.astype(np.int32), weight, around.astype(np.int32))
    shares = Shares(
        graph.record_type.astype(np.int32),
        np.searchsorted(edges.kind[match], np.arange(types + 1)).astype(np.int64),
        edges.unit[match].astype(np.int32),
        share,
    )
    columns = _columns(recoding.table, model, graph, around)
    return DiverseDraw(shares, units, crowds, columns, assignment, circumstances.randomness.words(4))


@dataclass(frozen=True, eq=False)
class _Edges:
    """Which types of record the rows of which units cover, sorted.

    Parameters
    ----------
    kind, unit
        The type of record, and the unit.
    match
        Whether rows of the unit are matches of these records.
    records, rows
        The number of records of each type, and of rows in each unit.
    """

    kind: NDArray[np.int64]
    unit: NDArray[np.int64]
    match: NDArray[np.bool_]
    records: NDArray[np.int64]
    rows: NDArray[np.int64]

    @classmethod
    def of(cls, graph: Graph, matches: Matches, units: NDArray[np.int32]) -> Self:
        """Return the edges of a coverage graph with its matches."""
        unit_of_box = np.empty(len(graph.boxes), dtype=np.int64)
        unit_of_box[graph.row_type] = units
        starts, boxes = graph.crowds(np.arange(len(graph.records)))
        kind = np.repeat(np.arange(len(graph.records)), np.diff(starts))
        pairs = kind * len(graph.boxes) + unit_of_box[boxes]
        pairs.sort()
        kind, unit = np.divmod(pairs, len(graph.boxes))
        of_kind = np.empty(len(graph.records), dtype=np.int64)
        of_kind[graph.record_type] = matches.component_of_record
        of_unit = np.empty(len(graph.boxes), dtype=np.int64)
        of_unit[units] = matches.component_of_row
        match = of_kind[kind] == of_unit[unit]
        return cls(kind, unit, match, np.bincount(graph.record_type), np.bincount(units))

    def shares(self, most: float) -> NDArray[np.float64]:
        """Return the probability of each match: as even as possible, at most `most`, adding up to nearly 1.

        Proportional fitting: each turn lets the probabilities of each record, and then of each row, add up.
        """
        kind, unit = self.kind[self.match], self.unit[self.match]
        rows, records = self.rows[unit].astype(np.float64), self.records[kind].astype(np.float64)
        share = np.ones(len(kind))
        for _ in range(FITTING):
            share /= np.bincount(kind, share * rows, len(self.records))[kind]
            share /= np.bincount(unit, share * records, len(self.rows))[unit]
            np.minimum(share, most, out=share)
        return share


def _columns(table: Table, model: Freeform, graph: Graph, around: NDArray[np.int64]) -> list[DrawnColumn]:
    """Return what is asked of the labels of each sensitive column, and of persons."""
    columns = []
    if model.diversity is not None:
        asked = model.diversity
        columns = [
            DrawnColumn(column.codes, asked.frequency_l, asked.distinct, asked.entropy)
            for column in asked.among(table.sensitive)
        ]
    if table.owners is not None:
        # Around a record only its own person counts: rows of others tell nothing about her.
        pairs = np.unique(np.column_stack((graph.record_type, table.owners)), axis=0)
        begins = np.searchsorted(pairs[:, 0], np.arange(len(graph.records) + 1))
        kinds = graph.record_type[around]
        many = np.diff(begins)[kinds]
        starts = np.concatenate(([0], np.cumsum(many)))
        which = np.arange(starts[-1]) + np.repeat(begins[kinds] - starts[:-1], many)
        own = np.ascontiguousarray(pairs[which, 1], dtype=np.int32)
        columns.append(DrawnColumn(table.owners, float(model.k), 0, 0.0, starts.astype(np.int64), own))
    return columns
