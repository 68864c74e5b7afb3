"""Methods within limits: strata apart, narrow cells, and records left out that cannot be hidden."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.errors import InfeasibleError, InputError, InternalError, Reason
from shoal.kinds.domain import Attribute
from shoal.kinds.limits import exceeded, in_words, is_limited
from shoal.methods.limit_exchanges import within_by_exchanges
from shoal.methods.method import Circumstances, Method
from shoal.models import CoverageModel, KmAnonymity, LikenessModel, Model, PopulationModel
from shoal.recoding import Recoding
from shoal.schema import Column, Schema
from shoal.table import Table

STRANDED = -1
"""The region of a record that cannot be hidden within the limits."""

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
    limited = LimitedTable.of(table)
    regions = limited.regions(model.crowd)
    kept = np.flatnonzero(regions != STRANDED)
    allowed = math.floor(leave_out * len(table) + 1e-9)
    if len(table) - len(kept) > allowed or not len(kept):
        raise _infeasible(table, model.crowd, len(table) - len(kept), allowed)
    parts = []
    strata = limited.strata[kept]
    for stratum in range(int(limited.strata.max()) + 1):
        records = kept[strata == stratum]
        if len(records):
            parts += _recoded(method, limited, records, regions[records], model, circumstances, options)
    released = replace(table.only(kept), stranded=len(table) - len(kept))
    place = np.empty(len(table), dtype=np.int64)
    place[kept] = np.arange(len(kept))
    return _joined(released, [(place[records], recoding) for records, recoding in parts])


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
    why = ""
    if model.cells == "suppression":
        why = "its cells are exact or suppressed; allow patterns that suppress other columns instead"
    elif schema.has_items:
        why = "items have no limits"
    elif isinstance(model, CoverageModel) and model.withhold > 0:
        why = "records are withheld at random; leave out withhold"
    elif isinstance(model, LikenessModel):
        why = "each class is compared with the whole table, which limits divide"
    elif isinstance(model, KmAnonymity):
        why = "its cells are narrowed one by one"
    elif isinstance(model, PopulationModel):
        why = "its rows are compared with a population"
    if why:
        raise InputError(
            f"{model.name} does not keep limits of columns here: {why}",
            reason=Reason.PARAMETER,
            parameter="model",
        )


@dataclass(frozen=True, eq=False)
class LimitedTable:
    """A table as methods are given it: bands instead of values, and limits.

    Parameters
    ----------
    table
        The table, with bands instead of values.
    original
        The table with values.
    strata
        The stratum of each record.
    """

    table: Table
    original: Table
    strata: NDArray[np.int32]

    @classmethod
    def of(cls, table: Table) -> LimitedTable:
        """Return a table with its limits."""
        attributes = tuple(attribute.within_limits() for attribute in table.attributes)
        keys = [
            a.limit.parts[a.codes] for a in attributes if a.limit is not None and a.limit.parts is not None
        ]
        strata = np.zeros(len(table), dtype=np.int32)
        if keys:
            strata, _ = kernels.group_rows(np.ascontiguousarray(np.column_stack(keys), dtype=np.int32))
        return cls(replace(table, attributes=attributes), table, strata)

    @property
    def bounded(self) -> list[Attribute]:
        """The attributes whose intervals or sets have a limit within a stratum."""
        return [a for a in self.table.attributes if _is_bounded(a)]

    def regions(self, k: int) -> NDArray[np.int64]:
        """Return for each record the region it can hide in: at least k records, within all limits.

        A region lies in one stratum. A record that does not fit into any is `STRANDED`.
        """
        regions = np.full(len(self.table), STRANDED, dtype=np.int64)
        bounded, count = self.bounded, 0
        order = np.argsort(self.strata, kind="stable")
        for records in np.split(order, np.cumsum(np.bincount(self.strata))[:-1]):
            if len(records) < k:
                continue
            found = np.zeros(len(records), dtype=np.int64)
            if bounded:
                found = _regions(bounded, np.column_stack([a.codes[records] for a in bounded]), k)
            regions[records] = np.where(found == STRANDED, STRANDED, found + count)
            count += int(found.max()) + 1
        return regions


def _is_bounded(attribute: Attribute) -> bool:
    limit = attribute.limit
    return limit is not None and (limit.reach is not None or limit.most is not None)


def _regions(bounded: Sequence[Attribute], codes: NDArray[np.int32], k: int) -> NDArray[np.int64]:
    """Return the regions of one stratum, given only the columns with a limit; numbered from 0."""
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    classes = _narrow_classes(bounded, codes, k)
    boxes: list[_Box] = []
    members: list[NDArray[np.int64]] = []
    order = np.argsort(classes, kind="stable")
    for records in np.split(order, np.cumsum(np.bincount(classes))[:-1]):
        kept = _fitting(bounded, codes, records)
        if len(kept) < k:
            continue
        box = _Box.around(bounded, codes[kept])
        # Neighbours along the only column with a limit become one region where this is narrow enough.
        if len(bounded) == 1 and boxes and (both := boxes[-1].with_box(box)).fits(bounded):
            boxes[-1], members[-1] = both, np.concatenate([members[-1], kept])
        else:
            boxes.append(box)
            members.append(kept)
    regions = np.full(len(codes), STRANDED, dtype=np.int64)
    for number, records in enumerate(members):
        regions[records] = number
    _let_join(bounded, codes, regions, boxes)
    return regions


def _narrow_classes(bounded: Sequence[Attribute], codes: NDArray[np.int32], k: int) -> NDArray[np.int32]:
    """Return classes of at least k records of one stratum, beyond the limits as little as possible."""
    attributes = [a.geometry(1.0) for a in bounded]
    if len(bounded) > 1 or bounded[0].limit is None or bounded[0].limit.reach is None:
        return kernels.mondrian(codes, attributes, [], k=k, relaxed=True)
    order = np.argsort(codes[:, 0], kind="stable")
    starts = kernels.cut(np.ascontiguousarray(codes[order]), attributes, k)
    classes = np.empty(len(codes), dtype=np.int32)
    classes[order] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(codes))))
    return classes


@dataclass(frozen=True, eq=False)
class _Box:
    """The codes of some records in the columns with a limit: lowest and highest, or a set."""

    spans: tuple[Any, ...]

    @classmethod
    def around(cls, bounded: Sequence[Attribute], codes: NDArray[np.int32]) -> _Box:
        columns = zip(bounded, codes.T, strict=True)
        return cls(
            tuple(
                frozenset(column.tolist())
                if a.limit and a.limit.most
                else (int(column.min()), int(column.max()))
                for a, column in columns
            )
        )

    def with_box(self, other: _Box) -> _Box:
        return _Box(
            tuple(
                mine | its if isinstance(mine, frozenset) else (min(mine[0], its[0]), max(mine[1], its[1]))
                for mine, its in zip(self.spans, other.spans, strict=True)
            )
        )

    def fits(self, bounded: Sequence[Attribute]) -> bool:
        return all(_span_fits(a, span) for a, span in zip(bounded, self.spans, strict=True))


def _span_fits(attribute: Attribute, span: Any) -> bool:
    limit = attribute.limit
    assert limit is not None
    if isinstance(span, frozenset):
        return limit.most is None or len(span) <= limit.most
    return limit.reach is None or span[1] <= int(limit.reach[span[0]])


def _fitting(
    bounded: Sequence[Attribute], codes: NDArray[np.int32], records: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return as many of some records as fit within the limits, one column after the other."""
    for column, attribute in enumerate(bounded):
        limit = attribute.limit
        assert limit is not None
        values, counts = np.unique(codes[records, column], return_counts=True)
        if limit.most is not None:
            chosen = values[np.argsort(-counts, kind="stable")[: limit.most]]
        else:
            assert limit.reach is not None
            before = np.append(0, np.cumsum(counts))
            ends = np.searchsorted(values, limit.reach[values], side="right")
            best = int(np.argmax(before[ends] - before[:-1]))
            chosen = values[best : ends[best]]
        records = records[np.isin(codes[records, column], chosen)]
    return records


