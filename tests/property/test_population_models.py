"""k-map and delta-presence against their definitions, on small tables beside small populations."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from few_records import Original
from hypothesis import event, given, settings
from hypothesis import strategies as st

import shoal
from shoal import Column, DeltaPresence, Hierarchy, InfeasibleError, InputError, Kind, KMap, Role, Schema
from shoal.auditing.presence import presence_in_table
from shoal.models import PopulationModel

LEVELS = [["a", "ab", "top"], ["b", "ab", "top"], ["c", "cd", "top"], ["d", "cd", "top"]]
COLUMNS = (
    Column("age", Role.QUASI, Kind.NUMERIC),
    Column("job", Role.QUASI, Kind.CATEGORICAL),
    Column("place", Role.QUASI, hierarchy=Hierarchy.from_levels(LEVELS)),
)
PEOPLE = st.fixed_dictionaries(
    {
        "age": st.sampled_from([20, 21, 30, 40]),
        "job": st.sampled_from(["x", "y", "z"]),
        "place": st.sampled_from("abcd"),
    }
)


def frame_of(records: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(records, schema={"age": pl.Int64, "job": pl.String, "place": pl.String})


def covers(people: list[dict[str, Any]], release: pl.DataFrame) -> list[list[bool]]:
    """Return whether each row covers each person, read from the text of the release."""
    original = Original(COLUMNS, tuple(people), {"place": LEVELS})
    rows = release.cast(pl.String).fill_null("").to_dicts()
    return [[original.row_covers(row, person) for person in people] for row in rows]


def named(release: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """Return a release as its typed form says it: a cell of all values of the table names them."""
    ages = f"{table['age'].min()}..{table['age'].max()}"
    jobs = "|".join(table["job"].unique().sort())
    return release.with_columns(pl.col("age").replace("*", ages), pl.col("job").replace("*", jobs))


def kept(model: PopulationModel, covered: list[list[bool]]) -> bool:
    """Return whether a release keeps the guarantee, by its definition."""
    sizes = [sum(row) for row in covered]
    if isinstance(model, KMap):
        return min(sizes) >= model.k
    assert isinstance(model, DeltaPresence)
    if min(sizes) == 0:
        return False
    chances = [
        sum(row[person] / size for row, size in zip(covered, sizes, strict=True))
        for person in range(len(covered[0]))
    ]
    return all(model.delta_min - 1e-9 <= chance <= model.delta_max + 1e-9 for chance in chances)


@settings(max_examples=60)
@given(data=st.data())
def test_a_release_keeps_its_promise_or_there_is_none(data: st.DataObject) -> None:
    people = data.draw(st.lists(PEOPLE, min_size=2, max_size=9))
    chosen = data.draw(st.lists(st.sampled_from(range(len(people))), min_size=1, max_size=6, unique=True))
    table, population = frame_of([people[i] for i in chosen]), frame_of(people)
    model: PopulationModel
    if data.draw(st.booleans()):
        model = KMap(k=data.draw(st.integers(2, 4)), population=population)
    else:
        low = data.draw(st.sampled_from([0.0, 0.0, 0.2]))
        model = DeltaPresence(
            delta_min=low, delta_max=data.draw(st.sampled_from([0.3, 0.5, 0.8, 1.0])), population=population
        )
    schema = Schema(COLUMNS)
    try:
        release = shoal.anonymize(table, schema, model, seed=1)
    except InfeasibleError:
        event("infeasible")
        if isinstance(model, KMap) and len(table) > 1:  # the table as one class is the most that is possible
            whole = shoal.anonymize(table, schema, shoal.KAnonymity(k=len(table))).table
            assert not kept(model, covers(people, whole))
        return
    event("released")
    assert kept(model, covers(people, release.table))
    if kept(model, covers(people, named(release.table, table))):
        release.written("parquet")  # which is audited
    else:
        with pytest.raises(InfeasibleError, match="achievable as text only"):
            release.written("parquet")
    # Whatever the cells of a row are changed to, the audit and the definition agree.
    cells = release.table.to_dicts()
    cells[0] = {**cells[0], **data.draw(st.sampled_from([{"job": "*"}, {"place": "top"}, {"age": "20..40"}]))}
    changed = pl.DataFrame(cells, schema=dict.fromkeys(release.table.columns, pl.String), strict=False)
    found = shoal.audit(table, changed, schema, model)
    broken = [each for each in found.findings if "population" in each]
    assert (not broken) == kept(model, covers(people, changed))


def test_persons_of_the_population_are_counted() -> None:
    people = frame_of([{"age": 20, "job": "x", "place": "a"}] * 3).with_columns(who=pl.Series([1, 1, 2]))
    schema = Schema((*COLUMNS, Column("who", Role.PERSON)))
    table = people.head(1)
    assert shoal.audit(table, table.drop("who"), schema, KMap(k=2, population=people)).holds
    assert not shoal.audit(table, table.drop("who"), schema, KMap(k=3, population=people)).holds
    with pytest.raises(InfeasibleError, match="at most k = 2"):
        shoal.anonymize(table, schema, KMap(k=3, population=people))


@pytest.mark.parametrize(("asked", "both", "text"), [(KMap, 4, 5), (DeltaPresence, 0.5, 0.4)])
def test_a_typed_cell_of_all_values_covers_nobody_with_another(asked: Any, both: float, text: float) -> None:
    """As text, the cell is ``*`` and covers all six; typed, it names x and y and covers four."""
    people = frame_of([{"age": 20, "job": job, "place": "a"} for job in "xyxyzz"])
    table = frame_of([{"age": 20, "job": job, "place": "a"} for job in "xy"])
    name = "k" if asked is KMap else "delta_max"
    for original in (table, table.to_arrow()):
        release = shoal.anonymize(original, Schema(COLUMNS), asked(**{name: both}, population=people))
        assert [len(release.written(form)) for form in ("csv", "parquet")] == [2, 2]  # type: ignore[arg-type]
    strict = asked(**{name: text}, population=people)
    release = shoal.anonymize(table, Schema(COLUMNS), strict)
    with pytest.raises(InfeasibleError, match="achievable as text only"):
        release.written("parquet")
    with pytest.raises(InfeasibleError, match="achievable as text only"):
        shoal.anonymize(table.to_arrow(), Schema(COLUMNS), strict)


def test_every_row_covers_someone_of_the_population() -> None:
    """A person whom the population lacks shares a class with another one, or there is no release."""
    people = frame_of([{"age": 20, "job": job, "place": "a"} for job in "xx"])
    table = frame_of([{"age": 20, "job": job, "place": "a"} for job in "xy"])
    release = shoal.anonymize(table, Schema(COLUMNS), DeltaPresence(delta_max=1, population=people))
    assert release.table["job"].to_list() == ["*", "*"]
    with pytest.raises(InfeasibleError, match="no record of the population"):
        shoal.anonymize(table.tail(1), Schema(COLUMNS), DeltaPresence(delta_max=1, population=people))


@pytest.mark.parametrize("model", [KMap, DeltaPresence])
def test_the_order_of_columns_in_the_population_does_not_matter(model: Any) -> None:
    people = frame_of([{"age": 20 + i, "job": "x" if i % 3 else "y", "place": "a"} for i in range(20)])
    asked = {"k": 4} if model is KMap else {"delta_max": 0.7}
    made = [
        shoal.anonymize(people.head(9), Schema(COLUMNS), model(**asked, population=order), seed=1)
        for order in (people, people.select(reversed(people.columns)))
    ]
    assert made[0].table.equals(made[1].table)


def test_what_is_refused_and_what_a_certificate_says() -> None:
    people = frame_of([{"age": 20 + i, "job": "x" if i < 9 else "y", "place": "a"} for i in range(20)])
    model = KMap(k=4, population=people)
    release = shoal.anonymize(people.head(7), Schema(COLUMNS), model, seed=1)
    assert release.certificate["model"]["population"] == {"records": 20}
    assert "20 records" in release.certificate["model"]["promise"]
    assert model == KMap(k=4, population=people.head(5))  # which table it is says nothing about a model
    with pytest.raises(InputError, match="needs the table of the population"):
        KMap(k=4, population={"records": 20})
    with pytest.raises(InputError, match="cut into blocks"):
        model.blocks_must_not_overlap(Schema(COLUMNS))
    with pytest.raises(InputError, match="is above delta_max"):
        DeltaPresence(delta_min=0.5, delta_max=0.4, population=people)
    with pytest.raises(InfeasibleError, match=r"delta_min = 0\.1 is not achievable: 11 records"):
        shoal.anonymize(
            people.head(7), Schema(COLUMNS), DeltaPresence(delta_min=0.1, delta_max=1, population=people)
        )
    twice = pl.concat([people.head(4)] * 2).with_columns(who=pl.Series([*range(4)] * 2))
    with pytest.raises(InputError, match="counts records, not persons"):
        shoal.anonymize(twice, Schema((*COLUMNS, Column("who", Role.PERSON))), model)


def test_rows_that_cover_no_record_of_the_population_are_counted() -> None:
    population = frame_of([{"age": 20, "job": "x", "place": "a"}, {"age": 30, "job": "x", "place": "a"}])
    released = pl.DataFrame({"age": ["20..30", "40"], "job": ["x", "x"], "place": ["a", "a"]})
    outside, chances = presence_in_table(released, population, Schema(COLUMNS))
    assert outside == 1
    assert chances.tolist() == [0.5, 0.5]
