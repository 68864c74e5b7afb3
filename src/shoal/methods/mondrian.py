"""Mondrian (LeFevre, DeWitt and Ramakrishnan 2006): classes by cutting the table in two, repeatedly."""

from __future__ import annotations

from typing import Annotated

from shoal import kernels
from shoal.measures.geometry import geometry
from shoal.methods.feasibility import require_feasible
from shoal.methods.method import Circumstances, Option, keeps
from shoal.models import KAnonymity
from shoal.models.diversity import NO_DIVERSITY
from shoal.recoding import Recoding
from shoal.table import Table

Relaxed = Annotated[bool, Option("Allow a cut between records that have the same value.")]


@keeps(KAnonymity, default=True, persons=True)
def mondrian(
    table: Table,
    model: KAnonymity,
    circumstances: Circumstances,
    /,
    *,
    relaxed: Relaxed = False,
) -> Recoding:
    """Return classes of neighbouring records, found by recursive cuts.

    The top-down algorithm, but with the cut that loses least in all attributes together, among
    the best and the most even cut of each attribute. Both sides must have at least k records and be as
    diverse as the model asks. Each class shows its closure, not the region it was cut from. Deterministic.
    O(attributes^2 x n log n) unless most cuts are lopsided.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    relaxed
        Whether records with the same value may be divided between two classes (default: no).
    """
    require_feasible(table, model)
    asked = model.diversity or NO_DIVERSITY
    circumstances.progress("cutting the table", 0.0)
    classes = kernels.mondrian(
        table.codes,
        geometry(table),
        [(column.codes, len(column)) for column in asked.among(table.sensitive)],
        k=model.k,
        frequency_l=asked.frequency_l,
        distinct=asked.distinct,
        entropy=asked.entropy,
        owners=table.owners,
        relaxed=relaxed,
    )
    circumstances.progress("cutting the table", 1.0)
    return Recoding.of_classes(table, classes)