def _let_join(
    bounded: Sequence[Attribute], codes: NDArray[np.int32], regions: NDArray[np.int64], boxes: list[_Box]
) -> None:
    """Let records without a region join one that stays narrow enough; equal ones stay together."""
    lost = np.flatnonzero(regions == STRANDED)
    if not len(lost) or not boxes:
        return
    group, first = kernels.group_rows(np.ascontiguousarray(codes[lost]))
    for number, each in enumerate(first):
        own = _Box.around(bounded, codes[lost[each]][None, :])
        for region, box in enumerate(boxes):
            if (both := box.with_box(own)).fits(bounded):
                boxes[region] = both
                regions[lost[group == number]] = region
                break


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
        if beyond.any() and recoding.assignment is None and model.diversity is None:
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


def _infeasible(table: Table, k: int, stranded: int, allowed: int) -> InfeasibleError:
    """Return the error that says which limit is the tightest, and what would do."""
    limits = [column for column in table.schema.quasi if is_limited(column)]
    said = "; ".join(f"{column.name!r} {in_words(column)}" for column in limits)
    without = {c.name: count_stranded(table, k, {c.name: _free(c)}) for c in limits}
    tightest = min(limits, key=lambda column: without[column.name], default=None)
    hint = ""
    if tightest is not None and len(limits) > 1:
        hint = f"; without the limit of {tightest.name!r}, the tightest, {without[tightest.name]:,} could not"
    would = list(_what_would_do(table, k, stranded, allowed, tightest))
    may = f"at most {allowed:,} may be left out" if allowed else "no record may be left out"
    return InfeasibleError(
        f"k = {k} is not achievable within the limits ({said}): {stranded:,} of {len(table):,} records "
        f"cannot be hidden, and {may}{hint}. What would do: {', or '.join(would) or 'fewer limits'}",
        column=None if tightest is None else tightest.name,
        parameter="leave_out",
    )


def _what_would_do(
    table: Table, k: int, stranded: int, allowed: int, tightest: Column | None
) -> Iterator[str]:
    """Yield changes, one at a time, with which a release is achievable."""
    if stranded < len(table):
        yield f"leave_out = {math.ceil(stranded / len(table) * 1e4) / 1e4:g}"
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
