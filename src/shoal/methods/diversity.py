"""Diverse sensitive values in freeform releases: records change rows, and rows grow, until they are.

The published labels count: those of the records that rows are assigned to. Xue et al. (2012, Section 4.4)
make the labels diverse before this assignment, which says nothing about the published ones. So the assignment
is drawn first, and then changed where the published labels are not diverse.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import ROUNDING, BoxTree, Diversification
from shoal.measures.geometry import geometry
from shoal.methods import unseen
from shoal.methods.method import Circumstances
from shoal.methods.refinement import order_of_records, rows_in_order
from shoal.models import Freeform
from shoal.models.diversity import NO_DIVERSITY
from shoal.recoding import Recoding
from shoal.recoding.assignment import random_assignment
from shoal.recoding.coverage import Graph, Matches
from shoal.table import Table

WORTHWHILE = 0.1
"""Rows grow only after a sweep of swaps that repaired less than this share of the violated records."""

SLACK = ROUNDING / 2
"""Half of the rounding that the audit accepts."""

GROWN = (
    "some rows were widened because sensitive values were not diverse enough; an attacker who knows every "
    "record and has the code may learn from that"
)

WIDEST = 8
"""Rows that cover this many times k records do not grow further at first while another move helps. Each time
rows have grown and records are still violated, the limit is twice as high: otherwise rows that are narrow
grow far, and spoil the crowds of many records on their way (decision 086).

A few rows that cover all records would be the cheapest solution to make all labels diverse. But
a row that covers thousands of records is unlikely to be that of a given record, and an attacker can take this
into account. Only rows that must grow to make matches diverse do so at any width.
"""


def recoded(
    table: Table, model: Freeform, graph: NDArray[np.int32], circumstances: Circumstances
) -> Recoding:
    """Return the recoding of a regular graph, changed until its labels are as diverse as the model asks.

    An assignment is drawn. If some rows that cover a record are not diverse enough, records are rotated along
    alternating cycles of rows that cover them, which costs nothing. If this ends with all crowds diverse,
    also if rows are weighed by their probabilities, no row depends on labels; see `unseen`. Otherwise pairs
    of rows that cover both their records swap these while this helps. Then rows grow, the cheapest first,
    around records that lack their labels. As rows only grow, every record stays covered by k of them;
    and if all of them covered every record, they would be as diverse as the table. Where the matches of a
    record alone are not diverse, further rows grow. Each sweep takes about O(k n log n).

    Parameters
    ----------
    table, model, circumstances
        As for every method; the guarantee is feasible.
    graph
        The records of each row; every record is in as many rows as rows have records.
    """
    if model.diversity is None and table.owners is None:
        return Recoding.of_graph(table, graph)
    tree = tree_for(table, graph)
    order, place = order_of_records(tree)
    graph = order[rows_in_order(place[graph])]
    if len(table) <= unseen.SMALL:
        return unseen.drawn_unseen(table, model, graph, circumstances)
    assignment = random_assignment(graph, circumstances.randomness)
    if model.diversity is not None and len(table) <= unseen.DRAWN:
        alone = Recoding.of_graph(table, graph)
        assignment, valid = unseen.drawn_as_diverse(alone, model, assignment, circumstances)
        if valid:
            return replace(alone, assignment=assignment)
    diversification = diversification_of(table, model, tree, graph, assignment)
    while True:
        _make_varied(diversification, circumstances)
        assignment = diversification.assignment
        recoding = Recoding.of_graph(table, graph, grown=diversification.grown, assignment=assignment)
        if model.diversity is None:
            return recoding
        covering = Graph.of_recoding(recoding)
        matches = covering.matches(assignment)
        rows, records = _bridges(recoding, assignment, model, covering, matches)
        if len(rows) == 0:
            if len(diversification.grown[0]):
                circumstances.notes.append(GROWN)
            if len(table) > unseen.DRAWN:
                return recoding
            drawn = unseen.reshuffled(recoding, model, assignment, (covering, matches), circumstances)
            return replace(recoding, assignment=drawn)
        diversification.grow(rows, records)


def _make_varied(diversification: Diversification, circumstances: Circumstances) -> None:
    """Swap records and let rows grow until the rows that cover each record are diverse enough."""
    first = diversification.violated
    while diversification.violated:
        left = diversification.violated
        circumstances.progress("making sensitive values diverse", 1 - left / max(first, left))
        if diversification.swap() >= WORTHWHILE * left:
            continue
        if diversification.widen() == 0:
            break  # every row covers the records that are left: nothing more is achievable, up to rounding
        diversification.allow_wider()
    circumstances.progress("making sensitive values diverse", 1.0)


def _bridges(
    recoding: Recoding, assignment: NDArray[np.int32], model: Freeform, graph: Graph, matches: Matches
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return rows, and records around which they must grow to make matches diverse where they are not.

    A row that covers a record is not a match of it if no edges lead back from the row's component to that of
    the record. If the record's own row covers the record of that row, all edges between the two components
    become matches. Nothing is returned if the matches of every record are diverse enough.
    """
    table = recoding.table
    records_of_row = graph.degrees()[1]
    first_record = np.unique(graph.record_type, return_index=True)[1]
    first_row = np.unique(graph.row_type, return_index=True)[1]
    violated = np.zeros(len(first_record), dtype=np.bool_)
    for column in (model.diversity or NO_DIVERSITY).among(table.sensitive):
        found = graph.count_labels(column.codes[assignment], len(column), matches)
        if model.l is not None:
            violated |= found.most * model.l * (1 - SLACK) > found.boxes
        if model.p is not None:
            violated |= found.distinct < model.p
        if model.entropy_l is not None:
            entropy = np.log(found.boxes) - found.logs / found.boxes
            violated |= entropy < math.log(model.entropy_l) - SLACK
    types = np.flatnonzero(violated)
    starts, around = graph.crowds(types)
    records = np.repeat(first_record[types], np.diff(starts))
    rows = first_row[around]
    here, there = matches.component_of_record[records], matches.component_of_row[rows]
    apart = np.flatnonzero(here != there)
    # Of all rows between two components, one that covers few records: its own is near.
    apart = apart[np.argsort(records_of_row[rows[apart]], kind="stable")]
    apart = apart[np.unique(np.column_stack((here, there))[apart], axis=0, return_index=True)[1]]
    row_of = np.argsort(assignment).astype(np.int32)
    return row_of[records[apart]], assignment[rows[apart]]


def tree_for(table: Table, graph: NDArray[np.int32]) -> BoxTree:
    """Return a tree over the records of a table, with room for the rows of a graph."""
    return BoxTree(table.codes, geometry(table), graph.shape[1])


def diversification_of(
    table: Table, model: Freeform, tree: BoxTree, graph: NDArray[np.int32], assignment: NDArray[np.int32]
) -> Diversification:
    """Return rows that are made along a graph and carry the labels of an assignment; uses up the tree."""
    asked = model.diversity or NO_DIVERSITY
    return Diversification(
        tree,
        graph,
        [(column.codes, len(column)) for column in asked.among(table.sensitive)] if model.diversity else [],
        assignment,
        frequency_l=asked.frequency_l,
        distinct=asked.distinct,
        entropy=asked.entropy,
        widest=WIDEST * model.k,
        owners=table.owners,
        least=model.k,
    )
