"""Every model by every method on tables of every kind: the text of a release keeps the promise, or cannot."""

from __future__ import annotations

import csv
import datetime
import inspect
import io
import math
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from close_values import all_sensitive_values, dissimilar, distance_of
from definitions import breaches, possible
from examples import examples
from few_records import Original
from hypothesis import event, given
from hypothesis import strategies as st

from shoal import (
    KK,
    BetaLikeness,
    Column,
    Concealment,
    DeltaDisclosure,
    Dissimilarity,
    Hierarchy,
    InfeasibleError,
    InputError,
    KAnonymity,
    Kind,
    KmAnonymity,
    KOne,
    Missing,
    OneK,
    Pattern,
    Patterned,
    Role,
    Schema,
    SetAnonymity,
    SetDiversity,
    TCloseness,
    anonymize,
    audit,
)
from shoal.methods import METHODS
from shoal.models import DiverseModel, Model, OwnRowsModel

MOST = 7
"""How many records a table has at most."""

CHOICES: dict[str, list[Any]] = {
    "effort": ["fast", "balanced", "best"],
    "measure": ["gcp", "lm", "em"],
    "order": ["chosen", "gray-tsp"],
    "randomized": [True, False],
    "relaxed": [True, False],
    "seconds": [20.0],
    "start": ["locality", "degree"],
    "walk": ["default", "paper"],
    "whole": [True, False],
}
"""What options of methods can be."""

LABELS = ("a", "b", "c d", "a|b", "*", "..", "é\\")
DAYS = [datetime.date(2024, 2, 27) + datetime.timedelta(days) for days in (0, 1, 2, 400)]
POOLS: dict[str, list[Any]] = {
    "whole": [-3, 0, 1, 2, 50],
    "fraction": [-0.5, 0.1, 0.2, 0.3, 1e9],
    "date": DAYS,
    "ordinal": ["low", "mid..dle", "high", "*"],
    "category": list(LABELS),
    "switch": [True, False],
    "tree": ["a", "b", "c", "*"],
    "items": [frozenset(chosen) for chosen in ("", "x", "y", "xy", "xyz", "z")],
}
KINDS = {
    "whole": Kind.NUMERIC,
    "fraction": Kind.NUMERIC,
    "date": Kind.DATE,
    "ordinal": Kind.ORDINAL,
    "items": Kind.ITEMS,
}
LEVELS = [
    [["a", "ab", "top"], ["b", "ab", "top"], ["c", "top"], ["*", "c*", "top"], ["d", "c*", "top"]],
    [["a", "top"], ["b", "top"], ["c", "top"], ["*", "top"]],
    [["a", "x", "y"], ["b", "x", "y"], ["c", "z"], ["*", "z"]],
]

DIVERSE_METHODS = {KAnonymity: ("mondrian", "agglomerative", "forest"), KOne: ("expansion",)}
"""Methods that can promise something about sensitive values, where not all of a model's can."""

Drawn = tuple[Original, Schema]

seldom = st.sampled_from([False] * 15 + [True])
"""Draws what makes most tables or promises impossible, and is to be seen now and then all the same."""


@st.composite
def columns(draw: st.DrawFn, name: str, role: Role, sorts: list[str]) -> tuple[Column, list[Any], Any]:
    """Draw a column, the values that its cells have, and the levels of its hierarchy."""
    sort = draw(st.sampled_from(sorts))
    fewest = 1 if draw(seldom) else 2
    pool = draw(st.lists(st.sampled_from(POOLS[sort]), min_size=fewest, max_size=4, unique=True))
    column = Column(
        name,
        role=role,
        kind=KINDS.get(sort, Kind.CATEGORICAL),
        weight=draw(st.sampled_from([1.0, 1.0, 0.5, 3.0])),
        domain=tuple(POOLS["ordinal"]) if sort == "ordinal" else None,
    )
    levels = draw(st.sampled_from(LEVELS)) if sort == "tree" else None
    if levels is not None:
        column = replace(column, hierarchy=Hierarchy.from_levels(levels))
        levels = levels if len({chain[-1] for chain in levels}) == 1 else [[*c, "**"] for c in levels]
    if draw(st.sampled_from([False, False, False, True])):
        pool = [*pool, None]
        policies = [Missing.CATEGORY, Missing.CATEGORY, Missing.SUPPRESS]
        column = replace(column, missing=Missing.ERROR if draw(seldom) else draw(st.sampled_from(policies)))
    return column, pool, levels


