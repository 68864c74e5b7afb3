"""The posterior of releases as they are written: the paper's example, and sensitive columns on both sides."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from shoal import KAnonymity, Schema, anonymize
from shoal.auditing.posterior import Posterior, labels_of, posterior
from shoal.auditing.released import ReleasedTable
from shoal.kinds.hierarchy import Hierarchy
from shoal.samples import hospital
from shoal.schema import Column, Kind, Role
from shoal.table import Table


def posterior_of(original: Any, released: Any, schema: Schema, k: int) -> Posterior:
    """Return what an attacker believes who has both tables."""
    table = Table.encode(original, schema)
    release = ReleasedTable(released, table)
    return posterior(release.graph, release.matches, labels_of(table, release.sensitive), k=k)


def test_the_example_of_concealment() -> None:
    """Tassa et al. 2012, Table 1: two or three matches each, but not equally likely ones."""
    zips = ["10055", "10055", "10023", "10165", "10224"]
    diseases = ["Measles", "Flu", "Angina", "Flu", "Diabetes"]
    original = pl.DataFrame({"age": [30, 21, 21, 55, 47], "zip": zips, "disease": diseases})
    tree = Hierarchy.from_levels(
        [[code, f"{code[:3]}**", f"{code[:2]}***", "*"] for code in sorted(set(zips))]
    )
    schema = Schema.infer(original, quasi=["age", "zip"], sensitive=["disease"], hierarchies={"zip": tree})
    released = pl.DataFrame(
        {
            "age": ["21..30", "21", "21..30", "47..55", "47..55"],
            "zip": ["10055", "100**", "100**", "10***", "10***"],
            "disease": diseases,
        }
    )
    found = posterior_of(original, released, schema, k=2)
    assert found.counted == 5
    # Alice has the first row, and Bob and Carol have the others in any way, or the third, and Bob the first.
    assert found.link is not None
    assert found.link.mean == pytest.approx((2 / 3 + 1 / 3 + 2 / 3 + 1 / 2 + 1 / 2) / 5)
    assert found.promised == 0.5
    assert found.above == 2  # two matches are no promise of one half
    (disease,) = found.disclosures
    assert disease.right is not None
    assert disease.right.mean == pytest.approx((2 / 3 + 1 / 3 + 1 / 3 + 1 / 2 + 1 / 2) / 5)


@pytest.mark.parametrize("marks", [(), ("unknown",)])
def test_values_are_compared_as_text_and_missing_ones_are_equal(marks: tuple[str, ...]) -> None:
    original = pl.DataFrame({"age": [1, 2, 3], "code": [7, None, 8]})
    released = pl.DataFrame({"age": ["*"] * 3, "code": ["unknown" if marks else None, "7", "9"]})
    schema = Schema(
        (
            Column("age", role=Role.QUASI, kind=Kind.NUMERIC),
            Column("code", role=Role.SENSITIVE, missing_marks=marks),
        )
    )
    table = Table.encode(original, schema)
    (labels,) = labels_of(table, ReleasedTable(released, table).sensitive)
    assert labels.of_record[[1, 0]].tolist() == labels.of_row[:2].tolist()
    assert len({*labels.of_record.tolist(), *labels.of_row.tolist()}) == 4
    assert labels_of(table, ReleasedTable(released.drop("code"), table).sensitive) == ()


def test_in_classes_the_best_guess_is_one_of_the_class() -> None:
    patients = hospital(2_000, seed=1)
    schema = Schema.infer(patients, quasi=["age", "zip", "sex"], sensitive=["diagnosis"])
    release = anonymize(patients, schema, KAnonymity(k=5), seed=1)
    found = posterior_of(patients, release.table, schema, k=5)
    sizes = release.audit.classes.sizes
    assert found.counted == len(patients)
    assert found.above == 0
    assert found.link is not None
    assert found.link.mean == pytest.approx(len(sizes) / len(patients))
    (diagnosis,) = found.disclosures
    assert diagnosis.likeliest is not None
    highest = release.audit.diversity[0].highest
    assert diagnosis.likeliest.mean == pytest.approx((highest * sizes).sum() / len(patients))


def test_a_value_that_no_row_shows_is_not_believed() -> None:
    original = pl.DataFrame({"place": ["a", "a", "b"], "disease": ["x", "z", "x"]})
    schema = Schema.infer(original, quasi=["place"], sensitive=["disease"])
    released = original.with_columns(disease=pl.lit("x"))
    (disease,) = posterior_of(original, released, schema, k=1).disclosures
    assert disease.right is not None
    assert disease.right.mean == pytest.approx(2 / 3)
