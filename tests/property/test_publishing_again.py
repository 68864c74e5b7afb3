"""Increments and releases with kept rows, over random histories: each passes the audit of all of them."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import (
    KK,
    Concealment,
    Freeform,
    InfeasibleError,
    InputError,
    KAnonymity,
    KOne,
    OneK,
    Patterned,
    PromiseError,
    Schema,
    SetAnonymity,
)
from shoal.models import Model

Step = tuple[pl.DataFrame, pl.DataFrame, np.ndarray[Any, Any]]
"""An original, its release and its key."""
MODELS: list[Model] = [
    KAnonymity(k=2),
    KAnonymity(k=3, l=1.5),
    KAnonymity(k=2, p=2),
    Patterned(k=2),
    Freeform(k=2),
    Freeform(k=3, l=1.5),
    Concealment(k=2),
    KK(k=2),
    OneK(k=2),
    KOne(k=2),
]
SCHEMA = Schema.infer(
    pl.DataFrame({"who": ["p"], "age": [1], "sex": ["f"], "d": ["a"], "days": [1]}),
    quasi=["age", "sex"],
    sensitive=["d"],
    person="who",
    kinds={"age": "numeric"},
)
ALONE = Schema.infer(
    pl.DataFrame({"who": ["p"], "age": [1], "sex": ["f"], "d": ["a"], "days": [1]}),
    quasi=["age", "sex"],
    sensitive=["d"],
    drop=["who"],
    kinds={"age": "numeric"},
)
"""The same without a person column."""


class Hospital:
    """A table that grows, shrinks and changes."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.born = 0
        self.people: dict[str, tuple[int, str, str, int]] = {}
        self.admit(int(self.random.integers(8, 25)))

    def record(self) -> tuple[int, str, str, int]:
        draw = self.random
        return (
            int(draw.integers(0, 8)),
            str(draw.choice(["f", "m"])),
            str(draw.choice(list("abcd"))),
            int(draw.integers(1, 4)),
        )

    def admit(self, count: int) -> None:
        for _ in range(count):
            self.people[f"p{self.born}"] = self.record()
            self.born += 1

    def live(self, *, grows_only: bool) -> None:
        """Let time pass: new persons and, unless the table only grows, changes and deletions."""
        names = list(self.people)
        if not grows_only:
            for name in self.random.choice(
                names, size=min(len(names), int(self.random.integers(0, 4))), replace=False
            ):
                del self.people[name]
            for name in list(self.people)[: int(self.random.integers(0, 3))]:
                old = self.people[name]
                self.people[name] = (old[0] + 1, *old[1:]) if self.random.random() < 0.5 else self.record()
            if self.random.random() < 0.2:  # everyone stays longer
                self.people = {name: (*old[:3], old[3] + 3) for name, old in self.people.items()}
        self.admit(int(self.random.integers(0, 9)))

    def table(self) -> pl.DataFrame:
        """Return all records, in any order."""
        rows = [(name, *self.people[name]) for name in self.random.permutation(list(self.people)).tolist()]
        return pl.DataFrame(rows, schema=["who", "age", "sex", "d", "days"], orient="row")


def first(hospital: Hospital, model: Model, schema: Schema = SCHEMA) -> list[Step] | None:
    table = hospital.table()
    try:
        release = shoal.anonymize(table, schema, model)
    except (InfeasibleError, InputError):
        return None
    return [(table, release.written("csv"), release.key)]


def holds(steps: list[Step], model: Model, schema: Schema = SCHEMA) -> None:
    """Audit all releases together, as someone would who has only files and keys."""
    (table, released, key), *earlier = steps
    found = shoal.joint_audit(table, released, schema, model, earlier=earlier, key=key)
    assert found.holds, (model, found.verdict)


def kept_rows(seed: int) -> int:
    """Let a table be published three to five times with kept rows; return how many releases were made."""
    model = MODELS[seed % len(MODELS)]
    hospital = Hospital(seed)
    steps = first(hospital, model)
    made = redrawn = 0
    for _ in range(2 + seed % 3 if steps else 0):
        assert steps is not None
        hospital.live(grows_only=model.crowd_kind != "classes")
        table = hospital.table()
        try:
            release = shoal.anonymize_again(table, SCHEMA, model, after=steps)
        except InfeasibleError:
            break
        except PromiseError:  # nothing is released; allowed, if rarely, once classes were redrawn
            assert redrawn
            COUNTS["refused"] += 1
            break
        redrawn += release.circumstances["again"]["redrawn"]
        new = (table, release.written("csv"), release.key)
        COUNTS.update(release.circumstances["again"])
        stays_or_is_new(new, steps)
        steps = [new, *steps]
        holds(steps, model)
        if model.crowd_kind == "classes":
            exchangeable(steps, model)
        made += 1
    return made