@st.composite
def originals(draw: st.DrawFn, *, items: bool, secrets: list[list[str]], varied: bool) -> Drawn:
    """Draw a table: up to three quasi-identifiers, some sensitive columns, one that is carried along.

    If it is to be varied, all sensitive values are about equally frequent.
    """
    plain = [sort for sort in POOLS if sort != "items"]
    sorts = [plain] * draw(st.integers(1, 3))
    if items:
        sorts[0] = ["items"]
    drawn = [draw(columns(f"quasi {i}", Role.QUASI, each)) for i, each in enumerate(sorts)]
    drawn += [draw(columns(f"secret {i}", Role.SENSITIVE, each)) for i, each in enumerate(secrets)]
    drawn.append((Column("number"), [None], None))
    order = draw(st.permutations(range(len(drawn))))
    drawn = [drawn[place] for place in order]
    row = st.tuples(*(st.sampled_from(pool) for _, pool, _ in drawn))
    n = draw(st.integers(1, 3) if draw(seldom) else st.integers(4, MOST))
    rows = draw(st.lists(row, min_size=n, max_size=n))
    described = tuple(column for column, _, _ in drawn)
    records = [dict(zip((c.name for c in described), cells, strict=True)) for cells in rows]
    for number, record in enumerate(records):
        record["number"] = number
    for column, pool, _ in drawn:
        if column.role is Role.SENSITIVE and varied:
            turn = draw(st.permutations(range(n)))
            for place, record in zip(turn, records, strict=True):
                record[column.name] = pool[place % len(pool)]
    levels = {column.name: levels for column, _, levels in drawn if levels}
    return Original(described, tuple(records), levels), Schema(described)


@st.composite
def promises(draw: st.DrawFn, kind: type[Model], method: str, schema: Schema, n: int) -> Model:
    """Draw a promise of this kind."""
    k = n + 1 if draw(seldom) and n else draw(st.integers(2, max(2, min(4, n))))
    quasi = [column.name for column in schema.quasi]
    if kind is SetAnonymity:
        return SetAnonymity(k=k)
    if kind is SetDiversity:
        return SetDiversity(l=draw(st.sampled_from([2, 2, 3])))
    if kind is KmAnonymity:
        return KmAnonymity(k=k, knows=draw(st.integers(1, 4)))
    if kind is Patterned:
        some = st.lists(st.sampled_from(quasi), unique=True)
        patterns: Any = st.lists(st.builds(lambda names: {"suppress": names}, some), min_size=2, max_size=5)
        listed = draw(st.booleans())
        ruled = not listed or draw(seldom)  # rules beside a list mostly contradict it
        diverse = bool(schema.sensitive) and draw(st.booleans())
        return Patterned(
            k=k,
            l=draw(st.sampled_from([None, 1.3, 1.5, 2.0])) if diverse else None,
            p=draw(st.sampled_from([None, None, 2, 3])) if diverse else None,
            entropy_l=draw(st.sampled_from([None, None, 1.5])) if diverse else None,
            patterns=draw(patterns) if listed else "all",
            up_to=draw(st.none() | st.integers(0, 3)) if ruled else None,
            never=draw(st.lists(st.sampled_from(quasi), max_size=1)) if ruled else [],
            priorities=draw(st.lists(some, max_size=2)) if ruled else [],
            weights=draw(st.dictionaries(st.sampled_from(quasi), st.sampled_from([0.5, 2.0]))),
            leftovers=draw(st.sampled_from(["suppress", "refuse"])),
        )
    if kind is Dissimilarity:
        return Dissimilarity(
            k=k,
            epsilon=draw(st.sampled_from([0.0, 0.0, 0.1, 0.3, 0.5, 1.0, 2.0, 30.0])),
            delta=draw(st.sampled_from([0.0, 0.2, 0.3, 0.5, 2 / 3, 1.0])),
            distance=draw(st.none() | st.sampled_from(_distances(schema))),
        )
    if kind is TCloseness:
        return TCloseness(
            k=k,
            t=draw(st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5])),
            ground_distance=draw(st.sampled_from([None, None, "equal", "ordered", "hierarchical"])),
        )
    if kind is BetaLikeness:
        return BetaLikeness(k=k, beta=draw(st.sampled_from([0.0, 0.5, 1.0])), enhanced=draw(st.booleans()))
    if kind is DeltaDisclosure:
        return DeltaDisclosure(k=k, disclosure_delta=draw(st.sampled_from([0.1, 0.6, 1.0, 1.5])))
    assert issubclass(kind, DiverseModel)
    more: dict[str, Any] = {}
    can = schema.sensitive and method in DIVERSE_METHODS.get(kind, METHODS[kind]) and method != "exact"
    if can or draw(seldom):
        more["l"] = draw(st.sampled_from([None, None, 1.3, 1.5, 2.0]))
        if method not in ("agglomerative", "forest") or draw(seldom):
            more["p"] = draw(st.sampled_from([None, None, None, 2, 3]))
            more["entropy_l"] = draw(st.sampled_from([None, None, None, 1.5]))
    if issubclass(kind, OwnRowsModel) and method != "subsets":
        more["chance"] = draw(st.sampled_from([None, None, 1, 0.5, 0.34]))
    if kind is Concealment:
        more["two_sided"] = draw(st.booleans())
    if kind in (OneK, KOne, KK):
        more["withhold"] = draw(st.sampled_from([0.0, 0.0, 0.1, 0.3]))
    return kind(k=k, **more)


