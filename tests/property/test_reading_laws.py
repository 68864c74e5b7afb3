"""What a reader says of a release, held against the original: the truth lies between certain and possible."""

from __future__ import annotations

import datetime
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, given, settings

import shoal
from shoal.reading import Codebook, open_release
from shoal.release import codebook_of

DAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(days=each) for each in range(40)]
LEVELS = [("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*"), ("e", "e", "*")]
TYPES = [
    pl.Int64,
    pl.Float64,
    pl.String,
    pl.String,
    pl.Date,
    pl.String,
    pl.String,
    pl.Int64,
    pl.Time,
    pl.Datetime,
    pl.String,
]
CLOCK = [datetime.time(hour, minute) for hour in (0, 8, 23) for minute in (0, 30, 59)]
HOURS = [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=each) for each in range(0, 60, 7)]
MODELS = [
    shoal.Freeform(k=3),
    shoal.Freeform(k=3, l=1.3),
    shoal.KAnonymity(k=3),
    shoal.KAnonymity(k=3, l=1.3),
    shoal.Concealment(k=3),
    shoal.KK(k=3),
    shoal.KOne(k=3),
    shoal.OneK(k=3),
    shoal.Patterned(k=3),
]
OTHER_MODELS = [
    lambda _: shoal.TCloseness(k=3, t=0.8),
    lambda _: shoal.BetaLikeness(k=3, beta=4),
    lambda _: shoal.DeltaDisclosure(k=3, disclosure_delta=3),
    lambda frame: shoal.KMap(population=frame, k=3),
    lambda frame: shoal.DeltaPresence(population=pl.concat([frame, frame]), delta_max=0.7),
    lambda _: shoal.Dissimilarity(k=3, epsilon=0.5, delta=0.4),
    lambda _: shoal.KmAnonymity(k=3, knows=2),
    lambda _: shoal.Concealment(k=3, chance=1),
    lambda _: shoal.KK(k=3, chance=1),
]
OF_ITEMS = [shoal.SetAnonymity(k=2), shoal.SetAnonymity(k=4), shoal.SetDiversity(l=2)]


KINDS = {
    "number": "numeric",
    "fraction": "numeric",
    "label": "categorical",
    "leaf": "categorical",
    "day": "date",
    "rank": "ordinal",
    "zip": "categorical",
    "aged": "numeric",
    "clock": "time",
    "stamp": "hour",
}


def tables(missing: bool) -> st.SearchStrategy[pl.DataFrame]:
    def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.one_of(st.none(), values) if missing else values

    row = st.tuples(
        maybe(st.integers(0, 9)),
        maybe(st.sampled_from([0.1, 0.25, 2.5, 1e17, 1e17 + 16, -3.0])),
        maybe(st.sampled_from(["x", "y|z", "*", "w\\"])),
        maybe(st.sampled_from("abcde")),
        maybe(st.sampled_from(DAYS)),
        maybe(st.sampled_from(["low", "middle", "high"])),
        maybe(st.sampled_from(["02134", "02139", "10001"])),
        maybe(st.integers(20, 60)),
        maybe(st.sampled_from(CLOCK)),
        maybe(st.sampled_from(HOURS)),
        st.sampled_from(["flu", "cold", "flu|cold"]),
    )
    names = ["number", "fraction", "label", "leaf", "day", "rank", "zip", "aged", "clock", "stamp", "illness"]
    return st.lists(row, min_size=8, max_size=24).map(
        lambda rows: pl.DataFrame(
            rows,
            schema=dict(
                zip(
                    names,
                    TYPES,
                    strict=True,
                )
            ),
            orient="row",
        )
    )


