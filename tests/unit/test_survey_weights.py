"""The role of survey weights: groups in the release, sums that stay, and risks in every audit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from calling import call
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import Column, InputError, Role, Schema
from shoal.engines.on_disk import anonymize_file
from shoal.release.survey_weights import CoarseWeights
from shoal.report.evidence import chapters_of
from shoal.samples import hospital
from shoal.schema.suggesting import suggest

pytestmark = pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")

PATIENTS = hospital(200, seed=2).select("age", "sex", "diagnosis")
WEIGHTS = np.random.default_rng(1).uniform(10, 90, 200).round(3)


def surveyed(weights: Any = WEIGHTS) -> tuple[pl.DataFrame, Schema]:
    frame = PATIENTS.with_columns(w=pl.Series(weights))
    return frame, Schema.infer(frame, quasi=["age", "sex"], sensitive=["diagnosis"], survey_weight="w")


@given(
    st.lists(st.sampled_from([1.0, 1.5, 2.0, 3.25, 7.0, 100.0]), min_size=1, max_size=40), st.integers(2, 9)
)
def test_groups_are_large_enough_and_keep_sums(drawn: list[float], least: int) -> None:
    weights = np.array(drawn)
    coarse = CoarseWeights.of(weights, least)
    _, often = np.unique(weights, return_counts=True)
    assert (coarse is None) == (often.min() >= least)
    if coarse is None:
        return
    shown = coarse.shown(weights)
    assert shown.sum() == pytest.approx(weights.sum(), rel=1e-5)
    assert np.unique(shown, return_counts=True)[1].min() >= min(least, len(weights))
    assert (np.diff(shown[np.argsort(weights, kind="stable")]) >= 0).all()


@pytest.mark.parametrize("flavour", ["polars", "pandas", "arrow"])
def test_a_release_has_groups_and_the_audit_the_weights(flavour: str) -> None:
    frame, schema = surveyed()
    given: Any = {
        "polars": frame,
        "pandas": frame.to_pandas().set_index(np.arange(200)[::-1] * 7),
        "arrow": frame.to_arrow(),
    }[flavour]
    model = shoal.Freeform(k=7)
    release = shoal.anonymize(given, schema, model, seed=1)
    shown = release.written("csv")["w"].cast(pl.Float64)
    assert shown.value_counts()["count"].min() >= 7
    assert shown.sum() == pytest.approx(WEIGHTS.sum(), rel=1e-5)
    assert "groups of neighbouring weights, with at least 7 records each" in " ".join(
        release.certificate["notes"]
    )
    # Each row has the mean of the group of its own record's weight.
    own = WEIGHTS[release.key]
    assert np.corrcoef(own, shown.to_numpy())[0, 1] > 0.99
    by_role = shoal.audit(given, release.table, schema, model)
    by_name = shoal.audit(
        given, release.table, schema.changed("w", role=Role.OTHER), model, survey_weight="w"
    )
    assert by_role.holds
    assert release.audit.sample is not None
    assert release.audit.sample == by_role.sample == by_name.sample
    assert release.certificate["audit"]["sample"]["individual_released"]["highest"] < 0.02
    chapters = {each.name: each for each in chapters_of(release.report.material)}
    facts = {fact.name: fact.text for chapter in chapters.values() for fact in chapter.facts}
    assert "expected in the original" in facts["re-identifications by survey weights"]
    assert facts["survey weights, in groups if single values identify"] == "w"


def test_weights_that_many_share_stay_as_they_are() -> None:
    frame, schema = surveyed([20, 35] * 100)
    release = shoal.anonymize(frame, schema, shoal.KAnonymity(k=5), seed=1)
    assert release.table["w"].dtype == pl.Int64
    assert set(release.table["w"]) == {20, 35}
    assert "are unchanged" in " ".join(release.certificate["notes"])


def test_groups_are_those_of_released_records() -> None:
    frame, schema = surveyed()
    frame = pl.concat([frame, frame.head(1).with_columns(age=pl.lit(140, dtype=frame.schema["age"]))])
    limited = schema.changed("age", widest=30)
    release = shoal.anonymize(frame, limited, shoal.KAnonymity(k=8), seed=1, leave_out=0.1)
    assert release.certified.stranded
    assert release.table["w"].value_counts()["count"].min() >= 8


def test_groups_that_give_the_place_away_are_warned_of() -> None:
    places = ["a", "b", "c", "d"] * 50
    frame = pl.DataFrame({"age": list(range(200)), "place": places, "w": [10.0 + ord(p) for p in places]})
    schema = Schema.infer(frame, quasi=["age", "place"], survey_weight="w", weights={"age": 1000.0})
    release = shoal.anonymize(frame, schema, shoal.KAnonymity(k=20), seed=1)
    assert any("gives away the quasi-identifier 'place'" in text for text in release.warnings)


def test_what_is_refused(tmp_path: Path) -> None:
    frame, schema = surveyed()
    for wrong in (0.0, -1.0, None, float("nan")):
        bad = frame.with_columns(w=pl.Series([wrong, *WEIGHTS[1:]]))
        with pytest.raises(
            InputError, match="1 survey weights that are not positive numbers, the first in row 1"
        ):
            shoal.anonymize(bad, schema, shoal.KAnonymity(k=5))
    with pytest.raises(InputError, match="both have the role weight"):
        Schema((Column("a", Role.WEIGHT), Column("b", Role.WEIGHT)))
    frame.write_csv(tmp_path / "survey.csv")
    with pytest.raises(InputError, match="blocks do not know; anonymize the whole table in memory"):
        anonymize_file(tmp_path / "survey.csv", schema, shoal.KAnonymity(k=5), tmp_path / "out")


def test_kept_rows_of_an_earlier_release_would_have_other_groups() -> None:
    frame = surveyed()[0].with_row_index("who")
    roles = {"quasi": ["age", "sex"], "person": "who", "survey_weight": "w"}
    schema, model = Schema.infer(frame, **roles), shoal.KAnonymity(k=5)  # type: ignore[arg-type]
    first = shoal.anonymize(frame, schema, model, seed=1)
    before = (frame, first.table, first.key)
    with pytest.raises(InputError, match="groups of each release by itself"):
        shoal.anonymize_again(frame, schema, model, after=[before])


def test_scan_suggests_one_column_of_positive_numbers() -> None:
    roles = {each.name: each.role for each in suggest(surveyed()[0].rename({"w": "sample-weight"}))}
    assert roles["sample-weight"] is Role.WEIGHT
    both = pl.DataFrame({"PWGTP": [1.5, 2.0, 3.0], "WGTP": [1, 2, 3], "age": [1, 2, 3]})
    assert [each.role for each in suggest(both)][:2] == [Role.WEIGHT, Role.OTHER]
    assert suggest(both.with_columns(PWGTP=pl.Series([0.0, 1, 2])))[0].role is Role.OTHER


def test_the_command_line(tmp_path: Path) -> None:
    frame, schema = surveyed()
    frame.write_csv(tmp_path / "survey.csv")
    roles = ["--quasi", "age,sex", "--sensitive", "diagnosis", "--survey-weight", "w"]
    made = call(
        tmp_path,
        "anonymize",
        "survey.csv",
        *roles,
        "--k",
        "5",
        "--l",
        "1",
        "-o",
        "out",
        "--quiet",
        "--seed",
        "1",
    )
    assert made.returncode == 0, made.stderr
    shown = pl.read_csv(tmp_path / "out" / "release.csv")["w"]
    assert shown.value_counts()["count"].min() >= 5
    audited = call(tmp_path, "audit", "survey.csv", "out")
    assert audited.returncode == 0, audited.stderr
    assert "re-identifications by survey weights" in " ".join(audited.stdout.split())
    schema.write(tmp_path / "schema.toml")
    assert Schema.read(tmp_path / "schema.toml")["w"].role is Role.WEIGHT
