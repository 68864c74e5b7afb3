"""Guarantees for sets of items, alone or beside other columns: each record is a set, each row a vote."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from shoal.base.ragged import Subsets
from shoal.errors import InputError, Reason
from shoal.methods import setdiversity, setgraphs, unseen
from shoal.methods.baselines.walks import closed_walk_assignment
from shoal.methods.feasibility import require_persons, require_rows, require_sensitive
from shoal.methods.items import as_items
from shoal.methods.method import Circumstances, Effort, Option, keeps
from shoal.methods.refinement import rows_in_order
from shoal.methods.setorder import short_order
from shoal.models import Freeform, SetAnonymity, SetDiversity
from shoal.recoding import Recoding
from shoal.table import Table

RingOrder = Annotated[
    Literal["chosen", "gray-tsp"],
    Option("Order of the ring: in each segment the better of two, or the Gray-TSP order by itself."),
]
Walk = Annotated[
    Literal["default", "paper"],
    Option("How records get their rows: by the default draw, or by the closed walk of the paper as printed."),
]

SMALL = 32
"""The maximum number of records of a table in which rows never depend on labels. In larger ones, such rows
lose twice as much as others, and most of what there is to lose (decision 060)."""

TELLING = (
    "rows depend on sensitive values; an attacker who knows every record and has the code may learn from that"
)
"""Note on a release of sets whose rows were found together with their labels."""

CLASSES = "some persons have several records, so the release has classes of identical rows"
"""Note on a release of sets in which persons are counted; it loses more than one of different rows."""


@keeps(SetAnonymity, name="freeform", default=True, persons=True)
def set_freeform(
    table: Table, model: SetAnonymity, circumstances: Circumstances, /, *, effort: Effort = "balanced"
) -> Recoding:
    """Return rows that cover k records each, reassigned between rows while this reduces errors.

    Starts from the rows of `set_ring` (Xue et al. 2012, Section 4.1), and has no more errors if all columns
    have items. Each round is an assignment of one record to each row, in parts: about O(k n). If persons have
    several records, the result has classes of k to 2k - 1 records of different persons.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    effort
        ``fast``, ``balanced`` or ``best``: how many rounds.
    """
    sets = records_of(table, model, circumstances)
    if table.owners is not None:
        return _classes_of_persons(table, sets, model.k, circumstances)
    return Recoding.of_graph(table, setgraphs.freeform(sets, model.k, circumstances, effort=effort))


@keeps(SetAnonymity, name="ring", persons=True)
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

    Xue et al. (2012, Section 4.1). O(n log n) comparisons for the order, O(k n) memory. If persons have
    several records, the result has classes, as by `set_freeform`.

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
    if table.owners is not None:
        if order != "chosen" or walk != "default":
            raise InputError(
                "some persons have several records; with these there is no ring, so leave out order and walk",
                reason=Reason.PARAMETER,
            )
        return _classes_of_persons(table, sets, model.k, circumstances)
    graph = setgraphs.ring(sets, model.k) if order == "chosen" else setgraphs.pure_ring(sets, model.k)
    drawn = closed_walk_assignment(graph, circumstances.randomness) if walk == "paper" else None
    return Recoding.of_graph(table, graph, assignment=drawn)


@keeps(SetDiversity, name="freeform", default=True, persons=True)
def diverse_freeform(
    table: Table, model: SetDiversity, circumstances: Circumstances, /, *, effort: Effort = "balanced"
) -> Recoding:
    """Return rows of l records each, so that the rows of each record carry l different labels.

    An attacker who knows every record and has the code can tell a label with a probability of at most 1 / l.
    In tables of at most 32 records rows do not depend on labels, and the assignment is drawn such that no
    label around a record is more likely than 1 / l; see `unseen.drawn_unseen`. In larger ones, rows are made
    such that l labellings explain them equally well; see `setdiversity.unseen_rows`. About O(l n) for each
    round. If persons have several records, or there are several sensitive columns, the result has classes
    instead: those of `diverse_groups`, which depend on labels.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    effort
        ``fast``, ``balanced`` or ``best``: how many rounds.
    """
    if table.owners is None and len(table) <= SMALL:
        return _drawn_unseen(table, model, circumstances, effort)
    if _as_classes(table, circumstances):
        return diverse_groups(table, model, circumstances)
    sets = labelled(table, circumstances)
    labels = table.sensitive[0].codes
    found = setdiversity.unseen_rows(sets, labels, model.l, circumstances, effort=effort)
    return Recoding.of_graph(table, found.graph, assignment=found.assignment)


@keeps(SetDiversity, name="exchanges", persons=True)
def diverse_exchanges(
    table: Table, model: SetDiversity, circumstances: Circumstances, /, *, effort: Effort = "balanced"
) -> Recoding:
    """Return rows of l records each, so that the rows of each record carry l different labels, at less loss.

    The assignment and the graph are found together (see `setdiversity.diverse`), and the assignment is drawn
    anew. Rows depend on labels: an attacker who knows every record and has the code can guess more than 1 in
    l of them. If persons have several records, or there are several sensitive columns, the result has
    classes: those of `diverse_groups`. About O(l n) for each round.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    effort
        ``fast``, ``balanced`` or ``best``: how many rounds.
    """
    if _as_classes(table, circumstances):
        return diverse_groups(table, model, circumstances)
    circumstances.notes.append(TELLING)
    sets = labelled(table, circumstances)
    labels = table.sensitive[0].codes
    found = setdiversity.diverse(sets, labels, model.l, circumstances, effort=effort)
    recoding = Recoding.of_graph(table, found.graph, assignment=found.assignment)
    if not 1 < model.l < len(table) <= unseen.DRAWN:
        return recoding
    drawn = unseen.redrawn(recoding, model.l, found.assignment, circumstances)
    return replace(recoding, assignment=drawn)


@keeps(SetDiversity, name="groups", persons=True)
def diverse_groups(table: Table, model: SetDiversity, circumstances: Circumstances, /) -> Recoding:
    """Return classes of neighbours in the improved Gray order, with l different labels in every column.

    All rows of a class are identical, so the labels around a record do not depend on the assignment. If
    persons have several records, none has more than 1 in l of a class. O(n log n) comparisons.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    """
    sets = labelled(table, circumstances)
    for column in table.sensitive:
        setdiversity.require_eligible(column.codes, model.l)
    require_persons(table, model.l, "l")
    labels = np.column_stack([column.codes for column in table.sensitive])
    if table.owners is None:
        return Recoding.of_classes(table, setdiversity.varied_groups(sets, labels, model.l))
    groups = setdiversity.varied_groups(sets, np.column_stack((labels, table.owners)), model.l)
    return Recoding.of_classes(table, setdiversity.united_groups(groups, table.owners, model.l))


def _as_classes(table: Table, circumstances: Circumstances) -> bool:
    """Return whether a release has classes instead of different rows, and note why."""
    if len(table.sensitive) > 1:
        circumstances.notes.append(
            "there are several sensitive columns, so the release has classes of identical rows, as by "
            "method 'groups'; it loses more than with one sensitive column"
        )
        return True
    if table.owners is not None:
        circumstances.notes.append(f"{CLASSES}, as by method 'groups'")
        return True
    return False


def _drawn_unseen(
    table: Table, model: SetDiversity, circumstances: Circumstances, effort: Effort
) -> Recoding:
    """Return rows of a graph that was made without labels, with an assignment whose labels are diverse."""
    sets = labelled(table, circumstances)
    for column in table.sensitive:
        setdiversity.require_eligible(column.codes, model.l)
    order = short_order(sets)
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    graph = setgraphs.freeform(sets, model.l, circumstances, effort=effort)
    near = order[rows_in_order(place[graph])].astype(np.int32)
    return unseen.drawn_unseen(table, Freeform(k=model.l, l=model.l, p=model.l), near, circumstances)


def _classes_of_persons(table: Table, sets: Subsets, k: int, circumstances: Circumstances) -> Recoding:
    """Return classes of k to 2k - 1 neighbours in the short order, all records of different persons.

    Every class that covers a record carries at most one record of each person, whichever classes these are.
    Rows that differ could not be kept from covering a person's other records.
    """
    require_persons(table, k)
    circumstances.notes.append(CLASSES)
    order = short_order(sets)
    groups = np.empty(len(table), dtype=np.int32)
    assert table.owners is not None
    groups[order] = setdiversity.diverse_groups(table.owners[order], k)
    return Recoding.of_classes(table, groups)


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
