"""Releases of XColor, what was said of them beforehand, and what they are under other names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoal import Dissimilarity, InfeasibleError, InputError, Schema, advise, anonymize, audit
from shoal.auditing.classes import Classes
from shoal.auditing.principles import principles_of
from shoal.auditing.proximity import proximity_of_classes
from shoal.errors import Reason
from shoal.kernels import RANGE, Closeness, Coloring, Geometry
from shoal.measures.distances import Absolute, Asked, Equality
from shoal.methods import separation
from shoal.methods.dissimilarity_limits import Advice, advice_of, allowed_neighbours
from shoal.methods.xcolor import balanced_classes, equal_sizes

EPSILONS = st.sampled_from([0.0, 1.0, 2.0])
IN_PARTS = {False: {"CROWDED": separation.CROWDED}, True: {"PART": 1, "CROWDED": 0.0}}
"""Constants for exchanges as usual, and within parts of one or two classes first."""
DELTAS = st.sampled_from([0.0, 0.3, 0.5, 2 / 3, 0.8, 1.0])


@st.composite
def frames(draw: st.DrawFn) -> pl.DataFrame:
    n = draw(st.integers(4, 24))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=n, max_size=n))

    return pl.DataFrame(
        {
            "age": column(st.integers(20, 29)),
            "town": column(st.sampled_from("abc")),
            "pay": column(st.integers(0, 9)),
            "ill": column(st.sampled_from(["flu", "gout", "asthma"])),
        }
    )


def schema_of(frame: pl.DataFrame, *sensitive: str) -> Schema:
    return Schema.infer(frame, quasi=["age", "town"], sensitive=list(sensitive))


def crowds(frame: pl.DataFrame) -> Iterator[list[int]]:
    """Yield the pay of each class of identical rows."""
    for _, group in frame.group_by("age", "town"):
        yield group["pay"].to_list()


@pytest.mark.parametrize("start", ["locality", "degree", "locality in parts"])
@given(
    frame=frames(),
    k=st.integers(2, 5),
    epsilon=EPSILONS,
    delta=DELTAS,
    effort=st.sampled_from(["fast", "balanced", "best"]),
)
def test_every_release_keeps_the_definition(
    start: str, frame: pl.DataFrame, k: int, epsilon: float, delta: float, effort: str
) -> None:
    """Also if exchanges are made within parts first; a part of one class cannot make any."""
    k = min(k, len(frame))
    schema, model = schema_of(frame, "pay"), Dissimilarity(k=k, epsilon=epsilon, delta=delta)
    start, *in_parts = start.split(maxsplit=1)
    try:
        with mock.patch.multiple(separation, **IN_PARTS[bool(in_parts)]):
            release = anonymize(frame, schema, model, start=start, effort=effort)
    except InfeasibleError:
        event("refused")
        return
    event("released")
    assert release.audit.holds
    for pays in crowds(release.table):
        assert len(pays) >= k
        for pay in pays:
            near = sum(abs(pay - other) <= epsilon for other in pays) - 1
            assert near <= (1 - delta) * (len(pays) - 1) + 1e-9
    again = audit(frame, release.table, schema, model)
    assert again.holds
    if again.proximity[0].risk > 0:
        stricter = Dissimilarity(k=k, epsilon=epsilon, delta=min(1.0, 1 - again.proximity[0].risk + 0.01))
        assert not audit(frame, release.table, schema, stricter).holds


@given(frames(), st.sampled_from(["l1", "l2", "linf", "least", "equality", None]))
def test_composite_values(frame: pl.DataFrame, distance: str | None) -> None:
    model = Dissimilarity(k=2, epsilon=0.2, delta=0.5, distance=distance)
    try:
        release = anonymize(frame, schema_of(frame, "pay", "ill"), model)
    except InfeasibleError:
        return
    assert release.audit.proximity[0].column == "pay and ill"
    assert release.audit.proximity[0].risk <= 0.5 + 1e-9


def test_a_function_tells_the_distance() -> None:
    frame = pl.DataFrame({"age": range(8), "town": ["a"] * 8, "pay": [1, 1, 1, 1, 9, 9, 9, 9]})

    def apart(one: int, other: int) -> float:
        return abs(one - other) / 8

    model = Dissimilarity(k=4, epsilon=0.5, delta=2 / 3, distance=apart)
    release = anonymize(frame, schema_of(frame, "pay"), model)
    assert sorted(map(sorted, crowds(release.table))) == [[1, 1, 9, 9], [1, 1, 9, 9]]
    assert "apart" in release.certificate["model"]["distance"]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda *_: float("nan"), "NaN"),
        (lambda a, b: a - b if a > b else 2 * (b - a), "symmetric"),
        (lambda a, b: -abs(a - b), "negative"),
        (lambda *_: 1.0, "equal"),
        (lambda a, _: a.missing, "AttributeError"),
    ],
)
def test_functions_that_are_no_distance(function: Any, words: str) -> None:
    frame = pl.DataFrame({"age": range(4), "town": ["a"] * 4, "pay": [1, 2, 3, 4]})
    with pytest.raises(InputError, match=words):
        anonymize(frame, schema_of(frame, "pay"), Dissimilarity(k=2, epsilon=0, delta=0, distance=function))


def test_too_many_values_for_a_function() -> None:
    with pytest.raises(InputError) as caught:
        Asked(lambda a, b: abs(a - b), range(20_000)).closeness(1)
    assert caught.value.reason is Reason.TOO_LARGE


@pytest.mark.parametrize(
    ("sensitive", "distance", "words"),
    [
        ([], None, "sensitive"),
        (["ill"], "absolute", "numbers"),
        (["pay"], "tree", "hierarchy"),
        (["pay", "ill"], "absolute", "one sensitive column"),
        (["pay"], "leat", "did you mean 'least'"),
    ],
)
def test_distances_that_do_not_suit(sensitive: list[str], distance: str | None, words: str) -> None:
    frame = pl.DataFrame({"age": range(4), "town": ["a"] * 4, "pay": [1, 2, 3, 4], "ill": ["x", "y"] * 2})
    with pytest.raises(InputError, match=words):
        anonymize(
            frame, schema_of(frame, *sensitive), Dissimilarity(k=2, epsilon=0, delta=0, distance=distance)
        )


@pytest.mark.parametrize(
    "wrong", [{"epsilon": -1.0}, {"epsilon": float("inf")}, {"delta": 1.1}, {"delta": None}, {"k": 1}]
)
def test_impossible_parameters(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        Dissimilarity(**{"k": 2, "epsilon": 1.0, "delta": 0.5, **wrong})
    assert caught.value.reason is Reason.PARAMETER


@pytest.mark.parametrize("distance", ["taxi", 3])
def test_no_such_distance(distance: Any) -> None:
    frame = pl.DataFrame({"age": range(4), "town": ["a"] * 4, "pay": [1, 2, 3, 4]})
    with pytest.raises(InputError, match="is unknown"):
        anonymize(frame, schema_of(frame, "pay"), Dissimilarity(k=2, epsilon=0, delta=0, distance=distance))


@pytest.mark.parametrize("wrong", [{"start": "random"}, {"effort": "huge"}])
def test_impossible_options(wrong: dict[str, str]) -> None:
    frame = pl.DataFrame({"age": range(4), "town": ["a"] * 4, "pay": [1, 2, 3, 4]})
    with pytest.raises(InputError, match="unknown"):
        anonymize(frame, schema_of(frame, "pay"), Dissimilarity(k=2, epsilon=0, delta=0), **wrong)


def test_classes_that_look_the_same_are_one_crowd() -> None:
    """Two classes of four each keep delta = 1, but read as one they do not: every record has the same age."""
    frame = pl.DataFrame({"age": [30] * 8, "town": ["a"] * 8, "pay": [1, 3, 5, 7, 2, 4, 6, 8]})
    with pytest.raises(InfeasibleError, match="identical to others"):
        anonymize(frame, schema_of(frame, "pay"), Dissimilarity(k=4, epsilon=1, delta=1))


@pytest.mark.parametrize("start", ["locality", "degree"])
def test_classes_become_larger_where_that_helps(start: str) -> None:
    """No pair may be equal, so there cannot be three; but in three there may be two of a kind."""
    frame = pl.DataFrame({"age": range(6), "town": ["a"] * 6, "pay": [1, 1, 2, 2, 2, 2]})
    model = Dissimilarity(k=2, epsilon=0, delta=0.2)
    release = anonymize(frame, schema_of(frame, "pay"), model, start=start)
    assert release.audit.k == 3
    assert any("at least 3" in note for note in release.certificate["notes"])


def test_a_failure_says_what_is_left() -> None:
    """A star: one value is close to all others, so that no class can be without a neighbour of it."""
    frame = pl.DataFrame({"age": range(6), "town": ["a"] * 6, "pay": [0, 1, 2, 3, 4, 5]})

    def star(one: int, other: int) -> float:
        return 0.0 if one == other else 1.0 + (one > 0 and other > 0)

    with pytest.raises(InfeasibleError, match=r"delta reached in all classes is 0; it was not certain"):
        anonymize(frame, schema_of(frame, "pay"), Dissimilarity(k=3, epsilon=1, delta=1, distance=star))


def test_a_release_without_a_guarantee_says_so() -> None:
    frame = pl.DataFrame({"age": range(6), "town": ["a"] * 6, "pay": [1, 1, 1, 9, 9, 9]})
    release = anonymize(frame, schema_of(frame, "pay"), Dissimilarity(k=2, epsilon=1, delta=1))
    assert "not certain beforehand" in release.certificate["notes"][0]
    sure = anonymize(frame, schema_of(frame, "pay"), Dissimilarity(k=2, epsilon=1, delta=0))
    assert "notes" not in sure.certificate


@given(st.integers(2, 40), st.integers(2, 8), st.integers(0, 2**32 - 1), st.floats(0, 1), DELTAS)
def test_within_the_bound_exchanges_always_end_well(
    n: int, k: int, seed: int, density: float, delta: float
) -> None:
    """Theorem 3, on random graphs over the records, also where not all classes have the same size."""
    k = min(k, n)
    generator = np.random.default_rng(seed)
    near = np.triu(generator.random((n, n)) < density * 0.5, 1)
    near |= near.T
    degree = int(near.sum(axis=1).max())
    sizes = equal_sizes(n, k)
    advice = Advice(n, n, 0.0, degree, 1)
    class_of = generator.permutation(np.repeat(np.arange(len(sizes)), sizes))
    if not advice.guarantees(k, delta):
        assume(generator.random() < 0.2)
    closeness = Closeness.listed(np.packbits(near | np.eye(n, dtype=np.bool_), axis=1, bitorder="little"), n)
    attributes = [Geometry(RANGE, 1.0, n, np.arange(n) / max(n - 1, 1))]
    allowed = allowed_neighbours(np.bincount(class_of), delta)
    values = np.arange(n, dtype=np.int32)
    coloring = Coloring(values.reshape(-1, 1).copy(), attributes, class_of, closeness, values, allowed)
    while True:
        before = coloring.potential
        if not coloring.mend(Coloring.POTENTIAL, 2, most=1):
            break
        assert coloring.potential < before
    if advice.guarantees(k, delta):
        event("guaranteed")
        assert coloring.excess == 0


def partitions(records: list[int], k: int) -> Iterator[list[list[int]]]:
    """Yield all ways to divide records into classes of at least k."""
    if not records:
        yield []
        return
    first, rest = records[0], records[1:]
    for mask in range(1 << len(rest)):
        chosen = [record for bit, record in enumerate(rest) if mask >> bit & 1]
        if len(chosen) + 1 >= k:
            left = [record for bit, record in enumerate(rest) if not mask >> bit & 1]
            for others in partitions(left, k):
                yield [[first, *chosen], *others]


@given(st.lists(st.integers(0, 6), min_size=2, max_size=7), st.integers(2, 4), EPSILONS)
def test_advice_is_right(pays: list[int], k: int, epsilon: float) -> None:
    """No partition exceeds what is possible, and some partition has what is guaranteed."""
    k = min(k, len(pays))
    frame = pl.DataFrame({"age": range(len(pays)), "town": ["a"] * len(pays), "pay": pays})
    advice = advise(frame, schema_of(frame, "pay"), epsilon=epsilon, k=[k])
    near = np.abs(np.subtract.outer(pays, pays)) <= epsilon
    assert advice.degree == near.sum(axis=1).max() - 1
    best = max(
        min(1 - (near[np.ix_(c, c)].sum(axis=1).max() - 1) / (len(c) - 1) for c in classes)
        for classes in partitions(list(range(len(pays))), k)
    )
    (point,) = advice.frontier
    assert best <= point.possible + 1e-9
    assert point.guaranteed is None or point.guaranteed <= best + 1e-9
    if point.guaranteed is not None:
        assert advice.guarantees(k, point.guaranteed)
        assert not advice.guarantees(k, min(1.0, point.guaranteed + 0.01)) or point.guaranteed == 1


def test_the_largest_guaranteed_delta_in_all_small_cases() -> None:
    """It is guaranteed, and no larger one is; classes may have up to 2k - 1 records."""
    for n in range(2, 60):
        for k in range(2, min(n, 16) + 1):
            smallest = n // (n // k)
            for degree in range(n):
                advice = Advice(n, n, 0.0, degree, 1)
                found = advice.guaranteed(k)
                if found is None:
                    assert not advice.guarantees(k, 0.0), (n, k, degree)
                    continue
                assert advice.guarantees(k, found), (n, k, degree)
                larger = found + 1 / (smallest - 1)
                assert larger > 1 or not advice.guarantees(k, larger), (n, k, degree)


def test_a_single_class_allows_as_many_neighbours_as_the_table_has() -> None:
    """With 19 records and k = 10 there is one class of 19, so that nothing needs an exchange."""
    assert Advice(19, 19, 0.0, 8, 1).guaranteed(10) == 1 - 8 / 18


def test_hopeless_tables_are_refused_before_any_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    """With sex alone there are three different rows, and so at most three classes for a reader."""
    monkeypatch.setattr(Coloring, "mend", None)
    generator = np.random.default_rng(1)
    n = 20_000
    frame = pl.DataFrame(
        {"sex": generator.choice(["m", "f"], n), "pay": np.round(generator.lognormal(10, 0.7, n))}
    )
    schema = Schema.infer(frame, quasi=["sex"], sensitive=["pay"])
    with pytest.raises(InfeasibleError, match="at most 3 different rows"):
        anonymize(frame, schema, Dissimilarity(k=10, epsilon=2000, delta=0.9))


@pytest.mark.parametrize(
    "wrong",
    [{"epsilon": -1.0}, {"epsilon": "far"}, {"epsilon": 0.0, "k": [1]}, {"epsilon": 0.0, "k": []}],
)
def test_advice_that_cannot_be_given(wrong: dict[str, Any]) -> None:
    frame = pl.DataFrame({"age": [1, 2], "town": ["a", "b"], "pay": [1, 2]})
    with pytest.raises(InputError):
        advise(frame, schema_of(frame, "pay"), **wrong)


@given(st.integers(2, 60), st.integers(1, 9), st.data())
def test_classes_of_balanced_degrees(n: int, k: int, data: st.DataObject) -> None:
    """Algorithm 1, word by word."""
    k = min(k, n)
    degrees = np.array(data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)))
    sizes = equal_sizes(n, k)
    assert sizes.sum() == n
    assert sizes.max() - sizes.min() <= 1
    assert sizes.min() >= k
    assert len(sizes) == n // k
    found = balanced_classes(degrees, sizes)
    sums, height, least = [0] * len(sizes), [0] * len(sizes), int(sizes.min())
    expected = {}
    for place, record in enumerate(np.argsort(-degrees, kind="stable")):
        most = least if place < least * len(sizes) else least + 1
        number = min((j for j in range(len(sizes)) if height[j] < most), key=lambda j: (sums[j], j))
        expected[int(record)] = number
        sums[number] += int(degrees[record])
        height[number] += 1
    assert found.tolist() == [expected[record] for record in range(n)]


@st.composite
def even_classes(draw: st.DrawFn) -> tuple[Classes, NDArray[np.int32], int]:
    """Draw classes of one size with values 0 to 5, and that size."""
    size, count = draw(st.integers(2, 6)), draw(st.integers(1, 4))
    values = draw(st.lists(st.integers(0, 5), min_size=size * count, max_size=size * count))
    of_row = np.repeat(np.arange(count, dtype=np.int32), size)
    return Classes(of_row, np.full(count, size)), np.array(values, dtype=np.int32), size


@given(even_classes(), DELTAS)
def test_with_epsilon_0_it_is_alpha_k_anonymity(drawn: Any, delta: float) -> None:
    """In classes of s records, with alpha = ((1 - delta)(s - 1) + 1) / s."""
    classes, values, size = drawn
    alpha = max(np.bincount(group).max() / size for group in values.reshape(-1, size))
    near = proximity_of_classes(classes, "pay", values, Equality(6), epsilon=0, delta=delta)
    assert (near.vulnerability == 0) == (alpha <= ((1 - delta) * (size - 1) + 1) / size + 1e-9)
    assert principles_of(classes, "pay", values, Equality(6)).alpha == alpha


@given(even_classes(), DELTAS, EPSILONS)
def test_with_one_number_it_is_epsilon_m_anonymity(drawn: Any, delta: float, epsilon: float) -> None:
    """In classes of s records, with 1/m = ((1 - delta)(s - 1) + 1) / s."""
    classes, values, size = drawn
    pays = Absolute(np.arange(6.0))
    share = max(
        sum(abs(x - y) <= epsilon for y in group) / size
        for group in values.reshape(-1, size).tolist()
        for x in group
    )
    near = proximity_of_classes(classes, "pay", values, pays, epsilon=epsilon, delta=delta)
    assert (near.vulnerability == 0) == (share <= ((1 - delta) * (size - 1) + 1) / size + 1e-9)
    assert principles_of(classes, "pay", values, pays, epsilon).m == int(1 / share + 1e-9)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), EPSILONS)
def test_cliques_are_cliques(numbers: list[int], epsilon: float) -> None:
    """As many as are claimed to be close to each other are found when all subsets are looked at."""
    values, codes = np.unique(numbers, return_inverse=True)
    advice = advice_of(codes.astype(np.int32), Absolute(values.astype(float)), epsilon)
    windows = [sum(0 <= other - first <= epsilon for other in numbers) for first in numbers]
    assert advice.clique == max(windows)
