"""What a crowd of k costs, from quick runs: loss of each column, and records that narrow cells leave out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from narwhals.stable.v2.typing import IntoDataFrame

from shoal.engines.local import anonymize_table
from shoal.errors import InfeasibleError, InputError, Reason
from shoal.kinds.limits import is_limited
from shoal.methods.limits import count_stranded
from shoal.models import Freeform, KAnonymity, Model
from shoal.schema import Column, Schema
from shoal.table import Table

QUICK: dict[str, tuple[type[Model], str]] = {
    Freeform.name: (Freeform, "ring"),
    KAnonymity.name: (KAnonymity, "chain"),
}
"""The models that are tried, and the method of the quick runs, with the effort ``fast``."""
SHARES = (0.05, 0.1, 0.2)
"""The widths that are tried, as shares of the range of a column, before they are rounded."""
ALMOST_ALL = 0.999


@dataclass(frozen=True)
class CrowdCost:
    """What one k costs.

    Parameters
    ----------
    k
        The minimum crowd size.
    gcp
        The information loss of a quick run; None if no release exists within the limits.
    by_attribute
        The loss of each quasi-identifier.
    left_out
        The share of the records that cannot be hidden within the limits of the columns.
    """

    k: int
    gcp: float | None
    by_attribute: Mapping[str, float]
    left_out: float


@dataclass(frozen=True)
class WidthCost:
    """What cells of one column cost that are no wider than a limit.

    Parameters
    ----------
    column
        The column.
    widest
        The limit.
    left_out
        For each k, the share of the records that cannot be hidden with this limit and those of the schema.
    """

    column: str
    widest: float
    left_out: Mapping[int, float]


@dataclass(frozen=True)
class CrowdAdvice:
    """What each k costs for a table, and what narrower cells would.

    Parameters
    ----------
    model, method
        The names of the model and the method of the quick runs.
    records
        The number of records.
    costs
        What each k costs.
    widths
        What limits of numbers and dates would cost that have none; nothing if persons have several records,
        because then no records are left out for a limit.
    """

    model: str
    method: str
    records: int
    costs: tuple[CrowdCost, ...]
    widths: tuple[WidthCost, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data, for JSON."""
        return asdict(self)


def advise_crowds(
    frame: IntoDataFrame, schema: Schema, k: Sequence[int], model: str = Freeform.name
) -> CrowdAdvice:
    """Report what each k costs, from quick runs that publish nothing.

    Parameters
    ----------
    frame
        The table: any frame that narwhals supports.
    schema
        What its columns are, with their limits.
    k
        Minimum crowd sizes.
    model
        ``freeform`` or ``k-anonymity``.

    Raises
    ------
    InputError
        If the table, the schema or a parameter is wrong.
    """
    if model not in QUICK:
        raise InputError(
            f"model {model!r} has no quick runs; choose {' or '.join(QUICK)}, or give an epsilon for "
            "dissimilarity",
            reason=Reason.PARAMETER,
            parameter="model",
        )
    if any(each < 2 for each in k):
        raise InputError(f"k = {min(k)} is below 2", reason=Reason.PARAMETER, parameter="k")
    table = Table.encode(frame, Schema.of(schema))
    ks = [each for each in k if each <= len(table)]
    widths = [
        WidthCost(column.name, width, {each: _share(table, each, column, width) for each in ks})
        for column, width in (_widths(table) if table.owners is None else ())
    ]
    costs = tuple(cost_of_crowd(table, each, model) for each in ks)
    return CrowdAdvice(model, QUICK[model][1], len(table), costs, tuple(widths))


def cost_of_crowd(table: Table, k: int, model: str = Freeform.name) -> CrowdCost:
    """Return what a k costs, from a quick run that publishes nothing."""
    kind, method = QUICK[model]
    left = count_stranded(table, k) / len(table) if table.limited else 0.0
    try:
        release = anonymize_table(
            table,
            kind(k=k),
            method=method,
            leave_out=ALMOST_ALL if table.limited and table.owners is None else 0.0,
            effort="fast",
        )
    except InfeasibleError:
        return CrowdCost(k, None, {}, left)
    return CrowdCost(k, release.loss.gcp, dict(release.loss.by_attribute), left)


def _widths(table: Table) -> list[tuple[Column, float]]:
    """Return columns of numbers and dates without a limit, and round widths to try for each."""
    found: list[tuple[Column, float]] = []
    for attribute in table.attributes:
        column, domain = attribute.column, attribute.domain
        if not column.measured or is_limited(column) or domain.known < 2:
            continue
        places = column.kind.places(domain.values.head(domain.known))
        span = float(places[-1] - places[0])
        found += [(column, width) for width in dict.fromkeys(_round(span * share) for share in SHARES)]
    return found


def _round(width: float) -> float:
    """Return a number with one digit that is 1, 2 or 5, near a width."""
    power = 10.0 ** math.floor(math.log10(width))
    rounded = min((1, 2, 5, 10), key=lambda digit: abs(digit * power - width)) * power
    return int(rounded) if rounded >= 1 else rounded


def _share(table: Table, k: int, column: Column, width: float) -> float:
    """Return the share of the records that cannot be hidden if a column has a limit."""
    return count_stranded(table, k, {column.name: replace(column, widest=width)}) / len(table)
