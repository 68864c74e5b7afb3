"""Estimates are not biased, whatever made the release, and their intervals contain the truth.

Biased means that frequent values are counted too often.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.reading import Answer, Reader, open_release
from shoal.samples import hospital

QUASI = ["age", "sex", "occupation", "marital"]
AGES = [(low, low + 9) for low in range(0, 100, 10)]


@pytest.fixture(scope="module")
def patients() -> pl.DataFrame:
    return pl.DataFrame(hospital(900, seed=6)).drop("patient", "name", "zip")


def schema_of(patients: pl.DataFrame, **more: Any) -> shoal.Schema:
    return shoal.Schema.infer(patients, quasi=QUASI, sensitive=["diagnosis"], **more)


def hierarchies(patients: pl.DataFrame) -> dict[str, Any]:
    jobs = sorted(each for each in patients["occupation"].unique().to_list() if each is not None)
    levels = [(job, f"group {number // 3}", "*") for number, job in enumerate(jobs)]
    return {"occupation": shoal.Hierarchy.from_levels(levels), "age": shoal.Intervals((10, 20, 40))}


@dataclass(frozen=True)
class Answers:
    """The answers of a reader to questions about all values of the columns, alone and by sex."""

    counts: list[Answer]
    true_counts: list[float]
    means: list[Answer]
    true_means: list[float]


def answers(patients: pl.DataFrame, reader: Reader) -> Answers:
    """Return the answers and the truth; the means are those of the age."""
    found = Answers([], [], [], [])
    for sex in (None, "female", "male"):
        also = {} if sex is None else {"sex": sex}
        chosen = patients if sex is None else patients.filter(pl.col("sex") == sex)
        for name in ("occupation", "marital"):
            for value in chosen[name].unique().to_list():
                there = chosen.filter(pl.col(name).eq_missing(pl.lit(value)))
                found.counts.append(reader.count({name: value, **also}))
                found.true_counts.append(there.height)
                if there["age"].drop_nulls().len():
                    found.means.append(reader.mean("age", {name: value, **also}))
                    found.true_means.append(
                        float(there["age"].cast(pl.Float64).drop_nulls().to_numpy().mean())
                    )
        for low, high in AGES:
            found.counts.append(reader.count({"age": (low, high), **also}))
            found.true_counts.append(chosen.filter(pl.col("age").is_between(low, high)).height)
    return found


def require_unbiased(found: Answers, within: float = 0.12) -> None:
    truth = np.array(found.true_counts)
    for answer, true in zip(found.counts, truth, strict=True):
        assert answer.certain <= true <= answer.possible
    slope, level = np.polyfit(truth, [each.estimate for each in found.counts], 1)
    assert slope == pytest.approx(1, abs=within)
    assert abs(level) < within * truth.mean()
    assert covered(found.counts, found.true_counts) >= 0.8
    if found.means:
        assert covered(found.means, found.true_means) >= 0.8


def covered(answers: list[Answer], truth: list[float]) -> float:
    """Return the share of intervals that contain the truth."""
    inside = [
        each.interval[0] - 1e-6 <= t <= each.interval[1] + 1e-6
        for each, t in zip(answers, truth, strict=True)
    ]
    return float(np.mean(inside))


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (shoal.Freeform(k=8), None),
        (shoal.Freeform(k=8), "ring"),
        pytest.param(shoal.Freeform(k=8), "sort_greedy", marks=pytest.mark.slow),
        pytest.param(shoal.Freeform(k=8), "greedy", marks=pytest.mark.slow),
        (shoal.Freeform(k=8, l=2), None),
        (shoal.KAnonymity(k=8), "mondrian"),
        (shoal.KAnonymity(k=8), "chain"),
        (shoal.KAnonymity(k=8), "agglomerative"),
        pytest.param(shoal.KAnonymity(k=8), "forest", marks=pytest.mark.slow),
        (shoal.KAnonymity(k=8, l=2), "mondrian"),
        (shoal.TCloseness(k=8, t=0.6), "mondrian"),
        pytest.param(shoal.TCloseness(k=8, t=0.6), "chain", marks=pytest.mark.slow),
        pytest.param(shoal.BetaLikeness(k=8, beta=6), "mondrian", marks=pytest.mark.slow),
        (shoal.Concealment(k=8), None),
        pytest.param(shoal.Concealment(k=8, l=2), None, marks=pytest.mark.slow),
        (shoal.KK(k=8), None),
        (shoal.KOne(k=8), None),
        (shoal.OneK(k=8), None),
        (shoal.Patterned(k=8), None),
        pytest.param(shoal.KmAnonymity(k=8, knows=1), None, marks=pytest.mark.slow),
        (shoal.KmAnonymity(k=8, knows=2), None),
        pytest.param(shoal.KmAnonymity(k=8, knows=3), None, marks=pytest.mark.slow),
    ],
    ids=lambda each: str(each),
)
def test_every_model_and_method(patients: pl.DataFrame, model: Any, method: str | None) -> None:
    schema = schema_of(patients)
    release = shoal.anonymize(patients, schema, model, method=method, seed=1)
    require_unbiased(answers(patients, release.reader()))


@pytest.mark.slow
@pytest.mark.parametrize("of_population", [shoal.KMap, shoal.DeltaPresence])
def test_classes_in_a_population(patients: pl.DataFrame, of_population: Any) -> None:
    """Only some of a class of the population are released; cells are those of the released ones."""
    others = pl.DataFrame(hospital(1800, seed=7)).select(patients.columns)
    population = pl.concat([patients, others])
    limits = {"k": 16} if of_population is shoal.KMap else {"delta_max": 0.6}
    model = of_population(population=population, **limits)
    release = shoal.anonymize(patients, schema_of(patients), model, seed=1)
    require_unbiased(answers(patients, release.reader()))


@pytest.mark.slow
def test_sensitive_values_that_differ(patients: pl.DataFrame) -> None:
    schema = shoal.Schema.infer(patients, quasi=QUASI, sensitive=["days"])
    release = shoal.anonymize(patients, schema, shoal.Dissimilarity(k=8, epsilon=0.1, delta=0.5), seed=1)
    require_unbiased(answers(patients, release.reader()))


@pytest.mark.slow
def test_sensitive_values_that_occur_in_every_class(patients: pl.DataFrame) -> None:
    frame = patients.with_columns(
        stay=pl.when(pl.col("days") > 3).then(pl.lit("long")).otherwise(pl.lit("short"))
    )
    schema = shoal.Schema.infer(frame, quasi=QUASI, sensitive=["stay"])
    release = shoal.anonymize(frame, schema, shoal.DeltaDisclosure(k=8, disclosure_delta=3), seed=1)
    require_unbiased(answers(patients, release.reader()))


@pytest.mark.parametrize(
    "model", [shoal.Freeform(k=8), shoal.KAnonymity(k=8), shoal.Concealment(k=8)], ids=str
)
def test_missing_values(patients: pl.DataFrame, model: Any) -> None:
    """A tenth of the ages is missing as well: an interval that a missing value joins is suppressed."""
    generator = np.random.default_rng(2)
    gone = pl.Series(generator.random(len(patients)) < 0.1)
    frame = patients.with_columns(age=pl.when(gone).then(None).otherwise(pl.col("age")))
    release = shoal.anonymize(frame, schema_of(frame), model, seed=1)
    require_unbiased(answers(frame, release.reader()), within=0.2)


def test_suppressed_cells_of_other_tools(patients: pl.DataFrame) -> None:
    """A schema alone reads what another tool suppressed at random."""
    generator = np.random.default_rng(2)
    cells = {
        name: np.where(
            generator.random(len(patients)) < 0.3, "*", patients[name].cast(pl.String).fill_null("")
        )
        for name in QUASI
    }
    frame = patients.with_columns(**{name: pl.Series(each.tolist()) for name, each in cells.items()})
    require_unbiased(answers(patients, open_release(frame, schema_of(patients))))


@pytest.mark.parametrize(
    "model", [shoal.Freeform(k=8), shoal.KAnonymity(k=8), shoal.Concealment(k=8)], ids=str
)
def test_hierarchies(patients: pl.DataFrame, model: Any) -> None:
    schema = schema_of(patients, hierarchies=hierarchies(patients))
    release = shoal.anonymize(patients, schema, model, seed=1)
    require_unbiased(answers(patients, release.reader()), within=0.2)


def test_rows_that_hide_more_records_than_k(patients: pl.DataFrame) -> None:
    """Some rows may have been made for more than k records; which ones, the codebook does not say."""
    half = len(patients) // 2
    schema = schema_of(patients)
    parts = [
        shoal.anonymize(part, schema, shoal.Freeform(k=k), seed=1).written("csv")
        for part, k in ((patients[:half], 6), (patients[half:], 12))
    ]
    require_unbiased(answers(patients, open_release(pl.concat(parts), schema, shoal.Freeform(k=6))))


def test_blocks(patients: pl.DataFrame, tmp_path: Path) -> None:
    patients.write_csv(tmp_path / "patients.csv")
    shoal.anonymize_file(
        tmp_path / "patients.csv", schema_of(patients), shoal.Freeform(k=8), tmp_path / "out", block_rows=300
    )
    require_unbiased(answers(patients, open_release(tmp_path / "out")))


def test_items() -> None:
    generator = np.random.default_rng(3)
    often = np.array([0.7, 0.5, 0.3, 0.2, 0.1, 0.05])
    sets = [
        [f"i{item}" for item in np.flatnonzero(generator.random(6) < often)] or ["i0"] for _ in range(400)
    ]
    frame = pl.DataFrame({"basket": sets})
    schema = shoal.Schema.infer(frame, quasi=["basket"], kinds={"basket": "items"})
    reader = shoal.anonymize(frame, schema, shoal.SetAnonymity(k=5), seed=1).reader()
    truth = [float(sum(f"i{item}" in each for each in sets)) for item in range(6)]
    found = [reader.count(basket=f"i{item}") for item in range(6)]
    require_unbiased(Answers(list(found), truth, [], []), within=0.2)