def _distances(schema: Schema) -> list[Any]:
    """Return the distances that the sensitive columns can have."""
    names = ["equality", "l1", "l2", "linf", "least", _by_length]
    if len(schema.sensitive) == 1:
        first = schema.sensitive[0]
        names += ["tree"] * (first.hierarchy is not None)
        names += ["absolute"] * (first.hierarchy is None and first.kind is not Kind.CATEGORICAL)
    return names


def _by_length(one: Any, other: Any) -> float:
    """Return how much longer one of two values is than the other, as texts."""
    return abs(len(str(one)) - len(str(other)))


def sensitive_sorts(data: st.DataObject, kind: type[Model], method: str) -> list[list[str]]:
    """Draw how many sensitive columns there are, and of which sorts each may be."""
    most = 1 if method in ("cahd", "printed_diversity") and not data.draw(seldom) else 2
    count = data.draw(st.integers(1 if kind.needs_sensitive else 0, most))
    return [["whole", "fraction", "date", "ordinal", "category", "tree"]] * count


def as_polars(original: Original) -> pl.DataFrame:
    """Return the table as a frame."""
    data = {
        column.name: [
            sorted(value) if isinstance(value, frozenset) else value
            for value in (record[column.name] for record in original.records)
        ]
        for column in original.columns
    }
    types = {column.name: pl.List(pl.String) for column in original.columns if column.kind is Kind.ITEMS}
    return pl.DataFrame(data, schema_overrides=types, strict=False)


def written(frame: Any) -> list[dict[str, str]]:
    """Return the rows of a released frame as their text in a file."""
    return list(csv.DictReader(io.StringIO(frame.write_csv(), newline="")))


def refused(original: Original, schema: Schema, model: Model, method: str) -> bool:
    """Return whether the call itself is wrong."""
    n = len(original.kept)
    withheld = math.ceil(getattr(model, "withhold", 0.0) * n)
    for_sets = isinstance(model, SetAnonymity | SetDiversity)
    diverse = isinstance(model, DiverseModel) and model.diversity is not None
    few = isinstance(model, KAnonymity) and model.p is None and model.entropy_l is None
    return (
        original.refused
        or (not isinstance(model, SetDiversity | KOne) and model.crowd > n - withheld)
        or (isinstance(model, KOne) and (model.crowd > n or withheld == n))
        or (isinstance(model, KmAnonymity) and model.k > n)
        or (isinstance(model, Patterned) and contradicts_itself(model))
        or (isinstance(model, TCloseness) and unsuited(schema, model))
        or (diverse and (not schema.sensitive or method in ("chain", "exact", "subsets")))
        or (method in ("agglomerative", "forest") and not few)
        or (method in ("cahd", "printed_diversity") and len(schema.sensitive) > 1)
        or (not for_sets and any(column.kind is Kind.ITEMS for column in schema.quasi))
    )


def unsuited(schema: Schema, model: TCloseness) -> bool:
    """Return whether a sensitive column does not have the distance that is asked for."""
    needed = {"ordered": "line", "hierarchical": "tree"}.get(model.ground_distance or "")
    found = {
        "tree" if c.hierarchy is not None else "none" if c.kind is Kind.CATEGORICAL else "line"
        for c in schema.sensitive
    }
    return needed is not None and found != {needed}


def contradicts_itself(model: Patterned) -> bool:
    """Return whether a pattern that is listed is not allowed by the rules beside it."""
    for listed in () if model.patterns == "all" else model.patterns:
        blank = set(Pattern.of(listed).suppress or ())
        chains = [[name in blank for name in chain] for chain in model.priorities]
        if blank.intersection(model.never) or any(chain != sorted(chain) for chain in chains):
            return True
        if model.up_to is not None and len(blank) > model.up_to:
            return True
    return False


