"""Contribution: what each quasi-identifier adds to the risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from shoal.auditing.consistency import Consistency
from shoal.auditing.risks import Attack
from shoal.recoding.coverage import Graph


@dataclass(frozen=True)
class Contribution:
    """How well a release hides records from an attacker who does not know one quasi-identifier.

    In the other quasi-identifiers, at least as many rows cover a record as in all of them. The more rows
    there are, the more of the risk is due to this one.

    Parameters
    ----------
    column
        The quasi-identifier that is not known.
    rows_per_record
        The minimum number of rows that cover a record in the others, among records that some row covers.
    records_per_row
        The minimum number of records that a row covers in the others.
    mean_risk
        The mean over covered records of the chance to pick their row among those that cover them in the
        others: the marketer's risk.
    """

    column: str
    rows_per_record: int
    records_per_row: int
    mean_risk: float

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return asdict(self)


def contributions_of(names: Sequence[str], graph: Graph) -> tuple[Contribution, ...]:
    """Return the risk that remains without each quasi-identifier, in the order of the schema.

    Counts the edges of the graph once for each.

    Parameters
    ----------
    names
        The quasi-identifiers.
    graph
        Which rows cover which records.
    """
    found = []
    for unknown, name in enumerate(names):
        left = Consistency(*graph.degrees(unknown), None)
        risk = Attack(left.rows_of_record).mean
        least = int(left.records_of_row.min())
        found.append(Contribution(name, left.rows_per_record, least, risk))
    return tuple(found)
