"""Figures of the audit, worked by hand: what the campaign of mutants found no other test for."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import Concealment, DeltaPresence, InputError, KAnonymity, KmAnonymity, KOne, OneK, Schema
from shoal.auditing.carried import _equal, _highest, _same_values, follows
from shoal.auditing.classes import Classes
from shoal.auditing.crowds import stretches
from shoal.auditing.outcome import _worded
from shoal.auditing.persons import Persons, exposed_persons
from shoal.auditing.population import IndividualRisks, SampleRisks, _root, population_uniques
from shoal.auditing.posterior import PersonPosterior
from shoal.auditing.principles import principles_of
from shoal.auditing.proximity import Proximity
from shoal.auditing.released import ReleasedTable
from shoal.auditing.risks import Attack, risks_of
from shoal.auditing.rules import few_matches, few_persons
from shoal.measures.distances import Absolute
from shoal.models import Model
from shoal.recoding.chances import least_chance
from shoal.release.codebook import codebook_of
from shoal.table import Table


def persons_with(records: list[int], rows: list[int], missing: int = 0) -> Persons:
    """Return persons with some records and some rows that cover them; what else is known does not matter."""
    counts, zeros = np.array(rows), np.zeros(len(rows))
    return Persons(np.array(records), counts, counts, counts, counts, zeros, zeros, missing=missing)


def released_table(
    ages: list[int], cells: list[str], owners: list[str] | None = None, key: list[int] | None = None
) -> ReleasedTable:
    """Return a release of ages, perhaps of persons with several records."""
    people = {"person": owners} if owners else {}
    original = pl.DataFrame({"age": ages, **people})
    schema = Schema.infer(original, quasi=["age"], person="person" if owners else None)
    records = None if key is None else np.array(key)
    return ReleasedTable(pl.DataFrame({"age": cells}), Table.encode(original, schema, times=True), records)


def test_uniques_of_a_population_as_data() -> None:
    found = population_uniques(np.array([1] * 50 + [2] * 20 + [5] * 3), 0.1)
    assert found.as_dict()["share"] == pytest.approx(found.dankar / 1050)
    alone = IndividualRisks(*np.ones(len(IndividualRisks.__dataclass_fields__)))
    for name, value in (("uniques", found), ("uniques_released", found), ("individual", alone)):
        data = SampleRisks(**{name: value}).as_dict()  # type: ignore[arg-type]
        assert [each for each in data.values() if each is not None] == [data[_AS_DATA[name]]]


_AS_DATA = {
    "uniques": "population_uniques",
    "uniques_released": "population_uniques_released",
    "individual": "individual",
}


def test_without_classes_of_two_no_negative_binomial_distribution_fits() -> None:
    assert population_uniques(np.array([1] * 50 + [3] * 5), 0.5).snb is None


def test_the_model_of_pitman_with_a_parameter_near_zero() -> None:
    """Of its two parameters, the one that is called theta in the literature is 0.001, below alpha = 0.44."""
    sizes = [1] * 36 + [81, 126, 431, 737, 915, 919, 1058, 1186, 1283, 1437, 1540, 1705, 1744]
    assert population_uniques(np.array(sizes), 0.1).pitman == pytest.approx(92.56, abs=0.01)


def test_means_leave_out_crowds_that_are_empty() -> None:
    assert Attack(np.array([2, 0, 4]), 0.3, np.array([3, 9, 1])).mean == pytest.approx((3 / 2 + 1 / 4) / 4)


def test_the_chance_of_a_person_with_a_single_row() -> None:
    assert persons_with([1, 1, 2], [1, 2, 0]).chances.tolist() == [1.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("records", "rows", "missing", "exposed"),
    [
        ([1, 2], [0, 4], 1, 0),  # the first person is not in the release, the second has rows enough
        ([2], [1], 1, 1),  # only one of her two records may be missing
        ([2], [2], 1, 0),
        ([2], [3], 0, 1),
    ],
)
def test_persons_with_too_few_rows(records: list[int], rows: list[int], missing: int, exposed: int) -> None:
    assert exposed_persons(persons_with(records, rows, missing), np.array(rows), 2) == exposed


def test_persons_that_a_row_covers_but_cannot_belong_to() -> None:
    """The first record has the first row, because the two others need the other two."""
    persons = released_table([1, 2, 2], ["1", "1..2", "2"], ["a", "b", "b"]).persons
    assert persons is not None
    assert persons.persons_of_row.tolist() == [1, 2, 1]
    assert persons.matched_persons_of_row.tolist() == [1, 1, 1]


def test_shares_of_persons_without_the_key() -> None:
    """It is known for persons with one record only."""
    persons = released_table([1, 2, 2], ["1..2", "1..2", "2"], ["a", "b", "b"]).persons
    assert persons is not None
    assert np.array_equal(persons.covering_share, [0.5, np.nan, np.nan], equal_nan=True)


def test_shares_of_persons_with_the_key() -> None:
    """Two of the four rows that cover her records are those of the first person."""
    cells = ["1..2"] * 4
    persons = released_table([1, 1, 2, 2], cells, ["a", "a", "b", "c"], key=[0, 1, 2, 3]).persons
    assert persons is not None
    assert persons.covering_share.tolist() == [0.5, 0.5, 0.25, 0.25]


def test_a_person_without_a_record_in_the_release_is_not_at_risk() -> None:
    found = released_table([1, 1], ["1", "1"])
    risks = risks_of(found.classes, found.consistency, persons=persons_with([0, 2], [3, 4]))
    assert risks.prosecutor.crowds.tolist() == [0, 4]


def test_records_that_no_row_covers() -> None:
    assert released_table([1, 2, 3], ["1", "1", "3"]).consistency.records_without_row == 1


def test_a_row_without_a_record_is_a_component_of_its_own() -> None:
    found = released_table([1], ["1", "5"]).matches
    assert found.components == 2
    assert found.as_dict()["components"] == 2


def test_records_with_fewer_matches_than_rows_that_cover_them() -> None:
    """Only the third record has fewer than two matches: the first two need the first two rows."""
    cells = ["1..2", "1..3", "2", "3..5", "3..5", "4"]
    found = released_table([1, 1, 2, 3, 4, 4], cells)
    assert found.matches.matches_of_record.tolist() == [2, 2, 1, 2, 3, 3]
    assert next(few_matches(found, 2)).startswith("1 records have fewer than k = 2 matches")


def test_values_that_follow_from_others_where_some_are_missing() -> None:
    by = np.repeat(np.arange(20), 5).astype(np.int32)
    assert follows(by, by - 1)
    assert not follows(by, np.arange(100, dtype=np.int32) % 7 - 1)


def test_no_values_have_no_most_frequent_one() -> None:
    assert len(_highest(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32))) == 0


def test_a_constant_column_is_no_copy() -> None:
    constant = pl.Series(["a"] * 100)
    assert _equal(constant, constant) is None
    assert _equal(constant, pl.Series([None] * 100, dtype=pl.String)) is None
    assert _equal(None, constant) is False


def test_lists_count_as_values_of_the_original() -> None:
    assert _same_values(pl.Series([[1], [2]]), pl.Series([[3], [4]]))
    assert not _same_values(pl.Series(["a", "b"]), pl.Series(["c", "d"]))


def test_the_gain_of_an_attacker_and_numbers_beyond_the_squares_of_floats() -> None:
    classes = Classes(np.array([0, 0, 1, 1], dtype=np.int32), np.array([2, 2]))
    numbers = np.array([1e300, 2e300, 3e300])
    found = principles_of(classes, "income", np.array([0, 1, 1, 2], dtype=np.int32), Absolute(numbers))
    assert found.gain == pytest.approx(1.0)  # half of a class instead of a quarter of the table
    assert found.extent == pytest.approx(1e300)
    assert found.variance is None


def test_an_audit_without_a_sample_has_no_risks_of_one() -> None:
    original = pl.DataFrame({"age": [30, 30, 40, 40], "weight": [2.0, 3.0, 4.0, 5.0]})
    schema = Schema.infer(original, quasi=["age"], drop=["weight"])
    released = original.select("age")
    assert shoal.audit(original, released, schema).sample is None
    assert shoal.audit(original, released, schema, survey_weight="weight").sample is not None


def test_the_audit_of_partial_knowledge_refuses_persons() -> None:
    original = pl.DataFrame({"person": ["a", "a", "b", "c"], "age": [30, 30, 30, 30], "sex": ["f"] * 4})
    schema = Schema.infer(original, quasi=["age", "sex"], person="person")
    with pytest.raises(InputError, match="counts records, and some persons have several"):
        shoal.audit(original, original.drop("person"), schema, KmAnonymity(k=2, knows=1))


def test_diversity_of_one_of_two_columns_that_is_not_released() -> None:
    original = pl.DataFrame({"age": [30, 30], "illness": ["a", "b"], "income": ["low", "high"]})
    schema = Schema.infer(original, quasi=["age"], sensitive=["illness", "income"])
    found = shoal.audit(original, original.drop("income"), schema, KAnonymity(k=2, l=2))
    assert "the sensitive columns 'income' are not in the release" in found.verdict


@pytest.mark.parametrize(("low", "high", "worst"), [(0.0, 0.3, "1"), (0.6, 1.0, "0")])
def test_the_worst_chance_to_be_in_the_table(low: float, high: float, worst: str) -> None:
    population = pl.DataFrame({"age": [30, 30, 40, 50, 60]})
    original = pl.DataFrame({"age": [30, 40]})
    schema = Schema.infer(original, quasi=["age"])
    model = DeltaPresence(delta_min=low, delta_max=high, population=population)
    assert f"; the worst with {worst}" in shoal.audit(original, original, schema, model).verdict


def test_facts_of_dissimilar_values() -> None:
    original = pl.DataFrame({"age": [30, 30, 40, 40], "income": [1, 9, 2, 8]})
    schema = Schema.infer(original, quasi=["age"], sensitive=["income"])
    near = "within 2 of each other"
    model = shoal.Dissimilarity(k=2, epsilon=2, delta=0.5)
    assert near in dict(shoal.audit(original, original, schema, model).facts())
    assert near not in dict(shoal.audit(original, original, schema, KAnonymity(k=2)).facts())


def test_warnings_in_a_sentence() -> None:
    assert _worded(list("abcd")) == "a; b; c; d"
    assert _worded(list("abcde")) == "a; b; c; d; and 1 more"


def test_a_posterior_without_links_as_data() -> None:
    assert PersonPosterior(3, 3, None, None).as_dict()["link"] is None


def test_a_codebook_names_released_columns_only_if_there_are_several() -> None:
    original = pl.DataFrame({"age": [30, 30], "sex": ["f", "m"]})
    columns = codebook_of(KAnonymity(k=2), Schema.infer(original, quasi=["age"]), {})["columns"]
    assert ["released_as" in each for each in columns] == [False, False]


def test_steps_to_a_root_are_halved_until_they_help() -> None:
    """From 2 or beyond, whole steps of Newton for the arc tangent lead away from its root."""
    found = _root(np.arctan, np.array([2.0, 0.5]))
    assert found is not None
    assert found == pytest.approx(0.0, abs=1e-6)


def test_crowds_are_looked_at_in_stretches_of_limited_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.auditing.crowds.PAIRS", 6)
    assert list(stretches(np.array([3, 3, 3, 3, 9, 1, 1]))) == [(0, 2), (2, 4), (4, 5), (5, 7)]


def test_the_least_chance_with_as_many_pairs_as_allowed() -> None:
    found = released_table([1, 2, 3], ["1..2", "2..3", "1..3"])
    assert least_chance(found.graph, found.matches, most_edges=7) is not None
    assert least_chance(found.graph, found.matches, most_edges=6) is None


@pytest.mark.parametrize(
    ("model", "one_each", "told"),
    [
        (KOne(k=2), True, True),
        (OneK(k=2), True, False),  # nothing is guaranteed about what a row covers
        (OneK(k=2), False, False),
        (Concealment(k=2), True, False),
        (Concealment(k=2), False, True),  # in a table of persons with several records, it is
    ],
)
def test_a_row_that_covers_a_single_person(model: Model, one_each: bool, told: bool) -> None:
    people, rows, zeros = np.array([1, 1]), np.array([1, 2, 2]), np.zeros(2)
    enough = np.array([2, 2])
    persons = Persons(people, rows, enough, rows, enough, zeros, zeros, one_each=one_each)
    found = "1 released rows cover records of fewer than 2 persons"
    assert (found in list(few_persons(model, persons))) is told


def test_persons_in_the_order_of_their_numbers() -> None:
    one = persons_with([1, 1, 1], [4, 5, 6])
    known = one.known_as(np.array([20, 30, 10]))
    assert known.numbers.tolist() == [10, 20, 30]
    assert known.rows_of_person.tolist() == known.matching_rows_of_person.tolist() == [6, 4, 5]
    several = persons_with([2, 1], [4, 5]).known_as(np.array([7, 3, 7]))
    assert several.numbers.tolist() == [3, 7]
    assert several.rows_of_person.tolist() == [4, 5]


def test_crowds_by_their_risk() -> None:
    near = Proximity("income", 5.0, 0.8, np.array([0.0, 0.05, 1.0]), np.array([3, 2, 4]))
    counted = near.crowds_by_risk()
    assert (counted[0], counted[-1], counted.sum()) == (5, 4, 9)
