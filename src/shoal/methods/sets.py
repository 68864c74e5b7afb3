"""Promises about sets of items, alone or beside other columns: each record is a set, each row a vote."""

from __future__ import annotations

import numpy as np

from shoal.base.ragged import Subsets
from shoal.methods import setdiversity, setgraphs
from shoal.methods.feasibility import require_rows, require_sensitive
from shoal.methods.items import as_items
from shoal.methods.method import Circumstances, Effort, keeps
from shoal.models import SetAnonymity, SetDiversity
from shoal.recoding import Recoding
from shoal.table import Table


@keeps(SetAnonymity, name="freeform", default=True)
def set_freeform(
    table: Table, model: SetAnonymity, circumstances: Circumstances, /, *, effort: Effort = "balanced"
) -> Recoding:
    """Return rows that cover k records each, exchanged between rows as long as less is published wrongly.

    Starts from the rows of `set_ring`, and never errs more where all columns are of items. Each round is an
    assignment of one record to each row, in parts: about O(k n) with what records have in common.

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
def set_ring(table: Table, model: SetAnonymity, circumstances: Circumstances, /) -> Recoding:
    """Return rows that cover k neighbours each, on one ring through all records in the improved Gray order.

    O(n log n) comparisons for the order, O(k n) memory.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    """
    return Recoding.of_graph(table, setgraphs.ring(records_of(table, model, circumstances), model.k))


@keeps(SetDiversity, name="freeform", default=True)
def diverse_freeform(
    table: Table, model: SetDiversity, circumstances: Circumstances, /, *, effort: Effort = "balanced"
) -> Recoding:
    """Return rows of l records each, so that the rows of each record carry l different labels.

    Who gets which row is settled together with who hides in which; see `setdiversity.diverse`. With several
    sensitive columns labels of all sorts must differ, for which only classes are known: those of
    `diverse_groups`.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    effort
        ``fast``, ``balanced`` or ``best``: how many rounds.
    """
    if len(table.sensitive) > 1:
        circumstances.notes.append(
            "there are several sensitive columns, so records hide in classes of identical rows, as with "
            "method 'groups'; more is lost than with one"
        )
        return diverse_groups(table, model, circumstances)
    sets = labelled(table, circumstances)
    labels = table.sensitive[0].codes
    found = setdiversity.diverse(sets, labels, model.l, circumstances, effort=effort)
    return Recoding.of_graph(table, found.graph, assignment=found.assignment)


@keeps(SetDiversity, name="groups")
def diverse_groups(table: Table, model: SetDiversity, circumstances: Circumstances, /) -> Recoding:
    """Return classes of neighbours in the improved Gray order, with l different labels of every sort.

    All rows of a class are identical, so a record is covered by the same labels however rows are assigned.
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