COUNTS: Counter[str] = Counter()
"""What happened to rows in all histories with kept rows, summed up."""


def stays_or_is_new(new: Step, steps: list[Step]) -> None:
    """Check that each unchanged row stays, and that all others are of new persons or of redrawn classes."""
    before = set(zip(steps[0][0]["who"].gather(steps[0][2]), steps[0][1].rows(), strict=True))
    ever = {who for original, _, key in steps for who in original["who"].gather(key)}
    old_mates, new_mates = mates(steps[0]), mates(new)
    same = {who for who, *_ in {*steps[0][0].rows()} & {*new[0].rows()}}
    for who, row in zip(new[0]["who"].gather(new[2]), new[1].rows(), strict=True):
        assert (who, row) in before or who not in ever or old_mates[who] <= new_mates[who]
        assert who not in ever or not old_mates[who] <= same or (who, row) in before
    shown = set(new[0]["who"].gather(new[2]))
    assert all(who in shown for who, members in old_mates.items() if members <= same)


def mates(step: Step) -> dict[str, frozenset[str]]:
    """Return for each person of a release who is in the same class."""
    original, released, key = step
    classes: dict[Any, set[str]] = {}
    for who, cells in zip(original["who"].gather(key), released.select("age", "sex").rows(), strict=True):
        classes.setdefault(cells, set()).add(who)
    return {who: frozenset(members) for members in classes.values() for who in members}


def exchangeable(steps: list[Step], model: Model) -> None:
    """Check by definition that an attacker who follows classes through all releases finds k, l and p.

    Persons are exchangeable if they were in the same releases, always in the same classes, and the same of
    their carried columns changed each time. An attacker who knows all of this cannot tell them apart.
    """
    groups: dict[Any, set[str]] = {}
    values: dict[tuple[str, int], tuple[Any, ...]] = {}
    shared = [mates(step) for step in steps]
    for number, (original, _, key) in enumerate(steps):
        for who, *carried in original[key].select("who", "d", "days").rows():
            values[who, number] = tuple(carried)
    for who in {who for who, _ in values}:
        there = [number for number in range(len(steps)) if (who, number) in values]
        patterns = tuple(
            tuple(a == b for a, b in zip(values[who, i], values[who, j], strict=True))
            for i, j in itertools.pairwise(there)
        )
        always = frozenset.intersection(*(shared[number][who] for number in there))
        groups.setdefault((tuple(there), patterns, always), set()).add(who)
    asked = model.diversity
    for (there, _, _), members in groups.items():
        assert len(members) >= model.crowd, (model, members)
        for number in there if asked is not None else ():
            often = Counter(values[who, number][0] for who in members)
            assert asked is not None
            assert asked.l is None or max(often.values()) * asked.l <= len(members) * (1 + 1e-9)
            assert asked.p is None or len(often) >= asked.p


def increments(seed: int) -> int:
    """Publish new persons three to five times; return how many releases were made."""
    model = MODELS[seed % len(MODELS)]
    hospital = Hospital(seed)
    steps = first(hospital, model)
    made = 0
    for _ in range(2 + seed % 3 if steps else 0):
        assert steps is not None
        hospital.live(grows_only=True)
        table = hospital.table()
        before = {who for original, _, _ in steps for who in original["who"]}
        try:
            release = shoal.anonymize_new(table, SCHEMA, model, after=steps)
        except (InfeasibleError, InputError):
            continue
        assert not before & set(table["who"].gather(release.key))
        steps = [(table, release.written("csv"), release.key), *steps]
        holds(steps, model)
        made += 1
    return made


@pytest.fixture(autouse=True)
def _silent() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_a_few_histories() -> None:
    assert sum(kept_rows(seed) + increments(seed) for seed in range(len(MODELS))) > 15


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(40, marks=pytest.mark.slow),
        pytest.param(1_000, marks=pytest.mark.campaign),
    ],
)
def test_many_histories(count: int) -> None:
    COUNTS.clear()
    made = [(kept_rows(seed), increments(seed)) for seed in range(1_000, 1_000 + count)]
    assert COUNTS["refused"] <= count // 200
    assert min(map(sum, zip(*made, strict=True))) > count


def test_nothing_changed() -> None:
    hospital = Hospital(5)
    for model in MODELS:
        steps = first(hospital, model)
        assert steps is not None
        release = shoal.anonymize_again(steps[0][0], SCHEMA, model, after=steps)
        assert release.written("csv").equals(steps[0][1])
        assert release.key.tolist() == steps[0][2].tolist()
        again = shoal.joint_audit(steps[0][0], release.table, SCHEMA, model, earlier=steps, key=release.key)
        assert again.k == release.audit.concealment or isinstance(model, KK | OneK | KOne)
        around = release.audit.diversity_around or release.audit.diversity
        assert [each.as_dict() for each in again.diversity] == [pytest.approx(e.as_dict()) for e in around]


