"""Methods for sets of items that are there to compare with: the plain Gray order, and CAHD."""

from __future__ import annotations

from shoal.errors import InputError, Reason
from shoal.methods import setdiversity, setgraphs
from shoal.methods.method import Circumstances, keeps
from shoal.methods.sets import labelled, records_of
from shoal.models import SetAnonymity, SetDiversity
from shoal.recoding import Recoding
from shoal.table import Table


@keeps(SetAnonymity, name="gray")
def set_gray(table: Table, model: SetAnonymity, circumstances: Circumstances, /) -> Recoding:
    """Return rows that cover k neighbours each, on one ring in the plain Gray order; for comparison.

    O(n log n) comparisons, O(k n) memory.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    """
    return Recoding.of_graph(table, setgraphs.gray_ring(records_of(table, model, circumstances), model.k))


@keeps(SetDiversity, name="cahd")
def diverse_cahd(table: Table, model: SetDiversity, circumstances: Circumstances, /) -> Recoding:
    """Return classes as CAHD makes them (Ghinita, Kalnis and Tao 2011), for one sensitive column.

    Parameters
    ----------
    table, model, circumstances
        As for every method.

    Raises
    ------
    InputError
        If there are several sensitive columns.
    """
    if len(table.sensitive) > 1:
        raise InputError(
            "method 'cahd' knows one sensitive column only; method 'groups' knows several",
            reason=Reason.PARAMETER,
        )
    sets = labelled(table, circumstances)
    return Recoding.of_classes(table, setdiversity.cahd(sets, table.sensitive[0].codes, model.l))