def schema_of(frame: pl.DataFrame, declared: bool) -> shoal.Schema:
    domains: dict[str, Any] = {"rank": ["low", "middle", "high"]}
    if declared:
        domains |= {"number": (0, 20), "label": ["*", "x", "w\\", "y|z", "never"]}
    return shoal.Schema.infer(
        frame,
        quasi=list(KINDS),
        sensitive=["illness"],
        kinds=KINDS,
        domains=domains,
        hierarchies={
            "leaf": shoal.Hierarchy.from_levels(LEVELS),
            "zip": shoal.Prefixes((3,)),
            "aged": shoal.Intervals((10, 20)),
        },
    )


QUESTIONS: list[dict[str, Any]] = [
    {},
    {"number": (2, 5)},
    {"number": 3, "illness": "flu"},
    {"number": [1, 2, 7, None]},
    {"number": None},
    {"fraction": (0.1, 2.5)},
    {"fraction": (0.2, float(10**17))},
    {"fraction": 1e17},
    {"label": ["x", None]},
    {"label": "*"},
    {"leaf": ["a", "c"]},
    {"leaf": "ab"},
    {"day": (DAYS[3], DAYS[20]), "number": (0, 4)},
    {"day": DAYS[3]},
    {"rank": ("low", "middle")},
    {"rank": [None, "high"]},
    {"zip": "02139"},
    {"zip": "02134", "leaf": ["d", "e"]},
    {"aged": (25, 44)},
    {"aged": (30, 39), "label": ["y|z"]},
    {"clock": (datetime.time(0, 10), datetime.time(8, 30))},
    {"clock": [datetime.time(23, 59), None]},
    {"stamp": (HOURS[1], HOURS[5])},
]


def truth(frame: pl.DataFrame, question: dict[str, Any]) -> int:
    meets = np.ones(len(frame), dtype=bool)
    groups = {"ab": ["a", "b"]}
    order = ["low", "middle", "high"]
    for name, condition in question.items():
        cells = frame[name].to_list()
        members = condition if isinstance(condition, list) else [condition]
        here = np.zeros(len(frame), dtype=bool)
        for each in members:
            if isinstance(each, tuple) and name == "rank":
                wanted = order[order.index(each[0]) : order.index(each[1]) + 1]
                here |= np.array([cell in wanted for cell in cells])
            elif isinstance(each, tuple):
                here |= np.array([cell is not None and each[0] <= cell <= each[1] for cell in cells])
            elif name == "leaf" and each in groups:
                here |= np.array([cell in groups[each] for cell in cells])
            else:
                here |= np.array([cell == each for cell in cells])
        meets &= here
    return int(meets.sum())


