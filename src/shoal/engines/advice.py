"""What a crowd of k costs, from quick runs: loss of each column, and records that narrow cells leave out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from narwhals.stable.v2.typing import IntoDataFrame

from shoal.engines.local import anonymize_table
from shoal.engines.runs import options_for
from shoal.errors import InfeasibleError, InputError, Reason
from shoal.kinds.limits import is_limited
from shoal.methods import method_for
from shoal.methods.limits import count_stranded
from shoal.models import Freeform, KAnonymity, Model, declarations, make_model, model_named
from shoal.release import Release
from shoal.report.panel import percent
from shoal.schema import Column, Schema
from shoal.table import Table

QUICK = {Freeform.name: "ring", KAnonymity.name: "chain"}
"""The method of the quick runs, where it is not the default of the model; with the effort ``fast``."""
SHARES = (0.05, 0.1, 0.2)
"""The widths that are tried, as shares of the range of a column, before they are rounded."""
ALMOST_ALL = 0.999
LITTLE = 0.05
"""A width is suggested if it leaves out at most this share of the records."""


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
    widths
        The mean width of the cells of each column of numbers or dates, in the unit of its values.
    """

    k: int
    gcp: float | None
    by_attribute: Mapping[str, float]
    left_out: float
    widths: Mapping[str, float] = field(default_factory=dict)


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
        return asdict(self) | {"suggestions": self.suggestions()}

    def suggestions(self) -> list[str]:
        """Return what it costs to keep columns narrow, in sentences: the narrowest that leaves out little."""
        said = []
        for name in dict.fromkeys(each.column for each in self.widths):
            tried = [each for each in self.widths if each.column == name]
            for k in tried[0].left_out:
                fine = [each for each in tried if each.left_out[k] <= LITTLE]
                if fine:
                    least = min(fine, key=lambda each: each.widest)
                    said.append(
                        f"{name} to {least.widest:g} costs {percent(least.left_out[k])} of the records at "
                        f"k = {k}"
                    )
        return said


def advise_crowds(
    frame: IntoDataFrame,
    schema: Schema,
    k: Sequence[int],
    model: str = Freeform.name,
    parameters: Mapping[str, Any] | None = None,
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
        The name of any model with a crowd size; of `set-diversity`, that is its l.
    parameters
        Its other parameters.

    Raises
    ------
    InputError
        If the table, the schema or a parameter is wrong, or the model has no crowd size.
    """
    if any(each < 2 for each in k):
        raise InputError(f"k = {min(k)} is below 2", reason=Reason.PARAMETER, parameter="k")
    table = Table.encode(frame, Schema.of(schema))
    ks = [each for each in k if each <= len(table)]
    widths = [
        WidthCost(column.name, width, {each: _share(table, each, column, width) for each in ks})
        for column, width in (_widths(table) if table.owners is None else ())
    ]
    costs = tuple(cost_of_crowd(table, each, model, parameters) for each in ks)
    method = method_for(_with_crowd(model, 2, parameters), QUICK.get(model))[0]
    return CrowdAdvice(model, method, len(table), costs, tuple(widths))


def cost_of_crowd(
    table: Table, k: int, model: str = Freeform.name, parameters: Mapping[str, Any] | None = None
) -> CrowdCost:
    """Return what a k costs, from a quick run that publishes nothing; see `advise_crowds`."""
    asked = _with_crowd(model, k, parameters)
    method = method_for(asked, QUICK.get(model))[0]
    left = count_stranded(table, k) / len(table) if table.limited else 0.0
    may_leave_out = table.limited and table.owners is None and asked.known_columns is None
    try:
        release = anonymize_table(
            table,
            asked,
            method=method,
            leave_out=ALMOST_ALL if may_leave_out else 0.0,
            **options_for(asked, method, {"effort": "fast"}),
        )
    except InfeasibleError:
        return CrowdCost(k, None, {}, left)
    return CrowdCost(k, release.loss.gcp, dict(release.loss.by_attribute), left, dict(_mean_widths(release)))


def _with_crowd(name: str, k: int, parameters: Mapping[str, Any] | None) -> Model:
    """Return a model with a crowd size and other parameters."""
    known = [each for each, _, _ in declarations(model_named(name))]
    size = next((each for each in ("k", "l") if each in known), None)
    if size is None:
        raise InputError(
            f"model {name!r} has no crowd size to advise on; compare its parameters by releases",
            reason=Reason.PARAMETER,
            parameter="model",
        )
    return make_model(name, {**(parameters or {}), size: k})


def _mean_widths(release: Release) -> Iterator[tuple[str, float]]:
    """Yield how wide the cells of each column of numbers or dates are on average."""
    recoding = release.recoding
    for attribute, values in zip(recoding.table.attributes, recoding.values, strict=True):
        wide = values.mean_width(recoding.box) if attribute.column.measured else None
        if wide is not None:
            yield attribute.column.name, wide


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
