"""Guarantees for sets of items, alone or beside other columns: each record is a set, each row a vote."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from shoal.base.ragged import Subsets
from shoal.methods import setdiversity, setgraphs
from shoal.methods.baselines.walks import closed_walk_assignment
from shoal.methods.feasibility import require_rows, require_sensitive
from shoal.methods.items import as_items
from shoal.methods.method import Circumstances, Effort, Option, keeps
from shoal.models import SetAnonymity, SetDiversity
from shoal.recoding import Recoding
from shoal.table import Table

RingOrder = Annotated[
    Literal["chosen", "gray-tsp"],
    Option("Order of the ring: in each segment the better of two, or the Gray-TSP order by itself."),
]
Walk = Annotated[
    Literal["default", "paper"],
    Option("Draw of who gets which row: the default, or the closed walk of the paper as printed."),
]


@keeps(SetAnonymity, name="freeform", default=True)
def set_freeform(
    table: Table, model: SetAnonymity, circumstances: Circumstances, /, *, effort: Effort = "balanced"
) -> Recoding:
    """Return rows that cover k records each, reassigned between rows while this reduces errors.

    Starts from the rows of `set_ring` (Xue et al. 2012, Section 4.1), and has no more errors if all columns
    have items. Each round is an assignment of one record to each row, in parts: about O(k n).

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    effort
        ``fast``, ``balanced`` or ``best``: how many rounds.
    """
    sets = records_of(table, model, circumstances)
    return Recoding.of_graph(table, setgraphs.freeform(sets, model.k, circumstances, effort=effort))


@keeps(SetAnonymity, name="ring")
def set_ring(
    table: Table,
    model: SetAnonymity,
    circumstances: Circumstances,
    /,
    *,
    order: RingOrder = "chosen",
    walk: Walk = "default",
) -> Recoding:
    """Return rows that cover k neighbours each, on one ring through all records in the improved Gray order.

    Xue et al. (2012, Section 4.1). O(n log n) comparisons for the order, O(k n) memory.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    order
        ``chosen``: in each segment the better of the Gray order and the Gray-TSP order, so that there are
        never more errors than along either. ``gray-tsp``: the order of the paper by itself; a local search
        stands for its genetic algorithm.
    walk
        How to draw which record gets which row. ``default``: as in every freeform release. ``paper``: the
        closed walk exactly as printed (Algorithm 1), for comparison; slower. With both, each of the k rows
        of a record is its own with probability 1/k.
    """
    sets = records_of(table, model, circumstances)
    graph = setgraphs.ring(sets, model.k) if order == "chosen" else setgraphs.pure_ring(sets, model.k)
    drawn = closed_walk_assignment(graph, circumstances.randomness) if walk == "paper" else None
    return Recoding.of_graph(table, graph, assignment=drawn)


@keeps(SetDiversity, name="freeform", default=True)
def diverse_freeform(
    table: Table, model: SetDiversity, circumstances: Circumstances, /, *, effort: Effort = "balanced"
) -> Recoding:
    """Return rows of l records each, so that the rows of each record carry l different labels.

    The assignment and the graph are found together; see `setdiversity.diverse`. With several sensitive
    columns, the labels of each must differ, and the result has classes: those of `diverse_groups`. About
    O(l n) for each round.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    effort
        ``fast``, ``balanced`` or ``best``: how many rounds.
    """
    if len(table.sensitive) > 1:
        circumstances.notes.append(
            "there are several sensitive columns, so the release has classes of identical rows, as by "
            "method 'groups'; it loses more than with one sensitive column"
        )
        return diverse_groups(table, model, circumstances)
    sets = labelled(table, circumstances)
    labels = table.sensitive[0].codes
    found = setdiversity.diverse(sets, labels, model.l, circumstances, effort=effort)
    return Recoding.of_graph(table, found.graph, assignment=found.assignment)


@keeps(SetDiversity, name="groups")
def diverse_groups(table: Table, model: SetDiversity, circumstances: Circumstances, /) -> Recoding:
    """Return classes of neighbours in the improved Gray order, with l different labels in every column.

    All rows of a class are identical, so the labels around a record do not depend on the assignment.
    O(n log n) comparisons.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    """
    sets = labelled(table, circumstances)
    for column in table.sensitive:
        setdiversity.require_eligible(column.codes, model.l)
    labels = np.column_stack([column.codes for column in table.sensitive])
    return Recoding.of_classes(table, setdiversity.varied_groups(sets, labels, model.l))


def records_of(table: Table, model: SetAnonymity, circumstances: Circumstances) -> Subsets:
    """Return the sets of items of a table that has enough records."""
    require_rows(table, model)
    circumstances.progress("putting records in order", 0.0)
    return as_items(table)


def labelled(table: Table, circumstances: Circumstances) -> Subsets:
    """Return the sets of items of a table that has a sensitive column."""
    require_sensitive(table)
    circumstances.progress("putting records in order", 0.0)
    return as_items(table)
