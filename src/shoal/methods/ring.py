"""Rings (Wong, Mamoulis and Cheung 2010): each row covers k neighbours in a cyclic order of the records."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, Reason
from shoal.methods.chain import cheap_classes, cheap_order
from shoal.methods.diversity import recoded
from shoal.methods.feasibility import require_feasible
from shoal.methods.method import Circumstances, Effort, Option, keeps
from shoal.methods.refinement import EXCHANGES, Exchanges, refined
from shoal.models import Freeform
from shoal.recoding import Recoding
from shoal.table import Table

MOVING = 64
"""With a larger k, records move between the rings with any effort: this takes little time then."""


@keeps(Freeform, persons=True)
def ring(
    table: Table,
    model: Freeform,
    circumstances: Circumstances,
    /,
    *,
    effort: Effort = "balanced",
    whole: Annotated[bool, Option("One ring through all records instead of several.")] = False,
) -> Recoding:
    """Return rows that cover k neighbours each, on rings through similar records.

    The records are put into a cyclic order in which any k neighbours cost little together (Wong, Mamoulis and
    Cheung 2010), and divided into classes as by the method `chain`; each class is a ring. Without
    exchanges the result is the same for every order of the rows. About O(n log n + k n), O(n) memory besides
    the graph.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    effort
        ``fast`` (the rings alone; with a k above 64, records move between them), ``balanced`` or ``best``:
        records move between the rings, then rows exchange records, while this reduces the loss.
    whole
        Whether one ring leads through all records, as in the paper (default: no). It loses more.
    """
    require_feasible(table, model)
    if whole and table.owners is not None:
        raise InputError(
            "one ring through all records cannot keep the records of a person apart; leave out 'whole'",
            reason=Reason.PARAMETER,
            parameter="whole",
        )
    graph = cheap_rings(table, model.k, EXCHANGES[effort], circumstances, whole=whole)
    return recoded(table, model, graph, circumstances)


def cheap_rings(
    table: Table, k: int, exchanges: Exchanges | None, circumstances: Circumstances, *, whole: bool = False
) -> NDArray[np.int32]:
    """Return a regular graph of rings through similar records, after exchanges if there are any.

    Parameters
    ----------
    table
        The table.
    k
        Number of records that a row covers.
    exchanges
        The exchanges; with them, or a k above `MOVING`, records move between the rings before.
    circumstances
        The source of random choices, and the callback for progress.
    whole
        Whether one ring leads through all records.
    """
    order = cheap_order(table, k, circumstances)
    classes = np.zeros(len(table), np.int32)
    if not whole:
        moving = exchanges is not None or k > MOVING
        classes = cheap_classes(table, order, k, circumstances, moving=moving)
    return refined(table, ring_graph(order, classes, k, table.owners), exchanges, circumstances)


def ring_graph(
    order: NDArray[np.int64], classes: NDArray[np.int32], k: int, owners: NDArray[np.int32] | None = None
) -> NDArray[np.int32]:
    """Return the graph in which each row covers its own record and the k - 1 next ones of its class.

    Parameters
    ----------
    order
        The records in their cyclic order.
    classes
        The class of each record, in that order; all have at least k records.
    k
        Number of records that a row covers.
    owners
        The person of each record, if persons have several; none has more than 1 / k of a class. In a class
        where one has two, the records of a person stand together and rows take steps over them.
    """
    n = len(order)
    by_class = np.argsort(classes, kind="stable")
    sizes = np.bincount(classes)
    start, size = np.repeat(np.cumsum(sizes) - sizes, sizes), np.repeat(sizes, sizes)
    records = order[by_class]
    stride = np.ones(n, dtype=np.int64)
    if owners is not None:
        by_person = np.lexsort((owners[order], classes))
        again = (np.diff(owners[order][by_person]) == 0) & (np.diff(classes[by_person]) == 0)
        wide = np.zeros(len(sizes), dtype=np.bool_)
        wide[classes[by_person[1:][again]]] = True
        wide = np.repeat(wide, sizes)
        records[wide] = order[by_person][wide]
        stride[wide] = size[wide] // k
    graph = np.empty((n, k), dtype=np.int32)
    for step in range(k):
        graph[records, step] = records[start + (np.arange(n) - start + step * stride) % size]
    return graph
