"""t-closeness on the salaries and diseases of its paper; beta-likeness and delta-disclosure by hand.

The figures for salaries and the distances of diseases are printed in the paper. The closeness of diseases,
and the examples of the other two models, were computed by hand from the definitions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import BetaLikeness, DeltaDisclosure, Hierarchy, InputError, Schema, TCloseness
from shoal.errors import Reason
from shoal.measures.distances import ground_distance

PATIENTS = pl.DataFrame(
    {
        "zip": [47677, 47602, 47678, 47905, 47909, 47906, 47605, 47673, 47607],
        "age": [29, 22, 27, 43, 52, 47, 30, 36, 32],
        "salary": [3, 4, 5, 6, 11, 8, 7, 9, 10],
        "disease": [
            "gastric ulcer",
            "gastritis",
            "stomach cancer",
            "gastritis",
            "flu",
            "bronchitis",
            "bronchitis",
            "pneumonia",
            "stomach cancer",
        ],
    }
)
"""The patients of Li, Li and Venkatasubramanian (2007), Table 3; salaries in thousands."""

DISEASES = Hierarchy.from_levels(
    [
        [disease, group, system, "respiratory and digestive diseases"]
        for system, groups in {
            "respiratory": {
                "respiratory infection": ["flu", "pneumonia", "bronchitis"],
                "vascular lung": ["pulmonary edema", "pulmonary embolism"],
            },
            "digestive": {
                "stomach": ["gastric ulcer", "stomach cancer", "gastritis"],
                "colon": ["colitis", "colon cancer"],
            },
        }.items()
        for group, diseases in groups.items()
        for disease in diseases
    ]
)
"""The hierarchy of diseases there, Figure 1."""


def released(classes: list[int]) -> pl.DataFrame:
    """Return the patients in classes that show their closures."""
    frame = PATIENTS.with_columns(of=pl.Series(classes))
    cells = [
        pl.concat_str(pl.col(name).min().over("of"), pl.lit(".."), pl.col(name).max().over("of")).alias(name)
        for name in ("zip", "age")
    ]
    return frame.with_columns(cells).drop("of")


def schema(*sensitive: str) -> Schema:
    hierarchies = {"disease": DISEASES} if "disease" in sensitive else {}
    return Schema.infer(
        PATIENTS,
        quasi=["zip", "age"],
        sensitive=list(sensitive),
        kinds={"zip": "numeric"},
        hierarchies=hierarchies,
    )


SIMILAR = [0, 0, 0, 1, 1, 1, 2, 2, 2]
"""Table 4: 3-diverse, but the first three earn least and have diseases of the stomach."""
CLOSE = [0, 1, 0, 2, 2, 2, 1, 0, 1]
"""Table 5."""


def figures(classes: list[int], *sensitive: str) -> dict[str, Any]:
    found = shoal.audit(PATIENTS, released(classes), schema(*sensitive))
    return {each.column: each for each in found.principles}


def test_the_closeness_of_the_papers_tables() -> None:
    table4 = figures(SIMILAR, "salary", "disease")
    assert table4["salary"].closeness == pytest.approx(0.375)  # D[P1, Q] of Section 4.3
    assert table4["disease"].closeness == pytest.approx(4 / 9)  # all that is not of the stomach moves to it
    table5 = figures(CLOSE, "salary", "disease")
    assert table5["salary"].closeness == pytest.approx(0.167, abs=5e-4)
    # Among the three with gastritis, flu and bronchitis: 2/9 between the systems, twice 1/9 within a group.
    assert table5["disease"].closeness == pytest.approx(2 / 9 + 2 / 9 / 3)


def test_the_distances_of_the_papers_diseases() -> None:
    names = pl.Series(["flu", "bronchitis", "pulmonary embolism", "stomach cancer"])
    distance = ground_distance(names, schema("disease")["disease"], "hierarchical")
    assert distance.between(np.zeros(4, int), np.arange(4)).tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1])


@pytest.mark.parametrize(("t", "holds"), [(0.167, True), (0.166, False)])
def test_the_model_judges_the_papers_table(t: float, holds: bool) -> None:
    model = TCloseness(k=3, t=t, ground_distance="ordered")
    assert shoal.audit(PATIENTS, released(CLOSE), schema("salary"), model).holds == holds
    assert not shoal.audit(PATIENTS, released(SIMILAR), schema("salary"), model).holds


def test_gains_and_losses_by_hand() -> None:
    # Half of the whole is "a"; of the first class three in four, of the second one in four.
    frame = pl.DataFrame({"q": [1, 1, 1, 1, 2, 2, 2, 2], "s": list("aaab" + "abbb")})
    described = Schema.infer(frame, quasi=["q"], sensitive=["s"])
    (found,) = shoal.audit(frame, frame, described).principles
    assert found.gain == pytest.approx(0.5)
    assert found.disclosure == pytest.approx(1.0)

    def holds(model: shoal.models.Model) -> bool:
        return shoal.audit(frame, frame, described, model).holds

    assert holds(BetaLikeness(k=4, beta=0.5))
    assert not holds(BetaLikeness(k=4, beta=0.49))
    assert holds(BetaLikeness(k=4, beta=5, enhanced=True))  # -ln 0.5 = 0.69
    assert holds(DeltaDisclosure(k=4, disclosure_delta=1.01))
    assert not holds(DeltaDisclosure(k=4, disclosure_delta=1))  # the ratio must be below the limit


def test_the_enhanced_limit_is_stricter_for_frequent_values() -> None:
    frame = pl.DataFrame({"q": [1] * 4 + [2] * 4, "s": list("aaaa" + "aabb")})
    described = Schema.infer(frame, quasi=["q"], sensitive=["s"])
    assert -math.log(0.75) < 1 / 3  # "a" gains a third in the first class
    # "b" has the share 1/4 in the whole and 1/2 in the second class: it gains 1, and -ln(1/4) = 1.39.
    assert shoal.audit(frame, frame, described, BetaLikeness(k=4, beta=1)).holds
    assert not shoal.audit(frame, frame, described, BetaLikeness(k=4, beta=0.99)).holds
    enhanced = shoal.audit(frame, frame, described, BetaLikeness(k=4, beta=1, enhanced=True))
    assert "0.3333 instead of 0.2877" in enhanced.verdict
    lacking = shoal.audit(frame, frame, described, DeltaDisclosure(k=4, disclosure_delta=9))
    assert "lack a value" in lacking.verdict


@pytest.mark.parametrize("method", ["mondrian", "chain"])
def test_a_release_of_the_papers_table(method: str) -> None:
    model = TCloseness(k=3, t=0.278)
    release = shoal.anonymize(PATIENTS, schema("disease"), model, method=method, seed=1)
    assert release.audit.holds
    assert release.certificate["model"].items() >= {"name": "t-closeness", "k": 3, "t": 0.278}.items()
    assert release.certificate["audit"]["principles"][0]["t_closeness"] <= 0.278


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="hierarchical distance needs a hierarchy"):
        shoal.anonymize(PATIENTS, schema("salary"), TCloseness(k=2, t=0.5, ground_distance="hierarchical"))
    with pytest.raises(InputError, match="none is named") as caught:
        shoal.anonymize(PATIENTS, schema(), BetaLikeness(k=2, beta=1))
    assert caught.value.reason is Reason.NO_SENSITIVE
    with pytest.raises(InputError, match="cut into blocks"):
        DeltaDisclosure(k=2, disclosure_delta=1).blocks_must_not_overlap(schema("salary"))
    twice = pl.concat([PATIENTS, PATIENTS]).with_columns(who=pl.Series([*range(9)] * 2))
    described = Schema.infer(twice, quasi=["zip", "age"], sensitive=["salary"], person="who")
    with pytest.raises(InputError, match="counts records, not persons"):
        shoal.anonymize(twice, described, TCloseness(k=2, t=0.5))


def test_limits_of_columns_are_refused() -> None:
    limited = schema("salary").changed("age", widest=20)
    with pytest.raises(InputError, match="compared with the whole table, which limits divide"):
        shoal.anonymize(PATIENTS, limited, TCloseness(k=2, t=0.5))
    with pytest.raises(InputError, match="compared with a population"):
        shoal.anonymize(PATIENTS, limited, shoal.KMap(k=2, population=PATIENTS))
