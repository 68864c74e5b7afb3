"""Methods within limits: strata apart, narrow cells, and records left out that cannot be hidden."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InfeasibleError, InputError, InternalError, Reason
from shoal.kinds.limits import exceeded, in_words, is_limited
from shoal.methods.limit_exchanges import within_by_exchanges
from shoal.methods.limit_regions import STRANDED, LimitedTable
from shoal.methods.method import Circumstances, Method
from shoal.models import Model
from shoal.recoding import Recoding
from shoal.schema import Column, Schema
from shoal.table import Table

MOST_ATTEMPTS = 3
"""How often the records of a stratum are recoded together, before each region is by itself."""

WIDER = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0)
"""By what factors a limit is tried to be widened, for the message about one that is too narrow."""


def within_limits(
    method: Method,
    table: Table,
    model: Model,
    circumstances: Circumstances,
    leave_out: float,
    options: Mapping[str, Any],
) -> Recoding:
    """Return what a method makes of a table with limits.

    Records with different values of an exact column, or below different nodes of the highest level that is
    allowed, are in different strata, each of which the method recodes by itself. Intervals beyond a limit
    cost more than anything else. If the method still makes one, or knows nothing of costs, it recodes the
    stratum again in regions that are narrow enough.

    Parameters
    ----------
    method, table, model, circumstances, options
        The method and what it is given.
    leave_out
        The largest share of the records that may be left out.

    Returns
    -------
    Recoding
        Of the table without the records that were left out. Who that is depends on quasi-identifiers and k
        alone.

    Raises
    ------
    InfeasibleError
        If more records cannot be hidden; the message says what would do.
    InputError
        If the model has no methods that keep limits.
    """
    require_support(table.schema, model)
    exact = model.exact_in([column.name for column in table.schema.quasi if is_limited(column)])
    if exact is not None:
        return _suppressed(method, table, exact, circumstances, leave_out, options)
    known_all = model.known_columns is None
    if leave_out and not known_all:
        raise InputError(
            f"leave_out is not for {model.name}: in some of the columns, a few rows could still cover a "
            "record that is left out",
            reason=Reason.PARAMETER,
            parameter="leave_out",
        )
    limited = LimitedTable.of(table)
    k = model.crowd_in_known
    regions = limited.regions(k)
    kept = _hidden(table, regions, k, leave_out, known_all)
    parts = []
    strata = limited.strata[kept]
    for stratum in range(int(limited.strata.max()) + 1):
        records = kept[strata == stratum]
        if len(records):
            parts += _recoded(method, limited, records, regions[records], model, circumstances, options)
    released = replace(table.only(kept), stranded=len(table) - len(kept))
    return _joined(released, [(np.searchsorted(kept, records), recoding) for records, recoding in parts])


def _hidden(
    table: Table, regions: NDArray[np.int64], k: int, leave_out: float, may_leave_out: bool = True
) -> NDArray[np.int64]:
    """Return the records that are in some region; refuse to leave out more than are allowed."""
    kept = np.flatnonzero(regions != STRANDED)
    allowed = math.floor(leave_out * len(table) + 1e-9)
    if len(table) - len(kept) > allowed or not len(kept):
        raise _infeasible(table, k, len(table) - len(kept), allowed, may_leave_out)
    return kept


def _suppressed(
    method: Method,
    table: Table,
    model: Model,
    circumstances: Circumstances,
    leave_out: float,
    options: Mapping[str, Any],
) -> Recoding:
    """Return exact and suppressed cells within limits, by a model that is exact in columns with a limit."""
    limited = {c.name: replace(c, exact=True, widest=None) for c in table.schema.quasi if is_limited(c)}
    schema = Schema(tuple(limited.get(c.name, c) for c in table.schema))
    attributes = tuple(replace(a, column=schema[a.column.name]) for a in table.attributes)
    exact = replace(table, schema=schema, attributes=attributes)
    kept = _hidden(exact, LimitedTable.of(exact).regions(model.crowd), model.crowd, leave_out)
    released = replace(table.only(kept), stranded=len(table) - len(kept))
    return method(released, model, circumstances, **options)


def require_share(leave_out: float, table: Table) -> None:
    """Refuse a share to leave out that is none, or that no limit needs.

    Raises
    ------
    InputError
        If it is not a number from 0 to below 1, no column has a limit, or persons have several records.
    """
    if isinstance(leave_out, bool) or not isinstance(leave_out, int | float) or not 0 <= leave_out < 1:
        wrong = f"leave_out = {leave_out!r} must be a share of the records, from 0 to below 1"
    elif leave_out and not table.limited:
        wrong = "leave_out needs a limit: without one, every record can be hidden; give a column a limit"
    elif leave_out and table.owners is not None:
        wrong = (
            "leave_out counts records, and some persons have several; keep one of each (most_per_person = 1)"
        )
    else:
        return
    raise InputError(wrong, reason=Reason.PARAMETER, parameter="leave_out")


def require_support(schema: Schema, model: Model) -> None:
    """Refuse models whose methods keep no limits.

    Raises
    ------
    InputError
        With the reason.
    """
    why = model.why_no_limits
    if model.cells == "suppression" and any(column.bands is not None for column in schema.quasi):
        why = "its cells are exact or suppressed, so that no interval could end at a cut; leave out bands"
    if why:
        raise InputError(
            f"{model.name} does not keep limits of columns here: {why}",
            reason=Reason.PARAMETER,
            parameter="model",
        )


def _recoded(
    method: Method,
    limited: LimitedTable,
    records: NDArray[np.int64],
    regions: NDArray[np.int64],
    model: Model,
    circumstances: Circumstances,
    options: Mapping[str, Any],
) -> list[tuple[NDArray[np.int64], Recoding]]:
    """Return the recodings of one stratum, each with its records.

    Regions whose records are in rows beyond a limit are recoded by themselves, all others together.
    """
    parts = []
    apart = np.zeros(len(records), dtype=np.bool_)
    for _ in range(MOST_ATTEMPTS):
        together = records[~apart]
        if len(together) == 0:
            break
        recoding = _attempted(method, limited.table.only(together), limited, model, circumstances, options)
        beyond = _beyond(recoding)
        mendable = recoding.assignment is None and model.diversity is None
        if beyond.any() and mendable and not limited.table.schema.has_items:
            mended = within_by_exchanges(recoding)
            if mended is not None and not (still := _beyond(mended)).any():
                recoding, beyond = mended, still
        if not beyond.any():
            parts.append((together, recoding))
            break
        wide = np.flatnonzero(beyond)
        members = recoding.records[wide] if recoding.graph is None else recoding.graph[wide].ravel()
        apart |= np.isin(regions, regions[~apart][members])
    else:
        apart[:] = True
    for region in np.unique(regions[apart]):
        inside = records[regions == region]
        recoding = _attempted(method, limited.table.only(inside), limited, model, circumstances, options)
        if _beyond(recoding).any():
            raise InternalError("a method made a cell that is wider than all records in its region")
        parts.append((inside, recoding))
    return parts


def _attempted(
    method: Method,
    part: Table,
    limited: LimitedTable,
    model: Model,
    circumstances: Circumstances,
    options: Mapping[str, Any],
) -> Recoding:
    """Return what a method makes of a part of a table; an error says that it is about this part."""
    try:
        return method(part, model, circumstances, **options)
    except InfeasibleError as error:
        if len(part) == len(limited.table):
            raise
        raise InfeasibleError(
            f"{error} (so in one of the parts of the table that the limits keep apart, with {len(part):,} "
            "records; fewer limits make larger parts)",
            column=error.column,
            parameter=error.parameter,
        ) from None


def _beyond(recoding: Recoding) -> NDArray[np.bool_]:
    """Return which rows of a recoding are beyond a limit."""
    beyond = np.zeros(len(recoding.values[0]), dtype=np.bool_)
    for values, attribute in zip(recoding.values, recoding.table.attributes, strict=True):
        if attribute.limit is not None:
            beyond |= exceeded(values, attribute.limit)
    return beyond[recoding.box]


def _joined(table: Table, parts: Sequence[tuple[NDArray[np.int64], Recoding]]) -> Recoding:
    """Return one recoding of several parts of a table, each with its records; bands become values."""
    box = np.empty(len(table), dtype=np.int32)
    first = parts[0][1]
    graph = None if first.graph is None else np.empty((len(table), first.graph.shape[1]), dtype=np.int32)
    assignment = None if first.assignment is None else np.empty(len(table), dtype=np.int32)
    boxes = 0
    for records, recoding in parts:
        box[records] = recoding.box + boxes
        boxes += len(recoding.values[0])
        if graph is not None and recoding.graph is not None:
            graph[records] = records[recoding.graph]
        if assignment is not None and recoding.assignment is not None:
            assignment[records] = records[recoding.assignment]
    values = []
    for column, attribute in enumerate(table.attributes):
        joined = first.values[column].joined([recoding.values[column] for _, recoding in parts[1:]])
        values.append(joined if attribute.domain.bands is None else joined.between_bands(attribute.domain))
    return Recoding(table, tuple(values), box, graph, assignment, first.account if len(parts) == 1 else {})


def _infeasible(table: Table, k: int, stranded: int, allowed: int, may_leave_out: bool) -> InfeasibleError:
    """Return the error that says which limit is the tightest, and what would do."""
    limits = [column for column in table.schema.quasi if is_limited(column)]
    said = "; ".join(f"{column.name!r} {in_words(column)}" for column in limits)
    without = {c.name: count_stranded(table, k, {c.name: _free(c)}) for c in limits}
    tightest = min(limits, key=lambda column: without[column.name], default=None)
    hint = ""
    if tightest is not None and len(limits) > 1:
        hint = f"; without the limit of {tightest.name!r}, the tightest, {without[tightest.name]:,} could not"
    would = list(_what_would_do(table, k, allowed, tightest))
    if may_leave_out and stranded < len(table):
        would.insert(0, f"leave_out = {math.ceil(stranded / len(table) * 1e4) / 1e4:g}")
    may = f"at most {allowed:,} may be left out" if allowed else "no record may be left out"
    return InfeasibleError(
        f"k = {k} is not achievable within the limits ({said}): {stranded:,} of {len(table):,} records "
        f"cannot be hidden, and {may}{hint}. What would do: {', or '.join(would) or 'fewer limits'}",
        column=None if tightest is None else tightest.name,
        parameter="leave_out",
    )


def _what_would_do(table: Table, k: int, allowed: int, tightest: Column | None) -> Iterator[str]:
    """Yield changes, one at a time, with which a release is achievable, but for leaving records out."""
    smaller = _largest(lambda each: count_stranded(table, each) <= allowed, 2, k - 1)
    if smaller is not None:
        yield f"k = {smaller}"
    if tightest is None:
        return
    if isinstance(tightest.widest, int | float) and tightest.hierarchy is None:
        for factor in WIDER:
            wider = replace(tightest, widest=math.ceil(float(tightest.widest) * factor))
            if count_stranded(table, k, {tightest.name: wider}) <= allowed:
                yield f"a limit of {wider.widest} for {tightest.name!r}"
                return
    if count_stranded(table, k, {tightest.name: _free(tightest)}) <= allowed:
        yield f"no limit for {tightest.name!r}"


def _free(column: Column) -> Column:
    return replace(column, exact=False, widest=None, suppressible=True)


def count_stranded(table: Table, k: int, instead: Mapping[str, Column] | None = None) -> int:
    """Return how many records cannot be hidden, with other limits for some columns."""
    others = instead or {}
    changed = tuple(replace(a, column=others.get(a.column.name, a.column)) for a in table.attributes)
    return int((LimitedTable.of(replace(table, attributes=changed)).regions(k) == STRANDED).sum())


def _largest(holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """Return the largest number from low to high for which a condition holds, if it does below it, too."""
    found = None
    while low <= high:
        middle = (low + high) // 2
        if holds(middle):
            found, low = middle, middle + 1
        else:
            high = middle - 1
    return found
