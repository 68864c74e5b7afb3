"""The diversity of sensitive columns where a call says nothing about it."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.cli.defaults import Promised
from shoal.methods import METHODS, supports_k_alone
from shoal.models import usual_l
from shoal.samples import hospital

run = CliRunner().invoke


def certificate(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "certificate.json").read_text())["model"]
    return found


@pytest.fixture
def table(tmp_path: Path) -> Path:
    hospital(300, seed=2).write_csv(tmp_path / "patients.csv")
    return tmp_path / "patients.csv"


CALL = ["--quasi", "age,sex", "--sensitive", "diagnosis", "--drop", "patient,name", "--k", "5"]


def test_l_is_two_or_halfway_to_certainty() -> None:
    assert [usual_l(share) for share in (0.01, 0.5, 0.75, 0.98, 1.0)] == [2.0, 2.0, 1.14, 1.0, 1.0]


@pytest.mark.parametrize("engine", ["memory", "blocks"])
def test_a_sensitive_column_is_protected_by_default(engine: str, table: Path, tmp_path: Path) -> None:
    done = run(app, ["anonymize", str(table), *CALL, "--engine", engine, "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert certificate(tmp_path / "out")["l"] == 2
    assert "l = 2 is the default" in done.output


def test_one_switches_it_off_and_other_requirements_replace_it(table: Path, tmp_path: Path) -> None:
    off = ["--l", "1", "--model", "k-anonymity"]
    done = run(app, ["anonymize", str(table), *CALL, *off, "-o", str(tmp_path / "off")])
    assert done.exit_code == 0, done.output
    assert "more frequent" not in str(certificate(tmp_path / "off")["promise"])
    assert "is the default" not in done.output
    other = ["--p", "2", "--model", "k-anonymity"]
    assert run(app, ["anonymize", str(table), *CALL, *other, "-o", str(tmp_path / "p")]).exit_code == 0
    assert "l" not in certificate(tmp_path / "p")


def test_one_requires_nothing() -> None:
    for model in (shoal.Freeform(k=5, l=1), shoal.KAnonymity(k=5, l=1, p=1, entropy_l=1)):
        assert model.diversity is None
        assert not model.guards_sensitive
        assert model.sentence() == type(model)(k=5).sentence()
        assert not model.blocks_must_not_overlap(shoal.Schema((shoal.Column("a", shoal.Role.QUASI),)))


def test_a_frequent_value_lowers_it_with_a_warning(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": list(range(40)) * 5, "income": (["low"] * 3 + ["high"]) * 50})
    frame.write_csv(tmp_path / "t.csv")
    call = ["anonymize", str(tmp_path / "t.csv"), "--quasi", "age", "--sensitive", "income", "--k", "5"]
    done = run(app, [*call, "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert certificate(tmp_path / "out")["l"] == 1.14
    assert "75% of the records have the same value of 'income'" in done.stderr


def test_an_infeasible_default_says_where_it_comes_from() -> None:
    promised = Promised(None, {}, None)
    error = shoal.InfeasibleError("l = 2 is not achievable", parameter="l")
    with pytest.raises(shoal.InfeasibleError, match=r"achievable$"), promised.explained():
        raise error
    promised.by_default = True
    with pytest.raises(shoal.InfeasibleError, match="default if a sensitive column"), promised.explained():
        raise error


def k_alone() -> set[str]:
    return {
        name
        for model, methods in METHODS.items()
        for name in methods
        if supports_k_alone(model, name, persons=False)
    }


def test_methods_for_k_alone_are_those_that_refuse() -> None:
    frame = hospital(12, seed=1).select("age", "diagnosis")
    schema = shoal.Schema.infer(frame, quasi=["age"], sensitive=["diagnosis"])
    refusing = set()
    for model in (shoal.KAnonymity, shoal.Freeform):
        for method in METHODS[model]:
            try:
                shoal.anonymize(frame, schema, model(k=2, l=1.2), method=method)
            except shoal.InputError:
                refusing.add(method)
            except shoal.InfeasibleError:
                pass
    assert refusing == {"chain", "exact"} == k_alone()


def test_python_says_how_many_records_are_concerned() -> None:
    frame = hospital(400, seed=2)
    schema = shoal.Schema.infer(
        frame.with_columns(ill=pl.col("days") > 9),
        quasi=["age", "sex"],
        sensitive=["ill"],
        drop=["patient", "name"],
    )
    release = shoal.anonymize(frame.with_columns(ill=pl.col("days") > 9), schema, shoal.KAnonymity(k=5))
    records = release.audit.nearly_certain()["ill"]
    assert records > 0
    assert any(f"For {records:,} of 400 records" in text for text in release.warnings)


SKEWED = pl.DataFrame(
    {
        "age": list(range(40)) * 5,
        "ill": ["flu", "cold", "none", "asthma"] * 50,
        "rare": ["no"] * 192 + ["yes"] * 8,
    }
)
"""A table with a sensitive column that allows l = 2, and one that allows nothing."""


def skewed_schema() -> shoal.Schema:
    return shoal.Schema.infer(SKEWED, quasi=["age"], sensitive=["ill", "rare"])


def test_a_skewed_column_does_not_remove_l_from_the_others(tmp_path: Path) -> None:
    SKEWED.write_csv(tmp_path / "t.csv")
    call = ["anonymize", str(tmp_path / "t.csv"), "--quasi", "age", "--sensitive", "ill,rare", "--k", "5"]
    done = run(app, [*call, "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    made = json.loads((tmp_path / "out/certificate.json").read_text())
    assert (made["model"]["l"], made["model"]["diverse"]) == (2, ["ill"])
    assert "no value of 'ill' is more frequent than 1 in 2" in made["model"]["promise"]
    assert any("Nothing is guaranteed about the sensitive column 'rare'" in text for text in made["warnings"])
    assert "96% of the records have the same value of 'rare', so nothing is required of it" in done.stderr
    assert "about the diversity of &#39;rare&#39; in a crowd" in (tmp_path / "out/report.html").read_text()
    audited = ["audit", *call[1:], str(tmp_path / "out/release.csv"), "--l", "2"]
    assert run(app, [*audited, "--diverse", "ill"]).exit_code == 0
    assert run(app, audited).exit_code == 1


@pytest.mark.parametrize("model", [shoal.KAnonymity, shoal.Freeform, shoal.Concealment, shoal.Patterned])
def test_every_method_requires_l_of_the_named_columns_only(model: type[shoal.KAnonymity]) -> None:
    for method in METHODS[model]:
        if method in {*k_alone(), "set_cover"}:
            continue
        release = shoal.anonymize(
            SKEWED, skewed_schema(), model(k=4, l=2, diverse=("ill",)), method=method, seed=1
        )
        assert release.audit.holds
        with pytest.raises(shoal.InfeasibleError, match=r"'rare' allows at most l = 1\.04"):
            shoal.anonymize(SKEWED, skewed_schema(), model(k=4, l=2), method=method)


def test_the_audit_judges_the_named_columns_only() -> None:
    released = SKEWED.with_columns(age=pl.lit("*"))
    schema = skewed_schema()
    assert shoal.audit(SKEWED, released, schema, shoal.KAnonymity(k=4, l=2, diverse=("ill",))).holds
    assert not shoal.audit(SKEWED, released, schema, shoal.KAnonymity(k=4, l=2, diverse=("rare",))).holds
    assert not shoal.audit(SKEWED, released, schema, shoal.KAnonymity(k=4, l=2)).holds
    gone = shoal.audit(SKEWED, released, schema, shoal.KAnonymity(k=4, l=2, diverse=("other",)))
    assert not gone.holds
    assert "'other' are not in the release" in " ".join(gone.findings)


def test_columns_that_are_not_sensitive_are_refused() -> None:
    with pytest.raises(shoal.InputError, match="'age' is not a sensitive column"):
        shoal.anonymize(SKEWED, skewed_schema(), shoal.Freeform(k=4, l=2, diverse=["age"]))
    for wrong in ((), 3, [""], [2]):
        with pytest.raises(shoal.InputError, match="it must be the names of sensitive columns"):
            shoal.Freeform(k=4, l=2, diverse=wrong)
    assert shoal.Freeform(k=4, diverse=["ill"]) == shoal.Freeform(k=4)
    assert shoal.Freeform(k=4, l=2, diverse="ill, rare").diverse == ("ill", "rare")