def names_an_unknown_value(frame: pl.DataFrame, question: dict[str, Any]) -> bool:
    """Return whether a question is rightly refused: it names a value that no record has."""
    for name, condition in question.items():
        cells = frame[name].to_list()
        members = condition if isinstance(condition, list) else [condition]
        if any(each not in cells for each in members if not isinstance(each, tuple)):
            return True
    return False


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("typed", [False, True], ids=["text", "typed"])
@settings(max_examples=6, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(data=st.data())
def test_the_truth_lies_between_certain_and_possible(model: Any, typed: bool, data: st.DataObject) -> None:
    frame = data.draw(tables(data.draw(st.booleans())))
    schema = schema_of(frame, data.draw(st.booleans()))
    require_bounds(frame, schema, model, typed)


@pytest.mark.parametrize(
    "make",
    OTHER_MODELS,
    ids=["t", "beta", "delta", "k-map", "presence", "unlike", "km", "own concealment", "own kk"],
)
@settings(max_examples=3, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(data=st.data())
def test_the_truth_lies_between_certain_and_possible_in_other_models(make: Any, data: st.DataObject) -> None:
    frame = data.draw(tables(data.draw(st.booleans())))
    require_bounds(frame, schema_of(frame, data.draw(st.booleans())), make(frame), data.draw(st.booleans()))


def test_no_model_and_no_kind_is_left_out() -> None:
    frame = pl.DataFrame({"a": [1, 2, 3]})
    models = [*MODELS, *OF_ITEMS, *(make(frame) for make in OTHER_MODELS)]
    known = {each for each in shoal.models.MODELS.values() if each.__module__.startswith("shoal.")}
    assert {type(each) for each in models} == known
    assert {*KINDS.values(), "items"} == {kind.value for kind in shoal.Kind}


def require_bounds(frame: pl.DataFrame, schema: shoal.Schema, model: Any, typed: bool) -> None:
    """Make a release and ask all questions; without a release, there is nothing to ask."""
    try:
        release = shoal.anonymize(frame, schema, model, seed=1)
    except shoal.InfeasibleError:
        return
    table = release.written("parquet" if typed else "csv")
    book = codebook_of(release.model, schema, release.circumstances)
    for estimator in ("tight", "even"):
        reader = open_release(table, codebook=book, estimator=estimator)
        for question in QUESTIONS:
            true = truth(frame, question)
            try:
                found = reader.count(question)
            except shoal.InputError:
                assert names_an_unknown_value(frame, question), question
                continue
            assert found.certain <= true <= found.possible, question
            assert found.certain - 1e-6 <= found.estimate <= found.possible + 1e-6, question
            assert found.error >= 0


@settings(max_examples=10, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(data=st.data())
def test_groups_add_up_and_drawn_values_lie_in_their_cells(data: st.DataObject) -> None:
    frame = data.draw(tables(data.draw(st.booleans())))
    schema = schema_of(frame, data.draw(st.booleans()))
    release = shoal.anonymize(frame, schema, shoal.Freeform(k=2), seed=1)
    reader = open_release(release.written("csv"), schema, release.model)
    for name in [column.name for column in schema if column.role is shoal.Role.QUASI]:
        groups = reader.table(name)
        assert groups["estimate"].sum() == pytest.approx(len(frame), abs=1e-6), name
    drawn = reader.draw(2, seed=3)
    assert drawn[0].equals(reader.draw(2, seed=3)[0])
    for table in drawn:
        for name, column in reader._columns.items():
            if not column.notes.quasi:
                assert table[name].to_list() == release.written("csv")[name].to_list()
                continue
            for row, value in enumerate(table[name].to_list()):
                if value is None:
                    continue
                cell = column.cell[row]
                assert column.possible(column.question(value))[cell], (name, value)


def test_a_schema_reads_a_release_without_a_codebook() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "sex": ["m", "f", "m", "f"]})
    schema = shoal.Schema.infer(frame, quasi=["age", "sex"])
    book = Codebook.of_schema(schema, shoal.Freeform(k=2))
    assert book.tightness.records == 2
    assert [column.name for column in book.columns] == ["age", "sex"]


@pytest.mark.parametrize("model", OF_ITEMS, ids=repr)
@settings(max_examples=8, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(
    sets=st.lists(st.sets(st.sampled_from(["a", "b", "c d", "e"]), min_size=1), min_size=4, max_size=20),
    typed=st.booleans(),
)
def test_the_truth_about_items_lies_between_certain_and_possible(
    model: Any, sets: list[set[str]], typed: bool
) -> None:
    illness = [str(number % 4) for number in range(len(sets))]
    frame = pl.DataFrame({"basket": [sorted(each) for each in sets], "illness": illness})
    schema = shoal.Schema.infer(frame, quasi=["basket"], sensitive=["illness"], kinds={"basket": "items"})
    release = shoal.anonymize(frame, schema, model, seed=1)
    book = codebook_of(release.model, schema, release.circumstances)
    reader = open_release(release.written("parquet" if typed else "csv"), codebook=book)
    for wanted in ({"a"}, {"c d"}, {"b", "e"}, {"a", "b", "c d", "e"}):
        true = sum(bool(wanted & each) for each in sets)
        try:
            found = reader.count(basket=sorted(wanted))
        except shoal.InputError:
            assert not all(any(item in each for each in sets) for item in wanted)
            continue
        assert found.certain <= true <= found.possible
        assert found.certain - 1e-6 <= found.estimate <= found.possible + 1e-6
        assert found.error >= 0