def test_what_is_refused() -> None:
    hospital = Hospital(3)
    steps = first(hospital, Freeform(k=2))
    assert steps is not None
    table = steps[0][0]
    fewer = table[1:]
    with pytest.raises(
        InputError, match="1 record of the earlier release changed or are gone; freeform allows new"
    ):
        shoal.anonymize_again(fewer, SCHEMA, Freeform(k=2), after=steps)
    older = table.with_columns(age=pl.col("age") + 1)
    with pytest.raises(InputError, match=r"persons with .* were published before and have other records now"):
        shoal.anonymize_new(older, SCHEMA, Freeform(k=2), after=steps)
    with pytest.raises(InfeasibleError, match=r"only 0 persons were not published before.*wait for 2 more"):
        shoal.anonymize_new(table, SCHEMA, Freeform(k=2), after=steps)
    with pytest.raises(InputError, match="key of each earlier release"):
        shoal.anonymize_again(table, SCHEMA, Freeform(k=2), after=[steps[0][:2]])
    with pytest.raises(InputError, match="cannot be checked across releases"):
        shoal.anonymize_again(table, SCHEMA, KK(k=2, withhold=0.1), after=steps)
    with pytest.raises(InputError, match="speed"):
        shoal.anonymize_again(table, SCHEMA, Freeform(k=2), after=steps, speed=1)
    with pytest.raises(InputError, match="no earlier release"):
        shoal.anonymize_again(table, SCHEMA, Freeform(k=2), after=[])
    twice = pl.concat([table, table[:1]])
    with pytest.raises(InputError, match="several records"):
        shoal.anonymize_again(twice, SCHEMA, KAnonymity(k=2), after=steps)
    items = Schema.infer(table, quasi=["sex"], person="who", kinds={"sex": "items"})
    with pytest.raises(InputError, match="sets of items"):
        shoal.anonymize_again(table, items, SetAnonymity(k=2), after=steps)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_without_a_person_column(model: Model) -> None:
    """Records that are still there are recognized, copies by their number; if one is not, nothing is said."""
    publish = {"kept": shoal.anonymize_again, "new": shoal.anonymize_new}
    for seed, how in itertools.product(range(3), publish):
        hospital = Hospital(seed)
        steps = first(hospital, model, ALONE)
        for _ in range(2 if steps else 0):
            assert steps is not None
            hospital.live(grows_only=True)
            table = hospital.table()
            try:
                release = publish[how](table, ALONE, model, after=steps)
            except InfeasibleError:
                continue
            counts = [Counter(original[key].drop("who").rows()) for original, _, key in steps]
            published = counts[0] if how == "kept" else sum(counts, Counter())
            shown = Counter(table[release.key].drop("who").rows())
            assert shown + (Counter() if how == "kept" else published) <= Counter(table.drop("who").rows())
            assert how == "new" or published <= shown
            steps = [(table, release.written("csv"), release.key), *steps]
            holds(steps, model, ALONE)
        if steps:
            for again in publish.values():
                with pytest.raises(InputError, match=r"of earlier releases are not in the table; without"):
                    again(table_without(steps[0]), ALONE, model, after=steps)


def table_without(step: Step) -> pl.DataFrame:
    """Return an original in which a record that was released is another."""
    table, _, key = step
    return table.with_columns(days=pl.when(pl.int_range(pl.len()) == key[0]).then(99).otherwise("days"))


@pytest.mark.parametrize("flavour", ["pandas", "arrow", "lazy"])
def test_frames_of_other_libraries(flavour: str) -> None:
    hospital = Hospital(5)
    steps = first(hospital, KAnonymity(k=2))
    assert steps is not None
    hospital.admit(6)
    given = {"pandas": pl.DataFrame.to_pandas, "arrow": pl.DataFrame.to_arrow, "lazy": pl.DataFrame.lazy}[
        flavour
    ]
    table: Any = given(hospital.table())
    earlier = [(given(steps[0][0]), steps[0][1], steps[0][2])]
    again = shoal.anonymize_again(table, SCHEMA, KAnonymity(k=2), after=earlier)
    new = shoal.anonymize_new(table, SCHEMA, KAnonymity(k=2), after=earlier)
    assert type(again.table) is type(new.table) is type(table)
    assert again.written("csv")[: len(steps[0][1])].equals(steps[0][1])
    typed = [
        (steps[0][0], shoal.anonymize(steps[0][0].to_arrow(), SCHEMA, KAnonymity(k=2)).table, steps[0][2])
    ]
    with pytest.raises(InputError, match="typed cells"):
        shoal.anonymize_again(table, SCHEMA, KAnonymity(k=2), after=typed)