def options_of(data: st.DataObject, kind: type[Model], method: str) -> dict[str, Any]:
    """Draw options of a method."""
    parameters = inspect.signature(METHODS[kind][method]).parameters.values()
    names = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    chosen = {name: data.draw(st.sampled_from(CHOICES[name])) for name in names if data.draw(st.booleans())}
    if method in ("agglomerative", "forest") and chosen.get("measure") == "gcp":
        del chosen["measure"]
    return chosen


EVERY = [
    (kind, method) for kind, methods in METHODS.items() for method in methods if not kind.needs_population
]
"""Models with a population are in `test_population_models.py`."""


@pytest.mark.parametrize(("kind", "method"), EVERY, ids=[f"{kind.name}-{name}" for kind, name in EVERY])
@examples(16)
@given(data=st.data())
def test_a_release_keeps_its_promise_or_there_is_none(
    kind: type[Model], method: str, data: st.DataObject
) -> None:
    items = (kind in (SetAnonymity, SetDiversity)) != data.draw(seldom)
    original, schema = data.draw(
        originals(
            items=items,
            secrets=sensitive_sorts(data, kind, method),
            varied=data.draw(st.sampled_from([True, True, False])),
        )
    )
    model = data.draw(promises(kind, method, schema, len(original.kept)))
    frame = as_polars(original)
    release: Any
    try:
        release = anonymize(frame, schema, model, method=method, **options_of(data, kind, method))
    except (InfeasibleError, InputError) as error:
        release = error
    if isinstance(release, InputError):
        event("refused")
        assert refused(original, schema, model, method), release
        return
    if isinstance(release, InfeasibleError):
        event("infeasible")
        assert not possible(original, model) or not_found(original, model, release), release
        return
    event("released")
    assert not refused(original, schema, model, method)
    table = release.written("csv")
    rows = written(table)
    assert breaches(original, rows, model) == []
    carried = [name for name in frame.columns if schema[name].role is not Role.QUASI]
    for row, record in zip(rows, release.key, strict=True):
        (own,) = written(frame[int(record)].select(carried))
        assert {name: row[name] for name in carried} == own
        assert original.row_covers(row, original.records[record])

    # The order of rows and columns says nothing.
    turned = table.select(reversed(table.columns)).reverse()
    again = frame.select(data.draw(st.permutations(frame.columns))).sample(fraction=1, shuffle=True, seed=1)
    assert audit(again, turned, schema.completed(again.columns), model).holds

    # The auditor sees whatever breaks the promise, and nothing else.
    tampered = tamper(data, frame, table, [name for name in table.columns if name not in carried])
    broken = breaches(original, written(tampered), model)
    event("tampered with: broken" if broken else "tampered with: still kept")
    found = audit(frame, tampered, schema, model)
    assert found.holds == (not broken), (broken, found.findings)


def not_found(original: Original, model: Model, error: InfeasibleError) -> bool:
    """Return whether an error says that no release was found, where it may be that there is one."""
    if "the procedure as printed" in str(error):
        return isinstance(model, SetDiversity)
    if not isinstance(model, Dissimilarity) or "found" not in str(error):
        return False
    return not dissimilar(all_sensitive_values(original), model, distance_of(original, model))


def tamper(
    data: st.DataObject, frame: pl.DataFrame, released: pl.DataFrame, names: list[str]
) -> pl.DataFrame:
    """Return a release in which a cell shows something else, one row looks like another, or a row is gone."""
    place, other = (data.draw(st.integers(0, len(released) - 1)) for _ in range(2))
    what = data.draw(st.sampled_from(["cell", "cell", "row", "gone"]))
    if what == "gone" and len(released) > 1:
        return released.with_row_index("place").filter(pl.col("place") != place).drop("place")
    if what == "row":
        shown = [place if row == other else row for row in range(len(released))]
        return released.with_columns(released[name].gather(shown) for name in names)
    name = data.draw(st.sampled_from(names))
    cells = released[name].to_list()
    cells[place] = data.draw(st.sampled_from([*cells, *exact(frame, name)]))
    return released.with_columns(pl.Series(name, cells, dtype=released[name].dtype))


def exact(frame: pl.DataFrame, name: str) -> list[str]:
    """Return values of the original as they are written, where that is simple."""
    if name not in frame.columns:
        return []
    cells = frame[name].drop_nulls()
    texts = cells.list.join(" ") if isinstance(cells.dtype, pl.List) else cells.cast(pl.String)
    return [text for text in texts if not set(text) & set("|\\*.")]
