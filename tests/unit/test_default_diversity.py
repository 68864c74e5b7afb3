"""The diversity of sensitive columns where a call says nothing about it."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.cli.defaults import K_ALONE, Promised
from shoal.methods import METHODS
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
    assert [usual_l(share) for share in (0.01, 0.5, 0.75, 0.98, 1.0)] == [2.0, 2.0, 1.14, 1.01, 1.0]


@pytest.mark.parametrize("engine", ["memory", "blocks"])
def test_a_sensitive_column_is_protected_by_default(engine: str, table: Path, tmp_path: Path) -> None:
    done = run(app, ["anonymize", str(table), *CALL, "--engine", engine, "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert certificate(tmp_path / "out")["l"] == 2
    assert "Shoal chose l" in done.output


def test_one_switches_it_off_and_other_requirements_replace_it(table: Path, tmp_path: Path) -> None:
    off = ["--l", "1", "--model", "k-anonymity"]
    done = run(app, ["anonymize", str(table), *CALL, *off, "-o", str(tmp_path / "off")])
    assert done.exit_code == 0, done.output
    assert "more frequent" not in str(certificate(tmp_path / "off")["promise"])
    assert "Shoal chose l" not in done.output
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
    assert refusing == set(K_ALONE)


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
